"""What of an answer is sent while it is written. No model runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from engine.events import DecisionTaken
from engine.levers.lever import ESM
from engine.levers.token_logprobs import ScoredToken
from engine.serve.pending_request import PendingRequest, Update, Written


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
