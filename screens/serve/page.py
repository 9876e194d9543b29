"""The tab Server: where it is, how to ask it, how busy it is, and which levers it has."""

from __future__ import annotations

from statistics import median

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.blocks.model_text import clean, one_line
from app.figures import NONE
from app.state.run import RunState
from app.state.serve import ServeState
from app.text import counted
from screens.panes.page import PagePane

Palette = dict[str, Style]
_EMPTY = """The server does not take requests yet: it loads the model and the levers.

Its address appears here as soon as it does."""
LATEST = 100
"""Requests over which times are told."""


class ServerPane(PagePane):
    """One page, alive while the server is."""

    def draw(self, state: RunState, palette: Palette) -> RenderableType:
        return draw_server(state.serve, state.status, palette)


def draw_server(state: ServeState, status: str, palette: Palette) -> RenderableType:
    """Address, load, times, levers."""
    if state.opened is None:
        return Text(_EMPTY, palette["dim"])
    parts = [_address(state, status, palette), Text(), _load(state, palette), Text()]
    if state.flying:
        parts += [_flying(state, palette), Text()]
    parts += [_levers(state, palette), Text(), _how_to_ask(state, palette)]
    return Group(*parts)


def _address(state: ServeState, status: str, palette: Palette) -> Text:
    opened = state.opened
    assert opened is not None
    text = Text.assemble((opened.url, palette["strong"]), f"   model {clean(opened.model)}")
    if status == "paused":
        text.append("\nPaused: requests wait until the run continues.", palette["warn"])
    elif status != "running":
        text.append(
            "\nThe server does not run. Resume the run, and it serves again at this address.", palette["warn"]
        )
    return text.append(f"\nkey: {clean(opened.key)}", palette["dim"])


def _load(state: ServeState, palette: Palette) -> Table:
    load = state.load
    latest = state.ended[-LATEST:] if len(state.ended) else []
    first = [row.first for row in latest if row.first is not None]
    whole = [row.seconds for row in latest if row.outcome == "answered"]
    table = _table("requests", palette)
    rows = {
        "being answered": f"{load.in_flight if load else len(state.flying):,}",
        "waiting for a place": f"{load.waiting if load else 0:,}",
        "answered": f"{load.answered if load else 0:,}",
        "left by their clients": f"{load.vanished if load else 0:,}",
        "failed": f"{load.failed if load else 0:,}",
        "told to come again (429)": f"{load.refused if load else 0:,}",
        "tokens a second, probes included": f"{load.tokens_per_second if load else 0:,.0f}",
        "seconds to the first text, median": f"{median(first):.2f}" if first else NONE,
        "seconds to the end, median": f"{median(whole):.2f}" if whole else NONE,
    }
    for name, figure in rows.items():
        table.add_row(name, Text(figure, "" if figure not in ("0", "–") else palette["dim"]))
    return table


def _flying(state: ServeState, palette: Palette) -> Group:
    lines = [
        Text.assemble((f"{request}  ", palette["dim"]), one_line(taken.question or "(not logged)"))
        for request, taken in [*state.flying.items()][:8]
    ]
    more = len(state.flying) - len(lines)
    if more > 0:
        lines.append(Text(f"and {more:,} more", palette["dim"]))
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
    return Group(Text("being answered now", palette["heading"]), *lines)


def _levers(state: ServeState, palette: Palette) -> Table:
    opened = state.opened
    assert opened is not None
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    table.add_column("lever", no_wrap=True)
    table.add_column("used", no_wrap=True)
    table.add_column("what there is, or why not")
    for lever in opened.levers:
        used = "always" if lever.lever in opened.usual else "if asked for" if lever.fits else "no"
        tone = palette["good"] if lever.lever in opened.usual else "" if lever.fits else palette["dim"]
        table.add_row(
            lever.lever, Text(used, tone), Text(clean(lever.why), "" if lever.fits else palette["dim"])
        )
    return table


def _how_to_ask(state: ServeState, palette: Palette) -> Group:
    opened = state.opened
    assert opened is not None
    key = f'"$(cat {opened.key})"' if opened.key.startswith("/") else "YOUR KEY"
    header = f' -H "Authorization: Bearer "{key}' if not opened.key.startswith("no key") else ""
    lines = (
        f"curl {opened.url}/chat/completions{header} -H 'Content-Type: application/json' -d "
        '\'{"messages": [{"role": "user", "content": "…"}], "steer": {"esm": true}}\''
    )
    heading = Text(f"how to ask ({counted(len(state.ended), 'requests')} so far)", palette["heading"])
    return Group(heading, Text(lines))


def _table(title: str, palette: Palette) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    table.add_column(title, no_wrap=True, min_width=34)
    table.add_column("", justify="right", no_wrap=True)
    return table
