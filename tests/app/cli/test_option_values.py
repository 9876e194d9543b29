"""Values of options at their bounds."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any

import pytest

from app.cli.options import count, names
from app.cli.sweep import _jobs


@pytest.mark.parametrize(
    ("read", "values", "refused"),
    [
        (_jobs, {"1": 1, "12": 12}, ("0", "-1", "1.5", "")),
        (count, {"0": 0, "300": 300}, ("-1", "1.5", "", "²")),
        (names, {"a": ["a"], "a, b": ["a", "b"]}, ("", "a,,b", "a,")),
    ],
)
def test_values_at_their_bounds(
    read: Callable[[str], Any], values: dict[str, Any], refused: tuple[str, ...]
) -> None:
    assert {text: read(text) for text in values} == values
    for text in refused:
        with pytest.raises(ArgumentTypeError):
            read(text)
