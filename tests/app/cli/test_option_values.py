"""Values of options at their bounds, and exit codes."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable
from typing import Any

import pytest

from app.cli import check_class
from app.cli.options import count, names
from app.cli.run import _fps
from app.cli.sweep import _jobs
from engine.testkit.trial import Seen


@pytest.mark.parametrize(
    ("read", "values", "refused"),
    [
        (_fps, {"0.1": 0.1, "2": 2.0, "30": 30.0}, ("0.09", "30.1", "0", "-2", "fast", "nan")),
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


@pytest.mark.parametrize(
    ("problems", "code", "last"),
    [
        (("", ""), 0, "fit for evolution.judge: 2 trials"),
        (("it raises", ""), 2, "1 of 2 trials went wrong"),
        (("it raises", "it hangs"), 2, "2 of 2 trials went wrong"),
    ],
)
def test_one_trial_that_goes_wrong_is_enough(
    problems: tuple[str, str], code: int, last: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    seen = [Seen(trial, problem) for trial, problem in zip(("plain", "huge"), problems, strict=True)]
    monkeypatch.setattr("engine.testkit.apart.apart", lambda trials: seen)
    assert check_class.execute(Namespace(role="evolution.judge", name="a:B", seconds=1.0)) == code
    lines = capsys.readouterr().out.splitlines()
    words = [f"ok    {one.trial}" if not one.problem else f"wrong {one.trial}: {one.problem}" for one in seen]
    assert lines == [*words, last]
