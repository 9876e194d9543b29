"""The lines of a comparison's screen: title, changed fields, and what is said about what the cursor is on."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from app.blocks.model_text import one_line
from app.compared.words import RunWords, arm_words, cells_sentence
from app.wording.text import counted
from engine.comparison.comparison import ArmPair, Comparison
from engine.comparison.figures import CELLS


def title(runs: Sequence[RunWords]) -> Text:
    """What the runs are called, then their folders."""
    text = Text().append(" compare ", "bold reverse")
    for letter, run in zip("AB", runs, strict=False):
        text.append(f"  {letter} ", "bold").append(one_line(run.name))
    about = "   ".join(f"{letter} {run.about}" for letter, run in zip("AB", runs, strict=False))
    return text.append(f"   {one_line(about)}", "dim")


def about_methods(comparison: Comparison, arm: ArmPair | None) -> Text:
    """The 2×2 of the method under the cursor in words, and the remarks."""
    text = Text()
    if arm is not None:
        text.append(f"{arm_words(arm)}. ", "bold").append(cells_sentence(arm))
        if arm.a.system == "SLSM":
            text.append(" Means here are over conversations; a run's own score is the mean over its axes.")
    for remark in comparison.remarks:
        text.append(f"\n{one_line(remark)}" if text else one_line(remark))
    return text


def about_items(arm: ArmPair, cell: int | None, count: int) -> Text:
    """Which items of a method are listed."""
    items = counted(count, "items")
    kind = items if cell is None else f"{CELLS[cell]}, {items}"
    return Text.assemble((f"{arm_words(arm)}: {kind}", "bold"), ". v shows others.")


def changed_words(comparison: Comparison) -> Text:
    """The changed fields, one after the other."""
    if not comparison.changed:
        return Text("No field of the configuration differs.")
    text = Text(f"{counted(len(comparison.changed), 'changed fields')}, A → B:", "dim")
    for field in comparison.changed:
        text.append("   ").append(f"{field.name} ", "bold")
        text.append(one_line(f"{field.a or 'not there'} → {field.b or 'not there'}"))
    return text
