"""A terminal that does not take what it is sent: nothing piles up, and it gets the newest picture when it can."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Callable
from typing import Any

from textual.app import ComposeResult
from textual.driver import Driver
from textual.drivers._writer_thread import WriterThread
from textual.events import Resize
from textual.geometry import Size
from textual.widgets import Static

from app.terminal.output import CalmApp, CalmDriver

SIZE = (40, 5)


class SlowFile(io.StringIO):
    """A terminal that takes what was written only while `ready` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.ready = threading.Event()
        self.ready.set()

    def flush(self) -> None:
        self.ready.wait()


class DriverToFile(CalmDriver):
    """Writes to `FILE` in a thread, as to a terminal; nothing is typed."""

    FILE = SlowFile()

    def __init__(self, app: Any, **options: Any) -> None:
        Driver.__init__(self, app, **options)
        self._file = self.FILE  # type: ignore[assignment]
        self.count_output(app)
        self._writer_thread = WriterThread(self._counted)  # type: ignore[arg-type]

    def start_application_mode(self) -> None:
        assert self._writer_thread is not None
        self._writer_thread.start()
        self._app.post_message(Resize(Size(*SIZE), Size(*SIZE)))

    def stop_application_mode(self) -> None: ...

    def disable_input(self) -> None: ...


class Numbers(CalmApp[None]):
    def compose(self) -> ComposeResult:
        yield Static("start")


async def until(condition: Callable[[], object], what: str) -> None:
    for _ in range(6000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"waited in vain: {what}")


async def test_what_a_slow_terminal_gets() -> None:
    file = DriverToFile.FILE = SlowFile()
    app, shown = Numbers(), list[str]()
    app.driver_class = DriverToFile
    async with app.run_test(headless=False, size=SIZE) as pilot:
        await until(lambda: "start" in file.getvalue() and not app.terminal_busy, "the first frame")
        drawn = app.post_display_hook
        app.post_display_hook = lambda: (shown.append(""), drawn())[1]
        before = len(file.getvalue())
        file.ready.clear()
        for number in range(40):
            app.query_one(Static).update(f"number {number:03}")
            await until(lambda: len(shown) > number, "a drawing")  # noqa: B023
        assert app.terminal_busy
        file.ready.set()
        await until(lambda: "39" in file.getvalue() and not app.terminal_busy, "the newest frame")
        await pilot.pause()
    sent = file.getvalue()[before:]
    assert len(sent) < 200, sent
    assert "number 00" in sent and "20" not in sent
