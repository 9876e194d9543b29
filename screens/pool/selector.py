"""The selector's learning beside the baselines, and all methods on the held-out queries."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.figures import fixed, interval, probability, signed
from app.methods.chart import Series, with_mean
from app.state.pool import PoolState
from app.state.run import RunState
from app.table.column import Cell, ListColumn
from app.text import counted
from engine.events import SelectorCompared, SelectorStep
from screens.panes.list_pane import ListPane
from screens.run_session import Session
from screens.widgets.bars import bar
from screens.widgets.chart import Chart
from screens.widgets.links import Target, link
from screens.widgets.rows import ListSource

Palette = dict[str, Style]
_EMPTY = """Nothing has been measured on the held-out queries yet.

First random, RICES and oracle pick pairs for them. Then the selector is trained on the pools'
trajectories and measured on them from time to time; the measurements do not influence training."""
ORDER = ("random", "rices", "oracle", "selector")
WORDS = {
    "selector": "the trained selector's likeliest pair",
    "rices": "RICES: the two candidates most similar to the query, the more similar one last",
    "random": "pairs drawn at random from the pool",
    "oracle": "the best known pair of the pool: a lower bound of what is possible",
}
_LINES = ("rices", "random", "oracle")
_PHASES = ("supervised", "policy_gradient")


def _difference(row: SelectorCompared) -> Cell:
    if row.difference is None:
        return Cell("", "dim")
    low, high = row.difference_low, row.difference_high
    sure = low is not None and high is not None and (low > 0 or high < 0)
    return Cell(signed(row.difference), ("good" if row.difference > 0 else "bad") if sure else "")


COLUMNS: Sequence[ListColumn[SelectorCompared]] = (
    ListColumn("method", "method", 8, value=lambda r: r.method,
               show=lambda m: Cell(m, "strong" if m == "selector" else "")),
    ListColumn("accuracy", "accuracy", 8, "right", 0, help="mean VQA accuracy", value=lambda r: r.accuracy, show=fixed),
    ListColumn("interval", "95%", 14, priority=2, help="bootstrap over the queries", value=lambda r: (r.low, r.high),
               show=lambda pair: f"[{fixed(pair[0])}, {fixed(pair[1])}]"),
    ListColumn("difference", "− RICES", 7, "right", 0, help="accuracy minus that of RICES on the same queries",
               value=lambda r: r, show=_difference),
    ListColumn("difference_interval", "95%", 16, priority=1, help="paired bootstrap, of the difference",
               value=lambda r: (r.difference_low, r.difference_high),
               show=lambda pair: "" if pair[0] is None else interval(*pair)),
    ListColumn("p", "p", 6, "right", 3, help="McNemar, exact, of fully right answers", value=lambda r: r.p,
               show=lambda p: "" if p is None else probability(p)),
    ListColumn("positive", "right", 6, "right", 4, help="share answered fully right", value=lambda r: r.positive,
               show=fixed),
    ListColumn("positive_interval", "95%", 14, priority=5, help="Wilson interval of that share",
               value=lambda r: (r.positive_low, r.positive_high),
               show=lambda pair: f"[{fixed(pair[0])}, {fixed(pair[1])}]"),
    ListColumn("n", "n", 5, "right", 6, help="queries", value=lambda r: r.n),
)  # fmt: skip


class PoolSelectorPane(ListPane):
    """Charts, methods, and the course of training."""

    LINKS = True

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(session, ListSource(COLUMNS, "methods"), _EMPTY, id=id)

    def charts(self) -> Sequence[Chart]:
        return (
            Chart("accuracy on held-out queries, 0 to 1", "training step", id="heldout-chart"),
            Chart("expected score on training queries, 0 to 1", "training step", id="expected-chart"),
        )

    def telling(self, item: SelectorCompared) -> bool:
        return item.method == "selector"

    def items(self, state: RunState) -> list[SelectorCompared]:
        compared = state.pool.compared
        return [
            compared[name] for name in (*ORDER, *(n for n in compared if n not in ORDER)) if name in compared
        ]

    def key(self, item: SelectorCompared) -> object:
        return item, len(self.session.state.pool.steps)

    def show(self) -> None:
        super().show()
        state = self.session.state.pool
        self.query_one("#heldout-chart", Chart).show_series(curve(state))
        self.query_one("#expected-chart", Chart).show_series(
            [line for phase in _PHASES for line in _expected(state, phase)]
        )

    def draw(self, item: SelectorCompared, palette: Palette, width: int) -> RenderableType:
        return draw_method(self.session.state.pool, item, palette, width)


def curve(state: PoolState) -> list[Series]:
    """The selector's points, the baselines as lines from the first to the last step."""
    looks = held_out(state)
    series = [Series("selector", [s.step for s in looks], [s.heldout_accuracy or 0.0 for s in looks])]
    last = looks[-1].steps if looks else 1
    compared = [row for name in _LINES if (row := state.compared.get(name)) is not None]
    return [*series, *(Series(row.method, [0, last], [row.accuracy, row.accuracy]) for row in compared)]


