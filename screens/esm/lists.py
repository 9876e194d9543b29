"""The tabs Pairs and Library: tables, and the logged details of the row under the cursor."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.state.columns import Grow
from app.state.esm import Pair, Pick
from app.state.run import RunState
from app.text import counted
from engine.errors import SteerError
from engine.events import MemoryBuilt, PairMined
from screens.panes.list_pane import ListPane
from screens.run_session import Session
from screens.widgets.figures import fixed, signed
from screens.widgets.model_text import model_text, one_line
from screens.widgets.rows import Cell, ListColumn, ListSource, Tone

_EFFECTS: dict[str, Tone] = {"fixes": "good", "harms": "bad"}
PAIR_COLUMNS: Sequence[ListColumn[Pair]] = (
    ListColumn("pair", "pair", 18, flex=True, name=True, value=lambda p: p.pair),
    ListColumn("example", "example", 11, priority=6, name=True, value=lambda p: p.example),
    ListColumn("m", "m", 2, "right", 1, help="control point", value=lambda p: p.m),
    ListColumn("layer", "layer", 5, "right", 4, value=lambda p: p.layer),
    ListColumn(
        "quality",
        "Q",
        6,
        "right",
        0,
        help="mean reward, right minus wrong",
        value=lambda p: p.quality,
        show=fixed,
    ),
    ListColumn("positives", "right", 5, "right", 2, help="right rollouts", value=lambda p: p.positives),
    ListColumn("negatives", "wrong", 5, "right", 2, help="wrong rollouts", value=lambda p: p.negatives),
    ListColumn(
        "delta",
        "|Δ|",
        6,
        "right",
        3,
        help="length of the vector",
        value=lambda p: p.delta_norm,
        show=lambda v: fixed(v, 1),
    ),
    ListColumn(
        "effect",
        "effect",
        8,
        priority=2,
        help="what its vector does to a wrong answer of its own problem; only fixes goes into the library",
        value=lambda p: p.effect,
        show=lambda word: Cell(word, _EFFECTS.get(word, "dim")),
    ),
    ListColumn("source", "source", 8, priority=7, help="where positives come from", value=lambda p: p.source),
)
PICK_COLUMNS: Sequence[ListColumn[Pick]] = (
    ListColumn("order", "#", 4, "right", 0, help="order of picking", value=lambda p: p.order),
    ListColumn("entry", "entry", 12, flex=True, name=True, value=lambda p: p.entry),
    ListColumn(
        "kind",
        "kind",
        5,
        priority=2,
        help="wrong: can be injected; right: speaks for null",
        value=lambda p: p.kind,
    ),
    ListColumn("example", "example", 11, priority=6, name=True, value=lambda p: p.example),
    ListColumn("m", "m", 2, "right", 1, help="control point", value=lambda p: p.m),
    ListColumn("layer", "layer", 5, "right", 7, value=lambda p: p.layer),
    ListColumn(
        "quality",
        "Q",
        6,
        "right",
        1,
        help="mean reward, right minus wrong",
        value=lambda p: p.quality,
        show=fixed,
    ),
    ListColumn(
        "gain",
        "gain",
        7,
        "right",
        1,
        help="what it added to the objective",
        value=lambda p: p.gain,
        show=signed,
    ),
    ListColumn("objective", "objective", 9, "right", 5, value=lambda p: p.objective, show=fixed),
    ListColumn(
        "similarity",
        "max sim",
        7,
        "right",
        3,
        help="to the nearest entry picked before",
        value=lambda p: p.max_similarity,
        show=lambda near: fixed(None if near <= -1 else near),  # the first has none before it
    ),
    ListColumn(
        "reason", "by", 6, priority=4, help="dpp, or floor of its control point", value=lambda p: p.reason
    ),
)

_NO_PAIRS = """No pair has been mined yet.

The mine stage writes several answers to each training question. Where some are right and some
are wrong at the same control point, their difference becomes a pair and appears here."""
_NO_PICKS = """No entry has been picked yet.

