"""Drawing of a conversation beside its memory, and of an answer with its note, verdict and cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.blocks.model_text import clean
from app.text import counted
from engine.events import ConversationAnswered, StateItem, StateUpdated

Palette = dict[str, Style]
SIDE_BY_SIDE = 84
"""Columns from which conversation and state stand beside each other."""

_TITLES = {
    "constraints": "constraints", "facts": "facts", "edits": "edits: latest versions", "assumptions": "assumptions",
    "unknowns": "unknowns",
}  # fmt: skip
_STATUS = {"satisfied": ("✓", "good"), "violated": ("✗", "bad"), "invalid": ("✗", "bad")}


def draw_memory(
    turns: Sequence[Sequence[str]],
    states: Sequence[StateUpdated],
    selected: int,
    palette: Palette,
    width: int,
) -> RenderableType:
    """`turns`: [user, assistant]; `states`: after each of the first turns, none without a controller; `selected`: the
    turn whose state is shown."""
    state = states[selected] if selected < len(states) else None
    talk = _conversation(turns, states, selected, palette)
    memory = _memory(state, palette) if states else Text("no controller, no memory", palette["dim"])
    if width < SIDE_BY_SIDE:
        return Group(talk, Text(), memory)
    grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
    grid.add_column(ratio=1)
    grid.add_column(ratio=1)
    grid.add_row(talk, memory)
    return grid


def _conversation(
    turns: Sequence[Sequence[str]], states: Sequence[StateUpdated], selected: int, palette: Palette
) -> Text:
    """Quotes of what the state holds are marked in the turn they came from; the selected turn's are bright."""
    text = Text()
    quotes = _quotes(states)
    for number, turn in enumerate(turns):
        here = number == selected
        mark = f"{'▶' if here else ' '}{number + 1:>2} "
        for who, message in zip(("user", "assistant"), turn, strict=False):
            text.append(mark, palette["accent"] if here else palette["dim"])
            text.append(f"{who:<10}", palette["dim"])
            line = Text(clean(message))
            for quote, changed in quotes.get(number, ()):
                _mark(line, quote, palette["accent"] if here and changed else Style(underline=True))
            text.append_text(line).append("\n")
            mark = "    "
    text.rstrip()
    return text


def _quotes(states: Sequence[StateUpdated]) -> dict[int, list[tuple[str, bool]]]:
    """By turn: quotes on which that turn's changes rest."""
    return {
        state.turn: [
            (change.item.evidence, change.operation != "resolved")
            for change in state.changes
            if change.item.evidence
        ]
        for state in states
    }


def _mark(line: Text, quote: str, style: Style) -> None:
    start = line.plain.casefold().find(clean(quote).casefold())
    if start >= 0:
        line.stylize(style, start, start + len(quote))


def _memory(state: StateUpdated | None, palette: Palette) -> RenderableType:
    if state is None:
        return Text("not analysed yet", palette["dim"])
    parts: list[RenderableType] = [_plan(state, palette), Text()]
    if state.memory_mode == "flat":
        parts.append(_flat(state, palette))
    else:
        parts.append(_structured(state, palette))
    if state.gated:
        parts += [Text(), Text("left out, because the quote does not occur in the turn:", palette["warn"])]
        parts += [Text(f"  {clean(item.text)}", palette["dim"]) for item in state.gated]
    if state.failure:
        parts += [
            Text(),
            Text.assemble(("the previous state still holds: ", palette["bad"]), clean(state.failure)),
        ]
    return Group(*parts)


def _plan(state: StateUpdated, palette: Palette) -> RenderableType:
    tone = {"verify": "warn", "clarify": "bad"}.get(state.plan_mode, "good")
    text = Text.assemble((f"after turn {state.turn + 1}   ", palette["strong"]), ("plan ", palette["dim"]),
                         (state.plan_mode, palette[tone]))  # fmt: skip
    why = [
        Padding(Text(f"because {clean(reason)}", palette["dim"]), (0, 0, 0, 2)) for reason in state.reasons
    ]
    return Group(text, *why)


