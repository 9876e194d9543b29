"""The sampler beside its baselines on the held-out questions, and log P_F against log R."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.figures import fixed
from app.methods.chart import Series
from app.state.run import RunState
from app.table.column import Cell, ListColumn
from app.text import counted
from app.words import figure_name, sampler_name
from engine.events import SamplerEvaluated
from screens.panes.list_pane import ListPane
from screens.run_session import Session
from screens.widgets.chart import Chart
from screens.widgets.rows import ListSource

_EMPTY = """Nothing has been measured on the held-out questions yet.

When training is finished, the sampler is compared there with beam search over the retriever's
scores and with sampling by the retriever's scores alone."""

WORDS = {
    "gflownet": "the trained sampler, each path drawn for itself: the figures of the overview",
    "distinct": "the same sampler, drawing without replacement: no path twice, the most probable first",
    "greedy": "the most probable action at every step: one path per question",
    "beam": "beam search, paths ranked by their edges' log scores, with a bonus for each edge",
    "prior": "sampling by the retriever's scores alone",
}
SETTINGS = {"temperature": "temperature", "edge_bonus": "bonus for each edge", "stop_score": "score of STOP"}
OWN = ("gflownet", "distinct")
_TV = "total variation between P_F and R / sum R, where all paths can be listed: 0 is a perfect sampler, 1 the worst"


def _row_name(method: str) -> str:
    return sampler_name(method) if method in OWN else method


def _at(name: str, k: int) -> str:
    return f"{name}@{k}"


def _metric(name: str):  # type: ignore[no-untyped-def]
    return lambda event: event.metrics.get(name)


def _widest(name: str):  # type: ignore[no-untyped-def]
    return lambda event: event.metrics.get(_at(name, event.k))


COLUMNS: Sequence[ListColumn[SamplerEvaluated]] = (
    ListColumn("method", "method", 17, value=lambda e: e.method,
               show=lambda m: Cell(_row_name(m), "strong" if m in OWN else "")),
    ListColumn("k", "K", 3, "right", 4, help="paths per question", value=lambda e: e.k),
    ListColumn("success1", "succ@1", 7, "right", 0, help="success@1: the first path meets an answer",
               value=_metric("success@1"), show=fixed),
    ListColumn("success10", "succ@10", 7, "right", 2, help="success@10", value=_metric("success@10"), show=fixed),
    ListColumn("success", "succ@K", 7, "right", 1, help="any of the K paths meets an answer",
               value=_widest("success"), show=fixed),
    ListColumn("recall", "recall@K", 8, "right", 0, help="answer_recall_union@K: share of the answers met by any path",
               value=_widest("answer_recall_union"), show=fixed),
    ListColumn("unique", "unique", 7, "right", 2, help="distinct paths among the K", value=_metric("unique_paths"),
               show=lambda v: fixed(v, 1)),
    ListColumn("hits", "hits", 6, "right", 1, help="unique_success_paths@K: distinct paths that meet an answer",
               value=_widest("unique_success_paths"), show=lambda v: fixed(v, 1)),
    ListColumn("path_f1", "path F1", 7, "right", 3, help="path_hit_f1: mean over the K paths",
               value=_metric("path_hit_f1"), show=fixed),
    ListColumn("union_f1", "union F1", 8, "right", 5, help="path_f1_union@K: all edges of the K paths together",
               value=_widest("path_f1_union"), show=fixed),
    ListColumn("precision", "ans. F1", 7, "right", 6, help="answer_f1 of a path's nodes", value=_metric("answer_f1"),
               show=fixed),
    ListColumn("distance", "TV", 6, "right", 2, help=_TV, value=_metric("total_variation"), show=fixed),
    ListColumn("rank", "ρ", 6, "right", 5, help="Spearman: log P_F against log R",
               value=_metric("logpf_logr_spearman"), show=fixed),
)  # fmt: skip


class MethodsPane(ListPane):
    """Methods, the scatter of the one under the cursor, and all its figures."""

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(session, ListSource(COLUMNS, "methods"), _EMPTY, id=id)

    def charts(self) -> Sequence[Chart]:
        return (Chart("log P_F of each sampled path, nats", "its log R, nats", id="scatter-chart"),)

    def telling(self, item: SamplerEvaluated) -> bool:
        return item.method in OWN

    def items(self, state: RunState) -> list[SamplerEvaluated]:
        return state.gflownet.test

    def show(self) -> None:
        super().show()
        sampler = next((e for e in self.session.state.gflownet.test if e.method == "gflownet"), None)
        pairs = sorted((log_r, log_pf) for log_pf, log_r in sampler.scatter) if sampler is not None else []
        series = Series("paths", [x for x, _ in pairs], [y for _, y in pairs], "•", points=True, faint=True)
        self.query_one("#scatter-chart", Chart).show_series([series])

    def draw(self, item: SamplerEvaluated, palette: dict[str, Style], width: int) -> RenderableType:
        return draw_method(item, palette)


def draw_method(item: SamplerEvaluated, palette: dict[str, Style]) -> RenderableType:
    """Every figure by its name, with its interval where there is one."""
    title = Text.assemble((_row_name(item.method), palette["strong"]), f"  {WORDS.get(item.method, '')}")
    head = Text(
        f"{counted(item.n, f'{item.split} questions')}, {counted(item.k, 'paths')} each", palette["dim"]
    )
    notes = [f"{SETTINGS[name]} {value:g}, chosen on validation" for name, value in item.settings.items()]
    if item.missed:
        notes.append(f"of all questions: these and {item.missed:,} more, whose answers no path reaches")
    if item.listed:
        notes.append(
            f"{figure_name('total_variation')}: over the {counted(item.listed, 'questions')} whose paths can all be "
            "listed"
        )
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    table.add_column("figure", no_wrap=True)
    table.add_column("mean", justify="right", no_wrap=True, min_width=7)
    table.add_column("95%", no_wrap=True)
    for name, value in item.metrics.items():
        bounds = item.intervals.get(name)
        shown = "" if bounds is None else f"[{fixed(bounds[0])}, {fixed(bounds[1])}]"
        table.add_row(figure_name(name), fixed(value), Text(shown, palette["dim"]))
    notes.append("@10: among the first 10 paths of a question")
    return Group(title, head, *(Text(note, palette["dim"]) for note in notes), Text(), table)
