"""Texts from elsewhere are never read as markup: `[red]` in the name of a run would vanish, `[/x]` end the console."""

from __future__ import annotations

import ast

from tests.conftest import ROOT


def is_fixed(text: ast.expr) -> bool:
    """Whether nothing from elsewhere is in it."""
    if isinstance(text, ast.IfExp):
        return is_fixed(text.body) and is_fixed(text.orelse)
    return isinstance(text, ast.Constant)


def has_markup(call: ast.Call) -> bool:
    return not any(
        word.arg == "markup" and isinstance(word.value, ast.Constant) and word.value.value is False
        for word in call.keywords
    )


def notifications(source: str) -> list[ast.Call]:
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [call for call in calls if getattr(call.func, "attr", "") == "notify" and call.args]


def test_a_notification_with_a_name_in_it_has_no_markup() -> None:
    files = [*(ROOT / "app").rglob("*.py"), *(ROOT / "screens").rglob("*.py")]
    open_calls = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in files
        for call in notifications(path.read_text(encoding="utf-8"))
        if not is_fixed(call.args[0]) and has_markup(call)
    ]
    assert len(files) > 300 and open_calls == []


def test_no_text_of_a_widget_is_read_as_markup() -> None:
    """What a `Static` shows comes from files, servers and models; the console's own words have no markup either."""
    open_calls = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in (ROOT / "screens").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Static" and has_markup(call)
    ]
    assert open_calls == []
