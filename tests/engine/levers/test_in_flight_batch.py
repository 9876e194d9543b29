"""Texts in flight on a model that writes given letters: rounds, control points, who joins and who leaves."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.config.config import Config
from engine.esm.library.memory import Entry
from engine.esm.online.control_point import Answer, Decider
from engine.esm.online.controller import Controller
from engine.esm.online.decide import Hit, Retrieval
from engine.esm.online.variants import Variant
from engine.levers.evaluated_prompt import PromptUsed
from engine.levers.in_flight_batch import InFlight, InFlightBatch
from engine.levers.lever import LeverDid
from engine.levers.levers import Chosen, Levers, Prepared
from engine.lm.protocol import Branch, Completion, Finished, ignore

CONFIG = Config.model_validate(
    {
        "control_points": {"M": 3, "segment_delimiter": "|"}, "decode": {"max_new_tokens": 30},
        "online": {"L": 2, "probe_tokens": 3, "rho": 1.0, "tau_null": 0.0, "record_null": False},
    }
)  # fmt: skip
LIKELY = {0: -0.9, 1: -0.2}
"""Log-probability of a letter that is steered at a layer; -1 of any other."""


class Letters:
    """A token a letter. A prompt's only token is the number of what it writes; steered, it writes capitals."""

    def __init__(self, *scripts: str) -> None:
        self.scripts = scripts
        self.rows: list[Rows] = []

    def open(self, prompts: Sequence[Sequence[int]]) -> Rows:
        self.rows.append(Rows(self.scripts, prompts))
        return self.rows[-1]


class Rows:
    """Open prefixes: of each its text and how much of it is committed; with every call."""

    def __init__(self, scripts: Sequence[str], prompts: Sequence[Sequence[int]]) -> None:
        self.scripts, self.places = scripts, dict[int, tuple[str, int]]()
        self.calls: list[list[Branch]] = []
        self.asked: list[tuple[list[int], tuple[int, ...]]] = []
        self.with_values: list[bool] = []
        """Of each continuation that a prefix took over: whether its key/values came along."""
        self.added = 0
        for prompt in prompts:
            self.add(prompt)

    def add(self, prompt: Sequence[int]) -> int:
        self.places[self.added] = self.scripts[prompt[0]], 0
        self.added += 1
        return self.added - 1

    def states(self, rows: Sequence[int], layers: Sequence[int]) -> NDArray[np.float32]:
        self.asked.append((list(rows), tuple(layers)))
        return np.zeros((len(rows), len(layers), 2), dtype=np.float32)

    def branch(
        self, branches: Sequence[Branch], finished: Finished = ignore, unfinished: object = None
    ) -> list[Completion]:
        self.calls.append(list(branches))
        done = [self._written(branch) for branch in branches]
        for place, completion in enumerate(done):
            finished(place, completion)
        return done

    def _written(self, branch: Branch) -> Completion:
        script, at = self.places[branch.row]
        before = branch.continue_from
        steer = branch.steer if before is None else before.kept[0]  # type: ignore[index]
        text, ended = "", ""
        for letter in script[at:]:
            if len(text) == branch.sampling.max_tokens:
                ended = "length"
                break
            text += letter
            if letter == branch.sampling.stop:
                ended = "stop"
                break
        tokens = [ord(letter) for letter in text]
        if not ended:
            ended = "length" if len(text) == branch.sampling.max_tokens else "eos"
            tokens += [0] * (ended == "eos")
        shown = text if steer is None else text.upper()
        assert before is None or shown.startswith(before.text) or before.text.startswith(shown)
        likely = -1.0 if steer is None else LIKELY[steer.layer]  # type: ignore[attr-defined]
        return Completion(tokens, [likely] * len(tokens), shown, ended, kept=[steer])

    def extend(self, row: int, committed: Completion) -> None:
        script, at = self.places[row]
        self.places[row] = script, at + len(committed.text)
        self.with_values.append(committed.kept is not None)

    def close(self, rows: Sequence[int]) -> None:
        for row in rows:
            self.places.pop(row)


