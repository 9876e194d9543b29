"""The tab Pairs: a table, and the logged details of the pair under the cursor."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.blocks.model_text import model_text, one_line
from app.figures import fixed
from app.state.columns import Grow
from app.state.esm import Pair
from app.state.run import RunState
from app.table.column import Cell, ListColumn, Tone
from app.text import counted
from engine.errors import SteerError
from engine.events import PairMined
from screens.panes.list_pane import ListPane
from screens.run_session import Session
from screens.widgets.rows import ListSource

_EFFECTS: dict[str, Tone] = {"fixes": "good", "harms": "bad"}
PAIR_COLUMNS: Sequence[ListColumn[Pair]] = (
    ListColumn("pair", "pair", 18, flex=True, help="the words in which wrong and right text differ first",
               value=lambda p: p.entry_name()),
    ListColumn("example", "example", 11, priority=6, name=True, value=lambda p: p.example),
    ListColumn("m", "m", 2, "right", 1, help="control point", value=lambda p: p.m),
    ListColumn("layer", "layer", 5, "right", 4, value=lambda p: p.layer),
    ListColumn("quality", "Q", 6, "right", 0, help="mean reward, right minus wrong", value=lambda p: p.quality,
               show=fixed),
    ListColumn("positives", "right", 5, "right", 2, help="right rollouts", value=lambda p: p.positives),
    ListColumn("negatives", "wrong", 5, "right", 2, help="wrong rollouts", value=lambda p: p.negatives),
    ListColumn("delta", "|Δ|", 6, "right", 3, help="length of the vector", value=lambda p: p.delta_norm,
               show=lambda v: fixed(v, 1)),
    ListColumn("effect", "effect", 8, priority=2,
               help="what its vector does to a wrong answer of its own problem; only fixes goes into the library",
               value=lambda p: p.effect, show=lambda word: Cell(word, _EFFECTS.get(word, "dim"))),
    ListColumn("source", "source", 8, priority=7, help="where positives come from", value=lambda p: p.source),
    ListColumn("id", "id", 11, priority=8, name=True, value=lambda p: p.pair),
)  # fmt: skip

_NO_PAIRS = """No pair has been mined yet.

The mine stage writes several answers to each training question; the line below counts those that
have ended. Where some are right and some are wrong at the same control point, their difference
becomes a pair, which appears here with the question's last answer."""


class PairsPane(ListPane):
    """Mined pairs."""

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(session, ListSource(PAIR_COLUMNS, "pairs"), _NO_PAIRS, id=id)

    def items(self, state: RunState) -> Grow[Pair]:
        return state.esm.pairs

    def remark(self) -> str:
        esm = self.session.state.esm
        return f"{counted(len(esm.rollouts), 'rollouts')}, {esm.rollouts_right} right" if esm.rollouts else ""

    def draw(self, item: Pair, palette: dict[str, Style], width: int) -> RenderableType:
        return pair_whole(self.session, item, palette, width)


def pair_whole(session: Session, pair: Pair, palette: dict[str, Style], width: int) -> RenderableType:
    """A mined pair as the log has it."""
    try:
        event = session.read(*pair.place)
    except (OSError, SteerError) as error:
        return Text(str(error), palette["bad"])
    assert isinstance(event, PairMined)
    return _draw_pair(event, pair.entry_name(), session.state.esm.question(pair.example), palette, width)


def _outcome(correct: bool | None) -> str:
    return "right" if correct else "wrong"


def _draw_pair(
    event: PairMined, name: str, question: str, palette: dict[str, Style], width: int
) -> RenderableType:
    title = Text.assemble(
        (name, palette["strong"]),
        f"  {event.pair}\n",
        f"{event.positives} right against {counted(event.negatives, 'wrong rollouts')}, Q {fixed(event.quality)}",
    )
    if event.steered_correct is not None:
        title.append("\ntried out   ", palette["dim"])
        title.append(
            f"from the wrong text on, greedy ends {_outcome(event.wrong_correct)}, with the vector "
            f"{_outcome(event.steered_correct)}; from the right text on, greedy ends {_outcome(event.right_correct)}"
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
