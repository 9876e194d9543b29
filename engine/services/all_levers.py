"""A question put to a model with each lever on or off, for the console."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from msgspec import convert
from pydantic import Field

from engine.config.config import Config
from engine.config.models.model import ModelSection
from engine.config.section import Section
from engine.errors import DataError
from engine.events import LeverActed, LeveredAnswer, LeversTried
from engine.levers.levers import Chosen, Levers, SteeredAnswer
from engine.levers.load import load_levers
from engine.run.stage import StageContext
from engine.services.run_context import shared_model

ModelName = Literal["run", "evolution", "slsm"]


class LeversRequest(Section):
    """The question. `model`: the run's own, or the one of a method; `runs`: further runs whose levers are tried, by
    name and id, as folders beside this run's."""

    question: Annotated[str, Field(min_length=1, max_length=20_000)]
    model: ModelName = "run"
    runs: Annotated[list[str], Field(max_length=8)] = []


class AllLevers:
    """What a run and further ones left, on the models of that run."""

    form: ClassVar[type[Section]] = LeversRequest
    stage: ClassVar[str] = "levers"

    def __init__(self, context: StageContext) -> None:
        self._run_dir, self._config = context.run_dir, context.config
        self._loaded: dict[tuple[str, tuple[str, ...]], Levers] = {}

    def tried(self, request: LeversRequest) -> LeversTried:
        """The answers: plain, with each lever that fits, and with all of them if there are several. Raises SteerError
        for a path that is not a run, and for a question that the model cannot take."""
        levers = self._levers(request)
        names = levers.names
        choices = [[], *([name] for name in names), *([names] if len(names) > 1 else [])]
        messages = [{"role": "user", "content": request.question}]
        prepared = [levers.prepare("question", messages, Chosen(choice)) for choice in choices]
        answered = zip(choices, levers.answer(prepared), strict=True)
        return LeversTried(
            question=request.question,
            model=levers.model_name,
            fits=levers.fits,
            answers=[_levered_answer(choice, answer) for choice, answer in answered],
        )

    def _levers(self, request: LeversRequest) -> Levers:
        key = request.model, tuple(request.runs)
        if key not in self._loaded:
            runs = [self._run_dir, *map(self._other, request.runs)]
            self._loaded[key] = load_levers(runs, _section(self._config, request.model), shared_model)
        return self._loaded[key]

    def _other(self, name: str) -> Path:
        """The folder of another run, below the same folder of outputs."""
        outputs = self._run_dir.parent.parent
        folder = (outputs / name).resolve()
        if not (folder.is_relative_to(outputs.resolve()) and (folder / "config.yaml").is_file()):
            raise DataError(
                what=f"{name} is not a run",
                where=str(outputs),
                hint="give a run's name and id, such as demo/20261122-165601-abb9",
            )
        return folder


def _section(config: Config, name: ModelName) -> ModelSection:
    return {"run": config.model, "evolution": config.evolution_model, "slsm": config.slsm_model}[name]


def _levered_answer(choice: list[str], answer: SteeredAnswer) -> LeveredAnswer:
    return LeveredAnswer(
        levers=choice,
        text=answer.text,
        tokens=len(answer.tokens),
        prompt_tokens=answer.prompt_tokens,
        effects=convert(answer.did, list[LeverActed], from_attributes=True),
    )
