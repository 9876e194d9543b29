"""What-ifs: a recorded answer given again under another choice. They are kept apart from a run's own results."""

from __future__ import annotations

import msgspec

from engine.events.base import Event
from engine.events.gflownet import QuestionSampled
from engine.events.serve import LeverActed, LeverFit


class OtherAnswer(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """An answer of a what-if. `given`: what it was answered under, in words; in full, as the method has it: `deltas` by
    cluster, the `note`, or the `rows` of the demonstrations in the prompt's order.

    `right` None: nobody judged it, and `verdict` may say why; `score`: VQA accuracy from 0 to 1; `tokens`: of the
    answer, or for `slsm` of the note."""

    given: str
    text: str
    right: bool | None = None
    verdict: str = ""
    score: float | None = None
    tokens: int = 0
    deltas: dict[str, float] = {}
    note: str = ""
    rows: list[int] = []


class AnswerTried(Event, tag=True, kw_only=True, frozen=True):
    """An answer of `system` (evolution, slsm or pool) given again under another choice; none of the run's own results.

    `case`: which of the example's answers it is. `committed`: answered again without a change; `exact` says whether it
    repeats the record, `difference` why not. `none`: without deltas, note or demonstrations. `yours`: one for each
    choice asked for."""

    system: str
    example: str
    case: dict[str, str | int]
    question: str
    gold: str = ""
    committed: OtherAnswer
    none: OtherAnswer
    yours: list[OtherAnswer]
    exact: bool
    difference: str = ""


class PathsTried(Event, tag=True, kw_only=True, frozen=True):
    """The paths of a held-out question drawn again with other settings; none of the run's own results.

    `committed`: as the run drew them; `exact` says whether they are the recorded ones, `difference` why not. `none`:
    the same with prior α 0. `yours`: with the settings asked for."""

    example: str
    committed: QuestionSampled
    none: QuestionSampled
    yours: QuestionSampled
    exact: bool
    difference: str = ""


class LeveredAnswer(msgspec.Struct, kw_only=True, frozen=True):
    """An answer with these `levers` on; `tokens`: of the answer, `prompt_tokens`: of what the model was given."""

    levers: list[str]
    text: str
    tokens: int
    prompt_tokens: int
    effects: list[LeverActed]


class LeversTried(Event, tag=True, kw_only=True, frozen=True):
    """A question answered without any lever, with each one that fits, and with all of these; none of the run's own
    results."""

    question: str
    model: str
    fits: list[LeverFit]
    answers: list[LeveredAnswer]
