"""The way to the terminal: knows whether it has taken what was written, so that nothing piles up before a slow one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from rich.color import ColorSystem
from rich.console import COLOR_SYSTEMS
from textual.app import ReturnType
from textual.screen import Screen

from app.terminal.picture import TerminalPicture
from app.textual_internals import CompositorUpdate, DrawnApp, FileDriver


class CountedFile:
    """A file that is written and flushed by Textual's writing thread, and counts what went through."""

    def __init__(self, file: IO[str], taken: Callable[[], None]) -> None:
        self._file = file
        self._taken = taken
        self._unflushed = 0
        self.count = 0

    def write(self, text: str) -> None:
        """Write; a slow terminal makes this wait."""
        self._file.write(text)
        self._unflushed += len(text)

    def flush(self) -> None:
        """Everything written so far is with the terminal."""
        self._file.flush()
        self.count += self._unflushed
        self._unflushed = 0
        self._taken()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class CalmDriver(FileDriver):
    """Textual's driver; `busy` while the terminal has not taken all that was written."""

    def __init__(self, app: CalmApp[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self.count_output(app)

    def count_output(self, app: CalmApp[Any]) -> None:
        """Notify the app, in its loop, whenever the terminal has taken something."""
        loop, self._console, self._written = asyncio.get_running_loop(), app, 0

        def taken() -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(app.send_rest)

        self._counted = self.wrap_file(lambda file: CountedFile(file, taken))
        app.calm_driver = self

    @property
    def busy(self) -> bool:
        """Whether something is on its way to the terminal."""
        return self._written > self._counted.count

    def write(self, data: str) -> None:
        """Hand `data` to the writing thread."""
        self._written += len(data)
        super().write(data)

    def start_application_mode(self) -> None:
        """Take the terminal; what stands on it is unknown."""
        super().start_application_mode()
        self._console.picture.forget()


class CalmApp(DrawnApp[ReturnType]):
    """An app that sends the terminal only what differs, and nothing new until it has taken the last."""

    calm_driver: CalmDriver | None = None

    def __init__(self) -> None:
        super().__init__(driver_class=CalmDriver)
        self.picture = TerminalPicture(
            COLOR_SYSTEMS.get(self.console.color_system or "", ColorSystem.TRUECOLOR)
        )

    @property
    def terminal_busy(self) -> bool:
        """Whether the terminal has not taken the last frame yet."""
        return self.calm_driver is not None and self.calm_driver.busy

    def take_update(self, screen: Screen[Any], update: CompositorUpdate) -> None:
        """Put it into the picture, and send what differs."""
        if not self.in_batch:
            self.picture.draw(update, *screen.outer_size)
        self._send(screen)

    def _send(self, screen: Screen[Any]) -> None:
        self.write_sequence(screen, "" if self.terminal_busy or self.in_batch else self.picture.changes())

    def send_rest(self) -> None:
        """The terminal has taken the last frame: what was drawn since."""
        if self.is_running and not self.terminal_busy:
            self._send(self.screen)