def hit(name: str, layer: int, similarity: float, wrong: bool = True) -> Hit:
    vector = np.ones(2, dtype=np.float32) if wrong else None
    return Hit(Entry(name, layer, 1, 1.0, vector, "x"), similarity, similarity)


WRONG = [hit("w0", 0, 0.5), hit("w1", 1, 0.4)]
STEERING = Variant(
    "esm",
    lambda m, states: Retrieval(None, 2, WRONG if m == 2 else [*WRONG, hit("r", 0, 9.0, False)]),
    (0, 1),
)
"""Steers at the second control point; at the third the right entry wins."""


def esm(**changes: Any) -> Decider:
    return Decider.of(CONFIG.model_copy(update=changes), STEERING)


def plain(budget: int = 10) -> Decider:
    return Decider(Variant("plain", None), CONFIG.online, 0, "|", budget, 0.0, 7)


def batch(model: Letters, slice_tokens: int = 16) -> InFlightBatch:
    return InFlightBatch(model, slice_tokens)  # type: ignore[arg-type]


def written(batch: InFlightBatch, *texts: InFlight) -> list[InFlight]:
    for text in texts:
        batch.add(text)
    ended = [text for _ in range(50) for text in batch.step()]
    assert not len(batch), "fifty rounds are more than any of them needs"
    return ended


@pytest.mark.parametrize(
    ("script", "budget", "rounds", "text", "tokens", "finish"),
    [
        ("abcdefghijkl", 10, 3, "abcdefghij", 10, "length"),
        ("abcdefghijkl", 8, 2, "abcdefgh", 8, "length"),
        ("abcdefgh", 20, 3, "abcdefgh", 9, "stop"),
        ("abcde", 6, 2, "abcde", 6, "stop"),
        ("a|b|c", 20, 2, "a|b|c", 6, "stop"),
    ],
)
def test_a_text_without_control_points_is_written_slice_by_slice(
    script: str, budget: int, rounds: int, text: str, tokens: int, finish: str
) -> None:
    """Of four tokens each; the end of text is a token."""
    model = Letters(script)
    own = batch(model, 4)
    one = InFlight("q", [0], plain(budget))
    own.add(one)
    seen = []
    for _ in range(rounds):
        assert own.step() == ([] if one in own.texts else [one])
        seen.append(one.tokens)
    assert seen == [*range(4, 4 * rounds, 4), tokens]
    assert (one.text, len(one.answer.tokens), one.finish, one.answer.ended) == (text, tokens, finish, True)
    (decision,) = one.answer.decisions
    assert (decision.phase, decision.m, decision.committed_tokens) == ("tail", 1, tokens)
    assert [len(call) for call in model.rows[0].calls] == [1] * rounds
    assert not model.rows[0].places, "its place is given up"


@pytest.mark.parametrize(
    ("stops", "text", "tokens"),
    [(("ef",), "abcd", 8), (("x", "c", "bc"), "a", 4), (("a",), "", 4), (("i",), "abcdefgh", 12)],
)  # fmt: skip
def test_a_stop_ends_a_text_with_the_slice_that_has_it(
    stops: tuple[str, ...], text: str, tokens: int
) -> None:
    one = InFlight("q", [0], plain(30), stops)
    (ended,) = written(batch(Letters("abcdefghijklmno"), 4), one)
    assert (ended.text, ended.finish, len(ended.answer.tokens)) == (text, "stop", tokens) and ended.stopped


SCRIPTS = (
    "ab|cd|ef|gh", "a|bcdefghijklmnopqrstuvwxyz", "no delimiter in it", "|||", "abcdefg|h|ijklmnopqrstuvwxyzabcdefghij",
)  # fmt: skip


