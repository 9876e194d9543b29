"""An item of a run as a document: what it is, everything that belongs to it, and the command that opens it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.blocks.block import Block, Document, Heading, Remark, Writing, cut, facts
from app.methods.pages import cases_of_events
from app.methods.source import CaseSource
from app.report.item_words import item_words
from app.report.times import clock
from app.runs.notes import Entry
from engine import events as ev


def open_command(run_dir: Path, seq: int | None = None) -> str:
    """`steer-tui outputs/demo/20261122-174527-1f2e@4711`: opens the console at that event."""
    return f"steer-tui {shlex.quote(str(run_dir) + ('' if seq is None else f'@{seq}'))}"


def case_blocks(event: ev.Event, source: CaseSource, notes: Sequence[Entry] = ()) -> list[Block]:
    """What people wrote about it, the item itself, and how to open it. Of what is no case the fields are listed."""
    owner = cases_of_events().get(type(event))
    return [
        *map(remark, notes),
        *(_fields(event) if owner is None else owner[1].draw(event, source)),
        Heading("To open it in the console", 4),
        Writing(open_command(source.run_dir, event.seq)),
    ]


def case_document(event: ev.Event, source: CaseSource, notes: Sequence[Entry] = ()) -> Document:
    """A document about one item."""
    words = item_words(event)
    run = f"{source.run_dir.absolute().parent.name}/{source.run_dir.name}"
    about = facts(
        [("run", run), ("stage", event.stage), ("event", str(event.seq)), ("time", clock(event.time))]
    )
    return Document(words[:1].upper() + words[1:], [about, *case_blocks(event, source, notes)])


def remark(note: Entry) -> Remark:
    """A note as people read it."""
    return Remark(note.author, clock(note.time), note.text)


def _fields(event: ev.Event) -> list[Block]:
    fields = ev.without_envelope(event)
    return [facts([(name.replace("_", " "), cut(_shown(value), 2_000)) for name, value in fields.items()])]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
