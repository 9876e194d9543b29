"""A report on a run: what was run and found, the cases that people marked, how it was made and how to repeat it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from typing import Any

from app.blocks.block import (
    Block,
    Bullets,
    Document,
    Heading,
    Paragraph,
    Table,
    Writing,
    cut,
    facts,
)
from app.methods.pages import page_of
from app.report.case import case_blocks, open_command, remark
from app.report.item_words import item_words
from app.report.result_blocks import method_blocks
from app.report.source import RunSource
from app.report.times import clock
from app.result_tables import servers
from app.runs.notes import Entry
from app.state.run import LOG_IS_CUT, RunState, method_states
from app.wording.text import counted, duration, listed
from app.wording.verdict_text import verdict_sentence, verdicts
from app.wording.words import STAGE_WORDS
from engine.run.find_event import find_event

_MOST_CASES = 60
_SECRET_FIELD = re.compile(r"(api_?key|password|secret|token)$", re.IGNORECASE)


NO_VERDICT = (
    "The log holds no verdict: no stage that evaluates a method has finished, or an earlier version ran it."
)


def report(source: RunSource) -> Document:
    """The report on a run. Raises SteerErrors."""
    record = source.status.record
    blocks = [
        _about(source),
        *([Paragraph(LOG_IS_CUT, "warn")] if _is_cut(source) else []),
        *_findings(source),
        *_methods(source.state),
        *_cases(source),
        *_made(source),
    ]
    return Document(f"{record.name}/{record.run_id}", blocks)


def _about(source: RunSource) -> Block:
    record, state = source.status.record, source.state
    worked = state.worked or sum(stage.seconds for stage in record.stages.values())
    return facts(
        [
            ("state", source.status.state),
            ("failure", source.status.failure),
            ("begun", clock(record.created)),
            ("worked", f"{duration(worked)} in {counted(record.attempts, 'attempts')}"),
            ("seed", str(record.seeds.get("run", ""))),
            ("log", f"{counted(state.seq + 1, 'events')} in events.jsonl, numbered from 0"),
            ("lines of the log that are not events", str(source.damaged or "")),
        ]
    )


def _is_cut(source: RunSource) -> bool:
    return not source.status.alive and source.state.is_cut(source.status.record)


def _findings(source: RunSource) -> list[Block]:
    sentences = [verdict_sentence(verdict) for verdict in verdicts(source.status.record.stages)]
    if not sentences:
        return [Paragraph(NO_VERDICT)]
    about = "Differences are paired, over the same items, with bootstrap 95% intervals in brackets."
    return [Heading("What was found"), Bullets(sentences), Paragraph(about, "dim")]


def _methods(state: RunState) -> list[Block]:
    blocks: list[Block] = []
    for kind in dict.fromkeys(kind for kind in method_states().values() if kind.title):
        if state.stages.keys() & set(kind.stages_shown) and (results := method_blocks(state, kind.title)):
            blocks += [Heading(kind.title), Paragraph(page_of(kind.title).about)]
            stale = [name for name in kind.stages_shown if name in state.stages and state.stages[name].stale]
            blocks += [Paragraph(f"Stale, of an earlier attempt: {listed(stale)}.")] if stale else []
            blocks += results
    return blocks


# ---------------------------------------------------------------- marked cases


def _cases(source: RunSource) -> list[Block]:
    """What was marked or written down, in the order of the log."""
    written = source.written
    blocks: list[Block] = [remark(note) for note in written.of(None)]
    items = sorted(
        {seq for seq in (*written.marks, *(note.seq for note in written.notes)) if seq is not None}
    )
    for seq in items[:_MOST_CASES]:
        blocks += _case(source, seq, written.of(seq))
    if len(items) > _MOST_CASES:
        blocks.append(
            Paragraph(f"{len(items) - _MOST_CASES} more marked items are in notes.jsonl of the run.")
        )
    return [Heading("Marked cases and notes"), *blocks] if blocks else []


def _case(source: RunSource, seq: int, notes: Sequence[Entry]) -> list[Block]:
    try:
        logged = find_event(source.path / "events.jsonl", seq)
    except OSError:
        logged = None
    if logged is None:
        missing = Paragraph(f"The log has no event {seq} that this version knows.")
        return [Heading(f"Event {seq}", 3), missing, *map(remark, notes)]
    words = item_words(logged.event)
    heading = Heading(words[:1].upper() + words[1:], 3)
    return [heading, *case_blocks(logged.event, source.cases, notes)]


# ---------------------------------------------------------------- how it was made


def _made(source: RunSource) -> list[Block]:
    record = source.status.record
    blocks: list[Block] = [Heading("How it was made")]
    stages = [
        (name, STAGE_WORDS.get(name, ""), stage.words, duration(stage.seconds), str(len(stage.files)))
        for name, stage in record.stages.items()
    ]
    blocks.append(Table(("stage", "what it does", "state", "time", "files"), stages, 2, "Stages"))
    models = [(m.name, str(m.num_layers), m.dtype, m.device, m.fingerprint[:16]) for m in source.models]
    if models:
        blocks.append(Table(("model", "layers", "numbers", "device", "fingerprint"), models, 0, "Models"))
    blocks += servers(source.state)
    if record.changes:
        rows = [(name, _value(name, value)) for name, value in record.changes.items()]
        blocks.append(Table(("field", "value"), rows, 0, "Fields set over the configuration file"))
    else:
        blocks.append(Paragraph("No field was set over the configuration file."))
    blocks.append(Table(("package", "version"), list(record.versions.items()), 0, "Versions"))
    config = shlex.quote(str(source.path / "config.yaml"))
    return [
        *blocks,
        Heading("To repeat it"),
        Paragraph("With the versions above, the run's own configuration has every field and the seed:"),
        Writing(f"steer-tui batch --config {config}"),
        Paragraph("To look at it in the console:"),
        Writing(open_command(source.path)),
    ]


def _value(name: str, value: Any) -> str:
    return "***" if _SECRET_FIELD.search(name) else cut(json.dumps(value, ensure_ascii=False), 300)
