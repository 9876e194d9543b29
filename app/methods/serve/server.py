"""The steered server: where it is, how to ask it, how busy it is, and which levers it has."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from app.blocks.block import Block, Heading, Paragraph, Span, Table, Words, Writing
from app.blocks.model_text import one_line
from app.state.run import RunState
from app.state.serve import ServeState
from app.table.column import Tone
from app.wording.figures import NONE
from app.wording.text import counted
from engine.events import ServeOpened

_EMPTY = """The server does not take requests yet: it loads the model and the levers.

Its address appears here as soon as it does."""
LATEST = 100
"""Requests over which times are measured."""
_MOST_IN_FLIGHT = 8


def server_blocks(state: RunState) -> list[Block]:
    """Everything about it; before it opens, that it will."""
    opened = state.serve.opened
    if opened is None:
        return [Paragraph(_EMPTY, "dim")]
    server = state.serve
    return [*_address(opened, state.status), _load(server), *_in_flight(server), _levers(opened),
            *_how_to_ask(opened, len(server.ended))]  # fmt: skip


def _address(opened: ServeOpened, status: str) -> list[Block]:
    blocks: list[Block] = [Paragraph((Span(opened.url, "strong"), f"   model {opened.model}"))]
    if status == "paused":
        blocks.append(Paragraph("Paused: requests wait until the run continues.", "warn"))
    elif status != "running":
        stopped = "The server does not run. Resume the run, and it serves again at this address."
        blocks.append(Paragraph(stopped, "warn"))
    return [*blocks, Paragraph(f"key: {opened.key}", "dim")]


def _load(state: ServeState) -> Table:
    load = state.load
    rows: Mapping[str, str] = {
        "being answered": f"{load.in_flight if load else len(state.flying):,}",
        "waiting for a place": f"{load.waiting if load else 0:,}",
        "answered": f"{load.answered if load else 0:,}",
        "left by their clients": f"{load.vanished if load else 0:,}",
        "failed": f"{load.failed if load else 0:,}",
        "asked to come again (429)": f"{load.refused if load else 0:,}",
        "tokens a second, probes included": f"{load.tokens_per_second if load else 0:,.0f}",
        **_times(state),
    }
    cells = [(name, Span(figure, "dim" if figure in ("0", NONE) else "")) for name, figure in rows.items()]
    return Table(("requests", ""), cells, 1)


def _times(state: ServeState) -> dict[str, str]:
    latest = state.ended[-LATEST:] if len(state.ended) else []
    first = [row.first for row in latest if row.first is not None]
    whole = [row.seconds for row in latest if row.outcome == "answered"]
    return {
        "seconds to the first text, median": f"{median(first):.2f}" if first else NONE,
        "seconds to the end, median": f"{median(whole):.2f}" if whole else NONE,
    }


def _in_flight(state: ServeState) -> list[Block]:
    if not state.flying:
        return []
    shown = [*state.flying.items()][:_MOST_IN_FLIGHT]
    lines: list[Words] = [
        (Span(f"{request}  ", "dim"), one_line(taken.question or "(not logged)")) for request, taken in shown
    ]
    if (more := len(state.flying) - len(shown)) > 0:
        lines.append(Span(f"and {more:,} more", "dim"))
    return [Heading("being answered now", 4), *map(Paragraph, lines)]


def _levers(opened: ServeOpened) -> Table:
    rows: list[tuple[Words, ...]] = []
    for lever in opened.levers:
        always = lever.lever in opened.usual
        used = "always" if always else "if asked for" if lever.fits else "no"
        tone: Tone = "good" if always else "" if lever.fits else "dim"
        rows.append((lever.lever, Span(used, tone), Span(lever.why, "" if lever.fits else "dim")))
    return Table(("lever", "used", "what there is, or why not"), rows)


def _how_to_ask(opened: ServeOpened, ended: int) -> list[Block]:
    key = f'"$(cat {opened.key})"' if opened.key.startswith("/") else '"YOUR KEY"'
    header = f' -H "Authorization: Bearer "{key}' if not opened.key.startswith("no key") else ""
    body = '{"messages": [{"role": "user", "content": "…"}], "steer": {"esm": true}}'
    command = f"curl {opened.url}/chat/completions{header} -H 'Content-Type: application/json' -d '{body}'"
    return [Heading(f"how to ask ({counted(ended, 'requests')} so far)", 4), Writing(command, "accent")]