The select stage picks from the mined pairs those that add most quality and variety.
Each entry appears here as it is picked. The memory stage then builds the index that steering searches."""


class PairsPane(ListPane):
    """Mined pairs."""

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(session, ListSource(PAIR_COLUMNS, "pairs"), _NO_PAIRS, id=id)

    def items(self, state: RunState) -> Grow[Pair]:
        return state.esm.pairs

    def draw(self, item: Pair, palette: dict[str, Style], width: int) -> RenderableType:
        return _pair_whole(self.session, item, palette, width)


class LibraryPane(ListPane):
    """Picked entries; with the memory that was built of them."""

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(session, ListSource(PICK_COLUMNS, "entries"), _NO_PICKS, id=id)

    def items(self, state: RunState) -> Grow[Pick]:
        return state.esm.picks

    def key(self, item: Pick) -> object:
        return item, self.session.state.esm.memory, self._used(item)

    def draw(self, item: Pick, palette: dict[str, Style], width: int) -> RenderableType:
        state = self.session.state.esm
        title = Text.assemble(
            (item.entry, palette["strong"]), f"  {item.kind}, control point {item.m}, layer {item.layer}\n"
        )
        if item.kind != "right":
            title.append("injected ", palette["dim"])
            title.append(f"{self._used(item):,}×")
            title.append(f"   its decisions: press 1, then / and type chosen:{item.entry}\n", palette["dim"])
        title.append("mined from ", palette["dim"])
        title.append(item.example)
        return Group(
            title, Text(), _memory(state.memory, palette, width), Text(), self._pair(item, palette, width)
        )

    def _used(self, item: Pick) -> int:
        """The number of decisions so far that injected it."""
        decisions = self.session.state.esm.decisions
        number = decisions.names.find(item.entry)
        return 0 if number is None else decisions.column("chosen")[: len(decisions)].count(number)

    def _pair(self, item: Pick, palette: dict[str, Style], width: int) -> RenderableType:
        """The pair that the entry was made from, if the log has it."""
        state = self.session.state.esm
        wanted = (item.example, item.m, item.layer)
        pair = next((p for p in state.pairs if (p.example, p.m, p.layer) == wanted), None)
        if pair is None:
            return Text(one_line(state.question(item.example)))
        return _pair_whole(self.session, pair, palette, width)


def _pair_whole(session: Session, pair: Pair, palette: dict[str, Style], width: int) -> RenderableType:
    try:
        event = session.read(*pair.place)
    except (OSError, SteerError) as error:
        return Text(str(error), palette["bad"])
    assert isinstance(event, PairMined)
    return _draw_pair(event, session.state.esm.question(pair.example), palette, width)


def _outcome(correct: bool | None) -> str:
    return "right" if correct else "wrong"


def _draw_pair(event: PairMined, question: str, palette: dict[str, Style], width: int) -> RenderableType:
    title = Text.assemble(
        (event.pair, palette["strong"]),
        f"  {event.positives} right against {counted(event.negatives, 'wrong rollouts')}, Q {fixed(event.quality)}",
    )
    if event.steered_correct is not None:
        title.append("\ntried out, greedy  ", palette["dim"])
        title.append(
            f"from the wrong text {_outcome(event.wrong_correct)}, with the vector {_outcome(event.steered_correct)}; "
            f"from the right text {_outcome(event.right_correct)}"
        )
    right = model_text(event.positive_text, Style.null(), palette["dim"])
    wrong = model_text(event.negative_text, Style.null(), palette["dim"])
    parts: list[RenderableType] = [title, Text()]
    if width >= 60:
        grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, expand=True)
        grid.add_column("✓ right wrote", ratio=1, overflow="fold", header_style=palette["good"])
        grid.add_column("✗ wrong wrote", ratio=1, overflow="fold", header_style=palette["bad"])
        grid.add_row(right, wrong)
        parts.append(grid)
    else:
        parts += [Text("✓ right wrote", palette["good"]), right]
        parts += [Text("✗ wrong wrote", palette["bad"]), wrong]
    if question:
        parts += [Text(), Text("question", palette["heading"]), Text(one_line(question))]
    return Group(*parts)


def _memory(memory: MemoryBuilt | None, palette: dict[str, Style], width: int) -> RenderableType:
    """Entries for each control point: █ wrong ones, which can be injected, ░ right ones."""
    if memory is None:
        return Text("The memory is built when all entries have been picked.", palette["dim"])
    layers = ", ".join(map(str, memory.layers))
    title = Text.assemble(
        ("memory", palette["heading"]),
        f"  {counted(memory.entries, 'entries')} × {memory.hidden_size}, layers {layers}",
        ("   █ wrong, can be injected  ░ right, speaks for null", palette["dim"]),
    )
    grid = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("left", "right", "right", "left"):
        grid.add_column(justify=justify, no_wrap=True)  # type: ignore[arg-type]
    most = max((sum(counts) for counts in memory.by_control_point.values()), default=1) or 1
    room = max(8, min(48, width - 30))
    for m, (wrong, right) in sorted(memory.by_control_point.items(), key=lambda item: int(item[0])):
        bar = Text("█" * round(wrong / most * room), palette["accent"])
        bar.append("░" * round(right / most * room))
        grid.add_row(f"control point {m}", str(wrong), str(right), bar)
    return Group(title, grid)
