"""What a run would start with, and whether it could: checked before its folder is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.runs.sweeps import SweepPlan, plan_sweep
from engine.errors import ConfigError

if TYPE_CHECKING:
    from engine.check.finding import Finding


@dataclass(frozen=True)
class StartCheck:
    """`differences`: field, value in the file, value now; `unchanged`: fields that were typed with the file's value.
    `error`: what is wrong with the configuration; else `findings`: what is wrong or not here on this machine. `sweep`:
    what is typed makes several runs; `differences` are then those of the first."""

    differences: tuple[tuple[str, str, str], ...] = ()
    unchanged: tuple[str, ...] = ()
    error: ConfigError | None = None
    findings: tuple[Finding, ...] = ()
    sweep: SweepPlan | None = None

    @property
    def wrong(self) -> list[Finding]:
        """What must be corrected."""
        return [finding for finding in self.findings if finding.kind == "wrong"]

    @property
    def lacking(self) -> list[Finding]:
        """What a stage would fail for, such as a package that is not installed."""
        return [finding for finding in self.findings if finding.kind != "wrong" and finding.stops]

    @property
    def fetched(self) -> list[Finding]:
        """What is fetched when it is needed."""
        return [finding for finding in self.findings if not finding.stops]


def check_start(path: Path, overrides: Sequence[str]) -> StartCheck:
    """Check a configuration file with changes. Nothing is written or fetched; a second at most, mostly for imports."""
    from engine.check import check_config  # pydantic and numpy: imported only when a run is about to start
    from engine.config.changes import changed_fields
    from engine.config.file import load_config
    from engine.config.form import as_typed, value_at

    try:
        sweep = plan_sweep(path, overrides)
        config = load_config(path, sweep.first if sweep else overrides)
    except ConfigError as error:
        return StartCheck(error=error)
    now = config.model_dump(mode="json")
    try:
        before = load_config(path).model_dump(mode="json")
    except ConfigError:
        before = now
    differences = tuple(
        (name, as_typed(value_at(before, name)), as_typed(value))
        for name, value in changed_fields(before, now).items()
    )
    findings = tuple(finding for finding in check_config(config) if finding.kind != "here")
    typed = [override.partition("=")[0].strip() for override in overrides]
    unchanged = tuple(
        name for name in typed if not any(f"{other}.".startswith(f"{name}.") for other, _, _ in differences)
    )
    return StartCheck(differences, () if sweep else unchanged, findings=findings, sweep=sweep)
