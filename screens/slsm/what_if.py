"""What if: an answer in a conversation under another note, an edited one, or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.getters import query_one
from textual.widget import Widget
from textual.widgets import Label, TextArea

from app.blocks.model_text import clean, one_line
from app.methods.source import CaseSource
from app.runs.what_if import WhatIfProcess
from app.text import counted
from engine.events import AnswerTried, ConversationAnswered, ConversationOpened, OtherAnswer
from screens.what_if.answer import AnswerWhatIf
from screens.what_if.drawing import draw_verdict
from screens.what_if.fields import Field
from screens.what_if.screen import Palette

SOURCES = ("structured", "flat", "reminder")
_WORDS = (
    "the note of the structured memory after this turn",
    "the note of the flat memory after this turn",
    "the sentence that is always the same, as in the mode reminder",
)


class NoteArea(TextArea):
    """A note of several lines; `enter` belongs to the screen."""

    BINDINGS = [
        Binding("ctrl+j", "new_line", "New line", key_display="^j", tooltip="Begin a new line of the note.")
    ]

    def action_new_line(self) -> None:
        """Break the line here."""
        self.insert("\n")


class NoteWhatIf(AnswerWhatIf):
    """An answer under another note."""

    SYSTEM = "slsm"
    HELP = """\
# What if: another note

Answers the user's message again with another note behind it. Random draws belong to a conversation and a turn, so
whatever is new in the answer comes from the note. The message is that of the turn that ▶ marked; only the last message
has a recorded note and a verdict.

`enter` tries the note as it stands in the field, where it can be edited; `^j` begins a new line, an empty field is no
note. A number instead takes a note of the list below, which then stands in the field to be edited. Three answers stand
side by side: as it was *committed*, with *no note*, and *yours*.

The line on top says whether the unchanged answer repeats the record. Every try is kept in `slsm/what_if.jsonl` of the
run; its figures stay as they are.
"""

    note = query_one(NoteArea)

    def __init__(
        self, process: WhatIfProcess, answer: ConversationAnswered, turns: Sequence[Sequence[str]], turn: int
    ) -> None:
        super().__init__(process)
        self._answer, self._turns, self._turn = answer, turns, turn

    @property
    def _is_last(self) -> bool:
        return self._turn == len(self._turns) - 1

    def heading(self) -> Text:
        a = self._answer
        memory = "" if a.memory_mode == "none" else f", {a.memory_mode}"
        given = f"note of {counted(a.note_tokens, 'tokens')}" if a.note and self._is_last else "no note"
        return Text.assemble(
            f"What if · {a.conversation_id} · {a.mode}{memory} · ",
            f"turn {self._turn + 1} of {len(self._turns)}, {given}\n",
            one_line(self._turns[self._turn][0]),
        )

    def rows(self) -> Sequence[Sequence[Field]]:
        return []

    def more_fields(self) -> ComposeResult:
        yield Label(" note, or a number of the list below:", id="note-label")
        note = self._answer.note if self._is_last else ""
        yield NoteArea(clean(note) or "1", id="what-note", soft_wrap=True)

    def first_field(self) -> Widget:
        self.note.select_all()
        return self.note

    def wanted(self, sweep: bool) -> dict[str, Any]:
        a, text = self._answer, self.note.text.strip()
        named = int(text) if text in ("1", "2", "3") else 0
        return {
            "conversation": a.conversation_id,
            "mode": a.mode,
            "memory_mode": a.memory_mode,
            "attempt": a.attempt,
            "turn": self._turn,
            "source": SOURCES[named - 1] if named else "note",
            "note": "" if named else text,
        }

    def taken(self, tried: AnswerTried) -> None:
        """The note that was tried, to be edited."""
        if (note := tried.yours[0].note) and self.note.text.strip() in ("1", "2", "3"):
            self.note.text = clean(note)

    def about(self, answer: OtherAnswer, tried: AnswerTried, palette: Palette) -> Sequence[Text]:
        lines = [Text(f"note of {counted(answer.tokens, 'tokens')}", palette["dim"])] if answer.note else []
        words = answer.verdict or "not judged"
        return [*lines, draw_verdict(answer.right, words, "", palette)]

    def draw_choices(self, palette: Palette, width: int) -> RenderableType:
        notes = [Text.assemble((f"{i}  ", palette["strong"]), words) for i, words in enumerate(_WORDS, 1)]
        if self._tried is None or not (note := self._tried.yours[0].note):
            return Group(*notes)
        heading = Text("the note that was tried", palette["heading"])
        return Group(heading, Text(clean(note), palette["dim"]), Text(), *notes)


def of_answer(process: WhatIfProcess, event: ConversationAnswered, source: CaseSource) -> NoteWhatIf | str:
    """An answer under another note, at the turn that is shown."""
    opened = source.at(source.state.slsm.place(event.conversation_id), ConversationOpened)
    if opened is None:
        return "The log does not say how this conversation begins."
    last = len(opened.turns) - 1
    return NoteWhatIf(process, event, opened.turns, last if source.step is None else min(source.step, last))
