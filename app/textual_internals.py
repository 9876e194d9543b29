"""All that the console uses of Textual and Rich beyond their public names, seen with Textual 8.2.8 and Rich 15.0.

No other module names any of it; `tests/app/test_textual_internals.py` fails where one of these names is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from types import SimpleNamespace
from typing import Any, cast

from rich.console import Console, RenderableType
from rich.segment import Segment
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._compositor import ChopsUpdate
from textual.app import App, ReturnType
from textual.geometry import Size
from textual.reactive import reactive
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip

# Of escape and a digit Textual makes the sign that option and the digit write on a Mac, which a field would take.
cast(dict[str, Any], ANSI_SEQUENCES_KEYS).update(
    {f"\x1b{digit}": (SimpleNamespace(value=f"alt+{digit}"),) for digit in range(1, 10)}
)


class SparingApp(App[ReturnType]):
    """An app that sends the terminal only those parts of a line that do not stand there yet.

    Textual sends a widget whole whenever it was drawn anew, which a slow ssh line feels.
    """

    def __init__(self) -> None:
        super().__init__()
        self._standing: dict[int, dict[int, Strip]] = {}
        """What is on the terminal as far as it is known: a line's strips by their first columns."""

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if isinstance(renderable, ChopsUpdate) and not self._batch_count:
            renderable = self._what_differs(renderable)
        elif renderable is not None:
            self._standing.clear()
        super()._display(screen, renderable)

    def _what_differs(self, update: ChopsUpdate) -> ChopsUpdate | None:
        chops: list[dict[int, Strip | None]] = [{} for _ in update.chops]
        for y, left, right in update.spans:
            standing = self._standing.setdefault(y, {})
            for (x, strip), end in zip(update.chops[y].items(), update.chop_ends[y], strict=False):
                if strip is None or x > right or end <= left:
                    continue
                chops[y].update(_differing(x, strip, standing.pop(x, Strip.blank(0))))
                covered = [at for at, old in standing.items() if at < end and at + old.cell_length > x]
                for at in covered:
                    del standing[at]
                standing[x] = strip
        ends = [[x + strip.cell_length for x, strip in line.items() if strip] for line in chops]
        spans = [(y, min(line), max(ends[y])) for y, line in enumerate(chops) if line]
        return ChopsUpdate(chops, spans, ends) if spans else None


def _differing(x: int, strip: Strip, old: Strip) -> Iterator[tuple[int, Strip]]:
    """Parts of a strip that begins in column `x` which the old one has not at the same place."""
    standing = set(_placed(x, old))
    for known, parts in groupby(_placed(x, strip), standing.__contains__):
        if not known:
            columns, segments = zip(*parts, strict=True)
            yield columns[0], Strip(segments)


def _placed(x: int, strip: Strip) -> Iterator[tuple[int, Segment]]:
    for segment in strip:
        yield x, segment
        x += segment.cell_length


class SelfSizedView(ScrollView):
    """A scrolling view that says itself how much there is to scroll: the screen is not laid out anew when that changes,
    which would cost more than drawing."""

    virtual_size = reactive(Size(0, 0), layout=False)

    def watch_virtual_size(self, virtual_size: Size) -> None:
        """Let the scroll bars follow."""
        self._scroll_update(virtual_size)


def without_markup(console: Console) -> None:
    """Brackets in plain strings, which come from files, servers and models, are brackets."""
    console._markup = False


def lay_out(screen: Screen[Any]) -> None:
    """Lay the screen out at once."""
    screen._refresh_layout()


def terminal_busy(app: App[Any]) -> bool:
    """Whether a slow terminal has not taken yet what was drawn: it waits in the queue of Textual's writing thread."""
    writer = getattr(app._driver, "_writer_thread", None)
    return writer is not None and not writer._queue.empty()
