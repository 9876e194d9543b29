"""The plots of each method, from the figures in its events."""

from __future__ import annotations

from collections.abc import Iterable

from app.blocks.block import Picture
from app.blocks.drawing import Drawing
from app.blocks.plots import Curve, Interval, curve_plot, interval_plot
from app.methods.page import MethodPage
from app.methods.pages import charts_of, pages
from app.state.run import RunState
from app.words import sampler_name


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
        lines = [Curve(line.label, line.x, line.y) for line in series if not (line.faint or line.points)]
        if (drawing := curve_plot(lines, x)) is not None:
            pictures.append(Picture(drawing, y))
    return pictures


_Plots = Iterable[tuple[str, Drawing | None]]


def _gflownet(state: RunState) -> _Plots:
    steps = list(state.gflownet.steps)
    numbers = [row.step for row in steps]
    yield (
        "Loss while the sampler was trained",
        curve_plot([Curve("loss", numbers, [row.loss for row in steps])], "training step"),
    )
    for name, words in (
        ("success@1", "Share of first paths that reach an answer"),
        ("answer_recall_union@{}", "Share of the answers that K paths reach"),
    ):
        rows = []
        for event in state.gflownet.test:
            metric = name.format(event.k)
            if (value := event.metrics.get(metric)) is not None:
                rows.append(
                    Interval(sampler_name(event.method), value, *event.intervals.get(metric, (None, None)))
                )
        yield (
            f"{words}, on held-out questions, with 95% intervals where they were computed",
            interval_plot(rows),
        )


_FROM = {"GFlowNet": _gflownet}
