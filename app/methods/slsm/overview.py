"""What the overview shows of memory notes."""

from __future__ import annotations

from app.methods.overview import Curve, Highlight, Overview, running_means
from app.methods.place import Place
from app.methods.slsm.answers import ANSWERS
from app.state.run import RunState
from app.wording.text import counted
from app.wording.verdict_text import verdicts
from app.wording.words import short_method_name


def curve(state: RunState) -> Curve:
    """Of the mode and the baseline of the verdict; a mode with the memory that answered first."""
    mode, baseline = _compared(state)
    rows = [row for row in state.slsm.results if row.mode == mode]
    noted = running_means(row.passed for row in rows if row.memory_mode == rows[0].memory_mode)
    plain = running_means(row.passed for row in state.slsm.results if row.mode == baseline)
    names = short_method_name(mode), short_method_name(baseline)
    return Curve("passed so far", "the conversations", names[0], noted, names[1], plain)


def highlights(state: RunState) -> list[Highlight]:
    """Answers that notes turned, the comparison."""
    places: list[Highlight] = []
    mode, baseline = _compared(state)
    right, wrong = state.slsm.turned(mode, baseline)
    for rows, words in ((wrong, "that a note broke"), (right, "that a note turned right")):
        if rows:
            text = f"{counted(len(rows), 'answers')} {words} ({mode.replace('_', ' ')})"
            places.append(Highlight(text, Place(ANSWERS.name, rows[0], open=True)))
    if state.slsm.modes:
        places.append(Highlight("every mode with its score and its cost", Place("results")))
    return places


def _compared(state: RunState) -> tuple[str, str]:
    """The mode and the baseline that the verdict is about; before there is one, those that are answered first."""
    stated = verdicts(state.stages, state.slsm.stages_shown)
    return (stated[-1].method, stated[-1].baseline) if stated else ("on_detection", "baseline")


OVERVIEW = Overview(curve, highlights)
