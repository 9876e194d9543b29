"""What if: the paths of a held-out question drawn again at another temperature, with another prior or draw.

Random draws belong to a question and a draw number, so with `draw` 0 whatever is different in the new paths comes from
the settings. The run's own paths are drawn again beside them, and the event says whether they are the recorded ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import msgspec
from pydantic import Field

from engine.config.gflownet import GFlowNetSection
from engine.config.section import NonNegativeInt, PositiveInt, Section
from engine.errors import DataError
from engine.events import PathsTried, QuestionSampled, SampledPath
from engine.files import read_jsonl, read_records
from engine.gflownet import layout
from engine.gflownet.agent_graphs.dataset import GAgentPyGDataset
from engine.gflownet.evaluation.question_paths import Drawing, QuestionSampler
from engine.gflownet.evaluation.questions import QuestionBatches
from engine.gflownet.graphs.tables import EmbeddingTables, Texts
from engine.gflownet.sampler.module import prior_alpha
from engine.gflownet.training.trained_sampler import trained_sampler
from engine.run.stage import StageContext


class WhatIfRequest(Section):
    """How to draw. What is none is the run's own; `draw` 0 draws as the run did, other numbers draw anew."""

    sample_id: str
    temperature: Annotated[float, Field(gt=0, le=100)] | None = None
    prior_alpha: Annotated[float, Field(ge=0, le=100)] | None = None
    samples: Annotated[PositiveInt, Field(le=1000)] | None = None
    distinct: bool | None = None
    draw: NonNegativeInt = 0


class _Recorded(msgspec.Struct, frozen=True):
    """What is compared of a line of `paths.jsonl`."""

    sample_id: str
    paths: list[SampledPath]


class WhatIf:
    """A trained sampler, ready to draw. Raises DataError where there is nothing trained."""

    form: ClassVar[type[Section]] = WhatIfRequest
    stage: ClassVar[str] = "gflownet"

    def __init__(self, context: StageContext) -> None:
        config, run_dir = context.config, context.run_dir
        module, step = trained_sampler(run_dir, config)
        tables = EmbeddingTables.load(run_dir)
        self._run_dir = run_dir
        self._drawing = _recorded_drawing(context, config.gflownet)
        self._alpha = prior_alpha(config.gflownet, step)
        data = GAgentPyGDataset(layout.agent_graphs(run_dir, "test"))
        self._numbers = {data[number].sample_id: number for number in range(len(data))}
        questions = QuestionBatches(data, tables, module)
        self._sampler = QuestionSampler(
            module, questions, Texts.load(run_dir), config.run.seed, config.answer.token_budget
        )

    def tried(self, request: WhatIfRequest) -> PathsTried:
        """The paths: as the run drew them, with prior α 0, and as requested. Raises DataError for a
        question that the run does not have."""
        number = self._numbers.get(request.sample_id)
        if number is None:
            raise DataError(
                what=f"the held-out questions have no {request.sample_id}",
                where=str(layout.agent_graphs(self._run_dir, "test")),
                hint="choose one of the questions among the cases",
            )
        sample, recorded = self._sampler.sample, self._drawing
        committed = sample(number, self._alpha, recorded)
        alpha = self._alpha if request.prior_alpha is None else request.prior_alpha
        distinct = recorded.distinct if request.distinct is None else request.distinct
        temperature = recorded.temperature if distinct == recorded.distinct else None
        drawing = Drawing(distinct, temperature if request.temperature is None else request.temperature)
        difference = self._difference(committed)
        return PathsTried(
            example=request.sample_id,
            committed=committed,
            none=sample(number, 0.0, recorded),
            yours=sample(number, alpha, drawing, request.samples, request.draw),
            exact=not difference,
            difference=difference,
        )

    def _difference(self, again: QuestionSampled) -> str:
        """Why these are not the recorded paths; empty where they are."""
        path = layout.sampled_paths(self._run_dir)
        records = read_records(path, _Recorded) if path.is_file() else []
        record = next((line for line in records if line.sample_id == again.sample_id), None)
        if record is None:
            return "the run has drawn no paths for this question yet"
        then, now = _drawn(record.paths), _drawn(again.paths)
        if then == now:
            return ""
        common = sum(path in now for path in then)
        return f"{common} of the {len(then)} recorded paths came up again as often"


def _drawn(paths: Sequence[SampledPath]) -> list[tuple[int, list[tuple[str, str, str]]]]:
    """What was drawn and how often, without figures, which differ by rounding from machine to machine."""
    return [(path.count, [(s.head, s.relation, s.tail) for s in path.steps]) for path in paths]


def _recorded_drawing(context: StageContext, section: GFlowNetSection) -> Drawing:
    """As the run drew its paths; before it did, as its configuration says."""
    path = layout.sampled_paths(context.run_dir)
    lines = read_jsonl(path)[:1] if path.is_file() else []
    if lines:
        return Drawing(bool(lines[0].get("distinct", False)), lines[0]["temperature"])
    return Drawing(section.distinct_paths)
