"""How good each method is, against greedy, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.blocks.block import Block, Picture, Span, Table, Target, plain, table_of
from app.blocks.plots import interval_picture
from app.methods.cells import difference_of, digits, interval_of
from app.methods.chart import Series
from app.state.esm import GREEDY, METHOD, ESMState
from app.state.run import RunState
from app.table.column import Cell, ListColumn
from app.wording.figures import bounds, fixed, probability, signed
from app.wording.words import method_name, method_notes
from engine.events import MethodEvaluated
from engine.wilson import wilson

_SIGNS = {"▲": "fixed", "▼": "broken"}


_METHOD: ListColumn[MethodEvaluated] = ListColumn(
    "method", "method", 17, value=lambda r: r.method,
    show=lambda name: Cell(method_name(name), "strong" if name == METHOD else ""),
)  # fmt: skip
COLUMNS: Sequence[ListColumn[MethodEvaluated]] = (
    _METHOD,
    ListColumn("n", "n", 5, "right", 1, help="examples"),
    ListColumn("accuracy", "accuracy", 8, "right", help="share of answers that are right", show=fixed),
    ListColumn("wilson", "its 95%", 14, "right", 4, help="Wilson interval of the accuracy",
               value=lambda r: wilson(round(r.accuracy * r.n), r.n), show=lambda pair: bounds(*pair)),
    ListColumn("difference", "− greedy", 8, "right", help="accuracy minus greedy's over the same examples",
               value=difference_of("difference", "low", "high")),
    ListColumn("interval", "95% interval", 16, "right", 2,
               help="of the difference: paired bootstrap over these problems, with this memory",
               value=interval_of("difference", "low", "high")),
    ListColumn("p", "p", 6, "right", 3, help="McNemar, exact, two-sided", show=probability),
    ListColumn("fixed", "▲", 4, "right", 1, help="right where greedy is wrong"),
    ListColumn("broken", "▼", 4, "right", 1, help="wrong where greedy is right"),
)  # fmt: skip


def compared(state: ESMState, rows: Sequence[MethodEvaluated], caption: str) -> list[Table]:
    """A row for each method; counts of answers that it turned lead to the decisions that turned them."""
    tables = table_of(COLUMNS, rows, caption, method_notes(row.method for row in rows))
    return [_with_links(table, rows, state) for table in tables]


def _with_links(table: Table, rows: Sequence[MethodEvaluated], state: ESMState) -> Table:
    cells = [list(row) for row in table.rows]
    for label, word in _SIGNS.items():
        at = table.header.index(label)
        for line, row in zip(cells, rows, strict=True):
            if getattr(row, word) and _decides(state, row.method):
                target = Target("filter", f"method:{row.method} {word} left")
                line[at] = Span(plain(line[at]), "accent", target)
    return replace(table, rows=cells)


def _decides(state: ESMState, method: str) -> bool:
    """Whether it takes decisions; some write their answers in one piece."""
    number = state.names.get(method)
    return number is not None and number in state.decisions.column("method")[: len(state.decisions)]


def _tokens(row: MethodEvaluated) -> float:
    return row.mean_tokens + row.mean_probe_tokens


def cost(state: ESMState) -> list[Table]:
    """Tokens of an answer by method, and how many more than greedy's they are."""
    greedy = state.final.get(GREEDY)

    def more(row: MethodEvaluated) -> str:
        if greedy is None or row is greedy or not _tokens(greedy):
            return ""
        return f"{signed(100 * (_tokens(row) / _tokens(greedy) - 1), 1)}%"

    columns: Sequence[ListColumn[MethodEvaluated]] = (
        _METHOD,
        ListColumn("tokens", "committed", 9, "right", value=lambda r: r.mean_tokens, show=digits(1)),
        ListColumn("probe", "probe", 7, "right", help="of probes, or of a majority vote's other samples",
                   value=lambda r: r.mean_probe_tokens, show=digits(1)),
        ListColumn("all", "all", 7, "right", value=_tokens, show=digits(1)),
        ListColumn("more", "change", 8, "right", help="of all tokens, against greedy", value=more),
        ListColumn("speed", "tok/s", 7, "right", 1, help="committed and probe tokens a second",
                   value=lambda r: r.tokens_per_second, show=lambda v: f"{v:,.0f}"),
    )  # fmt: skip
    return table_of(columns, state.final.values(), "Tokens of an answer")


def results(state: ESMState) -> list[Block]:
    """Those of the methods that are done."""
    return [*compared(state, list(state.final.values()), "Methods, against greedy"), *cost(state)]


def running(state: ESMState) -> list[Block]:
    """Running figures of the methods that are not done."""
    rows = [row for name, row in state.running.items() if name not in state.final]
    return [*compared(state, rows, "Methods at work, against greedy so far")]


def accuracy_curves(state: RunState) -> list[Series]:
    """The running accuracy of each method, ESM's and greedy's first."""
    curves = state.esm.curves
    names = dict.fromkeys((METHOD, GREEDY, *curves))
    return [
        Series(method_name(name), [p.n for p in curves[name][:]], [p.accuracy for p in curves[name][:]])
        for name in names
        if name in curves
    ]


def difference_picture(state: ESMState) -> list[Picture]:
    """Each method's difference to greedy with its interval."""
    rows = ((method_name(r.method), r.difference, r.low, r.high) for r in state.final.values())
    return interval_picture(rows, "Accuracy minus greedy's, with paired bootstrap 95% intervals", zero=True)
