"""The tab Conversations: the answers under each mode, with memory, note and verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.binding import BindingType

from app.blocks.block import Target
from app.blocks.model_text import clean, one_line
from app.blocks.terminal import link
from app.figures import outcome
from app.runs.what_if import WhatIfProcess
from app.state.columns import Grow
from app.state.run import RunState
from app.state.slsm import ResultRow, SLSMState
from app.table.column import Cell, ListColumn
from engine.errors import DataError, SteerError
from engine.events import AnswerTried, ConversationAnswered, ConversationOpened, Event, StateUpdated
from screens.panes.list_pane import ListPane, telling_keys
from screens.run_session import Session
from screens.slsm.conversation_drawing import draw_answer, draw_memory
from screens.what_if.screen import WhatIfScreen
from screens.widgets.rows import ListSource

_EMPTY = """No conversation has been answered yet.

The controller reads each conversation turn by turn. Then the model answers the last message in
every mode, with or without a memory note. Each answer gets a row here."""


def _passed(passed: bool | None) -> Cell:
    return Cell(outcome(passed), "dim" if passed is None else "good" if passed else "bad")


def _words(axis: str) -> str:
    """`SELF_COHERENCE` as a reader would write it."""
    return axis.replace("_", " ").lower()


def _injected(row: ResultRow) -> Cell:
    if not row.injected:
        return Cell("·", "dim")
    return Cell("2nd" if row.second else "yes", "accent")


_COUNTED = 20_000
"""Answers up to which those that a note turned are counted: beyond, it would be felt."""
_SIGNS = {1: ("▲", "good"), -1: ("▼", "bad")}


def _sign(against: int) -> Cell:
    sign, tone = _SIGNS.get(against, (" ", ""))
    return Cell(sign, tone)  # type: ignore[arg-type]


COLUMNS: Sequence[ListColumn[ResultRow]] = (
    ListColumn("passed", "✓", 1, priority=0, help="✓ passes, ✗ fails, · not judged",
               value=lambda r: r.passed, show=_passed),
    ListColumn("mode", "mode", 12, priority=0, value=lambda r: r.mode),
    ListColumn("memory_mode", "memory", 10, priority=1, value=lambda r: r.memory_mode),
    ListColumn("injected", "note", 4, priority=0, help="whether a note was given; 2nd: for the second answer",
               value=lambda r: r, show=_injected),
    ListColumn("note_tokens", "tokens", 6, "right", 4, help="of the note", value=lambda r: r.note_tokens),
    ListColumn("answer", "answer", 22, flex=True, priority=2, value=lambda r: r.answer, show=one_line),
    ListColumn("axis", "axis", 18, priority=3, value=lambda r: r.axis, show=lambda axis: _words(axis)),
    ListColumn("turns", "turns", 5, "right", 5, value=lambda r: r.turns),
    ListColumn("failures", "failed", 6, "right", 6, help="calls of the controller that failed",
               value=lambda r: r.failures),
    ListColumn("conversation_id", "conversation", 14, priority=7, name=True, value=lambda r: r.conversation_id),
)  # fmt: skip


class ConversationsPane(ListPane):
    """Results, and the conversation under the cursor with its memory. `turn` is the turn whose state is shown; None:
    the last one."""

    LINKS = True
    BINDINGS: ClassVar[list[BindingType]] = telling_keys(
        "▲▼", "answer that a note turned right (▲) or wrong (▼), in Conversations"
    )
    turn: int | None = None

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        turned = ListColumn[ResultRow](
            "turned", "±", 1, priority=0, value=lambda r: self._slsm.against_plain(r), show=_sign,
            help="▲ the note turned the answer right, which fails without a controller, ▼ turned it wrong",
        )  # fmt: skip
        columns = [COLUMNS[0], turned, *COLUMNS[1:]]
        super().__init__(session, ListSource(columns, "answers"), _EMPTY, id=id)
        self._of: str = ""

    def items(self, state: RunState) -> Grow[ResultRow]:
        return state.slsm.results

    def remark(self) -> str:
        rows = self._slsm.results
        if len(rows) > _COUNTED:
            return ""
        turned = Counter(self._slsm.against_plain(row) for row in rows)
        return (
            f"notes turned ▲ {turned[1]:,} right, ▼ {turned[-1]:,} wrong" if turned[1] or turned[-1] else ""
        )

    @property
    def _slsm(self) -> SLSMState:
        return self.session.state.slsm

    def telling(self, item: ResultRow) -> bool:
        return self._slsm.against_plain(item) != 0

    def key(self, item: ResultRow) -> object:
        if item.conversation_id != self._of:
            self._of, self.turn = item.conversation_id, None
        return item, self.turn

    def go(self, step: int) -> None:
        """To the state a turn earlier or later."""
        if not len(self.source):
            return
        item = self.source.item(min(self.table.cursor, len(self.source) - 1))
        last = max(0, item.turns - 1)
        self.turn = min(max((last if self.turn is None else self.turn) + step, 0), last)
        self.show()

    def draw(self, item: ResultRow, palette: dict[str, Style], width: int) -> RenderableType:
        slsm = self._slsm
        try:
            opened = self._opened(item)
            answered = self.session.read(*item.place)
            states = [self.session.read(*state.place) for state in slsm.states_of(item).values()]
        except (OSError, SteerError) as error:
            return Text(str(error), palette["bad"])
        assert isinstance(opened, ConversationOpened) and isinstance(answered, ConversationAnswered)
        updates = [state for state in states if isinstance(state, StateUpdated)]
        last = len(opened.turns) - 1
        selected = last if self.turn is None else min(self.turn, last)
        memory = "" if item.memory_mode == "none" else f", {item.memory_mode}"
        title = Text.assemble((item.conversation_id, palette["strong"]), f"  {item.mode}{memory}")
        if updates:
            title.append("  ( ) other turns", palette["dim"])
        if item.axis:
            title.append(f"\n{_words(item.axis)}", palette["dim"])
        return Group(
            title, draw_turn(slsm, item, answered, palette), self._beside(item, palette), Text(),
            draw_memory(opened.turns, updates, selected, palette, width), Text(), draw_answer(answered, palette),
        )  # fmt: skip

    def _beside(self, item: ResultRow, palette: dict[str, Style]) -> Text:
        """The other answers to the same conversation, each with its verdict; they can be gone to."""
        text, mode = Text("the same under", palette["dim"]), ""
        for row in self._slsm.results:
            same = (row.conversation_id, row.attempt) == (item.conversation_id, item.attempt)
            if not same or row == item:
                continue
            if row.memory_mode == "none":
                name = row.mode
            else:  # its mode is said once for both kinds of memory
                text.append("" if row.mode == mode else f"   {row.mode}", palette["dim"])
                name = row.memory_mode
            mode, (sign, tone) = row.mode, _passed(row.passed)
            text.append(f"  {sign}", palette[tone or "dim"])  # no blank: they stay on one line
            text.append_text(link(name, answer_target(row), palette["accent"]))
        return text

    def _opened(self, item: ResultRow) -> Event:
        place = self._slsm.place(item.conversation_id)
        if place is None:
            raise DataError(
                what="the log does not tell how this conversation begins",
                where=str(self.session.run_dir),
                mend="look at another conversation",
            )
        return self.session.read(*place)

    def what_if(self, process: WhatIfProcess) -> WhatIfScreen[AnswerTried] | str:
        """The screen for this answer under another note, at the turn that is shown, or why there is none."""
        from screens.slsm.what_if import NoteWhatIf  # only those who ask need it

        item: ResultRow | None = self.under_cursor()
        if item is None:
            return "No conversation is shown."
        try:
            opened = self._opened(item)
            answered = self.session.read(*item.place)
        except (OSError, SteerError) as error:
            return str(error)
        assert isinstance(opened, ConversationOpened) and isinstance(answered, ConversationAnswered)
        last = len(opened.turns) - 1
        return NoteWhatIf(
            process, answered, opened.turns, last if self.turn is None else min(self.turn, last)
        )


def draw_turn(
    state: SLSMState, item: ResultRow, answered: ConversationAnswered, palette: dict[str, Style]
) -> RenderableType:
    """The answer without a controller, the note, the answer under it and its judgement: what the note did."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style=palette["dim"])
    grid.add_column(overflow="fold")
    plain = state.plain(item)
    if plain is not None and item.mode != plain.mode:
        grid.add_row("baseline", _said(plain.passed, plain.answer, palette))
        note = " ".join(answered.note.removeprefix("[SLSM MEMORY NOTE]").split())
        grid.add_row("the note", clean(note) or Text(f"none: {clean(answered.reason)}", palette["dim"]))
    said = _said(item.passed, answered.answer, palette)
    if against := state.against_plain(item):
        sign, tone = _SIGNS[against]
        said.append(f"  {sign} the note turned it {'right' if against > 0 else 'wrong'}", palette[tone])
    grid.add_row(item.mode, said)
    if answered.verdict:
        grid.add_row("judged", Text(clean(answered.verdict), palette["dim"]))
    return grid


def _said(passed: bool | None, answer: str, palette: dict[str, Style]) -> Text:
    sign, tone = _passed(passed)
    return Text.assemble((f"{sign} ", palette[tone or "dim"]), one_line(answer) or "(empty)")


def answer_target(row: ResultRow) -> Target:
    """The link to an answer."""
    return Target("answer", f"{row.mode} {row.memory_mode} {row.attempt} {row.conversation_id}")
