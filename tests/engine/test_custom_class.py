"""What is said of an error in a class of the user's own, and of what it lacks."""

from __future__ import annotations

import pytest

from engine import custom_class
from engine.custom_class import error_text, make_custom
from engine.errors import ConfigError
from tests.exactly import exactly

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


class Protocol:
    """A field without a value, and a method."""

    name: str

    def act(self) -> None: ...


class Nameless:
    """Lacks the field."""

    def act(self) -> None: ...


class Idle:
    """Lacks the method."""

    name = "idle"


@pytest.mark.parametrize(("kind", "lacks"), [(Nameless, "`name`"), (Idle, "`act`"), (int, "`name`, `act`")])
def test_what_a_class_lacks_is_named(kind: type, lacks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom_class, "imported", lambda name, where: kind)
    said = (
        f"judge.kind: found mine:Own, expected a class with {lacks}, as `Protocol` in {__name__} describes "
        "(configuration): correct this value"
    )
    with pytest.raises(ConfigError, match=exactly(said)):
        make_custom("mine:Own", "judge.kind", Protocol)
