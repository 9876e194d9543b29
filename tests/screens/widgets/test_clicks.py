"""A click on a line of words does what the word under it says; the line begins one cell from the left."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from screens.widgets.key_line import KeyLine
from screens.widgets.run_header import RunHeader
from screens.widgets.tab_line import TabLine

SPANS = [(0, 3), (5, 9)]
"""Two words in the line: at the cells 1 to 3 and 6 to 9 of the screen."""


async def of_keys(event: Any) -> list[object]:
    done: list[object] = []

    async def act(action: str, node: object) -> None:
        done.append(node)

    keys = [
        SimpleNamespace(active=SimpleNamespace(binding=SimpleNamespace(action=""), node=n)) for n in range(2)
    ]
    spans = [(*span, key) for span, key in zip(SPANS, keys, strict=True)]
    line: Any = SimpleNamespace(_spans=spans, app=SimpleNamespace(run_action=act))
    await KeyLine.on_click(line, event)
    return done


async def of_header(event: Any) -> list[object]:
    done: list[object] = []

    async def act(action: str) -> None:
        done.append(int(action.removeprefix("screen.")))

    spans = [(*span, str(number)) for number, span in enumerate(SPANS)]
    header: Any = SimpleNamespace(_spans=spans, run_action=act)
    await RunHeader.on_click(header, event)
    return done


async def of_tabs(event: Any) -> list[object]:
    done: list[object] = []
    line: Any = SimpleNamespace(
        _spans=SPANS, Chosen=TabLine.Chosen, post_message=lambda message: done.append(message.index)
    )
    TabLine.on_click(line, event)
    return done


@pytest.mark.parametrize("clicked", [of_keys, of_header, of_tabs])
@pytest.mark.parametrize(
    ("x", "word"), [(0, None), (1, 0), (3, 0), (4, None), (5, None), (6, 1), (9, 1), (10, None)]
)
async def test_a_click_is_for_the_word_under_it(
    clicked: Callable[[Any], Any], x: int, word: int | None
) -> None:
    assert await clicked(SimpleNamespace(x=x)) == ([] if word is None else [word])
