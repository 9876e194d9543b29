"""What if: an answer in a conversation under another note, an edited one, or none."""

from __future__ import annotations

from typing import Any

from app.blocks.block import Block, Heading, Paragraph, Span, Writing
from app.blocks.model_text import clean, one_line
from app.methods.slsm.answers import variant_words
from app.methods.source import CaseSource
from app.methods.what_if import Answers, Choice, Field, WhatIf, answers_of, verdict_line
from app.wording.text import counted
from engine.events import AnswerTried, ConversationAnswered, ConversationOpened, OtherAnswer

_HELP = """\
# What if: another note

Answers the user's message again with another note behind it. Random draws belong to a conversation and a turn, so
whatever is new in the answer comes from the note. The message is that of the turn that ▶ marked; only the last message
has a recorded note and a verdict.

`enter` tries the note as it stands in the field, where it can be edited; `^j` begins a new line, an empty field is no
note. A number instead takes a note of the list below, which then stands in the field to be edited. Three answers stand
side by side: as it was *committed*, with *no note*, and *yours*.
"""
_SOURCES = {
    "structured": "the note of the structured memory after this turn",
    "flat": "the note of the flat memory after this turn",
    "reminder": "the sentence that is always the same, as in the mode reminder",
}
_NUMBERED = dict(zip("123", _SOURCES, strict=True))


def of_answer(event: ConversationAnswered, source: CaseSource) -> Choice | str:
    """An answer under another note, at the turn that is shown."""
    opened = source.at(source.state.slsm.place(event.conversation_id), ConversationOpened)
    if opened is None:
        return "The log does not say how this conversation begins."
    last = len(opened.turns) - 1
    turn = last if source.step is None else min(source.step, last)
    note = event.note if turn == last else ""
    given = f"note of {counted(event.note_tokens, 'tokens')}" if note else "no note"

    def request(values: dict[str, Any]) -> dict[str, Any]:
        text = values["note"]
        return {
            "conversation": event.conversation_id, "mode": event.mode, "memory_mode": event.memory_mode,
            "attempt": event.attempt, "turn": turn,
            "source": _NUMBERED.get(text, "note"), "note": "" if text in _NUMBERED else text,
        }  # fmt: skip

    return Choice(
        f"{event.conversation_id} · {variant_words(event)} · turn {turn + 1} of {len(opened.turns)}, {given}\n"
        f"{one_line(opened.turns[turn][0])}",
        [[Field("note", "note, or 1 to 3", clean(note) or "1", lines=6, filled=_filled)]],
        request,
        _answers,
        _notes,
    )


WHAT_IF = WhatIf("slsm", _HELP, {ConversationAnswered: of_answer})


def _filled(tried: AnswerTried, text: str) -> str:
    """The note that a number stood for, to be edited."""
    note = tried.yours[0].note
    return clean(note) if note and text in _NUMBERED else text


def _answers(tried: AnswerTried) -> Answers:
    def about(answer: OtherAnswer) -> list[Block]:
        note = [Paragraph(f"note of {counted(answer.tokens, 'tokens')}", "dim")] if answer.note else []
        return [*note, verdict_line(answer.right, answer.verdict or "not judged")]

    return answers_of(tried, about)


def _notes(tried: AnswerTried | None) -> list[Block]:
    """The note that was tried, and those that can be."""
    note = tried.yours[0].note if tried is not None else ""
    shown: list[Block] = [Heading("the note that was tried"), Writing(note, "dim")] if note else []
    numbered = zip(_NUMBERED, _SOURCES.values(), strict=True)
    return [*shown, *(Paragraph([Span(f"{number}  ", "strong"), words]) for number, words in numbered)]
