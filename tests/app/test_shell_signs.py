"""What the console draws with: filters, signs and themes, without a running app."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.binding import Binding
from textual.filter import Monochrome

from app.settings import settings_file, write_theme
from app.shell import SteerApp
from app.terminal.ascii_signs import ASCII_SIGNS
from app.terminal.plain_attributes import plain_attributes
from app.terminal.segment_filter import NO_CONTROLS


@pytest.fixture
def app(tmp_path: Path) -> SteerApp:
    return SteerApp(outputs=tmp_path)


def test_control_codes_are_filtered_always_and_signs_where_they_cannot_be_shown(app: SteerApp) -> None:
    app.unicode = True
    assert NO_CONTROLS in app.get_line_filters() and ASCII_SIGNS not in app.get_line_filters()
    app.unicode = False
    assert [one for one in app.get_line_filters() if one in (NO_CONTROLS, ASCII_SIGNS)] == [
        NO_CONTROLS,
        ASCII_SIGNS,
    ]


def test_without_colours_attributes_say_what_they_said(app: SteerApp) -> None:
    app.no_color = False
    plain = plain_attributes(str(app.current_theme.background))
    assert plain not in app.get_line_filters()
    app.no_color = True
    filters = app.get_line_filters()
    assert filters[-1] is plain and not any(isinstance(one, Monochrome) for one in filters)


@pytest.mark.parametrize(("unicode", "display"), [(True, "⏎"), (False, "enter")])
def test_a_key_is_named_where_its_sign_cannot_be_shown(app: SteerApp, unicode: bool, display: str) -> None:
    app.unicode = unicode
    assert app.get_key_display(Binding("enter", "x", key_display="⏎")) == display


def test_themes_are_ours_and_the_one_that_was_chosen_is_taken(tmp_path: Path) -> None:
    app = SteerApp(outputs=tmp_path)
    assert app.theme == "steer-dark" and {"steer-dark", "steer-light"} <= app.available_themes.keys()
    write_theme("steer-light")
    assert SteerApp(outputs=tmp_path).theme == "steer-light"


def test_where_settings_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/etc/x")
    assert settings_file() == Path("/etc/x/steer-tui/settings.json")
    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    monkeypatch.setenv("HOME", "/home/ann")
    assert settings_file() == Path("/home/ann/.config/steer-tui/settings.json")
