"""A conversation beside the memory that the controller keeps of it."""

from __future__ import annotations

from collections.abc import Sequence

from app.blocks.block import Beside, Block, Bullets, Heading, Paragraph, Span, Tone, Words, Writing
from engine.events import StateChange, StateItem, StateUpdated

_SIDE_BY_SIDE = 84
_TITLES = {
    "constraints": "constraints", "facts": "facts", "edits": "edits: latest versions", "assumptions": "assumptions",
    "unknowns": "unknowns",
}  # fmt: skip
_STATUS: dict[str, Span] = {
    "satisfied": Span("✓ ", "good"),
    "violated": Span("✗ ", "bad"),
    "invalid": Span("✗ ", "bad"),
}
_PLAN_TONES: dict[str, Tone] = {"verify": "warn", "clarify": "bad"}
_SIGNS: dict[str, Span] = {"added": Span("+ ", "good"), "changed": Span("~ ", "warn")}


def memory_blocks(
    turns: Sequence[Sequence[str]], states: Sequence[StateUpdated], selected: int
) -> list[Block]:
    """`turns`: [user, assistant]; `states`: after each of the first turns, none without a controller; `selected`: the
    turn whose state is shown."""
    state = states[selected] if selected < len(states) else None
    memory = _memory(state) if states else [Paragraph("no controller, no memory", "dim")]
    return [Beside(conversation_blocks(turns, states, selected), memory, _SIDE_BY_SIDE)]


def conversation_blocks(
    turns: Sequence[Sequence[str]], states: Sequence[StateUpdated] = (), selected: int = -1
) -> list[Block]:
    """What the memory rests on is marked in the turn it came from; what the selected turn changed stands out."""
    lines: list[Block] = []
    quotes = _quotes(states)
    for number, turn in enumerate(turns):
        here = number == selected
        mark = f"{'▶' if here else ' '}{number + 1:>2} "
        for who, message in zip(("user", "assistant"), turn, strict=False):
            marked = _marked(message, quotes.get(number, ()), here)
            lines.append(
                Paragraph((Span(mark, "accent" if here else "dim"), Span(f"{who:<10}", "dim"), *marked))
            )
            mark = "    "
    return lines


def _quotes(states: Sequence[StateUpdated]) -> dict[int, list[tuple[str, bool]]]:
    """By turn: quotes on which that turn's changes rest, and whether they are new."""
    return {
        state.turn: [(change.item.evidence, change.operation != "resolved") for change in state.changes]
        for state in states
    }


def _marked(message: str, quotes: Sequence[tuple[str, bool]], here: bool) -> list[Span]:
    """The message in pieces; quotes may overlap: the first one that begins at a place is marked there."""
    pieces, at = list[Span](), 0
    places = sorted((message.casefold().find(quote.casefold()), len(quote), new) for quote, new in quotes)
    for start, length, new in places:
        if start < at:  # not found, or within another quote
            continue
        pieces += [
            Span(message[at:start]),
            Span(message[start : start + length], "accent" if here and new else "strong"),
        ]
        at = start + length
    return [piece for piece in (*pieces, Span(message[at:])) if piece.text]


def _memory(state: StateUpdated | None) -> list[Block]:
    if state is None:
        return [Paragraph("not analysed yet", "dim")]
    plan = (
        Span(f"after turn {state.turn + 1}   ", "strong"),
        Span("plan ", "dim"),
        Span(state.plan_mode, _PLAN_TONES.get(state.plan_mode, "good")),
    )
    blocks: list[Block] = [Paragraph(plan)]
    blocks += [Paragraph(f"  because {reason}", "dim") for reason in state.reasons]
    blocks += _flat(state) if state.memory_mode == "flat" else _structured(state)
    if state.gated:
        blocks.append(Paragraph("left out, because the quote does not occur in the turn:", "warn"))
        blocks.append(Bullets([Span(item.text, "dim") for item in state.gated]))
    if state.failure:
        blocks.append(Paragraph((Span("the previous state still holds: ", "bad"), state.failure)))
    return blocks


def _structured(state: StateUpdated) -> list[Block]:
    """Items by list; + added, ~ changed, − resolved in this turn."""
    changed = {change.item.id: change for change in state.changes}
    blocks: list[Block] = []
    for kind, title in _TITLES.items():
        items = [item for item in state.items if item.kind == kind]
        resolved = [c for c in state.changes if c.operation == "resolved" and c.item.kind == kind]
        if items or resolved:
            blocks.append(Heading(title, 4))
            blocks += [Paragraph(line) for item in items for line in _item(item, changed.get(item.id))]
            blocks += [Paragraph(_resolved(change)) for change in resolved]
    return blocks or [Paragraph("empty so far", "dim")]


def _item(item: StateItem, change: StateChange | None) -> list[Words]:
    sign = Span("  ") if change is None else _SIGNS[change.operation]
    lines: list[Words] = [(sign, Span(f"{item.id} ", "dim"), _STATUS.get(item.status, Span("")), item.text)]
    if change is not None and change.before and change.before != item.text:
        lines.append(Span(f"      was: {change.before}", "dim"))
    return lines


def _resolved(change: StateChange) -> Words:
    why = f"  {change.why}" if change.why else ""
    return Span("− ", "bad"), Span(f"{change.item.id} {change.item.text}{why}", "dim")


def _flat(state: StateUpdated) -> list[Block]:
    blocks: list[Block] = [Heading("memory", 4)]
    if not state.memory_text:
        blocks.append(Paragraph("empty so far", "dim"))
    elif not state.new_text:
        blocks.append(Writing(state.memory_text))
    else:
        marked = [
            Span(span.text, "good" if span.tone else "")
            for span in _marked(state.memory_text, [(new, True) for new in state.new_text], True)
        ]
        blocks.append(Paragraph(marked))
    blocks += [Paragraph((Span("− ", "bad"), Span(text, "dim"))) for text in state.gone_text]
    if state.mismatch:
        blocks.append(Paragraph("the last answer contradicts it", "bad"))
    return blocks