@pytest.mark.parametrize("slice_tokens", [1, 2, 5, 16])
@pytest.mark.parametrize("carry", [False, True])
def test_texts_in_flight_are_those_of_the_controller(slice_tokens: int, carry: bool) -> None:
    """Text, tokens and every figure of every decision; each joins when the others have begun."""
    online = CONFIG.online.model_copy(update={"carry_steering": carry})
    config = CONFIG.model_copy(update={"online": online})
    model: Any = Letters(*SCRIPTS)
    names = [f"q{number}" for number in range(len(SCRIPTS))]
    alone: list[Answer] = Controller(model, config, STEERING).run(names, [[n] for n in range(len(SCRIPTS))])
    assert {d.gate for answer in alone for d in answer.decisions} >= {
        "first_segment",
        "chosen",
        "null_best",
        "tail",
    }
    own, left = batch(model, slice_tokens), list(enumerate(names))
    ended: dict[str, InFlight] = {}
    for _ in range(100):
        if left:
            number, name = left.pop()
            own.add(InFlight(name, [number], Decider.of(config, STEERING)))
        ended |= {text.name: text for text in own.step()}
    for answer in alone:
        assert ended[answer.example].answer == answer
        assert ended[answer.example].finish == ("stop" if answer.decisions[-1].ended == "eos" else "length")


def test_texts_at_control_points_are_asked_for_and_probed_together() -> None:
    """A round is one call: for states at most once, then for the probes and slices of all."""
    model = Letters("a|bc", "d|ef")
    own = batch(model)
    one, two = (InFlight(name, [number], esm()) for number, name in enumerate("pq"))
    other = InFlight("r", [0], plain())
    for text in (one, two, other):
        own.add(text)
    own.step()
    assert (one.m, two.m, one.answer.text, len(own)) == (2, 2, "a|", 2)
    (rows,) = model.rows
    assert rows.asked == [] and [len(call) for call in rows.calls] == [3]
    own.step()
    assert rows.asked == [([0, 1], (0, 1))] and [branch.row for branch in rows.calls[1]] == [0, 0, 0, 1, 1, 1]
    assert (one.answer.probe_tokens, one.text, one.tokens) == (9, "a|", 2), "null's probe and two candidates'"
    ended = own.step()
    assert [(text.text, text.finish) for text in ended] == [("a|BC", "stop"), ("d|EF", "stop")]
    assert [branch.steer and branch.steer.layer for branch in rows.calls[2]] == [1, 1]
    assert own.step() == [] and len(rows.calls) == 3, "nothing is under way"
    assert rows.with_values == [True, True, False, False], "a steered segment is read again, unsteered"


@pytest.mark.parametrize(
    ("script", "budget", "rounds", "text", "finish"),
    [
        ("ab|cdefghij", 9, 3, "ab|cdefgh", "length"), ("ab|cd", 3, 1, "ab|", "length"),
        ("ab|cd", 4, 2, "ab|c", "length"), ("ab|cd", 20, 2, "ab|cd", "stop"),
    ],
)  # fmt: skip
def test_a_text_ends_with_its_budget_in_whatever_segment(
    script: str, budget: int, rounds: int, text: str, finish: str
) -> None:
    own = batch(Letters(script), 4)
    one = InFlight("q", [0], Decider(Variant("plain", None), CONFIG.online, 3, "|", budget, 0.0, 7))
    own.add(one)
    ended = [own.step() for _ in range(rounds)]
    assert ended == [*[[]] * (rounds - 1), [one]] and (one.text, one.finish) == (text, finish)


def test_each_memory_is_asked_with_the_states_of_its_own_layers() -> None:
    shapes: list[tuple[int, ...]] = []

    def retrieve(m: int, states: NDArray[np.float32]) -> Retrieval:
        shapes.append(states.shape)
        return Retrieval(None, 0, [])

    model = Letters("a|b", "c|d")
    texts = [
        InFlight(f"{number}", [number], Decider.of(CONFIG, Variant("esm", retrieve, layers)))
        for number, layers in enumerate([(0, 1), (1,)])
    ]
    assert len(written(batch(model), *texts)) == 2
    assert sorted(model.rows[0].asked) == [([0], (0, 1)), ([1], (1,))] and shapes == [(2, 2), (1, 2)]