def _structured(state: StateUpdated, palette: Palette) -> Text:
    """Items by list; + added, ~ changed, − resolved in this turn."""
    text = Text()
    changed = {change.item.id: change for change in state.changes}
    gone = [change for change in state.changes if change.operation == "resolved"]
    for kind, title in _TITLES.items():
        items = [item for item in state.items if item.kind == kind]
        lost = [change for change in gone if change.item.kind == kind]
        if not items and not lost:
            continue
        text.append(f"{title}\n", palette["heading"])
        for item in items:
            change = changed.get(item.id)
            sign, tone = {None: (" ", ""), "added": ("+", "good"), "changed": ("~", "warn")}[
                None if change is None else change.operation
            ]
            text.append(f"{sign} ", palette.get(tone, Style()))
            _item(text, item, palette)
            if change is not None and change.before and change.before != item.text:
                text.append(f"\n      was: {clean(change.before)}", palette["dim"])
            text.append("\n")
        for change in lost:
            text.append("− ", palette["bad"])
            text.append(f"{change.item.id} {clean(change.item.text)}", palette["dim"] + Style(strike=True))
            text.append(f"  {clean(change.why)}\n" if change.why else "\n", palette["dim"])
    if not text:
        text.append("empty so far", palette["dim"])
    text.rstrip()
    return text


def _item(text: Text, item: StateItem, palette: Palette) -> None:
    sign, tone = _STATUS.get(item.status, ("", ""))
    text.append(f"{item.id} ", palette["dim"])
    if sign:
        text.append(f"{sign} ", palette[tone])
    text.append(clean(item.text))


def _flat(state: StateUpdated, palette: Palette) -> Text:
    text = Text.assemble(("memory", palette["heading"]), "\n")
    line = Text(clean(state.memory_text) or "empty so far", "" if state.memory_text else palette["dim"])
    for new in state.new_text:
        _mark(line, new, palette["good"])
    text.append_text(line)
    for gone in state.gone_text:
        text.append("\n− ", palette["bad"])
        text.append(clean(gone), palette["dim"] + Style(strike=True))
    if state.mismatch:
        text.append("\nthe last answer contradicts it", palette["bad"])
    return text


def draw_answer(event: ConversationAnswered, palette: Palette) -> RenderableType:
    """The note or why there was none, the answers, the verdict and the cost."""
    parts: list[RenderableType] = []
    if event.first_answer:
        parts += [Text("first answer, without a note", palette["heading"]), Text(clean(event.first_answer))]
    for conflict in event.conflicts:
        how = "checked" if conflict.exact else "judged"
        item = "" if conflict.item in conflict.why else f"{clean(conflict.item)}: "
        parts.append(
            Text.assemble(
                ("✗ ", palette["bad"]), f"{item}{clean(conflict.why)}", (f"  ({how})", palette["dim"])
            )
        )
    if event.detector_failure:
        parts.append(Text(f"the detector failed: {clean(event.detector_failure)}", palette["bad"]))
    if event.note:
        about = f"  {counted(event.note_tokens, 'tokens')}; {clean(event.reason)}"
        parts += [
            Text.assemble(("the note", palette["heading"]), (about, palette["dim"])),
            Text(clean(event.note)),
        ]
    else:
        parts.append(Text.assemble(("no note", palette["heading"]), f"  {clean(event.reason)}"))
    parts += [Text(), Text("second answer" if event.first_answer else "answer", palette["heading"])]
    parts.append(Text(clean(event.answer) or "(empty)", palette["strong"]))
    if event.passed is not None or event.verdict:
        word, tone = {True: ("✓ passes", "good"), False: ("✗ fails", "bad"), None: ("· not judged", "warn")}[
            event.passed
        ]
        parts.append(Text.assemble((word, palette[tone]), f"   {clean(event.verdict)}"))
    parts += [Text(), draw_cost(event, palette)]
    return Group(*parts)


def draw_cost(event: ConversationAnswered, palette: Palette) -> Table:
    """Calls and tokens of controller, model and detector."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    for name in ("", "calls", "tokens"):
        table.add_column(name, justify="left" if not name else "right", no_wrap=True)
    rows: Iterable[tuple[str, int, int]] = (
        ("controller", event.controller_calls, event.controller_tokens),
        ("model", event.model_calls, event.model_tokens),
        ("detector", event.detector_calls, event.detector_tokens),
    )
    for name, calls, tokens in rows:
        table.add_row(Text(name, palette["dim"]), str(calls), f"{tokens:,}")
    if event.cost:
        table.add_row(Text("cost", palette["dim"]), "", f"{event.cost:.4g}")
    return table
