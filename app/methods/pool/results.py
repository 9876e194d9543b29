"""How good the pools and the selector are, and how the selector was trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from app.blocks.block import Block, Paragraph, Picture, Span, Table, Target, Words, table_of
from app.blocks.plots import interval_picture
from app.methods.cells import DIFFERENCE, bounds_of, difference_of, interval_of, linked_counts
from app.methods.chart import Series, with_mean
from app.methods.pool.picks import in_order
from app.state.pool import PoolState
from app.state.run import RunState
from app.table.column import Cell, ListColumn
from app.wording.figures import bounds, fixed
from app.wording.text import counted
from app.wording.words import method_name, short_method_name
from engine.events import PoolTotals, SelectorCompared, SelectorStep

_LINES = ("rices", "random")
_PHASES = ("supervised", "policy_gradient")
_NOTES = (
    "similarity (RICES): the two candidates most similar to the query; random: pairs drawn from the pool",
)


PICKED: Sequence[ListColumn[SelectorCompared]] = (
    ListColumn("method", "method", 8, show=lambda m: Cell(method_name(m), "strong" if m == "selector" else "")),
    ListColumn("n", "n", 5, "right", 5),
    ListColumn("accuracy", "accuracy", 8, "right", help="mean VQA accuracy", show=fixed),
    ListColumn("interval", "95%", 14, "right", 2, value=bounds_of("low", "high")),
    ListColumn("difference", "− RICES", 7, "right", help="accuracy minus that of RICES on the same queries",
               value=difference_of(*DIFFERENCE)),
    ListColumn("difference_interval", "95%", 16, "right", 1, value=interval_of(*DIFFERENCE)),
)  # fmt: skip


def results(state: RunState) -> list[Block]:
    """The methods on the held-out queries; the best known pairs when all pools are done."""
    return [*picked(state.pool), *oracles(state.pool.totals)]


def picked(state: PoolState) -> list[Block]:
    """The methods on the held-out queries."""
    rows = in_order(state.compared.values())
    return [
        *table_of(PICKED, rows, "Demonstrations picked, against similarity (RICES)", _NOTES),
        *(Paragraph(words) for row in rows if (words := _turned(state, row))),
        *_left_out(rows),
    ]


def _turned(state: PoolState, row: SelectorCompared) -> Words:
    """On how many queries it picks better or worse than RICES; the counts lead to the first of them."""
    signs = Counter(pick.sign(row.method) for pick in state.picks)
    words = linked_counts([
        (signs[1], f"{counted(signs[1], 'queries')} better", "good", Target("better", row.method)),
        (signs[-1], f"{counted(signs[-1], 'queries')} worse", "bad", Target("worse", row.method)),
    ], between=", ")  # fmt: skip
    return [f"{method_name(row.method)}: ", *words, " than RICES"] if words else ""


def _left_out(rows: Sequence[SelectorCompared]) -> list[Block]:
    failed = max((row.failed for row in rows), default=0)
    text = f"{counted(failed, 'queries')} left out of all methods: the model failed"
    return [Paragraph(text, "warn")] if failed else []


def oracles(totals: PoolTotals | None) -> list[Block]:
    """The best known pairs of all pools, when all are done."""
    if totals is None or not (n := totals.queries):
        return []
    known = {"original data": totals.before, "after injection": totals.after}
    rows = [
        (
            name, Span(fixed(oracle.mean), "strong"), f"{oracle.positive:,}/{n:,}", fixed(oracle.positive / n),
            bounds(oracle.low, oracle.high),
        )
        for name, oracle in known.items()
    ]  # fmt: skip
    about = f"{counted(n, 'queries')}, {counted(totals.injected, 'candidates')} injected"
    header = ("oracle@64", "mean", "fully right", "share", "95%")
    return [Table(header, rows, 4, f"Best known pair of a pool, {about}"), *_warnings(totals.warnings)]


def _warnings(count: int) -> list[Block]:
    if not count:
        return []
    first = Span(counted(count, "queries"), "warn", Target("warning", "first"))
    return [Paragraph((Span("! ", "warn"), first, " with a warning: marked ! in the table of queries"))]


def measured(state: PoolState) -> list[SelectorStep]:
    """Steps after which the selector picked for the held-out queries."""
    return [step for step in state.steps if step.heldout_accuracy is not None]


def accuracy_curves(state: RunState) -> list[Series]:
    """The selector's points, the baselines as lines from the first to the last step."""
    looks, compared = measured(state.pool), state.pool.compared
    last = looks[-1].steps if looks else 1
    selector = Series("selector", [s.step for s in looks], [s.heldout_accuracy or 0.0 for s in looks])
    levels = [row for name in _LINES if (row := compared.get(name)) is not None]
    return [
        selector,
        *(Series(short_method_name(row.method), [0, last], [row.accuracy, row.accuracy]) for row in levels),
    ]


def score_curves(state: RunState) -> list[Series]:
    """The expected score of each phase of the training."""
    return [line for phase in _PHASES for line in _expected(state.pool, phase)]


def _expected(state: PoolState, phase: str) -> list[Series]:
    steps = [step for step in state.steps if step.phase == phase]
    return with_mean(phase.replace("_", " "), [s.step for s in steps], [s.expected_score for s in steps])


def course(state: PoolState) -> list[Block]:
    """A line for each look at the held-out queries; the newest first."""
    rows = [
        (
            str(step.step), step.phase.replace("_", " "), fixed(step.loss), fixed(step.expected_score),
            Span(fixed(step.heldout_accuracy), "strong"),
        )
        for step in reversed(measured(state))
    ]  # fmt: skip
    header = ("step", "phase", "loss", "expected", "held out")
    expected = "mean score of the recorded pairs, weighted by how probable the selector makes them"
    about = ("", "", "", expected, "accuracy on the held-out queries; it does not influence the training")
    return [Table(header, rows, 3, "The selector", about=about)] if rows else []


def accuracy_picture(state: PoolState) -> list[Picture]:
    """The methods' accuracies with their intervals."""
    rows = ((method_name(r.method), r.accuracy, r.low, r.high) for r in state.compared.values())
    return interval_picture(rows, "VQA accuracy on held-out queries, with bootstrap 95% intervals")
