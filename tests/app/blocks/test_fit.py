"""Texts and names cut to a number of cells."""

from __future__ import annotations

import pytest

from app.blocks.bars import bar, plain_bar
from app.blocks.fit import fit, fit_name


@pytest.mark.parametrize(
    ("text", "width", "cut", "name"),
    [
        ("abcdef", 6, "abcdef", "abcdef"), ("abcdef", 5, "abcd…", "abcd…"), ("data-0012", 9, "data-0012", "data-0012"),
        ("data-0012", 8, "data-00…", "0012"), ("data-0012", 3, "da…", "00…"), ("data-", 4, "dat…", "dat…"),
        ("a-b-c", 4, "a-b…", "b-c"), ("漢字漢", 5, "漢字…", "漢字…"), ("漢字漢", 4, "漢 …", "漢 …"),
    ],
)  # fmt: skip
def test_what_is_too_long_ends_with_a_sign_and_names_lose_what_all_begin_with(
    text: str, width: int, cut: str, name: str
) -> None:
    assert (fit(text, width), fit_name(text, width)) == (cut, name)


def test_a_bar_has_both_styles_and_never_more_cells_than_there_are() -> None:
    drawn = bar(0.5, 4, "bold", "dim")
    assert drawn.plain == "━━──" and drawn.style == "bold"
    assert [(span.start, span.end, span.style) for span in drawn.spans] == [(2, 4, "dim")]
    assert [plain_bar(share, 3) for share in (-1.0, 0.0, 0.5, 1.0, 9.0)] == [
        "───",
        "───",
        "━╸─",
        "━━━",
        "━━━",
    ]
    assert bar(0.5, 0).plain == bar(0.5, -1).plain == ""
