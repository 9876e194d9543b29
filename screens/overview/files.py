"""The figures and files of all stages, the use of servers, and the notices of the run."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.style import Style
from textual.app import ComposeResult
from textual.getters import query_one
from textual.widgets import Static

from app.blocks.block import Block, Facts, Heading, Paragraph, Span, Words, facts
from app.blocks.terminal import draw
from app.keys.commands import DIALOG, bindings
from app.result_tables import servers
from app.state.run import RunState
from app.table.column import Tone
from app.wording.figures import short
from app.wording.stage_words import stage_sign, stage_words
from app.wording.text import counted
from app.wording.words import figure_name
from engine.run.stage_state import FAILED, FINISHED, RUNNING, StageState
from screens.panels.session_panel import SessionPanel
from screens.run_session import Session

_TONES: dict[str, Tone] = {FINISHED: "good", FAILED: "bad", RUNNING: "accent"}
_PALETTE = {"dim": Style(dim=True)} | dict.fromkeys(
    ("strong", "heading", "good", "bad", "accent", "warn"), Style(bold=True)
)


class FilesPanel(SessionPanel):
    """Drawn from the run's log while it is open."""

    BINDINGS = [*bindings(DIALOG), ("O,q", "close", "")]
    TITLE_WORD = "Figures and files"

    page = query_one(Static)

    def contents(self) -> ComposeResult:
        yield Static(markup=False)

    def draw(self, session: Session) -> None:
        width = self.page.content_size.width or self.size.width
        folder = Paragraph((Span("folder  ", "dim"), str(session.run_dir)))
        self.page.update(draw([folder, *file_blocks(session.state)], _PALETTE, width))


def file_blocks(state: RunState) -> list[Block]:
    """Stage by stage; then servers and notices."""
    if not state.stages:
        return [Paragraph("Figures and files appear here when a stage is finished.", "dim")]
    stages = [block for stage in state.stages.values() for block in _stage(stage)]
    return [*stages, *servers(state), *_notices(state)]


def _stage(stage: StageState) -> Sequence[Block]:
    words: list[str | Span] = [Span(f"{stage_sign(stage)} ", _TONES.get(stage.status, "dim"))]
    words += [Span(stage.name, "strong"), f"  {stage_words(stage)}"]
    if stage.total and stage.status != FINISHED:
        words.append(f"  {stage.done:,} of {counted(stage.total, stage.unit)}")
    error = stage.error
    failed = [] if error is None else [(error.what, error.where), ("how to fix", error.hint)]
    figures: list[tuple[str, Words]] = [
        (figure_name(name), short(value)) for name, value in stage.summary.items()
    ]
    files = [Paragraph(f"   {name}", "dim") for name in stage.files]
    return [Heading(words, 4), facts([*failed, *figures]), *files]


def _notices(state: RunState) -> list[Block]:
    if not state.notices:
        return []
    rows: list[tuple[str, Words]] = []
    for notice in state.notices:
        clock = time.strftime("%H:%M:%S", time.localtime(notice.time))
        words = Span(f"! {notice.text}", "warn") if notice.level == "warning" else notice.text
        rows.append((f"{clock}  {notice.stage}", words))
    return [Heading("notices", 4), Facts(rows)]
