"""Whatever a method shows, word for word: its tables at two widths with their tones and tooltips, results, training,
charts, and a case of each kind. Figures worked out by hand stand in the tests of its page; here all else is held:
headings, units, order, alignment, tones, and what is left out where it is narrow. After a change that is meant:
`pytest tests/screens/test_what_methods_show.py --snapshot-update`, and read the difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.style import Style
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from app.blocks.block import Block
from app.blocks.fit import fit, fit_name
from app.blocks.model_text import one_line
from app.blocks.terminal import draw
from app.methods.cases import Cases
from app.methods.overview import Overview
from app.methods.page import MethodPage
from app.methods.pages import charts_of, page_of
from app.methods.source import CaseSource
from app.state.run import RunState
from app.wording.figures import fixed
from app.wording.verdict_text import verdict_sentence
from engine.events import Event, RolloutEnded
from screens.widgets.tables.cells import justified
from screens.widgets.tables.column_layout import place
from screens.widgets.tables.rows import ListSource
from tests.synthetic_evolution import evolution_events
from tests.synthetic_gflownet import gflownet_events
from tests.synthetic_pool import pool_events
from tests.synthetic_run import SyntheticRun
from tests.synthetic_slsm import slsm_events


def esm_events() -> list[Event]:
    """With 1,600 rollouts, 1,200 of them right."""
    rollouts = [
        RolloutEnded(example=f"train-{n:04d}", draw=0, correct=n % 4 > 0, reward=1.0, tokens=70, segments=3)
        for n in range(1600)
    ]
    first, *more = SyntheticRun(examples=8, pairs=10, picks=12).events()
    return [first, *rollouts, *more]


EVENTS: dict[str, Callable[[], Iterable[Event]]] = {
    "ESM": esm_events,
    "Evolution": evolution_events,
    "GFlowNet": gflownet_events,
    "SLSM": slsm_events,
    "Pool": pool_events,
}
TONES = ("dim", "strong", "good", "bad", "accent", "warn", "heading")
PALETTE = {tone: Style(color=f"color({number})") for number, tone in enumerate(TONES, 1)}
NARROW, WIDE = 78, 158
PLAIN = Style.null()
MOST_ROWS, MOST_CASES = 5, 3


class TextFile(SingleFileSnapshotExtension):
    _write_mode = WriteMode.TEXT
    _file_extension = "txt"


def table_lines(cases: Cases[Any], state: RunState, width: int) -> Iterator[str]:
    """The header and the first rows as they stand in a table of this width."""
    source: ListSource[Any] = ListSource(cases.columns)
    source.show(cases.rows(state))
    placed = place(cases.columns, width)

    def line(texts: Sequence[str]) -> str:
        text = ""
        for one in placed:
            cut = (fit_name if one.column.name else fit)(one_line(texts[one.index]), one.width)
            pieces = justified(cut, one.width, one.column.justify, PLAIN, PLAIN)
            text = text.ljust(one.x) + "".join(piece.text for piece in pieces)
        return text.rstrip()

    yield line([column.label for column in cases.columns])
    for row in range(min(MOST_ROWS, len(source))):
        yield line([cell.text for cell in source.cells(row)])


def tone_lines(cases: Cases[Any], state: RunState) -> Iterator[str]:
    """The tones of the first rows, and what the columns' headers say."""
    source: ListSource[Any] = ListSource(cases.columns)
    source.show(cases.rows(state))
    for row in range(min(MOST_ROWS, len(source))):
        tones = (
            f"{c.key} {cell.tone}"
            for c, cell in zip(cases.columns, source.cells(row), strict=True)
            if cell.tone
        )
        yield f"tones of row {row}: {', '.join(tones)}"
        yield f"values of row {row}: {', '.join(map(str, source.values(row)))}"
    yield from (f"{column.label}: {column.help}" for column in cases.columns if column.help)
    yield f"names that lose their head where they are too long: {[c.label for c in cases.columns if c.name]}"


def block_lines(blocks: Sequence[Block], width: int, tones: bool = False) -> Iterator[str]:
    """The blocks as a terminal has them; with `tones`, what has one stands in brackets after its name."""
    names = {style: name for name, style in PALETTE.items()}
    console = Console(width=width)
    for line in console.render_lines(draw(blocks, PALETTE, width), console.options.update(width=width)):
        text = ""
        for segment in line:
            color = Style(color=segment.style.color) if segment.style and segment.style.color else None
            name = names.get(color) if tones and color and segment.text.strip() else None
            text += f"{name}⟦{segment.text}⟧" if name else segment.text
        yield text.rstrip()


def overview_lines(overview: Overview, state: RunState) -> Iterator[str]:
    yield "\n===== overview"
    for light in overview.highlights(state):
        place = light.place
        yield f"{light.text} -> {place.tab} {place.key} {place.filter}{' opened' if place.open else ''}"
    if (curve := overview.curve(state)) is not None:
        for name, values in ((curve.name, curve.values), (curve.baseline_name, curve.baseline)):
            figures = ", ".join(fixed(value, curve.digits) for value in values)
            yield f"{curve.figure} over {curve.over}, {name}: {figures}"
    if (verdict := overview.verdict_so_far(state)) is not None:
        yield verdict_sentence(verdict)
    yield overview.untested(state)


def shown(page: MethodPage, events: Sequence[Event]) -> Iterator[str]:
    state, by_place = RunState(), dict[tuple[int, int], Event]()
    for offset, event in enumerate(events):
        state.apply(event, offset, 1)
        by_place[offset, 1] = event
    source = CaseSource(Path("run"), state, lambda *place: by_place[place])
    for name, blocks in (
        ("results", page.results(state)),
        ("more results", page.more_results(state)),
        ("training", page.training(state)),
    ):
        for width in (NARROW, WIDE):
            yield f"\n===== {name}, {width} columns"
            yield from block_lines(blocks, width, tones=width == WIDE)
    for up, across, lines in charts_of(page, state):
        yield f"\n===== chart: {up} / {across}"
        for one in lines:
            points = islice(zip(one.x, one.y, strict=True), 12)
            yield f"{one.label}: {', '.join(f'{x:g} {y:.4g}' for x, y in points)}"
    yield from overview_lines(page.overview, state)
    for cases in page.cases:
        rows = cases.rows(state)
        yield f"\n===== {cases.name}: {len(rows)} rows; {cases.remark(state)}"
        yield f"notable ({cases.notable_words}): {[at for at in range(len(rows)) if cases.notable(state, rows[at])]}"
        if cases.columns:  # decisions have a table of their own
            for width in (NARROW, WIDE):
                yield from (f"|{line}" for line in table_lines(cases, state, width))
            yield from tone_lines(cases, state)
        of_kind = [event for event in events if type(event) is cases.event]
        for event in of_kind[:: max(1, len(of_kind) // MOST_CASES)][:MOST_CASES]:
            yield f"\n----- {cases.words(event)}"
            yield from block_lines(cases.draw(event, source), WIDE, tones=True)
        if of_kind:
            yield "\n----- the last one, narrow"
            yield from block_lines(cases.draw(of_kind[-1], source), NARROW)


@pytest.mark.parametrize("part", ["whole", "half"])
@pytest.mark.parametrize("title", EVENTS)
def test_what_a_method_shows(title: str, part: str, snapshot: SnapshotAssertion) -> None:
    """Of a finished run, and in the middle of it."""
    events = list(EVENTS[title]())
    others = sum(not isinstance(event, RolloutEnded) for event in events)
    lines = "\n".join(shown(page_of(title), events[: -others // 2] if part == "half" else events))
    assert lines + "\n" == snapshot(extension_class=TextFile)
