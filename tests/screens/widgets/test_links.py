"""Ids in a drawn text: where they are, and which one is chosen."""

from __future__ import annotations

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from app.blocks.block import Target
from app.blocks.terminal import META
from screens.widgets.links import Highlighted, Link, find_links, target_of

A, B = Target("entry", "a"), Target("run", "b")


def link(text: str, target: Target) -> Segment:
    return Segment(text, Style(meta={META: tuple(target)}))


def test_ids_from_top_to_bottom() -> None:
    """One in two pieces, or that goes on in the next line, counts once; the same one further down counts again."""
    lines = [
        [Segment("no ", Style(bold=True)), link("a", A), link("aa", A), Segment(" "), link("b", B)],
        [link("b", B), link("a", A)],
        [Segment("none")],
        [link("a", A), Segment(" and "), link("a", A)],
    ]
    assert find_links(lines) == [Link(A, 0), Link(B, 0), Link(A, 1), Link(A, 3), Link(A, 3)]
    assert target_of(Style(bold=True)) is None and target_of(Style(meta={META: ("run", "b")})) == B


def test_the_chosen_id_is_in_reverse() -> None:
    console = Console(width=20)
    text = (
        Text("see ")
        .append("a", Style(meta={META: tuple(A)}))
        .append(" or ")
        .append("b", Style(meta={META: tuple(B)}))
    )
    drawn = [
        (segment.text, bool(segment.style and segment.style.reverse))
        for segment in console.render(Highlighted(text, B), console.options)
    ]
    assert [words for words, reverse in drawn if reverse] == ["b"]
    assert "".join(words for words, _ in drawn).rstrip() == "see a or b"
