"""What a stage is, and what it is given: configuration, run directory, events, checkpoints, seeds, a model."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from engine.config.config import Config
from engine.config.models.model import ModelSection
from engine.config.models.openai import OFFLINE, OpenAISection
from engine.errors import ConfigError
from engine.events import Event, Notice, StageProgress, StageStarted, Verdict
from engine.lm.protocol import LanguageModel, ModelInfo
from engine.scale.model_identity import ModelIdentity
from engine.scale.work import ItemT, ReadyWork, ResultT, Spread, Work, WorkContext, in_process
from engine.seeds import derive_seed
from engine.servers.known_servers import KnownServers

if TYPE_CHECKING:
    from engine.servers.client import OpenAIClient


Role = Literal["reflector", "judge", "controller", "model", "vision"]
"""What a stage uses a model behind a server for; requests are counted by role."""


@dataclass(frozen=True)
class StageResult:
    """`summary`: figures by name; `files`: what was written, relative to the run directory; `verdict`: what its method
    reached, of a stage that evaluates one."""

    summary: dict[str, float | int | str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    verdict: Verdict | None = None


class Stage(Protocol):
    """A step of a run: (config, run directory) -> files and events. What it has finished it never does again."""

    def run(self, context: StageContext) -> StageResult:
        """Do, or go on with, the stage's work."""
        ...


@dataclass
class StageContext:
    """A stage's only way to the outside.

    `run_dir`: where the run lives; a system writes below `run_dir / <system>`. `emit` logs an event;
    `checkpoint` is called between items: it blocks while paused and raises `StopRequested` on stop.
    `boundary` stands where a larger unit of work ends (an iteration): there it also stops for "stop after this".
    `load_model` loads a language model once for all stages of a worker, `unload_models` ends those that are loaded,
    in replicas too.
    `spread` says where work is done.
    `servers` is what the roles know of the servers they ask. `clock` gives seconds, of which none pass in a pause.
    `done`: items reported done.
    """

    stage: str
    config: Config
    run_dir: Path
    emit: Callable[[Event], None]
    checkpoint: Callable[[], None]
    load_model: Callable[[ModelSection], LanguageModel]
    boundary: Callable[[], None] = lambda: None
    spread: Spread = in_process
    servers: KnownServers = field(default_factory=KnownServers)
    clock: Callable[[], float] = time.monotonic
    unload_models: Callable[[], None] = lambda: None
    done: int = 0
    _started: float = 0.0
    _tokens: int = 0

    def model(self) -> LanguageModel:
        """The run's own model."""
        return self.load_model(self.config.model)

    def model_info(self) -> ModelInfo:
        """Of the run's own model, from where it is loaded anyway."""
        return next(self.prepare(ModelIdentity(self.config.model))([None]))

    def prepare(self, work: Work[ItemT, ResultT]) -> ReadyWork[ItemT, ResultT]:
        """Open `work` where the configuration wants it done."""
        return self.spread(work, WorkContext(self.load_model, self.checkpoint, self.emit, self.clock))

    def client(
        self, section: OpenAISection, role: Role, where: str, requests_per_minute: float = 0
    ) -> OpenAIClient:
        """A client whose requests are counted for `role`; a pause holds its waiting, a stop ends it. `where` is the
        section's path in the configuration. Raises ConfigError, with all ways out, where the section's key is not
        set."""
        from engine.servers.client import OpenAIClient

        self.servers.usage.open()
        try:
            return OpenAIClient(
                section, where, checkpoint=self.checkpoint, notice=self.notice, requests_per_minute=requests_per_minute,
                stage=self.stage, role=role, servers=self.servers, emit=self.emit,
            )  # fmt: skip
        except ConfigError as error:
            ways = [f"`{where}.base_url` of a server of your own"] if section.base_url is None else []
            ways += [f"`{OFFLINE[where]}`"] if where in OFFLINE else []
            raise ConfigError(
                [replace(one, allowed=", or ".join((one.allowed, *ways))) for one in error.problems]
            ) from error

    def start(self, total: int, done: int = 0, unit: str = "items") -> None:
        """Announce the stage's size and how much of it an earlier attempt left."""
        self._started, self._tokens, self.done = self.clock(), 0, done
        self.emit(StageStarted(total=total, done=done, unit=unit))

    def progress(self, done: int, total: int, tokens: int = 0, note: str = "") -> None:
        """Report `done` of `total`; `tokens` generated since the last report are summed up."""
        self._tokens += tokens
        self.done = done
        elapsed = self.clock() - self._started
        self.emit(
            StageProgress(done=done, total=total, tokens=self._tokens, elapsed=round(elapsed, 3), note=note)
        )

    def notice(self, text: str, level: str = "info") -> None:
        """Tell the user something."""
        self.emit(Notice(text=text, level=level))

    def seed(self, item: str, draw: int = 0) -> int:
        """Seed of one random draw of this stage."""
        return derive_seed(self.config.run.seed, self.stage, item, draw)
