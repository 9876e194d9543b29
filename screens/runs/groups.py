"""The headings in the list of runs: over the runs of a sweep, with the best result among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.runs.run_list import RunRow
from app.runs.run_names import composition_words
from app.table.column import Cell
from app.table.difference import difference_cell
from app.wording.figures import of_unit
from app.wording.text import counted
from engine.config.esm_methods import METHODS as ESM_METHODS
from engine.events.verdict import Verdict, rank
from engine.sweep.sweep import SEED
from screens.runs.fields import headline


@dataclass(frozen=True)
class Best:
    """The run with the best result among `count` that can be compared: of the same metric, on the same `split` where
    there is one."""

    run: RunRow
    verdict: Verdict
    count: int
    split: str

    @property
    def word(self) -> str:
        """What best means."""
        return "lowest" if self.verdict.lower_is_better else "best"

    @property
    def among(self) -> str:
        """`4 dev runs`"""
        return counted(self.count, f"{self.split} runs".strip())


def best_of(runs: Sequence[RunRow]) -> Best | None:
    """Of runs that cannot all be compared with each other: among the most that can."""
    comparable: dict[tuple[str, ...], list[tuple[RunRow, Verdict]]] = {}
    for run in runs:
        if (verdict := headline(run)) is not None and not verdict.stale:
            kind = (verdict.method, verdict.metric, verdict.unit, *_data(run, verdict))
            comparable.setdefault(kind, []).append((run, verdict))
    if not comparable:
        return None
    kind, results = max(comparable.items(), key=lambda item: len(item[1]))
    run, verdict = min(results, key=lambda r: rank(r[1].value, r[1].tokens, r[1].lower_is_better))
    return Best(run, verdict, len(results), kind[-1])


def _data(run: RunRow, verdict: Verdict) -> tuple[str, str]:
    """Data set and split of the answers; ESM's alone are said in the configuration of the task."""
    task = run.record.config.get("task", {}) if verdict.method in ESM_METHODS else {}
    return str(task.get("dataset", "")), str(task.get("eval_split", ""))


def _is_report(run: RunRow) -> bool:
    return run.record.sweep is not None and run.record.sweep.report


@dataclass(frozen=True)
class Group:
    """The heading over the runs of one sweep. `sweep`: its folder; `folded`: its runs are not listed."""

    name: str
    runs: tuple[RunRow, ...]
    sweep: Path
    folded: bool

    @property
    def best(self) -> Best | None:
        """The best result among its runs."""
        return best_of(self.runs)

    @property
    def reported(self) -> Verdict | None:
        """Of the chosen setting's run on the split that played no part in the choice: the sweep's result."""
        verdicts = [headline(run) for run in self.runs if _is_report(run)]
        return next((verdict for verdict in verdicts if verdict is not None and not verdict.stale), None)

    @property
    def composition(self) -> str:
        """What the runs of a sweep are, as far as they have begun: `4 settings + 1 test run`."""
        points = [run.record.sweep for run in self.runs if run.record.sweep is not None]
        settings = {str({**point.setting, SEED: 0}) for point in points if not point.report}
        reports = sum(point.report for point in points)
        if not settings:
            return ""
        return composition_words(len(settings), len(points) - reports, bool(reports))

    @property
    def title(self) -> str:
        """Its name, with a sign that says whether its runs are listed."""
        return ("▸ " if self.folded else "▾ ") + self.name

    def cell(self, column: str) -> Cell:
        """What stands in a column."""
        best, reported = self.best, self.reported
        match column:
            case "name":
                return Cell(self.title, "strong")
            case "state":
                count = counted(len(self.runs), "runs")
                if best is not None and reported is None:  # what ★ is of
                    compared = sum(not _is_report(run) for run in self.runs)
                    count = counted(compared, f"{best.split} runs".strip())
                is_working = any(run.working for run in self.runs)
                return Cell(f"▶ {count}", "good") if is_working else Cell(f"— {count}", "dim")
            case "result" if reported is not None:
                return Cell(of_unit(reported.value, reported.unit), "strong")
            case "result" if best is not None:
                return Cell(f"★ {of_unit(best.verdict.value, best.verdict.unit)}", "strong")
            case "difference" if best is not None:
                return difference_cell(reported or best.verdict)
            case "changes":
                return Cell("enter shows it", "dim")
            case "id" if best is not None:
                return Cell("of the test run" if reported else f"{best.word} of {best.among}", "dim")
            case _:
                return Cell("")
