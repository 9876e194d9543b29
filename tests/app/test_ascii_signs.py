"""Signs of a terminal without UTF-8: each as wide as before, and right still told from wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from app.shell import SteerApp
from app.terminal.ascii_signs import WARNING, in_ascii, takes_unicode


@pytest.mark.parametrize(
    ("encoding", "takes"),
    [("utf-8", True), ("UTF8", True), ("ascii", False), ("ANSI_X3.4-1968", False), ("latin-1", False),
     ("no-such", False), (None, False), ("", False)],
)  # fmt: skip
def test_which_encodings_hold_all_signs(encoding: str | None, takes: bool) -> None:
    assert takes_unicode(encoding, {"LC_ALL": "en_US.UTF-8"}) is takes
    assert not takes_unicode(encoding, {"LC_ALL": "C"}) and not takes_unicode(encoding, {"LC_ALL": "POSIX"})
    for asked in ("PYTHONUTF8", "PYTHONIOENCODING"):
        assert takes_unicode(encoding, {"LC_ALL": "C", asked: "1"}) is takes


@pytest.mark.parametrize(
    ("text", "ascii_text"),
    [
        ("✓ ✗ ▲ ▼ ≈", "+ x ^ v ~"),
        ("● ■ ▶ ‖ ○ ◌ ⊘ ◐", "* # > = o : / %"),
        ("−0.5 ≠ α β Â é", "-0.5 ! a b A e"),
        ("plain", "plain"),
        ("…·×→", "..x>"),
        ("⠀⠉⣀⡇⣿", " '.::"),  # no dot; above; below; both; all
        (
            "\u28ff\u2900\u2500\u257f\u259f\u25a0",
            ":?-+|#",
        ),  # the ends of what is drawn with: dots, boxes, blocks
        ("╭─┤█▁▊", "+-+#_|"),
        ("日本", "????"),  # two cells each
        ("ﬁ", "f"),  # one cell, two letters
        ("“so” ‘x’", "\"so\" 'x'"),
        ("→ ← ↑ ↓ › ▸ ▾ ⏎ ⌫", "> < ^ v > > v $ <"),
        ("★ ◆ ◇ • ↻ ◉ – —", "* # o * @ O - -"),
        ("▁▂▃▄▅▆▇█", "_.-=+*##"),
        ("│ ┃ ║ ─ ━ ═ ┼ ▒", "| | | - = = + |"),
        ("α β ρ δ Δ", "a b p d d"),
    ],
)
def test_every_sign_keeps_its_cells(text: str, ascii_text: str) -> None:
    assert in_ascii(text) == ascii_text
    assert cell_len(in_ascii(text)) == cell_len(text)


def test_what_tells_states_apart_stays_apart() -> None:
    for signs in ("✓✗·", "▲▼≈", "●■✓✗?○", "★☆", "◐✓✗", "✓▶‖✗■◌⊘◐○", "＋✗"):
        assert len({in_ascii(sign) for sign in signs}) == len(signs), signs


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
async def test_the_console_warns_once_and_draws_ascii(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setattr("app.shell.takes_unicode", lambda *names: encoding == "utf-8")
    app = SteerApp(outputs=tmp_path / "outputs")
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        await pilot.press("plus")
        await pilot.pause()
        told = [note.message for note in app._notifications]
        drawn = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
    assert told.count(WARNING) == (encoding == "ascii")
    assert drawn.isascii() is (encoding == "ascii")
