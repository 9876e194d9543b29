"""SLSM: a conversation with its memory, the note, and the answers with and without it."""

from __future__ import annotations

from app.blocks.block import Block, Bullets, Changes, Facts, Heading, Paragraph, facts, writing
from app.figures import outcome_words
from app.methods.source import CaseSource
from engine.events import ConversationAnswered, ConversationOpened, StateUpdated


def conversation(event: ConversationAnswered, source: CaseSource) -> list[Block]:
    """The turns, the memory at the end, the note, the answers, the verdict."""
    slsm = source.state.slsm
    opened = source.at(slsm.place(event.conversation_id), ConversationOpened)
    blocks: list[Block] = [Heading("Conversation", 4)]
    if opened is not None:
        blocks.append(
            Facts([_turn(place, message) for turn in opened.turns for place, message in enumerate(turn)])
        )
    states = slsm.states_of(event)
    if states and (last := source.at(states[max(states)].place, StateUpdated)) is not None:
        blocks += [Heading("Memory before the answer", 4), *_memory(last)]
    blocks.append(
        facts(
            [
                (
                    "note",
                    f"{event.note_tokens} tokens; {event.reason}" if event.note else f"none; {event.reason}",
                ),
                ("verdict", f"{outcome_words(event.passed)}. {event.verdict}"),
            ]
        )
    )
    if event.note:
        blocks += [Heading("The note", 4), writing(event.note)]
    if event.conflicts:
        blocks.append(Bullets([f"✗ {conflict.why}" for conflict in event.conflicts]))
    if event.first_answer:
        title = "The answer: − the first, without a note, + the second"
        return [*blocks, Heading(title, 4), Changes(event.answer, event.first_answer)]
    plain = next(
        (r for r in slsm.results if r.conversation_id == event.conversation_id and r.mode == "baseline"), None
    )
    if plain is not None and event.mode != "baseline":
        title = f"The answer: − without memory ({outcome_words(plain.passed)}), + under {event.mode}"
        return [*blocks, Heading(title, 4), Changes(event.answer, plain.answer)]
    return [*blocks, Heading("The answer", 4), writing(event.answer or "(empty)")]


def _turn(place: int, message: str) -> tuple[str, str]:
    return ("assistant" if place else "user"), message


def _memory(state: StateUpdated) -> list[Block]:
    if state.memory_mode == "flat":
        return [writing(state.memory_text or "empty")]
    if not state.items:
        return [Paragraph("empty")]
    rows = [
        f"{item.kind} {item.id}: {item.text}" + (f" ({item.status})" if item.status else "")
        for item in state.items
    ]
    return [Bullets(rows)]
