"""The plots of each method, from the figures in its events."""

from __future__ import annotations

from collections.abc import Iterable

from app.blocks.block import Picture
from app.blocks.drawing import Drawing
from app.blocks.plots import Curve, Interval, curve_plot, interval_plot
from app.methods.page import MethodPage
from app.methods.pages import charts_of, pages
from app.state.run import RunState
from app.words import method_name


def method_plots(state: RunState, method: str) -> list[Picture]:
    """Those of a method, by its title, that there are figures for."""
    page = pages().get(method)
    if page is not None:
        return [*page.pictures(state), *_curves(page, state)]
    found = _FROM.get(method, lambda state: [])(state)
    return [Picture(drawing, caption) for caption, drawing in found if drawing is not None]


def _curves(page: MethodPage, state: RunState) -> list[Picture]:
    pictures: list[Picture] = []
    for y, x, series in charts_of(page, state):
        lines = [Curve(line.label, line.x, line.y) for line in series if not line.faint]
        if (drawing := curve_plot(lines, x)) is not None:
            pictures.append(Picture(drawing, y))
    return pictures


_Plots = Iterable[tuple[str, Drawing | None]]


def _evolution(state: RunState) -> _Plots:
    items = [item for item in state.evolution.iterations.values() if item.minibatch is not None]
    validated = [item for item in items if item.validation is not None]
    numbers = [item.iteration for item in items]
    composite = [
        Curve("minibatch", numbers, [item.minibatch.composite for item in items if item.minibatch]),
        Curve(
            "validation",
            [item.iteration for item in validated],
            [item.validation.composite for item in validated if item.validation],
        ),
    ]
    yield "Composite (0.4 shortness + 0.6 correctness) of each iteration", curve_plot(composite, "iteration")
    tokens = Curve("minibatch", numbers, [item.minibatch.mean_tokens for item in items if item.minibatch])
    yield "Mean length of an answer, in tokens", curve_plot([tokens], "iteration")
    saved = [
        Interval(method_name(row.method), row.tokens_difference, row.tokens_low, row.tokens_high)
        for row in state.evolution.compared.values()
        if row.tokens_difference is not None
    ]
    caption = "Tokens of an answer minus those of the unchanged model, with paired bootstrap 95% intervals"
    yield caption, interval_plot(saved, digits=1, zero=True)


_FROM = {"Evolution": _evolution}
