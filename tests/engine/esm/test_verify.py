"""When a pair counts as verified, with answers that end in an order of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from engine.config.file import load_config
from engine.esm.mining.contrast import Contrast, Rollout
from engine.esm.mining.verify import Mined, Verified, Verifier
from engine.lm.protocol import Completion, LanguageModel, Request
from engine.tasks.example import TaskExample
from engine.tasks.task import Task
from tests.kill_and_resume import DEMO

EXAMPLE = TaskExample("a", "?", "7")


@dataclass
class Scripted:
    """A model whose answers end in `order`; each says the next of `texts`. Tokens are characters."""

    order: Sequence[int]
    texts: Sequence[str]
    asked: list[Request] = field(default_factory=list)

    @property
    def tokenizer(self) -> Any:
        return self

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(map(chr, tokens))

    def generate(
        self, requests: Sequence[Request], *, finished: Callable[[int, Completion], None]
    ) -> list[Completion]:
        self.asked = list(requests)
        done = [Completion(tokens=[1, 2], text=text, logprobs=[], ended="eos") for text in self.texts]
        assert len(done) == len(requests) == len(self.order)
        for place in self.order:
            finished(place, done[place])
        return done


class Last:
    """The answer is the last character."""

    def extract(self, text: str) -> str:
        return text[-1]

    def is_correct(self, pred: str, answer: str) -> bool:
        return pred == answer


def rollout(text: str) -> Rollout:
    return Rollout(text, [ord(c) for c in text], True, 0.0, "", np.zeros((1, 1, 2), np.float32), [len(text)])


def pair(layer: int, right: str, wrong: str) -> Mined:
    contrast = Contrast(np.ones(2, np.float32), np.zeros(2, np.float32), 0.5)
    return Mined(EXAMPLE, [63], 1, layer, contrast, [rollout(right)], [rollout(wrong)])


def test_a_pair_is_reported_with_the_last_of_its_three_answers() -> None:
    """Two pairs at two layers of one wrong text. Answers: 0 the wrong text's, 1 and 2 the right texts', 3 and 4
    with the vectors. They end as 2, 4, 0 (now the second pair is known), 3, 1 (now the first)."""
    model = Scripted((2, 4, 0, 3, 1), ["3", "7", "5", "7", "1"])
    config = load_config(DEMO, ["offline_mine.max_new_tokens=10", "online.k_scale=2", "online.beta=3"])
    verifier = Verifier(config, cast(LanguageModel, model), cast(Task, Last()))
    first, second = pair(1, "x", "ww"), pair(2, "yyy", "ww")
    reported: list[tuple[str, Verified]] = []
    results = verifier.verify([first, second], lambda mined, result: reported.append((mined.name, result)))
    assert results == [Verified(True, False, True), Verified(False, False, False)]
    assert reported == [("a_m1_l2", results[1]), ("a_m1_l1", results[0])]
    assert verifier.tokens == 10
    assert ["".join(map(chr, request.prompt)) for request in model.asked] == [
        "?ww",
        "?x",
        "?yyy",
        "?ww",
        "?ww",
    ]
    assert [request.sampling.max_tokens for request in model.asked] == [8, 9, 7, 8, 8]
    steers = [request.steer for request in model.asked]
    assert steers[:3] == [None] * 3
    assert [(s.layer, s.scale) for s in steers[3:] if s] == [(1, 3.0), (2, 3.0)]


def test_an_answer_may_stand_in_what_was_written_before() -> None:
    """The model adds nothing."""
    model = Scripted(range(3), ["", "", ""])
    verifier = Verifier(load_config(DEMO, []), cast(LanguageModel, model), cast(Task, Last()))
    assert verifier.verify([pair(1, "x7", "w3")], lambda mined, result: None) == [
        Verified(False, False, True)
    ]


def test_no_pair_asks_for_no_answer() -> None:
    model = Scripted((), [])
    verifier = Verifier(load_config(DEMO, []), cast(LanguageModel, model), cast(Task, Last()))
    assert verifier.verify([], lambda mined, result: None) == []
    assert model.asked == [] and verifier.tokens == 0


def test_answers_to_two_problems_whose_texts_begin_alike_are_two_answers() -> None:
    """Wrong of both are `ww`, right `x`; the problems ask `?` and `!`, whose answer is 8. Tried first are the wrong
    texts, then the right ones, and last what the vectors make of the wrong ones."""
    model = Scripted(range(6), ["3", "4", "7", "8", "7", "8"])
    other = replace(pair(1, "x", "ww"), example=TaskExample("b", "!", "8"), prompt=[33])
    verifier = Verifier(load_config(DEMO, []), cast(LanguageModel, model), cast(Task, Last()))
    results = verifier.verify([pair(1, "x", "ww"), other], lambda mined, result: None)
    asked = ["".join(map(chr, request.prompt)) for request in model.asked]
    assert asked == ["?ww", "!ww", "?x", "!x", "?ww", "!ww"]
    assert results == [Verified(True, False, True)] * 2


def test_a_pair_is_tried_from_its_first_texts_of_either_side() -> None:
    """The sets have the extreme reward first."""
    model = Scripted(range(3), ["3", "7", "7"])
    one = pair(1, "r", "w")
    several = replace(one, positives=[*one.positives, rollout("s")], negatives=[*one.negatives, rollout("v")])
    verifier = Verifier(load_config(DEMO, []), cast(LanguageModel, model), cast(Task, Last()))
    verifier.verify([several], lambda mined, result: None)
    assert ["".join(map(chr, request.prompt)) for request in model.asked] == ["?w", "?r", "?w"]


def test_a_solution_that_is_longer_than_an_answer_may_be_is_written_no_further() -> None:
    """A mined text never is, the data set's own may be: 0 tokens are left, not fewer."""
    model = Scripted(range(3), ["3", "7", "7"])
    config = load_config(DEMO, ["offline_mine.max_new_tokens=2"])
    verifier = Verifier(config, cast(LanguageModel, model), cast(Task, Last()))
    verifier.verify([pair(1, "solution", "w")], lambda mined, result: None)
    assert [request.sampling.max_tokens for request in model.asked] == [1, 0, 1]
