"""All that the console uses of Textual and Rich beyond their public names, seen with Textual 8.2.8 and Rich 15.0.

No other module names any of it; `tests/app/test_textual_internals.py` fails where one of these names is gone.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console, RenderableType
from textual._compositor import ChopsUpdate
from textual.app import App, ReturnType
from textual.geometry import Size
from textual.reactive import reactive
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip


class SparingApp(App[ReturnType]):
    """An app that does not send a widget's line to the terminal again while it stands there.

    Textual sends a widget whole whenever it was drawn anew: over ssh a live table costs a tenth of that.
    """

    def __init__(self) -> None:
        super().__init__()
        self._standing: dict[int, dict[int, Strip]] = {}
        """What is on the terminal as far as it is known: a line's strips by their first columns."""

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if isinstance(renderable, ChopsUpdate):
            if not self._batch_count:
                renderable = self._without_standing(renderable)
        elif renderable is not None:
            self._standing.clear()
        super()._display(screen, renderable)

    def _without_standing(self, update: ChopsUpdate) -> ChopsUpdate | None:
        chops, changed = list(update.chops), set()
        for y in {y for y, _, _ in update.spans}:
            spans = [(left, right) for line, left, right in update.spans if line == y]
            standing, unsent = self._standing.setdefault(y, {}), dict(update.chops[y])
            for (x, strip), end in zip(update.chops[y].items(), update.chop_ends[y], strict=False):
                if strip is None or all(x > right or end <= left for left, right in spans):
                    continue
                if standing.get(x) == strip:
                    unsent[x] = None
                    continue
                changed.add(y)
                for start in [start for start, old in standing.items() if start < end and start + old.cell_length > x]:
                    del standing[start]
                if any(left <= x and end <= right for left, right in spans):
                    standing[x] = strip
            chops[y] = unsent
        spans = [span for span in update.spans if span[0] in changed]
        return ChopsUpdate(chops, spans, update.chop_ends) if spans else None


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
