"""Keys are handled in the order in which they were typed, each one wholly before the next.

In Textual a letter goes to the queue of the focused widget while `enter`, `backspace` and other bindings are run by the
app: typed fast, they overtake letters. Here a key that was typed waits until the one before it has gone through the
queue of its widget and of all around it, twice: messages that it caused are behind it in the same queues. What is typed
before the first screen is there waits for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from contextlib import suppress

from textual import events
from textual.app import App, ReturnType, ScreenStackError
from textual.command import CommandPalette
from textual.message_pump import MessagePump

PATIENCE = 2.0
"""Seconds after which a key that is not handled yet holds up the next one no longer."""
_CLOSED_AFTER = 0.05
"""Seconds after which is looked whether a widget has closed, which handles nothing any more."""


class KeysInOrder(App[ReturnType]):
    """An app that takes the next key, or pasted text, when the last one was handled."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        self._typed: deque[events.Event] = deque()
        self._handling: asyncio.Task[None] | None = None
        self._began = False

    @property
    def typing(self) -> bool:
        """Whether keys are still to be handled."""
        return self._handling is not None or bool(self._typed)

    async def on_event(self, event: events.Event) -> None:
        """Put keys in their queue, and everything else where it goes."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self._typed.append(event)
            await self._take_key()
        else:
            await super().on_event(event)
            if isinstance(event, events.Ready):
                self._began = True
                self._handling = asyncio.create_task(self._see_through([self.screen]))

    async def _take_key(self) -> None:
        if self._began and self._handling is None and self._typed:
            target = self.focused or self.screen
            around = [target, *target.ancestors]
            self._handling = asyncio.create_task(self._see_through(around))
            await super().on_event(self._typed.popleft())

    async def _see_through(self, around: list[MessagePump]) -> None:
        try:
            with suppress(TimeoutError, ScreenStackError):  # the second where the app is closing
                async with asyncio.timeout(PATIENCE):
                    await _through([*around, *around])
                    await self._screen_is_ready()
                    await self._search_is_over()
        finally:
            self._handling = None
            self.call_later(self._take_key)

    async def _screen_is_ready(self) -> None:
        """A screen that the key opened is composed and has its focus."""
        before = None
        while self.is_running and self.screen is not before:
            before = self.screen
            await _through([before, self])

    async def _search_is_over(self) -> None:
        """The palette searches in a task of its own, and `enter` takes the best of what it has found."""
        if isinstance(self.screen, CommandPalette):
            searches = [worker for worker in self.workers if worker.node is self.screen and worker.is_running]
            for search in searches:
                while search.is_running:
                    await asyncio.sleep(0.005)
            await _through([self.screen, self])


async def _through(pumps: Iterable[MessagePump]) -> None:
    """Wait until each of `pumps`, one after the other, has handled what is in its queue, and what that put there."""
    for pump in pumps:
        for _ in range(2):
            passed = asyncio.Event()
            if not pump.call_later(passed.set):
                break  # it is closing
            while pump.is_running and not passed.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(passed.wait(), _CLOSED_AFTER)
