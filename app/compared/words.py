"""The words of a comparison of two runs, the same in the console and on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.runs.run_names import folder_words, names_of
from app.wording.text import listed
from app.wording.words import method_name, short_method_name
from engine.comparison.comparison import ArmPair
from engine.comparison.run_items import RunItems
from engine.comparison.trace import AlignedTraces, StepPair

NO_COMMON_ITEMS = "no common items"


@dataclass(frozen=True)
class RunWords:
    """What a run is called beside the others, and `about`: its folder, with its state if it is not finished."""

    name: str
    about: str


def run_words(runs: Sequence[RunItems]) -> list[RunWords]:
    """The words for runs that are compared."""
    names = names_of([run.path for run in runs])
    states = ["" if run.status.state == "finished" else f", {run.status.state}" for run in runs]
    abouts = [folder_words(run.path) + state for run, state in zip(runs, states, strict=True)]
    return [RunWords(name, about) for name, about in zip(names, abouts, strict=True)]


def arm_name(name: str) -> str:
    """`no probing`; a mode of memory notes with its memory is called as on its screen: `silent, structured`."""
    mode, bracket, memory = name.partition(" (")
    return f"{short_method_name(mode)}, {memory.removesuffix(')')}" if bracket else method_name(name)


def arm_words(arm: ArmPair) -> str:
    """`ESM, no probing`; a method that is called as its system has one name."""
    system, method = arm.a.system, arm_name(arm.a.name)
    return system if method == system else f"{system}, {method}"


def finding(arm: ArmPair) -> str:
    """Which run is ahead: `unclear` unless the interval is without 0 and p below 0.05, `equal` where every item has
    the same score. Few items can have an interval without 0 that McNemar's test does not bear out."""
    figures = arm.figures
    if not arm.paired.pairs:
        return NO_COMMON_ITEMS
    if figures.n == 0 or figures.low is None or figures.high is None:
        return "not judged"
    borne_out = figures.p is None or figures.p < 0.05
    if borne_out and (figures.low > 0 or figures.high < 0):
        return "B better" if figures.low > 0 else "A better"
    return "equal" if figures.low == figures.high == 0 else "unclear"


def cells_sentence(arm: ArmPair) -> str:
    """What counts as right, and the 2×2 in words."""
    cells = arm.figures.cells
    if not arm.paired.pairs:
        return "The runs have no item of it in common: nothing is compared."
    if not arm.figures.n:
        return "None of its items was judged in both runs."
    if cells is None:
        return "Several draws are averaged for each item: none is right or wrong by itself."
    both, only_a, only_b, neither = cells
    return (
        f"Right means: {arm.a.right_means}. Both right {both:,}, only A {only_a:,}, only B {only_b:,}, "
        f"neither {neither:,}."
    )


def difference_sentence(traces: AlignedTraces) -> str:
    """Where the two traces part, and from where on the texts differ."""
    if traces.first is None:
        text = "Both runs decided and wrote the same."
    else:
        pair = traces.steps[traces.first]
        text = f"The runs part at {pair.step.title}: {differing(pair)}."
        if traces.first_text is None:
            text += " Both wrote the same text."
        elif traces.first_text != traces.first:
            text += f" The texts differ from {traces.steps[traces.first_text].step.title} on."
    if traces.first_weighed is not None:
        pair = traces.steps[traces.first_weighed]
        text += f" The {pair.step.weighed_as} differs already at {pair.step.title}, with the same decision."
    return text


def differing(pair: StepPair) -> str:
    """`entry, α and text differ`"""
    names = list(pair.differs)
    if names and names[0].startswith("only in"):
        return f"it is {names[0]}"
    return f"{listed(names)} {'differ' if len(names) > 1 else 'differs'}"
