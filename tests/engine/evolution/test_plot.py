"""The picture of an evolution: what is kept as best has a star where it was decided."""

from __future__ import annotations

import struct

import numpy as np

from engine.evolution import plot
from engine.evolution.history import History, Iteration
from engine.evolution.scoring.score import Score


def scored(composite: float) -> Score:
    return Score(
        answers=1, judged=1, correct=1, mean_tokens=10.0, shortness=0.5, correctness=1.0, composite=composite, error=0.0
    )  # fmt: skip


def curves(validation: float | None) -> dict[str, list[tuple[float, float]]]:
    """The upper plot's points by label, of two iterations of which the second is kept."""
    items = [
        Iteration(iteration=0, deltas={}, examples=[], score=scored(0.5), best=True),
        Iteration(
            iteration=1, deltas={}, examples=[], score=scored(0.7), best=True,
            validation=None if validation is None else scored(validation),
        ),
    ]  # fmt: skip
    figure = plot._figure(History(iterations=items))
    return {
        str(line.get_label()): [(float(x), float(y)) for x, y in np.asarray(line.get_xydata())]
        for line in figure.axes[0].lines
    }


def test_by_minibatch_the_star_is_on_the_minibatchs_curve() -> None:
    found = curves(None)
    assert found["kept as best"] == [(0.0, 0.5), (1.0, 0.7)] and "composite, validation" not in found


def test_by_validation_the_star_is_on_the_validation_score() -> None:
    found = curves(0.6)
    assert found["composite, validation"] == [(1.0, 0.6)] and found["kept as best"][1] == (1.0, 0.6)


def test_both_panels_say_what_they_show() -> None:
    items = [Iteration(iteration=4, deltas={}, examples=[], score=scored(0.5), best=True)]
    above, below = plot._figure(History(iterations=items)).axes
    assert [line.get_label() for line in above.lines] == [
        "composite, minibatch", "correctness, minibatch", "kept as best",
    ]  # fmt: skip
    assert np.asarray(above.lines[1].get_xydata()).tolist() == [[4.0, 1.0]]
    assert np.asarray(below.lines[0].get_xydata()).tolist() == [[4.0, 10.0]]
    assert (above.get_ylabel(), below.get_ylabel()) == ("score", "mean response length (tokens)")
    legend = above.get_legend()
    assert below.get_xlabel() == "evolution iteration" and legend is not None
    assert {text.get_fontsize() for text in legend.get_texts()} == {8.0}, "it leaves room for the curves"
    assert above.get_shared_x_axes().joined(above, below) and above.get_xlabel() == ""
    styles = [(line.get_linestyle(), line.get_marker()) for line in (*above.lines, *below.lines)]
    assert styles == [("-", "o"), (":", "."), ("None", "*"), ("-", "o")]
    assert above.lines[2].get_zorder() == above.lines[0].get_zorder(), "later, hence above the curves"
    png = plot.draw(History(iterations=items))
    assert png.startswith(b"\x89PNG") and struct.unpack(">II", png[16:24]) == (800, 600)
