"""The tab Files: the figures and files of the stages, the use of servers, the notices of the run."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.getters import query_one

from app.figures import short
from app.stage_words import stage_sign, stage_words
from app.state.run import RunState
from app.text import counted, duration
from app.usage_text import HEADINGS, total_cost, usage_cells
from app.words import figure_name
from engine.run.stage_state import FAILED, FINISHED, RUNNING, StageState
from screens.run_session import Session
from screens.systems import systems
from screens.widgets.detail_pane import DetailPane


class FilesPane(Vertical):
    """One scrolling page."""

    page = query_one(DetailPane)

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._session = session

    def compose(self) -> ComposeResult:
        yield DetailPane(id="files-page")

    def show(self) -> None:
        """Draw the session's state."""
        name = getattr(self.screen, "TITLE_WORD", "")
        own = next((system.stages for system in systems() if system.name == name), ())
        self.page.show(lambda palette, width: _page(self._session, own, palette), top=False)

    def close_one(self) -> bool:
        """Nothing opens here."""
        return False


def _page(session: Session, stages: Sequence[str], palette: dict[str, Style]) -> RenderableType:
    """`stages`: whose figures and files come first."""
    state = session.state
    parts: list[RenderableType] = [Text.assemble(("folder  ", palette["dim"]), str(session.run_dir)), Text()]
    if not state.stages:
        parts.append(Text("Figures and files appear here when a stage is finished.", palette["dim"]))
    own = [name for name in stages if name in state.stages]
    for stage in (state.stages[name] for name in dict.fromkeys((*own, *state.stages))):
        parts += [_stage(stage, palette), Text()]
    parts += _usage(state, palette)
    parts += _notices(state, palette)
    return Group(*parts)


def _stage(stage: StageState, palette: dict[str, Style]) -> RenderableType:
    tone = {FINISHED: "good", FAILED: "bad", RUNNING: "accent"}.get(stage.status, "dim")
    title = Text.assemble(
        (f"{stage_sign(stage)} ", palette[tone]),
        (stage.name, palette["strong"]),
        f"  {stage_words(stage)}",
    )
    if stage.status == FINISHED and stage.seconds:
        title.append(f" in {duration(stage.seconds)}")
    elif stage.total and stage.status != "waiting":
        title.append(f"  {stage.done:,} of {counted(stage.total, stage.unit)}")
    if stage.error is not None:
        error = stage.error
        title.append(f"\n  {error.what}", palette["bad"])
        title.append(f"\n  {error.where}" if error.where else "")
        title.append(f"\n  how to fix: {error.mend}" if error.mend else "")
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=2)
    grid.add_column(no_wrap=True, min_width=12)
    grid.add_column(justify="right", no_wrap=True)
    for name, value in stage.summary.items():
        grid.add_row(
            "",
            Text(figure_name(name), palette["dim"]),
            short(value),
        )
    files = Text("".join(f"   {name}\n" for name in stage.files))
    files.rstrip()
    return Group(*[part for part in (title, grid if stage.summary else None, files) if part])


def _usage(state: RunState, palette: dict[str, Style]) -> list[RenderableType]:
    """The use of servers: for each role a line with its server, and a line of figures."""
    if not state.usage:
        return []
    cost = total_cost(state.usage.values())
    parts: list[RenderableType] = [
        Text("servers" + ("" if cost is None else f"  {cost:,.4f} in all"), palette["heading"])
    ]
    for usage in state.usage.values():
        stage, role, who, *figures = usage_cells(usage)
        parts.append(Text.assemble(f"  {stage} ", (role, palette["strong"]), ("  " + who, palette["dim"])))
        line = Text("    ")
        for name, figure in zip(HEADINGS[3:], figures, strict=True):
            if figure:
                line.append(f"{name} ", palette["dim"]).append(f"{figure}  ")
        parts.append(line)
    return [*parts, Text()]


def _notices(state: RunState, palette: dict[str, Style]) -> list[RenderableType]:
    if not state.notices:
        return []
    grid = Table.grid(padding=(0, 2, 0, 0))
    for notice in state.notices:
        clock = time.strftime("%H:%M:%S", time.localtime(notice.time))
        warn = notice.level == "warning"
        grid.add_row(
            Text(clock, palette["dim"]),
            Text(notice.stage),
            Text(("! " if warn else "  ") + notice.text, palette["warn"] if warn else ""),
        )
    return [Text("notices", palette["heading"]), grid]
