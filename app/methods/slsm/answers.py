"""An answer in a conversation: the same without a controller, the note, the memory, the verdict, the cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from app.blocks.block import (
    Block,
    Changes,
    Facts,
    Heading,
    Paragraph,
    Span,
    Table,
    Target,
    Tone,
    Words,
    Writing,
)
from app.blocks.model_text import one_line
from app.methods.cases import Cases
from app.methods.cells import outcome_cell, turned_cell
from app.methods.slsm.memory import conversation_blocks, memory_blocks
from app.methods.source import CaseSource
from app.state.run import RunState
from app.state.slsm import ResultRow, SLSMState
from app.table.column import Cell, ListColumn
from app.wording.text import counted
from app.wording.words import method_name, short_method_name
from engine.events import ConversationAnswered, ConversationOpened, ModeScored, StateUpdated
from engine.run.event_log import LogPlace

_EMPTY = """No conversation has been answered yet.

The controller reads each conversation turn by turn. Then the model answers the last message in
every mode, with or without a memory note. Each answer gets a row here."""
_NOTE_HEAD = "[SLSM MEMORY NOTE]"


class AnswerRow(NamedTuple):
    """An answer; `turned`: 1 where its note turned it right, -1 where wrong; without a controller it was the other;
    `opened`: where its conversation stands in the log."""

    result: ResultRow
    turned: int
    opened: LogPlace | None

    @property
    def place(self) -> LogPlace:
        """Where it stands in the log."""
        return self.result.place

    @property
    def places(self) -> tuple[LogPlace | None, ...]:
        """The row is found by its conversation, too."""
        return self.result.place, self.opened


def answer_rows(state: RunState) -> list[AnswerRow]:
    """The answers, in the order of the log."""
    slsm = state.slsm
    return [AnswerRow(row, slsm.against_plain(row), slsm.place(row.conversation_id)) for row in slsm.results]


def _note(row: AnswerRow) -> Cell:
    if not row.result.injected:
        return Cell("·", "dim")
    return Cell("2nd" if row.result.second else "yes", "accent")


def axis_words(axis: str) -> str:
    """`SELF_COHERENCE` as a reader would write it."""
    return axis.replace("_", " ").lower()


COLUMNS: Sequence[ListColumn[AnswerRow]] = (
    ListColumn("passed", "✓", 1, help="✓ passes, ✗ fails, · not judged", value=lambda r: r.result.passed,
               show=outcome_cell),
    ListColumn("turned", "±", 1, show=turned_cell,
               help="▲ the note turned the answer right, which fails without a controller, ▼ turned it wrong"),
    ListColumn("mode", "mode", 12, value=lambda r: r.result.mode, show=short_method_name),
    ListColumn("memory_mode", "memory", 10, priority=1, value=lambda r: r.result.memory_mode),
    ListColumn("injected", "note", 4, help="whether a note was given; 2nd: for the second answer",
               value=_note),
    ListColumn("note_tokens", "tokens", 6, "right", 4, help="of the note", value=lambda r: r.result.note_tokens),
    ListColumn("answer", "answer", 22, flex=True, priority=2, value=lambda r: r.result.answer, show=one_line),
    ListColumn("axis", "axis", 18, priority=3, help="kind of difficulty", value=lambda r: r.result.axis,
               show=axis_words),
    ListColumn("turns", "turns", 5, "right", 5, value=lambda r: r.result.turns),
    ListColumn("failures", "failed", 6, "right", 6, help="calls of the controller that failed",
               value=lambda r: r.result.failures),
    ListColumn("conversation_id", "conversation", 14, priority=7, name=True, value=lambda r: r.result.conversation_id),
)  # fmt: skip


def _remark(state: RunState) -> str:
    turned = Counter(row.turned for row in answer_rows(state))
    text = f"all modes: ▲ {turned[1]:,} turned right, ▼ {turned[-1]:,} wrong"
    return text if turned[1] or turned[-1] else ""


def answer_blocks(event: ConversationAnswered | ConversationOpened, source: CaseSource) -> list[Block]:
    """What the note did, the same under other modes, the conversation beside its memory, the answer in full; of a
    conversation its turns."""
    if isinstance(event, ConversationOpened):
        return conversation_blocks(event.turns)
    slsm = source.state.slsm
    row = slsm.results.find((event.conversation_id, event.memory_mode, event.mode, event.attempt))
    opened = source.at(slsm.place(event.conversation_id), ConversationOpened)
    read = [source.at(state.place, StateUpdated) for state in slsm.states_of(event).values()]
    states = [state for state in read if state is not None]
    blocks = [_title(event, bool(states))]
    if row is not None:
        blocks += [_what_the_note_did(slsm, row, event), *_others(slsm, row)]
    if opened is None:
        blocks.append(Paragraph("The log does not say how this conversation begins.", "warn"))
    else:
        last = len(opened.turns) - 1
        selected = last if source.step is None else min(source.step, last)
        blocks += memory_blocks(opened.turns, states, selected)
    plain = None if row is None else slsm.plain(row)
    return [*blocks, *turn_blocks(event, None if plain is row or plain is None else plain.answer)]


def _title(event: ConversationAnswered, has_states: bool) -> Block:
    words: list[str | Span] = [Span(event.conversation_id, "strong"), f"  {variant_words(event)}"]
    words.append(Span("  ( ) other turns" if has_states else "", "dim"))
    words.append(Span(f"  {axis_words(event.axis)}" if event.axis else "", "dim"))
    return Paragraph(words)


def _what_the_note_did(slsm: SLSMState, row: ResultRow, event: ConversationAnswered) -> Facts:
    """The answer without a controller, the note, the answer under it and its judgement."""
    rows: list[tuple[str, Words]] = []
    plain = slsm.plain(row)
    if plain is not None and row.mode != plain.mode:
        note = " ".join(event.note.removeprefix(_NOTE_HEAD).split())
        rows.append((short_method_name(plain.mode), _outcome_spans(plain.passed, plain.answer)))
        rows.append(("the note", note or Span(f"none: {event.reason}", "dim")))
    effect = {
        1: Span("  ▲ the note turned it right", "good"),
        -1: Span("  ▼ the note turned it wrong", "bad"),
    }
    shown = (*_outcome_spans(row.passed, event.answer), effect.get(slsm.against_plain(row), Span("")))
    rows.append((short_method_name(row.mode), shown))
    if event.verdict:
        rows.append(("judged", Span(event.verdict, "dim")))
    return Facts(rows)


def _outcome_spans(passed: bool | None, answer: str) -> tuple[Span, Span]:
    sign, tone = outcome_cell(passed)
    return Span(f"{sign} ", tone), Span(one_line(answer) or "(empty)")


def _others(slsm: SLSMState, row: ResultRow) -> list[Block]:
    """The other answers to the same conversation, each with its verdict; they can be opened."""
    words: list[str | Span] = [Span("the same under", "dim")]
    for other in slsm.results:
        same = (other.conversation_id, other.attempt) == (row.conversation_id, row.attempt)
        if same and other != row:
            sign, tone = outcome_cell(other.passed)
            words += [Span(f"  {sign}", tone), Span(variant_words(other), "accent", answer_target(other))]
    return [Paragraph(words)] if len(words) > 1 else []


def answer_target(row: ResultRow) -> Target:
    """The link to an answer."""
    return Target("answer", f"{variant(row)} {row.attempt} {row.conversation_id}")


def variant(row: ResultRow | ModeScored) -> str:
    """A mode with its memory, as links name it."""
    return f"{row.mode} {row.memory_mode}"


def variant_words(answer: ResultRow | ConversationAnswered | ModeScored) -> str:
    """A mode with its memory, in words."""
    memory = "" if answer.memory_mode == "none" else f", {answer.memory_mode}"
    return short_method_name(answer.mode) + memory


def turn_blocks(event: ConversationAnswered, plain: str | None = None) -> list[Block]:
    """The note or why there was none, the answers, the verdict and the cost. `plain`: the answer without a
    controller."""
    blocks: list[Block] = [Paragraph(_conflict(c.item, c.why, c.exact)) for c in event.conflicts]
    if event.detector_failure:
        blocks.append(Paragraph(f"the detector failed: {event.detector_failure}", "bad"))
    if event.note:
        about = Span(f"  {counted(event.note_tokens, 'tokens')}; {event.reason}", "dim")
        blocks += [Heading(("the note", about), 4), Writing(event.note)]
    else:
        blocks.append(Paragraph((Span("no note", "strong"), f"  {event.reason}")))
    return [*blocks, *_answers(event, plain), *_verdict(event), cost_table(event)]


def _conflict(item: str, why: str, exact: bool) -> Words:
    named = "" if item in why else f"{item}: "
    return Span("✗ ", "bad"), f"{named}{why}", Span(f"  ({'checked' if exact else 'judged'})", "dim")


def _answers(event: ConversationAnswered, plain: str | None) -> list[Block]:
    answer = event.answer or "(empty)"
    before, names = event.first_answer, ("second answer, with the note", "first answer, without a note")
    if plain is not None and not before:
        before, names = plain or "(empty)", (f"with {method_name(event.mode)}", "without a controller")
    return [Changes(answer, before, names)] if before else [Heading("answer", 4), Writing(answer, "strong")]


def _verdict(event: ConversationAnswered) -> list[Block]:
    if event.passed is None and not event.verdict:
        return []
    words: dict[bool | None, tuple[str, Tone]] = {True: ("✓ passes", "good"), False: ("✗ fails", "bad")}
    return [Paragraph((Span(*words.get(event.passed, ("· not judged", "warn"))), f"   {event.verdict}"))]


def cost_table(event: ConversationAnswered) -> Table:
    """Calls and tokens of controller, model and detector."""
    rows: list[Sequence[Words]] = [
        ("controller", str(event.controller_calls), f"{event.controller_tokens:,}"),
        ("model", str(event.model_calls), f"{event.model_tokens:,}"),
        ("detector", str(event.detector_calls), f"{event.detector_tokens:,}"),
    ]
    if event.cost:
        rows.append(("cost", "", f"{event.cost:.4g}"))
    return Table(("", "calls", "tokens"), rows, 2)


def _words(event: ConversationAnswered | ConversationOpened) -> str:
    if isinstance(event, ConversationOpened):
        return f"turns of conversation {event.conversation_id}"
    attempt = f", attempt {event.attempt + 1}" if event.attempt else ""
    return f"conversation {event.conversation_id}, {variant_words(event)}{attempt}"


ANSWERS: Cases[AnswerRow] = Cases(
    name="answers",
    columns=COLUMNS,
    rows=answer_rows,
    event=ConversationAnswered,
    also=(ConversationOpened,),
    words=_words,
    draw=answer_blocks,
    empty=_EMPTY,
    notable=lambda state, row: row.turned != 0,
    notable_words="answer that a note turned right (▲) or wrong (▼)",
    remark=_remark,
    steps=lambda row: row.result.turns,
)
