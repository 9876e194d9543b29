"""All that the console uses of Textual and Rich beyond their public names, seen with Textual 8.2.8 and Rich 15.0.

No other module names any of it; `tests/app/test_textual_internals.py` fails where one of these names is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Any, TypeVar, cast

from rich.console import Console, RenderableType
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.app import App, ReturnType
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size
from textual.reactive import reactive
from textual.screen import Screen
from textual.scroll_view import ScrollView

__all__ = ["ChopsUpdate", "CompositorUpdate", "LayoutUpdate"]

File = TypeVar("File")


class DrawnApp(App[ReturnType]):
    """An app that is asked what to do with each update of the screen before it goes to the terminal."""

    def take_update(self, screen: Screen[Any], update: CompositorUpdate) -> None:
        """Something was drawn anew."""

    def write_sequence(self, screen: Screen[Any], sequence: str) -> None:
        """Send a text with control codes to the terminal; the hooks of a drawing are called even if it is empty."""
        super()._display(screen, cast(RenderableType, _Sequence(sequence)) if sequence else None)

    @property
    def in_batch(self) -> bool:
        """Whether nothing is to be sent for the moment."""
        return bool(self._batch_count)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if self.is_headless or not isinstance(renderable, CompositorUpdate):
            super()._display(screen, renderable)
        else:
            self.take_update(screen, renderable)


class _Sequence(CompositorUpdate):
    def __init__(self, text: str) -> None:
        self._text = text

    def render_segments(self, console: Console) -> str:
        return self._text


class FileDriver(LinuxDriver):
    """A driver whose file can be another than the terminal itself."""

    def wrap_file(self, wrap: Callable[[IO[str]], File]) -> File:
        """Write to what `wrap` makes of the file, before anything is written; that."""
        wrapped = wrap(self._file)
        self._file = cast(Any, wrapped)
        return wrapped


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