def held_out(state: PoolState) -> list[SelectorStep]:
    """Steps after which it picked for the held-out queries."""
    return [step for step in state.steps if step.heldout_accuracy is not None]


def _expected(state: PoolState, phase: str) -> list[Series]:
    steps = [step for step in state.steps if step.phase == phase]
    return with_mean(phase.replace("_", " "), [s.step for s in steps], [s.expected_score for s in steps])


def draw_method(state: PoolState, item: SelectorCompared, palette: Palette, width: int) -> RenderableType:
    """What it is, its figures in a line; below it the course of training."""
    text = Text.assemble((item.method, palette["strong"]), f"  {WORDS.get(item.method, '')}\n")
    text.append(f"{counted(item.n, 'held-out queries')}, {counted(item.asked, 'picks')}", palette["dim"])
    if item.failed:
        text.append(
            f"\n{counted(item.failed, 'queries')} left out of all methods: the model failed", palette["warn"]
        )
    text.append("\nfully right ").append(fixed(item.positive), palette["strong"])
    text.append(f" [{fixed(item.positive_low)}, {fixed(item.positive_high)}]")
    if item.difference is not None:
        text.append("\naccuracy − RICES ").append(signed(item.difference), palette["strong"])
        text.append(f" {interval(item.difference_low, item.difference_high)}")
        if item.p is not None:
            text.append(f"  p {probability(item.p)}")
    text.append_text(_turned(state, item, palette))
    files = Text("selector/comparison.csv, training.jsonl, picks.jsonl, selector.pt", palette["dim"])
    return Group(text, Text(), _course(state, palette, width), Text(), files)


def _turned(state: PoolState, item: SelectorCompared, palette: Palette) -> Text:
    """On how many queries it picks better or worse than RICES; the counts lead to the first of them."""
    signs = [row.sign(item.method) for row in state.picks]
    text = Text()
    for sign, word, style in ((1, "better", palette["good"]), (-1, "worse", palette["bad"])):
        if count := signs.count(sign):
            target = Target(word, item.method)
            text.append(", " if text else "\non ").append_text(link(counted(count, "queries"), target, style))
            text.append(f" {word}")
    return text.append(" than RICES") if text else text


def _course(state: PoolState, palette: Palette, width: int) -> RenderableType:
    """A line for each look at the held-out queries; the newest first."""
    looks = held_out(state)
    if not looks:
        return Text("The selector has not been measured on the held-out queries yet.", palette["dim"])
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    for heading in ("step", "loss", "expected", "held out"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("phase", no_wrap=True)
    room = 14 if width >= 70 else 0
    for step in reversed(looks):
        share = step.heldout_accuracy or 0.0
        table.add_row(
            str(step.step), fixed(step.loss), fixed(step.expected_score), Text(fixed(share), palette["strong"]),
            bar(share, room, palette["accent"], palette["dim"]), Text(step.phase.replace("_", " "), palette["dim"]),
        )  # fmt: skip
    return table
