"""NO_COLOR: what is bold, dim or reverse in place of colours."""

from __future__ import annotations

import pytest
from rich.segment import ControlType, Segment
from rich.style import Style
from textual.color import Color

from app.terminal.plain_attributes import plain_attributes

BLACK = plain_attributes("black")


@pytest.mark.parametrize(
    ("style", "attributes"),
    [
        ("bold italic underline strike #ffffff", "bold italic underline strike"),
        ("#ffffff on #000000", ""),
        ("#808080", ""),  # half as bright as white: 0.502 above black
        ("#7f7f7f", "dim"),  # 0.498
        ("dim #ffffff", "dim"),
        ("#ffffff on #151515", "reverse"),  # 21 of 255: 0.082 above the base
        ("#ffffff on #141414", ""),  # 0.078
        ("#808080 on #606060", "reverse"),  # too faint to be read, but reverse stands out
        ("reverse #ffffff", "reverse"),
        ("reverse #ffffff on #404040", ""),  # reverse twice
        ("on #000000", ""),
    ],
)
def test_an_attribute_says_what_a_colour_says_elsewhere(style: str, attributes: str) -> None:
    [segment] = BLACK.apply([Segment("x", Style.parse(style))], Color(0, 0, 0))
    assert segment.text == "x" and segment.style is not None
    assert segment.style.color is None and segment.style.bgcolor is None
    names = ("bold", "italic", "underline", "strike", "dim", "reverse")
    assert [name for name in names if getattr(segment.style, name)] == sorted(
        attributes.split(), key=names.index
    )


def test_links_and_what_a_click_does_stay() -> None:
    style = Style(color="red", link="https://x", meta={"@click": "bell"})
    plain, bare, control = BLACK.apply(
        [Segment("x", style), Segment("y"), Segment("", style, [(ControlType.BELL,)])], Color(0, 0, 0)
    )
    assert plain.style is not None and (plain.style.link, plain.style.meta) == (
        "https://x",
        {"@click": "bell"},
    )
    assert bare.style is None and control.style is style
    assert plain_attributes("black") is BLACK, "strips remember it"


@pytest.mark.parametrize(
    ("style", "attributes"), [("#c0c0c0", "dim"), ("#000000", ""), ("#000000 on #e0e0e0", "reverse")]
)
def test_on_a_light_screen_what_is_light_is_faint(style: str, attributes: str) -> None:
    [segment] = plain_attributes("white").apply([Segment("x", Style.parse(style))], Color(255, 255, 255))
    assert segment.style is not None
    assert " ".join(name for name in ("dim", "reverse") if getattr(segment.style, name)) == attributes
