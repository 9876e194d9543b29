"""Sample questions of a trained run again, with another temperature, prior or draw.

`python -m engine sample-again RUN` reads requests from standard input, one JSON object a line
(`{"sample_id": "...", "temperature": 1.0, "prior_alpha": 0.5, "samples": 20, "distinct": true, "draw": 1}`), and
answers each by one line: a `QuestionSampled` event, which it also appends to `RUN/gflownet/sampled_again.jsonl`, or
`{"error": "..."}`.
The run's own log is not touched: its figures stay those of its own samples.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Annotated

from pydantic import Field, ValidationError

from engine.config.file import load_config
from engine.config.gflownet import GFlowNetSection
from engine.config.section import NonNegativeInt, PositiveInt, Section
from engine.errors import DataError, disk_errors
from engine.events import encode
from engine.files import read_jsonl
from engine.gflownet import layout
from engine.gflownet.agent_graphs.dataset import GAgentPyGDataset
from engine.gflownet.evaluation.question_paths import Drawing, QuestionSampler
from engine.gflownet.evaluation.questions import QuestionBatches
from engine.gflownet.graphs.tables import EmbeddingTables, Texts
from engine.gflownet.sampler.module import GFlowNetModule, prior_alpha
from engine.run.directory import RunDirectory
from engine.services.line_service import error_line, serve_lines
from engine.torch_file import load_torch


class Wanted(Section):
    """A request. What is none is the run's own."""

    sample_id: str
    temperature: Annotated[float, Field(gt=0, le=100)] | None = None
    prior_alpha: Annotated[float, Field(ge=0, le=100)] | None = None
    samples: Annotated[PositiveInt, Field(le=1000)] | None = None
    distinct: bool | None = None
    draw: NonNegativeInt = 1


class Again:
    """A trained run, ready to be asked. Raises DataError where there is nothing trained."""

    def __init__(self, run_dir: Path) -> None:
        config = load_config(RunDirectory(run_dir).config)
        path = layout.checkpoint(run_dir)
        state = load_torch(path, mend="run the stage gflownet first")
        tables = EmbeddingTables.load(run_dir)
        module = GFlowNetModule(tables.width, config.gflownet)
        try:
            module.load_state_dict(state["module"])
        except (KeyError, RuntimeError) as error:
            raise DataError(
                what="the checkpoint has another shape than the run's configuration says",
                where=str(path),
                mend="sample with the configuration it was trained with; if that is the run's own, an older program "
                "trained it: start a new run",
            ) from error
        self._drawing = _own_drawing(run_dir, config.gflownet)
        self._alpha = prior_alpha(config.gflownet, int(state["step"]))
        data = GAgentPyGDataset(layout.agent_graphs(run_dir, "test"))
        self._numbers = {data[number].sample_id: number for number in range(len(data))}
        self._sampler = QuestionSampler(
            module,
            QuestionBatches(data, tables, module),
            Texts.load(run_dir),
            config.run.seed,
            config.answer.token_budget,
        )
        self._file = layout.folder(run_dir) / "sampled_again.jsonl"

    def answer(self, line: str) -> bytes:
        """One reply to one line. Never raises for what the line holds."""
        try:
            wanted = Wanted.model_validate_json(line)
        except ValidationError as error:
            return error_line(f"this is no request: {error.errors()[0]['msg']}")
        number = self._numbers.get(wanted.sample_id)
        if number is None:
            return error_line(f"the held-out questions have no {wanted.sample_id}")
        alpha = self._alpha if wanted.prior_alpha is None else wanted.prior_alpha
        distinct = self._drawing.distinct if wanted.distinct is None else wanted.distinct
        own = self._drawing.temperature if distinct == self._drawing.distinct else None
        drawing = Drawing(distinct, own if wanted.temperature is None else wanted.temperature)
        event = self._sampler.sample(number, alpha, drawing, wanted.samples, wanted.draw)
        encoded = encode(event)
        with disk_errors(self._file), self._file.open("ab") as file:
            file.write(encoded)
        return encoded


def _own_drawing(run_dir: Path, section: GFlowNetSection) -> Drawing:
    """As the run drew its paths; before it did, as its configuration says."""
    path = layout.sampled_paths(run_dir)
    lines = read_jsonl(path)[:1] if path.is_file() else []
    if lines:
        return Drawing(bool(lines[0].get("distinct", False)), lines[0]["temperature"])
    return Drawing(section.distinct_paths)


def serve(run_dir: Path, requests: IO[str], replies: IO[bytes]) -> None:
    """Answer until the requests end."""
    serve_lines(lambda: Again(run_dir).answer, requests, replies)