def test_whoever_is_dropped_gives_up_its_place() -> None:
    model = Letters("abcdefgh", "stuvwxyz")
    own = batch(model, 2)
    one, two, never = InFlight("p", [0], plain()), InFlight("q", [1], plain()), InFlight("r", [1], plain())
    own.add(one)
    own.add(two)
    assert (one.row, two.row, never.row) == (0, 1, -1)
    own.step()
    own.drop([one, never])
    assert own.texts == [two] and list(model.rows[0].places) == [1]
    own.drop([one])
    assert written(own) == [two] and (one.text, two.text) == ("ab", "stuvwxyz")
    again = InFlight("s", [0], plain())
    own.add(again)
    own.clear()
    assert len(own) == 0 and len(model.rows) == 2 and not model.rows[1].places


@pytest.mark.parametrize("scores", [True, False])
def test_only_a_prompt_that_is_repeated_and_noted_is_scored(scores: bool) -> None:
    """Once, in its first round, by a model that can."""
    model: Any = Letters("abcdefgh")
    if scores:
        model.score = lambda tokens, top, processor=None: []
    asked: list[tuple[str, list[int]]] = []
    noted: list[tuple[str, str]] = []

    def recorder(name: str) -> Any:
        return SimpleNamespace(
            score=lambda scored, prompt: asked.append((name, prompt)),
            end_segment=lambda done: noted.append((name, done.text)),
        )

    texts = [
        InFlight("both", [0], plain(), recorder=recorder("both"), echo="#"), InFlight("echo", [0], plain(), echo="#"),
        InFlight("noted", [0], plain(), recorder=recorder("noted")), InFlight("neither", [0], plain()),
    ]  # fmt: skip
    assert all(text.fresh for text in texts)
    assert len(written(batch(model, 4), *texts)) == 4
    assert asked == [("both", [0])] * scores and not any(text.fresh for text in texts)
    assert noted == [("both", "abcdefgh"), ("noted", "abcdefgh")], "whole, once it has ended"


def test_an_answer_may_be_looked_at_and_written_anew() -> None:
    """Answers in the order of the questions, though the last one ends first; a second one stands for its first."""
    model: Any = Letters("abcdefghijklmnopqrstuvwxyz", "no#more", "second", "seen")
    levers = Levers(model, CONFIG, [])
    model.tokenizer = SimpleNamespace(decode=lambda tokens: "".join(map(chr, tokens)))
    looked: list[str] = []
    seen, noted = (LeverDid(lever="notes", acted=acted, what=str(acted)) for acted in (False, True))

    def prepared(name: str, number: int, again: Any = None, did: Sequence[LeverDid] = ()) -> Prepared:
        used = PromptUsed(False, why=name)
        return Prepared(InFlight(name, [number], plain(30), ("#",)), Chosen([]), [*did], used, again)

    def once_more(answer: str) -> Prepared:
        looked.append(answer)
        return prepared("p2", 2, did=[noted])

    def nothing_found(answer: str) -> LeverDid:
        looked.append(answer)
        return seen

    long, twice, watched = levers.answer(
        [prepared("p0", 0), prepared("p1", 1, once_more), prepared("p3", 3, nothing_found)]
    )
    assert looked == ["no", "seen"]
    shown = [
        (one.text, one.finish, one.prompt.why, one.did, one.prompt_tokens) for one in (long, twice, watched)
    ]
    assert shown == [
        ("abcdefghijklmnopqrstuvwxyz", "stop", "p0", [], 1), ("second", "stop", "p2", [noted], 1),
        ("seen", "stop", "p3", [seen], 1),
    ]  # fmt: skip
    assert [len(one.tokens) for one in (long, twice, watched)] == [27, 7, 5]
    assert levers.answer([]) == []
