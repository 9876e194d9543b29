"""The panel of a run's replicas on a cluster: place, work and speed of each, and the address of Ray's dashboard."""

from __future__ import annotations

from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.binding import BindingType
from textual.widgets import Static

from app.blocks.bars import bar
from app.keys.commands import DIALOG, PANEL, bindings
from app.state.scale import LOST, READY, ReplicaRow, ScaleState
from app.wording.figures import NONE, fixed
from app.wording.text import counted
from engine.run.stage_state import StageState
from screens.panels.session_panel import SessionPanel
from screens.run_session import Session

_BAR = 10
_WIDE = 110
_SIGNS = {READY: "●", LOST: "✗"}
_COLUMNS = ("", "replica", "process", "gpus", "done", "per second", "busy", "")


class ReplicasPanel(SessionPanel):
    """Drawn from the run's log, like every screen, while it is open."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(PANEL, DIALOG)
    HELP = """\
# Replicas

The processes of a run on a cluster: where each one runs, the items it finished, its speed, and the share of the time
that it was busy. `y` copies the address of Ray's dashboard.
"""
    TITLE_WORD = "Replicas"
    CONTENTS = ("cluster", "replicas")

    def draw(self, session: Session) -> None:
        scale = session.state.scale
        self.query_one("#cluster", Static).update(_cluster(scale, session.state.stages.get(scale.stage)))
        self.query_one("#replicas", Static).update(_table(scale, self.size.width))

    def action_copy(self) -> None:
        """The dashboard's address if there is one, else the cluster's."""
        joined = self._session.state.scale.joined
        if joined is not None:
            text = joined.dashboard or joined.address
            self.app.copy_to_clipboard(text)
            self.notify(f"Copied: {text}", markup=False)


def _cluster(scale: ScaleState, stage: StageState | None) -> Text:
    """Which cluster, how fast all together, and where the dashboard is."""
    joined = scale.joined
    if joined is None:
        return Text("This run uses a single process.")
    text = Text.assemble(
        (f"Ray at {joined.address}", "bold"), ", started for this run" if joined.own else "", "\n"
    )
    if scale.stage:
        unit = "items" if stage is None else stage.unit
        text.append(f"{scale.stage}: {fixed(scale.pace, 2)} {unit} per second together\n")
    if joined.dashboard:
        text.append("dashboard ", "dim").append(joined.dashboard, f"link {joined.dashboard}").append("\n")
    return text


def _table(scale: ScaleState, width: int) -> Table:
    """`width`: of the screen; where it is small, devices and bars are left out."""
    wide = width >= _WIDE
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in _COLUMNS:
        justify = "right" if name in ("done", "per second") else "left"
        if wide or name != "gpus":
            table.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis")
    for _, row in sorted(scale.rows.items()):
        cells = _cells(row, scale.share_busy(row), _BAR if wide else 0)
        table.add_row(*[cell for name, cell in zip(_COLUMNS, cells, strict=True) if wide or name != "gpus"])
    return table


def _cells(row: ReplicaRow, busy: float | None, bar_width: int) -> list[str | Text]:
    """`busy`: share of the time."""
    losses = f"died {row.deaths}×, {counted(row.redone, 'items')} redone" if row.deaths else ""
    return [
        _SIGNS.get(row.status, "○"),
        f"{row.number} {row.status}",
        f"{row.node}:{row.pid}" if row.pid else NONE,
        ", ".join(row.gpus) or NONE,
        f"{row.done:,}",
        fixed(row.pace, 2),
        Text(NONE) if busy is None else bar(busy, bar_width).append(f" {busy:4.0%}"),
        losses,
    ]
