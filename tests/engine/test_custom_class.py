"""What is said of an error in a class or function of the user's own."""

from __future__ import annotations

import pytest

from engine.custom_class import error_text

KEY = "sk-a-key-of-this-machine"


class Worst(BaseException):
    """Passes `except Exception`."""


def test_an_error_that_cannot_say_why() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise Worst

    assert error_text(Mute()) == "Mute: it cannot say why"


def test_an_error_is_told_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    assert error_text(ValueError(f"refused: {KEY}")) == "ValueError: refused: ***"
