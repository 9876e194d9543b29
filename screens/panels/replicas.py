"""The panel of a run's replicas on a cluster: place, work and speed of each, and the address of Ray's dashboard."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from app.blocks.bars import plain_bar
from app.blocks.block import Block, Paragraph, Span, Table
from app.keys.commands import DIALOG, PANEL, bindings
from app.state.scale import LOST, READY, ReplicaRow, ScaleState
from app.wording.figures import NONE, fixed
from app.wording.text import counted
from engine.run.stage_state import StageState
from screens.panels.session_panel import BlocksPanel
from screens.run_session import Session

_BAR = 10
_WIDE = 110
_SIGNS = {READY: "●", LOST: "✗"}
_HEADINGS = ("replica", "process", "gpus", "busy", "", "done", "per second")


class ReplicasPanel(BlocksPanel):
    """Drawn from the run's log, like every screen, while it is open."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(PANEL, DIALOG)
    HELP = """\
# Replicas

The processes of a run on a cluster: where each one runs, the items it finished, its speed, and the share of the time
that it was busy. `y` copies the address of Ray's dashboard.
"""
    TITLE_WORD = "Replicas"

    def blocks(self, session: Session, width: int) -> list[Block]:
        scale = session.state.scale
        table = _table(scale, width) if scale.rows else []
        return [*_cluster(scale, session.state.stages.get(scale.stage)), *table]

    def action_copy(self) -> None:
        """The dashboard's address if there is one, else the cluster's."""
        joined = self._session.state.scale.joined
        if joined is not None:
            text = joined.dashboard or joined.address
            self.app.copy_to_clipboard(text)
            self.notify(f"Copied: {text}", markup=False)


def _cluster(scale: ScaleState, stage: StageState | None) -> list[Block]:
    """Which cluster, how fast all together, and where the dashboard is."""
    joined = scale.joined
    if joined is None:
        return [Paragraph("This run uses a single process.")]
    begun_here = ", started for this run" if joined.own else ""
    lines: list[Block] = [Paragraph((Span(f"Ray at {joined.address}", "strong"), begun_here))]
    if scale.stage:
        unit = "items" if stage is None else stage.unit
        lines.append(Paragraph(f"{scale.stage}: {fixed(scale.pace, 2)} {unit} per second together"))
    if joined.dashboard:
        lines.append(Paragraph((Span("dashboard ", "dim"), joined.dashboard)))
    return lines


def _table(scale: ScaleState, width: int) -> list[Block]:
    """Where there is no room, without devices and bars."""
    wide = width >= _WIDE
    rows = [_cells(row, scale.share_busy(row), _BAR * wide) for _, row in sorted(scale.rows.items())]
    shown = [at for at, name in enumerate(_HEADINGS) if wide or name != "gpus"]
    return [Table([_HEADINGS[at] for at in shown], [[row[at] for at in shown] for row in rows], 2)]


def _cells(row: ReplicaRow, busy: float | None, bar: int) -> tuple[str, ...]:
    """`busy`: share of the time; `bar`: cells of its bar."""
    return (
        f"{_SIGNS.get(row.status, '○')} {row.number} {row.status}",
        f"{row.node}:{row.pid}" if row.pid else NONE,
        ", ".join(row.gpus) or NONE,
        NONE if busy is None else f"{plain_bar(busy, bar)} {busy:4.0%}".strip(),
        f"died {row.deaths}×, {counted(row.redone, 'items')} redone" if row.deaths else "",
        f"{row.done:,}",
        fixed(row.pace, 2),
    )
