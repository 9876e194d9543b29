"""A console under test: waiting with a deadline instead of for a while, and its screen as text."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from textual.app import App


async def until(condition: Callable[[], object], what: str = "", seconds: float = 120.0) -> None:
    """Fails when the condition has not come true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        await asyncio.sleep(0.02)


def drawn(app: App[Any]) -> str:
    """The words on the screen, in lines."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())
