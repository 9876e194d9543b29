"""What is said of an error in a class of the user's own, and of what it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import custom_class
from engine.custom_class import error_text, imported, make_custom
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


class Hidden(Protocol):
    """Has a part of its own that nobody else needs."""

    _inner: int


def test_what_a_protocol_keeps_to_itself_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom_class, "imported", lambda name, where: Nameless)
    assert isinstance(make_custom("mine:Own", "judge.kind", Hidden), Nameless)


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        ("", "mine_none:Own", "a name of the module `mine_none`; it has none"),
        (
            "limit = 3\ndef _own(): ...\n" + "".join(f"class C{number}: ...\n" for number in range(9)),
            "mine_many:Own", "a name of the module `mine_many`; it has C0, C1, C2, C3, C4, C5, C6, C7",
        ),
        (
            "import mine_lacks.more\n", "mine_lacks:Own",
            "a module that can be imported; importing it failed: ModuleNotFoundError: No module named "
            "'mine_lacks.more'; 'mine_lacks' is not a package (mine_lacks.py:1)",
        ),
        (
            "import mine_long\n", "mine_longer:Own",
            "a module that can be imported; importing it failed: ModuleNotFoundError: No module named 'mine_long' "
            "(mine_longer.py:1)",
        ),
        (
            None, "mine_nowhere.deep:Own",
            "a module that can be imported; there is no `mine_nowhere` (put its folder into PYTHONPATH)",
        ),
    ],
)  # fmt: skip
def test_what_a_module_lacks_is_told(
    content: str | None, name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    if content is not None:
        (tmp_path / f"{name.partition(':')[0]}.py").write_text(content)
    with pytest.raises(
        ConfigError,
        match=exactly(f"judge.kind: found {name}, expected {said} (configuration): correct this value"),
    ):
        imported(name, "judge.kind")


@pytest.mark.parametrize("content", ["raise KeyboardInterrupt", "def Own(): raise KeyboardInterrupt"])
def test_ctrl_c_ends_what_a_class_does(content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While its module is imported, and while it is made."""
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"mine_waits_{len(content)}"
    (tmp_path / f"{name}.py").write_text(content)
    with pytest.raises(KeyboardInterrupt):
        make_custom(f"{name}:Own", "judge.kind", Protocol)
