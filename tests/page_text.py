"""What a page says, as lines of text, with what has no width of its own: tones, links, levels, priorities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from app.blocks.block import (
    Beside,
    Block,
    Bullets,
    Changes,
    Facts,
    Heading,
    OnScreen,
    Paragraph,
    Picture,
    Span,
    Table,
    Target,
    Words,
    Writing,
    spans,
)
from app.blocks.drawing import svg
from app.methods.cases import Cases
from app.methods.overview import Overview
from app.methods.page import MethodPage
from app.methods.source import CaseSource
from app.methods.what_if import Choice
from app.state.run import RunState
from app.table.column import Cell, Column, ListColumn, cell_of
from engine.events import Event


class TextFile(SingleFileSnapshotExtension):
    """A snapshot that a person can read."""

    _write_mode = WriteMode.TEXT
    _file_extension = "txt"


class Log:
    """A state folded from events that can be read again; an event's number is its place."""

    def __init__(self, *events: Event) -> None:
        self.events, self.state = events, RunState()
        for at, event in enumerate(events):
            self.state.apply(event, at, 1)

    def source(self, step: int | None = None) -> CaseSource:
        return CaseSource(Path("run"), self.state, lambda offset, length: self.events[offset], step)


def targets_in(blocks: Any) -> Iterator[Target]:
    """Whatever the pieces of these blocks lead to."""
    if isinstance(blocks, Span):
        yield from [blocks.target] if blocks.target else []
    elif isinstance(blocks, (list, tuple)):
        yield from chain.from_iterable(map(targets_in, blocks))
    elif is_dataclass(blocks) and not isinstance(blocks, type):
        yield from chain.from_iterable(targets_in(getattr(blocks, field.name)) for field in fields(blocks))


def line(words: Words) -> str:
    """`tone⟦text⟧` where a piece has a tone, `→kind name` where it leads somewhere."""

    def one(span: Span) -> str:
        text = f"{span.tone}⟦{span.text}⟧" if span.tone else span.text
        return f"{text}→{span.target.kind} {span.target.name}" if span.target else text

    return "".join(map(one, spans(words)))


def cell(shown: str | Cell) -> str:
    """The same of a cell."""
    return line(Span(*cell_of(shown)))


def block_lines(blocks: Iterable[Block], indent: str = "") -> Iterator[str]:
    """The blocks, each with all of its settings."""
    inner = indent + "  "
    for block in blocks:
        match block:
            case Heading(text, level):
                yield f"{indent}{'#' * level} {line(text)}"
            case Paragraph(text, tone):
                yield f"{indent}{tone}: {line(text)}" if tone else indent + line(text)
            case Bullets(items):
                yield from (f"{indent}* {line(item)}" for item in items)
            case Facts(rows):
                yield from (f"{indent}- {name}: {line(value)}" for name, value in rows)
            case Table():
                yield f"{indent}table, {block.figures} figures, priority {[*block.priority]}: {block.caption}"
                for row in (block.header, *block.rows):
                    yield inner + " | ".join(map(line, row))
                yield from (f"{inner}note: {note}" for note in block.legend)
            case Writing(text, tone):
                yield from (f"{indent}{tone}> {one}" for one in text.splitlines())
            case Changes(new, old, names, marked):
                yield f"{indent}changes of {names}, marked {marked}: {old!r} to {new!r}"
            case Beside(first, second, least):
                yield f"{indent}beside each other from {least} columns:"
                yield from block_lines(first, inner + "1 ")
                yield from block_lines(second, inner + "2 ")
            case OnScreen(shown, in_documents):
                yield f"{indent}on the screen, and in documents:"
                yield from block_lines(shown, inner + "s ")
                yield from block_lines(in_documents, inner + "d ")
            case Picture(drawing, caption):
                yield f"{indent}picture: {caption}"
                yield from (inner + one for one in svg(drawing, caption).replace("><", ">\n<").splitlines())
            case _:
                yield indent + repr(block)


def column_line(column: Column) -> str:
    """A column with all of its settings."""
    more = f"{' flex' if column.flex else ''}{' name' if column.name else ''}"
    about = f": {column.help}" if column.help else ""
    return f"{column.key} {column.label!r} {column.width} {column.justify} priority {column.priority}{more}{about}"


