"""What of an answer is sent while it is written. No model runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from engine.events import DecisionTaken
from engine.levers.lever import ESM
from engine.levers.levers import SteeredAnswer
from engine.levers.token_logprobs import ScoredToken
from engine.serve import pending_request
from engine.serve.pending_request import PendingRequest, Update, Written, settled


def test_a_token_is_told_when_all_its_text_is_sent() -> None:
    """What may become a stop string is held back, and with it the token of which it is a part."""
    tokens = [ScoredToken(text, at, -1.0, []) for text, at in (("One", 0), (" two", 3), (" three", 7))]
    text = SimpleNamespace(text="One two", finish="", stops=("o!",), echo="", scored=tokens[:2])
    sent: list[Update] = []
    parsed: Any = SimpleNamespace(stream=True)
    prepared: Any = SimpleNamespace(text=text, again=None)
    request = PendingRequest("r", parsed, "?", sent.append, prepared)
    request.send_updates([])
    assert sent == [Written("One tw", tokens[:1])]
    text.text, text.scored = "One two three", tokens
    request.send_updates([])
    assert sent[1:] == [Written("o three", tokens[1:])]
    request.send_updates([])
    assert len(sent) == 2 and (request.sent, request.reported) == (13, 3)


def test_decisions_of_a_second_answer_are_told_from_its_first_on() -> None:
    """The first answer, with its two decisions, is given up."""

    def prepared(*gates: str) -> Any:
        decisions = [
            DecisionTaken(method="esm", example="", m=m, gate=gate) for m, gate in enumerate(gates, 1)
        ]
        answer = SimpleNamespace(decisions=decisions, tokens=[7, 8, 9], probe_tokens=4)
        return SimpleNamespace(text=SimpleNamespace(answer=answer))

    parsed: Any = SimpleNamespace(chosen=SimpleNamespace(levers=[ESM]))
    request = PendingRequest("r", parsed, "?", lambda update: None, prepared("first_segment", "best"))
    assert [decision.gate for decision in request.new_decisions()] == ["first_segment", "best"]
    request.write_again(prepared("first_segment"))
    assert [decision.gate for decision in request.new_decisions()] == ["first_segment"]
    assert request.new_decisions() == [] and request.spent == 3 + 4


def pending(stream: bool, sent: list[Update]) -> PendingRequest:
    """What has sent `One` and its token of the text `>One two`, which repeats its prompt `>`."""
    text = SimpleNamespace(echo=">", prompt_scored=[ScoredToken(">", 0, -9.0, [])])
    parsed: Any = SimpleNamespace(stream=stream)
    prepared: Any = SimpleNamespace(text=text, again=None)
    return PendingRequest("r", parsed, "?", sent.append, prepared, began=100.0, sent=3, reported=1)


def answered(text: str, *tokens: str) -> SteeredAnswer:
    scored = [ScoredToken(token, 0, -1.0, []) for token in tokens]
    prompt: Any = None
    return SteeredAnswer(text, [], 1, "stop", [], [], prompt, scored)


def test_a_stream_gets_at_its_end_what_it_has_not_had_yet() -> None:
    """The text behind what was sent, the tokens behind those that were; nothing in between where there is none."""
    for answer, more in (
        (answered(">One two", ">", "One", " two"), [Written(" two", [ScoredToken(" two", 0, -1.0, [])])]),
        (answered(">One", ">", "One", ""), [Written("", [ScoredToken("", 0, -1.0, [])])]),
        (answered(">One two", ">", "One"), [Written(" two", [])]),
        (answered(">One", ">", "One"), []),
    ):
        sent: list[Update] = []
        pending(True, sent).send_answer(answer)
        assert sent == [*more, answer]
        sent.clear()
        pending(False, sent).send_answer(answer)
        assert sent == [answer], "whoever waits for all of it gets it at once"


def test_the_time_to_the_first_text_counts_from_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [102.5]
    monkeypatch.setattr(pending_request, "time", SimpleNamespace(monotonic=lambda: now[0]))
    request = pending(True, [])
    assert request.first is None
    request.send_answer(answered(">One two"))
    assert request.first == 2.5
    now[0] = 110.0
    request.send_answer(answered(">One two three"))
    assert request.first == 2.5


def test_a_prompt_that_is_repeated_is_sent_once_before_the_answer() -> None:
    text = SimpleNamespace(text="One two", finish="", stops=(), echo=">", scored=[], prompt_scored=["p"])
    sent: list[Update] = []
    parsed: Any = SimpleNamespace(stream=True)
    prepared: Any = SimpleNamespace(text=text, again=None)
    request = PendingRequest("r", parsed, "?", sent.append, prepared)
    request.send_updates([])
    assert sent == [Written(">", ["p"]), Written("One two", [])]  # type: ignore[list-item]
    text.text = "One two three"
    text.scored = [ScoredToken("One", 1, -1.0, []), ScoredToken(" two three", 4, -1.0, [])]
    request.send_updates([])
    assert sent[2:] == [Written(" three", text.scored)], "places in all that is sent, the prompt too"


def test_a_first_text_that_took_no_time_is_the_first_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock need not move between two readings: 0 seconds are not none."""
    now = [100.0]
    monkeypatch.setattr(pending_request, "time", SimpleNamespace(monotonic=lambda: now[0]))
    text = SimpleNamespace(text="One", finish="", stops=(), echo=">", scored=[], prompt_scored=[])
    sent: list[Update] = []
    parsed: Any = SimpleNamespace(stream=True)
    prepared: Any = SimpleNamespace(text=text, again=None)
    request = PendingRequest("r", parsed, "?", sent.append, prepared, began=100.0)
    request.send_updates([])
    now[0], text.text = 107.0, "One two"
    request.send_updates([])
    assert sent == [Written(">", []), Written("One", []), Written(" two", [])]
    assert request.first == 0.0


@pytest.mark.parametrize(
    ("text", "finish", "stops", "ready"),
    [
        ("One", "", (), "One"), ("One\ufffd", "", (), "One"), ("One\ufffd", "stop", (), "One\ufffd"),
        ("One END", "", ("END!",), "One "), ("One EN", "", ("END", "x"), "One "), ("One", "", ("One two",), ""),
        ("One ND", "", ("END",), "One ND"), ("", "", ("END",), ""), ("", "", (), ""),
        ("One E", "length", ("END",), "One E"), ("One aa", "", ("aab",), "One "), ("One b", "", ("x", "bc"), "One "),
    ],
)  # fmt: skip
def test_what_may_still_become_something_else_is_held_back(
    text: str, finish: str, stops: tuple[str, ...], ready: str
) -> None:
    """Half a letter, the beginning of a stop string; at the end nothing."""
    assert settled(SimpleNamespace(text=text, finish=finish, stops=stops)) == ready  # type: ignore[arg-type]
