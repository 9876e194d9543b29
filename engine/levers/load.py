"""Load what finished runs left onto one model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from engine.config.config import Config
from engine.config.file import load_config
from engine.config.models.model import ModelSection
from engine.errors import ConfigError, DataError
from engine.events import LeverFit
from engine.levers.deltas_lever import DeltasLever
from engine.levers.esm_lever import EsmLever
from engine.levers.evaluated_prompt import EvaluatedPrompt
from engine.levers.evidence_lever import EvidenceLever
from engine.levers.lever import DELTAS, DEMONSTRATIONS, ESM, EVIDENCE, NOTES
from engine.levers.levers import Levers
from engine.levers.notes_lever import NotesLever
from engine.lm.loading.load import load_model
from engine.lm.protocol import LanguageModel
from engine.pool import layout as pool_layout
from engine.run.directory import RunDirectory
from engine.run.stage import StageContext
from engine.servers.known_servers import KnownServers
from engine.slsm import layout as slsm_layout
from engine.slsm.from_config import make_controller

Loaded = TypeVar("Loaded")
NO_PICTURES = (
    "its demonstrations are found by an embedding in the pool's table; a text that is asked has none"
)


def load_levers(
    runs: Sequence[Path],
    section: ModelSection | None = None,
    load: Callable[[ModelSection], LanguageModel] = load_model,
    servers: KnownServers | None = None,
) -> Levers:
    """The levers of `runs` on the model of `section`, by default the first run's own. Of several runs with one lever,
    the first that fits. `servers`: what is known of servers that a controller asks. Raises ModelError for the model,
    RunError for what is no run; a lever that does not fit is listed in `fits`."""
    configs = [load_config(RunDirectory(run).config) for run in runs]
    levers = Levers(load(section or configs[0].model), configs[0], [])
    for run, config in zip(runs, configs, strict=True):
        levers = _with_run(levers, run, config, section or configs[0].model, servers or KnownServers())
    return levers


def _with_run(
    levers: Levers, run: Path, config: Config, section: ModelSection, servers: KnownServers
) -> Levers:
    fits = list(levers.fits)

    def take(lever: str, held: Loaded | None, make: Callable[[], Loaded]) -> Loaded | None:
        """`held`, or what this run has of `lever`."""
        if held is not None:
            fits.append(_fit(lever, run, False, "another run's comes first"))
            return held
        try:
            made = make()
        except (DataError, ConfigError) as error:
            hint = f": {error.hint}" if error.hint else ""
            fits.append(_fit(lever, run, False, f"{error.what}{hint}"))
            return None
        fits.append(_fit(lever, run, True, str(getattr(made, "about", ""))))
        return made

    info = levers.model.info
    esm = take(ESM, levers.esm, lambda: EsmLever(run, config, info))
    deltas = take(DELTAS, levers.deltas, lambda: DeltasLever(run, section))
    notes = take(NOTES, levers.notes, lambda: _notes(run, config, servers))
    evidence = take(EVIDENCE, levers.evidence, lambda: EvidenceLever(run, config))
    there = pool_layout.folder(run).is_dir()
    evolved = deltas and not levers.deltas and config.evolution.questions == "task"
    prompt = levers.prompt
    if (esm and not levers.esm) or (evolved and not prompt):
        prompt = EvaluatedPrompt.of(config)
    fits.append(_fit(DEMONSTRATIONS, run, False, NO_PICTURES if there else "no demonstration pool"))
    return replace(levers, fits=fits, esm=esm, deltas=deltas, notes=notes, evidence=evidence, prompt=prompt)


def _notes(run: Path, config: Config, servers: KnownServers) -> NotesLever:
    if not (slsm_layout.folder(run).is_dir() and config.slsm.uses_controller):
        hint = "run the stage `slsm` of this run, in a mode that keeps one"
        raise DataError(what="no conversation memory", where=str(run), hint=hint)
    context = StageContext("slsm", config, run, lambda event: None, lambda: None, load_model, servers=servers)
    return NotesLever(config.slsm, make_controller(context))


def _fit(lever: str, run: Path, fits: bool, why: str) -> LeverFit:
    return LeverFit(lever=lever, run=str(run), fits=fits, why=why)
