"""Sweeps from outside: what is typed as one, the process that works on one, and how it is asked to stop."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.runs.client import as_changes, start_detached
from engine.errors import RunError
from engine.run.lock import read_lock, signal_holder


@dataclass(frozen=True)
class SweepPlan:
    """A sweep that is typed: what is swept, the other changes, all changes of its first run, and how many settings and
    runs it makes."""

    specs: list[str]
    others: list[str]
    first: list[str]
    settings: int
    runs: int


def plan_sweep(path: Path, changes: Sequence[str]) -> SweepPlan | None:
    """What sweep the changes mean, once each of its values is right; None if no field has several values. Raises
    ConfigError."""
    from engine.config.file import load_config
    from engine.config.form import as_typed
    from engine.sweep.grammar import read_axes, settings_of, swept
    from engine.sweep.sweep import SEED

    specs = swept(changes)
    if not specs:
        return None
    axes = read_axes(specs)
    settings = settings_of(axes)
    others = [change for change in changes if change not in specs]
    plan = SweepPlan(
        specs, others, [*others, *(f"{name}={as_typed(value)}" for name, value in settings[0].items())],
        len({str({**setting, SEED: 0}) for setting in settings}), len(settings),
    )  # fmt: skip
    for axis in axes:
        for value in axis.values:
            load_config(path, [*plan.first, f"{axis.field}={as_typed(value)}"])
    return plan


def prepare_planned(path: Path, plan: SweepPlan, outputs: str | None) -> Path:
    """Make the folder of a sweep. Raises ConfigError, DiskError."""
    from engine.sweep.grammar import read_axes
    from engine.sweep.prepare import prepare_sweep

    overrides = [*plan.others, *as_changes({"run.outputs": outputs})]
    return prepare_sweep(path, plan.specs, read_axes(plan.specs), overrides).path


def start_queue(folder: Path) -> subprocess.Popen[bytes]:
    """Start the process that works on a sweep, in a session of its own: it runs on after this process and its terminal.
    Raises RunError if one is at work on it."""
    lock = read_lock(folder / "worker.lock")
    if lock is not None and lock.alive:
        raise RunError(
            what=f"process {lock.pid} on {lock.host} is at work on this sweep",
            where=str(folder),
            hint="stop it first, or watch it in the console",
        )
    return start_detached("sweep", folder)


def queue_works(folder: Path) -> bool:
    """Whether a process works on a sweep."""
    lock = read_lock(folder / "worker.lock")
    return lock is not None and lock.alive


def stop_queue(folder: Path) -> bool:
    """Ask the process that works on a sweep to stop it and its runs; whether there is one on this machine."""
    return signal_holder(folder / "worker.lock")
