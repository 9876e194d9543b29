"""Two traces of an item side by side, from the step at which they part."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.blocks.changes import changed_pieces
from app.blocks.fit import fit_name
from app.blocks.model_text import clean
from app.compared.words import differing, parting_sentence
from app.wording.figures import fixed, outcome_words
from engine.comparison.items import Item
from engine.comparison.trace import Parting, Step, StepPair, Value, same

Palette = Mapping[str, Style]
_ABREAST = 74
_LONGEST = 4_000
"""Characters of a text that are searched for differences."""


def draw_parting(
    a: Item, b: Item, parting: Parting, palette: Palette, width: int, whole: bool
) -> RenderableType:
    """The item, its two outcomes, and the steps: all of them if `whole`, else from the first that differs."""
    parts: list[RenderableType] = [
        Text.assemble(
            (a.id, palette["strong"]), "   A ", _outcome(a, palette), "   B ", _outcome(b, palette)
        ),
        Text(parting_sentence(parting), palette["accent"]),
        Text(clean(a.question), palette["dim"]),
    ]
    first = 0 if whole or parting.first is None else parting.first
    if first:
        steps = f"{first} steps before it are" if first > 1 else "The step before it is"
        parts += [Text(), Text(f"{steps} the same in both; space shows all.", palette["dim"])]
    for number, pair in enumerate(parting.steps[first:], first):
        parts += [Text(), _heading(pair, palette, number == parting.first), _step(pair, palette, width)]
    return Group(*parts)


def _outcome(item: Item, palette: Palette) -> Text:
    if item.right is None:
        return Text(f"score {fixed(item.score)}")
    return Text(outcome_words(item.right), palette["good" if item.right else "bad"])


def _heading(pair: StepPair, palette: Palette, is_first: bool) -> Text:
    text = Text.assemble(
        ("▶ " if is_first else "  ", palette["accent"]), (pair.step.title, palette["heading"])
    )
    if pair.differs:
        return text.append(f"  ≠ {differing(pair)}", palette["warn"])
    return text.append(
        f"  another {pair.step.weighed_as}, the same decision" if pair.weighed_otherwise else "  the same",
        palette["dim"],
    )


def _step(pair: StepPair, palette: Palette, width: int) -> RenderableType:
    if pair.a is not None and pair.b is not None and not pair.differs and not pair.weighed_otherwise:
        return Text(clean(pair.a.text).rstrip(), palette["dim"])
    abreast = width >= _ABREAST
    room = width // 2 - 2 if abreast else width - 3
    left, right = _side(pair.a, pair.b, palette, room), _side(pair.b, pair.a, palette, room)
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, expand=True, show_header=False)
    if abreast:
        table.add_column(ratio=1, overflow="fold")
        table.add_column(ratio=1, overflow="fold")
        table.add_row(Text("A", palette["strong"]), Text("B", palette["strong"]))
        table.add_row(left, right)
        return table
    table.add_column(width=1)
    table.add_column(ratio=1, overflow="fold")
    table.add_row(Text("A", palette["strong"]), left)
    table.add_row(Text("B", palette["strong"]), right)
    return table


def _side(step: Step | None, other: Step | None, palette: Palette, width: int) -> Text:
    if step is None:
        return Text("This run has no such step.", palette["dim"])
    text = Text()
    for name, value in step.decided.items():
        is_same = other is not None and same(value, other.decided.get(name))
        text.append("  " if is_same else "≠ ", palette["warn"])
        text.append(f"{name} ", palette["dim"])
        shown = fit_name(_value(value), max(8, width - 3 - len(name))).rstrip()
        text.append(f"{shown}\n", "" if is_same else palette["warn"])
    if step.note:
        text.append(f"  {clean(step.note)}\n", palette["dim"])
    text.append_text(_written(step, other, palette))
    return text.append_text(_weighed(step, other, palette, width))


def _weighed(step: Step, other: Step | None, palette: Palette, width: int) -> Text:
    """The probes that differ from the other run's."""
    text = Text()
    for name, value in step.weighed.items():
        if other is None or not same(value, other.weighed.get(name)):
            if not text and step.weighed_as == "probe":
                text.append("\nprobed: mean log-probability", palette["dim"])
            text.append("\n")
            shown = fit_name(name, max(8, width - 11)).rstrip()
            text.append(f"≠ {_value(value):>6} {shown}", palette["warn"])
    return text


def _written(step: Step, other: Step | None, palette: Palette) -> Text:
    """What was written; underlined what the other run did not write."""
    mine, theirs = clean(step.text).rstrip(), clean(other.text).rstrip() if other else ""
    if other is None or mine == theirs or max(len(mine), len(theirs)) > _LONGEST:
        return Text(mine)
    text, only_here = Text(), palette["warn"] + Style(underline=True)
    for sign, piece in changed_pieces(mine, theirs):
        if sign != "-":
            text.append(piece, only_here if sign == "+" else "")
    return text


def _value(value: Value) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    return fixed(value) if isinstance(value, float) else clean(str(value))