def table_lines(columns: Sequence[ListColumn[Any]], rows: Iterable[Any]) -> Iterator[str]:
    """The columns, and each row's cells with the values by which it is sorted."""
    yield from map(column_line, columns)
    for row in rows:
        yield " | ".join(cell(column.show(column.value(row))) for column in columns)
        yield f"  values: {', '.join(str(column.plain(row)) for column in columns)}"


def overview_lines(overview: Overview, state: RunState) -> Iterator[str]:
    """What the overview shows of a method."""
    yield from (f"{light.text} -> {light.place}" for light in overview.highlights(state))
    yield from map(repr, (overview.curve(state), overview.verdict_so_far(state), overview.untested(state)))


def choice_lines(choice: Choice | str, tried: Any) -> Iterator[str]:
    """A what-if: its fields, what can be chosen, and the answers to what was `tried`."""
    if isinstance(choice, str):
        yield choice
        return
    yield choice.about
    asked = list(chain.from_iterable(choice.fields))
    for field in asked:
        filled = f", then {field.filled(tried, '1')!r}" if tried is not None else ""
        yield (
            f"[{field.name}] {field.label}: {field.value!r} hint {field.hint!r}, {field.width} wide, {field.lines} "
            f"lines{', swept' if field.is_swept else ''}{filled}"
        )
    try:
        yield f"asks for {choice.request({field.name: field.read(field.value) for field in asked})}"
    except ValueError as error:
        yield f"asks for nothing: {error}"
    yield from block_lines(choice.choices(tried))
    if tried is not None:
        answers = choice.answers(tried)
        for at, one in enumerate((*answers.beside, *answers.tried)):
            mark = ", most telling" if at == len(answers.beside) + answers.most_telling else ""
            yield f"{one.name} ({one.right}, {one.short!r}{mark}): {one.text!r}"
            yield from block_lines(one.about, "  ")


def case_lines(page: MethodPage, cases: Cases[Any], log: Log) -> Iterator[str]:
    """A kind of case: its table, each case in full, and where its links lead."""
    rows = cases.rows(log.state)
    yield f"\n=== {cases.name}: {len(rows)} rows; {cases.remark(log.state)}; {cases.order}"
    notable = [at for at in range(len(rows)) if cases.notable(log.state, rows[at])]
    steps = [cases.steps(row) for row in rows] if cases.steps else ""
    yield f"notable ({cases.notable_words}): {notable}; steps {steps}"
    yield from table_lines(cases.columns, rows)
    for event in log.events:
        if type(event) in (cases.event, *cases.also):
            yield f"\n--- {cases.words(event)}"
            blocks = cases.draw(event, log.source())
            yield from block_lines(blocks)
            for target in dict.fromkeys(targets_in(blocks)):
                yield f"  {' '.join(target)} -> {page.place_of(target, log.state)}"


def page_lines(page: MethodPage, log: Log, tried: Any = None) -> Iterator[str]:
    """All that a method's page says of a run, and what its what-if offers."""
    state = log.state
    for name in ("results", "more_results", "training", "pictures"):
        yield f"=== {name}"
        blocks = getattr(page, name)(state)
        yield from block_lines(blocks)
        for target in dict.fromkeys(targets_in(blocks)):
            yield f"  {' '.join(target)} -> {page.place_of(target, state)}"
    for chart in (*page.result_charts, *page.training_charts):
        yield f"\n=== chart: {chart.y} / {chart.x}"
        for one in chart.series(state):
            points = ", ".join(f"{x:g} {y:.4g}" for x, y in zip(one.x, one.y, strict=True))
            kind = f"{' faint' if one.faint else ''}{' points' if one.points else ''}"
            yield f"{one.label}{kind} {one.mark}: {points}"
    yield "\n=== overview"
    yield from overview_lines(page.overview, state)
    for cases in page.cases:
        yield from case_lines(page, cases, log)
    offers = page.what_if.of if page.what_if is not None else {}
    choices = [offers[type(event)](event, log.source()) for event in log.events if type(event) in offers]
    last = max((at for at, choice in enumerate(choices) if isinstance(choice, Choice)), default=-1)
    for at, choice in enumerate(choices):
        yield "\n=== what if"
        yield from choice_lines(choice, tried if at == last else None)
