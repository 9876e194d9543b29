"""`evolution_lengths.png`: composite, correctness and mean length over the iterations (spec Evolution 6)."""

from __future__ import annotations

import io

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from engine.evolution.history import History


def draw(history: History) -> bytes:
    """The plot as PNG."""
    png = io.BytesIO()
    FigureCanvasAgg(_figure(history)).print_png(png)
    return png.getvalue()


def _figure(history: History) -> Figure:
    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    items = history.iterations
    numbers = [item.iteration for item in items]
    above.plot(numbers, [item.score.composite for item in items], "o-", label="composite, minibatch")
    above.plot(numbers, [item.score.correctness for item in items], ".:", label="correctness, minibatch")
    validated = [(item.iteration, item.validation.composite) for item in items if item.validation is not None]
    if validated:
        above.plot(*zip(*validated, strict=True), "s", label="composite, validation")
    kept = [(item.iteration, item.decided_by.composite) for item in items if item.best]
    above.plot(*zip(*kept, strict=True), "k*", markersize=12, label="kept as best")
    above.set_ylabel("score")
    above.legend(fontsize=8)
    below.plot(numbers, [item.score.mean_tokens for item in items], "o-", color="tab:red")
    below.set_ylabel("mean response length (tokens)")
    below.set_xlabel("evolution iteration")
    for panel in (above, below):
        panel.grid(alpha=0.3)
    return figure
