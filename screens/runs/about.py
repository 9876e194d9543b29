"""What stands below the list: what each method of the run under the cursor reached, what was changed, where it is."""

from __future__ import annotations

from rich.text import Text

from app.runs.run_list import RunRow, stage_states
from app.runs.time_left import time_left_sentence
from app.wording.stage_words import stage_sign
from app.wording.text import counted, duration, how_many
from app.wording.verdict_text import verdict_line
from app.wording.words import METRICS
from engine.events.verdict import Verdict
from engine.run.stage_state import StageState
from screens.runs.fields import changes_text, reached
from screens.runs.groups import Group
from screens.widgets.stretch import visible

_WIDTH = 11
"""Of the words at the left."""


def about_run(row: RunRow, room: int = 1000) -> Text:
    """A line for each method, then the stages, the changes, and the folder or the error, in `room` columns."""
    verdicts = {title: verdict for title, verdict in reached(row).items() if verdict is not None}
    width = max((len(verdict_line(verdict)) for verdict in verdicts.values()), default=0)
    lines = [_of_method(title, verdict, width, room) for title, verdict in verdicts.items()]
    if (stages := _stages(row, room)) is not None:
        lines.append(stages)
    if row.time_left is not None:
        lines.append(_line("time", time_left_sentence(row.time_left)))
    if row.record.changes:
        lines.append(_line("changed", changes_text(row)))
    return Text("\n").join([*lines, _last(row)])


def about_group(group: Group) -> Text:
    """What runs stand below a heading, the best result among them, and what is at work."""
    lines = [_line("runs", group.composition)] if group.composition else []
    if (best := group.best) is not None:
        if (reported := group.reported) is not None:
            lines.append(
                _line("reported", verdict_line(reported)).append(f"  {metric_words(reported)}", "dim")
            )
        words = f"of {best.among}: {best.run.title}  {verdict_line(best.verdict)}"
        lines.append(_line(best.word, words).append(f"  {metric_words(best.verdict)}", "dim"))
    lines += [_line("at work", _at_work(run)) for run in group.runs if run.working]
    return Text("\n").join(lines)


def _at_work(row: RunRow) -> str:
    at, left = row.progress, row.time_left
    stage = f"  {at.name} {how_many(at.done, at.total, at.unit)}" if at.name else ""
    return f"{row.title}{stage}" + (f"  {time_left_sentence(left)}" if left is not None else "")


def _line(label: str, words: str) -> Text:
    return Text().append(f"{label:<{_WIDTH}}", "bold").append(words)


def _of_method(title: str, verdict: Verdict, width: int, room: int) -> Text:
    """`ESM greedy 63.5% → 96.5%  ▲ +33.0 [27, 39]`: as on the overview; where there is room, over what it is."""
    over = f"  {metric_words(verdict)}"
    if _WIDTH + width + len(over) > room:
        return _line(title, verdict_line(verdict))
    return _line(title, f"{verdict_line(verdict):<{width}}").append(over, "dim")


def metric_words(verdict: Verdict) -> str:
    """`accuracy over 200 examples`"""
    metric = METRICS.get(verdict.metric, verdict.metric.replace("_", " "))
    return f"{metric} over {counted(verdict.n, verdict.items)}"


def _stages(row: RunRow, room: int) -> Text | None:
    """The stages, where something is left to do: what is done, what is being done. As many around the current one as
    there is room for."""
    if row.state == "finished" and row.verdicts and not any(s.skipped for s in row.record.stages.values()):
        return None
    stages = stage_states(row.status)
    chips = [_chip(stage) for stage in stages.values()]
    current = list(stages).index(row.progress.name) if row.progress.name in stages else 0
    first, last = visible([chip.cell_len for chip in chips], current, room)
    return Text.assemble("… " if first else "", *chips[first:last], "…" if last < len(chips) else "")


def _chip(stage: StageState) -> Text:
    """`✓ mine 1:01`"""
    chip = Text(f"{stage_sign(stage)} {stage.name}", "bold" if stage.active else "")
    return chip.append(f" {duration(stage.seconds)}   " if stage.seconds else "   ", "dim")


def _last(row: RunRow) -> Text:
    if row.status.failure:
        return Text(f"✗ {' '.join(row.status.failure.split())}", "bold")
    return Text(f"{row.path}{_worker(row)}", "dim")


def _worker(row: RunRow) -> str:
    status = row.status
    if status.alive:
        age = status.heartbeat_age or 0.0
        return f"   worker {status.pid} on {status.host}, last heartbeat {age:.0f} s ago"
    if status.state == "interrupted":
        return "   its worker vanished; r resumes it"
    return f"   {status.record.attempts} attempts" if status.record.attempts > 1 else ""
