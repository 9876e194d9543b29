"""Texts written together, in flight: one that ends makes room at once, and one may join or leave at any time.

Decoding goes in rounds. In a round every text gets a slice of tokens in one call to the model; those that stand at a
control point, whichever it is, are asked for their states and probed together. A text says what it would say alone:
what is drawn belongs to its seed, and a slice goes on exactly where the last one ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from engine.esm.online.control_point import Answer, Decider, Plan
from engine.esm.online.controller import record, record_tail
from engine.levers.token_logprobs import LogprobRecorder, ScoredToken
from engine.lm.protocol import Branch, Completion, LanguageModel, ScoringModel

SLICE = 16
"""Tokens of a slice: a text that reaches a control point waits at most that long for company."""


@dataclass
class InFlight:
    """A text and how it is decided. `stops`: strings that end it, left out of its text. `recorder`: notes how likely
    its tokens are; `echo`: the prompt's text, if it is to stand before the answer: its tokens are noted, too."""

    name: str
    prompt: Sequence[int]
    decider: Decider
    stops: tuple[str, ...] = ()
    recorder: LogprobRecorder | None = None
    echo: str = ""
    answer: Answer = field(init=False)
    m: int = 1
    finish: str = ""
    """Why it ended: `stop` or `length`; empty while it goes on."""
    fresh: bool = True
    """No round has been made for it yet."""
    row: int = -1
    """Of the open prefixes; it is not among them before it was added."""
    plan: Plan | None = None
    probed: bool = False
    begun: Completion | None = None
    """The slices so far of the segment under way."""

    def __post_init__(self) -> None:
        self.answer = Answer(self.name)

    @property
    def text(self) -> str:
        """As far as it is written."""
        ends = [at for stop in self.stops if (at := self._whole.find(stop)) >= 0]
        return self._whole[: min(ends, default=None)]

    @property
    def stopped(self) -> bool:
        """Whether one of `stops` has been written."""
        return any(stop in self._whole for stop in self.stops)

    @property
    def _whole(self) -> str:
        return self.answer.text + (self.begun.text if self.begun else "")

    @property
    def tokens(self) -> int:
        """Written so far; probes are in `answer.probe_tokens`."""
        return len(self.answer.tokens) + (len(self.begun.tokens) if self.begun else 0)

    @property
    def scored(self) -> list[ScoredToken]:
        """The answer's tokens so far, if they are noted."""
        return self.recorder.answer(self.prompt, self.begun, len(self.echo)) if self.recorder else []

    @property
    def prompt_scored(self) -> list[ScoredToken]:
        """The prompt's tokens, if they are noted."""
        return self.recorder.prompt if self.recorder else []

    @property
    def in_tail(self) -> bool:
        """Past the last control point."""
        return self.m > self.decider.points


class InFlightBatch:
    """The texts under way on one model."""

    def __init__(self, model: LanguageModel, slice_tokens: int = SLICE) -> None:
        self._model = model
        self._slice = slice_tokens
        self._prefixes = model.open([])
        self.texts: list[InFlight] = []

    def __len__(self) -> int:
        """Texts under way."""
        return len(self.texts)

    def add(self, text: InFlight) -> None:
        """Take a text up with the next round."""
        text.row = self._prefixes.add(text.prompt)
        self.texts.append(text)

    def drop(self, texts: Iterable[InFlight]) -> None:
        """Give these up, and their places."""
        for text in texts:
            if text in self.texts:
                self.texts.remove(text)
                self._prefixes.close([text.row])

    def clear(self) -> None:
        """Give all up; also where a call to the model failed in the middle."""
        self.texts, self._prefixes = [], self._model.open([])

    def step(self) -> list[InFlight]:
        """One round; the texts that have ended in it."""
        if not self.texts:
            return []
        self._score([text for text in self.texts if text.fresh])
        self._plan([text for text in self.texts if text.plan is None and not text.in_tail])
        branched = [(text, self._next(text)) for text in self.texts]
        results = iter(self._prefixes.branch([branch for _, branches in branched for branch in branches]))
        for text, branches in branched:
            if text.plan is not None and not text.probed:
                if len(branches) > 1:
                    text.decider.take_probes(text.plan, text.answer, results)
                    text.probed = True
                    text.decider.decide(text.plan, text.m)
                    continue
                text.probed = True
            self._take(text, branches[0], next(results))
        ended = [text for text in self.texts if text.finish]
        self.drop(ended)
        return ended

    def _score(self, texts: Sequence[InFlight]) -> None:
        """Score the prompts of new texts that are to be echoed."""
        for text in texts:
            text.fresh = False
            if text.recorder and text.echo and isinstance(self._model, ScoringModel):
                text.recorder.score(self._model, text.prompt)

    def _plan(self, texts: Sequence[InFlight]) -> None:
        """Ask the memory for all that stand at a control point."""
        states: dict[int, NDArray[np.float32]] = {}
        asking = [text for text in texts if text.decider.closed(text.m) is None]
        for layers in {text.decider.variant.layers for text in asking}:
            rows = [text.row for text in asking if text.decider.variant.layers == layers]
            states.update(zip(rows, self._prefixes.states(rows, layers), strict=True))
        for text in texts:
            text.plan = text.decider.plan(text.row, text.m, states.get(text.row))
            text.probed = False

    def _next(self, text: InFlight) -> list[Branch]:
        """The probes of a control point, or one slice of the segment."""
        plan = text.plan
        if plan is not None and not text.probed:
            probes = text.decider.probes(plan)
            if probes:
                return probes
            text.decider.decide(plan, text.m)
        if plan is None:
            whole = text.decider.tail(text.row, text.answer)
        else:
            whole = text.decider.commit(plan, text.answer, text.m)
        earlier = text.begun if text.begun is not None else whole.continue_from
        most = min(whole.sampling.max_tokens, (len(earlier.tokens) if earlier else 0) + self._slice)
        sampling = replace(whole.sampling, max_tokens=most)
        return [replace(whole, sampling=sampling, continue_from=earlier, keep=True)]

    def _take(self, text: InFlight, branch: Branch, done: Completion) -> None:
        """Note a slice, and the segment if it ended with it."""
        text.begun = done
        left = text.decider.budget - len(text.answer.tokens) - len(done.tokens)
        if done.ended != "length" or left <= 0 or text.stopped:
            self._end_segment(text, branch, done)

    def _end_segment(self, text: InFlight, branch: Branch, done: Completion) -> None:
        text.begun = None
        if text.recorder:
            text.recorder.end_segment(done)
        if text.plan is None:
            record_tail(text.answer, text.decider, text.row, done)
        else:
            record(text.answer, text.decider.variant.name, text.plan, done, text.m, None)
            keeps = branch.steer is None or text.decider.online.carry_steering
            self._prefixes.extend(text.row, done if keeps else replace(done, kept=None))
        text.plan = None
        text.m += 1
        if text.stopped or done.ended == "eos":
            text.finish = "stop"
        elif len(text.answer.tokens) >= text.decider.budget:
            text.finish = "length"
