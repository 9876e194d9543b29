"""What the overview shows of memory notes."""

from __future__ import annotations

from app.methods.overview import Curve, Highlight, Overview, running_means
from app.methods.place import Place
from app.methods.slsm.answers import ANSWERS
from app.state.run import RunState
from app.state.slsm import ResultRow
from app.wording.text import counted
from app.wording.verdict_text import verdicts
from app.wording.words import short_method_name


def curve(state: RunState) -> Curve:
    """Of the mode and the baseline of the verdict; a mode with the memory that answered first."""
    mode, baseline = _compared(state)
    noted = running_means(row.passed for _, row in _answers(state, mode))
    plain = running_means(row.passed for row in state.slsm.results if row.mode == baseline)
    names = short_method_name(mode), short_method_name(baseline)
    return Curve("passed so far", "the conversations", names[0], noted, names[1], plain)


def highlights(state: RunState) -> list[Highlight]:
    """Answers that notes turned, the comparison."""
    places: list[Highlight] = []
    mode, _ = _compared(state)
    turned = [(state.slsm.against_plain(row), at) for at, row in _answers(state, mode)]
    for sign, words in ((-1, "that a note broke"), (1, "that a note turned right")):
        if rows := [at for turn, at in turned if turn == sign]:
            text = f"{counted(len(rows), 'answers')} {words} ({short_method_name(mode)})"
            places.append(Highlight(text, Place(ANSWERS.name, rows[0], open=True)))
    if state.slsm.modes:
        places.append(Highlight("every mode with its score and its cost", Place("results")))
    return places


def _answers(state: RunState, mode: str) -> list[tuple[int, ResultRow]]:
    """A mode's answers with their numbers, under the kind of memory that answered first: the verdict is about them."""
    rows = [(at, row) for at, row in enumerate(state.slsm.results) if row.mode == mode]
    return [(at, row) for at, row in rows if row.memory_mode == rows[0][1].memory_mode]


def _compared(state: RunState) -> tuple[str, str]:
    """The mode and the baseline that the verdict is about, or will be; older logs do not say the mode."""
    stated = verdicts(state.stages, state.slsm.stages_shown)
    if stated:
        return stated[-1].method, stated[-1].baseline
    mode = "" if state.slsm.began is None else state.slsm.began.compared
    return mode or "on_detection", "baseline"


OVERVIEW = Overview(curve, highlights)
