"""What charts do before the plotting library sees anything."""

from __future__ import annotations

import subprocess
import sys
from math import inf, nan

from hypothesis import given
from hypothesis import strategies as st

from screens.widgets.chart import thin, ticks

_values = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400)


@given(_values, st.integers(4, 60))
def test_thinned_lines_keep_their_outline(y: list[float], points: int) -> None:
    """Few points, in order, with the same lowest and highest value."""
    x, thinned = thin(range(len(y)), y, points)
    assert len(x) <= max(len(y) if len(y) <= points else 0, points + 2)
    assert list(x) == sorted(x)
    assert (min(thinned), max(thinned)) == (min(y), max(y))


def test_what_is_no_number_is_left_out() -> None:
    """NaN and infinities would make the library fail."""
    assert thin([1, 2, 3, 4], [0.5, nan, inf, 0.25], 10) == ([1, 4], [0.5, 0.25])


@given(st.lists(st.floats(-1e6, 1e6).map(lambda v: round(v, 3)), min_size=1, max_size=20), st.integers(2, 12))
def test_ticks_enclose_the_values(values: list[float], most: int) -> None:
    """Round, rising, not many more than asked for."""
    found = ticks(values, most)
    assert found[0] <= min(values) + 1e-6 and found[-1] >= max(values) - 1e-6
    assert found == sorted(found)
    assert len(found) <= most + 3


def test_ticks_of_accuracies() -> None:
    """Steps of 1, 2 or 5."""
    assert ticks([0.58, 1.0], 5) == [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert ticks([4, 25], 6) == [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]


def test_the_screen_is_imported_without_the_library() -> None:
    """Charts must not cost the first paint, nor may anything slow come in with the screen."""
    slow = ("plotext", "torch", "numpy", "pydantic")
    code = f"import sys, screens.esm.screen; print([m for m in {slow} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
