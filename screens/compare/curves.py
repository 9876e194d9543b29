"""The curves of two runs in one chart, with the run's letter at each line's end."""

from __future__ import annotations

from app.methods.chart import Series, running_mean
from engine.comparison.comparison import Comparison
from screens.widgets.chart import Chart

_MANY = 60
"""From so many points on a line is drawn as its running mean."""


def overlaid(comparison: Comparison, system: str) -> list[Chart]:
    """A chart for each curve that both runs have, those of `system` first."""
    both = [key for key in comparison.a.curves if key in comparison.b.curves]
    charts = []
    for key in sorted(both, key=lambda key: key.system != system):
        chart = Chart(f"{key.system}: {key.y}", key.x)
        chart.series = [
            _line(name, *run.curves[key]) for name, run in (("A", comparison.a), ("B", comparison.b))
        ]
        charts.append(chart)
    return charts


def _line(name: str, x: list[float], y: list[float]) -> Series:
    window = len(y) // _MANY
    if window < 2:
        return Series(name, x, y)
    return Series(f"{name}, mean of {window}", x, running_mean(y, window))
