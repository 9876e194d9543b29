"""A what-if of ESM drawn: what can be injected, and the answers side by side up to where they part."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.blocks.model_text import one_line
from app.figures import fixed
from app.methods.esm.entry_words import entry_words
from app.text import counted
from engine.events import Candidate, TriedAnswer, WhatIfTried
from screens.what_if.drawing import Column, draw_columns, draw_exact, draw_strip, draw_verdict

Palette = dict[str, Style]


def draw_choices(choices: Sequence[Candidate], palette: Palette, width: int) -> RenderableType:
    """The entries that were retrieved here and can be injected, numbered as the field takes them."""
    if not choices:
        words = (
            "No entry was retrieved here. Type the name of one of the library, or go back with esc and to a segment "
            "in which one was injected (▸)."
        )
        return Text(words, palette["dim"])
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style=palette["heading"])
    for heading in ("no", "entry", "layer", "Score"):
        table.add_column(heading, justify="left" if heading == "entry" else "right", no_wrap=True)
    for number, choice in enumerate(choices, 1):
        name = entry_words(choice.entry, max(12, width - 24))
        table.add_row(str(number), name, str(choice.layer), fixed(choice.score))
    return table


def draw_tried(tried: WhatIfTried, palette: Palette, width: int) -> RenderableType:
    """Whether the record is repeated, the strip of strengths, and the answers."""
    parts: list[RenderableType] = [draw_exact(tried.exact, tried.difference, "answer", palette)]
    if len(tried.yours) > 1:
        strip = [(answer.alpha, answer.correct, answer.pred) for answer in tried.yours]
        parts.append(draw_strip("α", strip, palette, width))
    shown = _most_telling(tried)
    columns = [("committed", tried.committed), ("null here", tried.null)]
    columns += [(_yours(tried, shown), shown)] if tried.entries else []
    drawn = [_column(name, answer, tried, palette) for name, answer in columns]
    return Group(*parts, Text(), draw_columns(drawn, palette, width))


def _most_telling(tried: WhatIfTried) -> TriedAnswer:
    """Of several strengths the first that turns the verdict round, else the first that changes the text."""
    committed, yours = tried.committed, tried.yours
    turned = (answer for answer in yours if answer.correct != committed.correct)
    changed = (answer for answer in yours if answer.text != committed.text)
    return next(turned, None) or next(changed, None) or yours[0]


def _yours(tried: WhatIfTried, answer: TriedAnswer) -> str:
    where = "from here on" if tried.onward else "here"
    entries = (
        counted(len(tried.entries), "entries")
        if len(tried.entries) > 1
        else entry_words(tried.entries[0], 24)
    )
    return f"yours {where}: {entries} at α {answer.alpha:.3g}, layer {tried.layer}"


def _column(name: str, answer: TriedAnswer, tried: WhatIfTried, palette: Palette) -> Column:
    tokens = f"{counted(answer.tokens_used, 'tokens')} + {answer.probe_tokens_used} probe"
    verdict = draw_verdict(answer.correct, one_line(answer.pred) or "no answer", tokens, palette)
    return Column(name, [verdict, _path(answer, tried, palette)], answer.text)


def _path(answer: TriedAnswer, tried: WhatIfTried, palette: Palette) -> Text:
    """A sign for each control point: steered or not; the one in question in brackets."""
    signs = ["▸" if name else "·" for name in answer.chosen]
    if tried.m <= len(signs):
        signs[tried.m - 1] = f"[{signs[tried.m - 1]}]"
    return Text(f"segments {' '.join(signs)}  (▸ steered, · not)", palette["dim"])
