"""Links in a drawn text: an id that can be followed. A link is underlined; which one is chosen is shown in reverse."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.style import Style

from app.blocks.block import Target
from app.blocks.terminal import META


class Link(NamedTuple):
    """A link of a drawn text, and the line on which it begins."""

    target: Target
    line: int


def target_of(style: Style) -> Target | None:
    """Where a style under the mouse leads."""
    place = style.meta.get(META)
    return None if place is None else Target(*place)


def find_links(lines: Iterable[Iterable[Segment]]) -> list[Link]:
    """The links of drawn lines, from top to bottom. One that goes over two lines counts once."""
    links: list[Link] = []
    for y, line in enumerate(lines):
        before = None
        for segment in line:
            target = None if segment.style is None else target_of(segment.style)
            if target is not None and target != before and (not links or links[-1] != (target, y - 1)):
                links.append(Link(target, y))
            before = target
    return links


class Highlighted:
    """A drawing with one of its links in reverse."""

    def __init__(self, inner: RenderableType, target: Target) -> None:
        self._inner, self._target = inner, target

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self._inner, options):
            chosen = style is not None and target_of(style) == self._target
            yield Segment(text, style + Style(reverse=True) if chosen and style else style, control)
