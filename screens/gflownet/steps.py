"""The tab Training: the loss, the residuals of trajectory balance, the success of the samples."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.figures import fixed, signed
from app.methods.chart import Series, with_mean
from app.state.columns import Grow
from app.state.gflownet import GFlowNetState, StepRow
from app.state.run import RunState
from app.table.column import ListColumn
from screens.panes.list_pane import ListPane
from screens.run_session import Session
from screens.widgets.chart import Chart
from screens.widgets.rows import ListSource

_EMPTY = """Training has not started yet.

Every few steps a row appears here: the loss, the residual δ of trajectory balance (zero on every
path of a perfect sampler), and the share of sampled paths that meet an answer."""

COLUMNS: Sequence[ListColumn[StepRow]] = (
    ListColumn("step", "step", 6, "right", 0, value=lambda s: s.step),
    ListColumn("loss", "loss", 8, "right", 0, value=lambda s: s.loss, show=fixed),
    ListColumn("residual", "δ", 8, "right", 1, help="mean TB residual", value=lambda s: s.residual, show=signed),
    ListColumn(
        "spread", "5…95%", 15, "right", 4, help="quantiles of δ over the step's trajectories",
        value=lambda s: s.quantiles, show=lambda q: f"{signed(q[0], 2)} {signed(q[-1], 2)}" if q else "·",
    ),
    ListColumn("log_z", "log Z", 7, "right", 2, help="mean over the step's questions", value=lambda s: s.log_z,
               show=lambda v: fixed(v, 2)),
    ListColumn("success", "success", 7, "right", 0, help="share of sampled paths that meet an answer",
               value=lambda s: s.success, show=fixed),
    ListColumn("path_f1", "path F1", 7, "right", 3, help="against the shortest paths", value=lambda s: s.path_f1,
               show=fixed),
    ListColumn("length", "edges", 5, "right", 6, help="mean length of a path", value=lambda s: s.length,
               show=lambda v: fixed(v, 2)),
    ListColumn("alpha", "α", 5, "right", 5, help="weight of the retriever's prior", value=lambda s: s.prior_alpha,
               show=lambda v: fixed(v, 2)),
    ListColumn("entropy", "H(P_B)", 6, "right", 2, help="mean entropy of the learned backward policy, nats",
               value=lambda s: None if s.pb_nll is None else s.pb_avg_entropy, show=lambda v: fixed(v, 2)),
    ListColumn("speed", "paths/s", 8, "right", 8, help="trajectories per second, forward and backward",
               value=lambda s: s.per_second, show=lambda v: f"{v:,.0f}"),
)  # fmt: skip


class StepsPane(ListPane):
    """Charts, steps, and the step under the cursor in full."""

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(session, ListSource(COLUMNS, "steps"), _EMPTY, id=id)

    def charts(self) -> Sequence[Chart]:
        return (
            Chart("loss", "step", id="loss-chart"),
            Chart("residual δ and log Z, nats", "step", id="residual-chart"),
            Chart("sampled paths that meet an answer, share", "step", id="success-chart"),
        )

    def items(self, state: RunState) -> Grow[StepRow]:
        return state.gflownet.steps

    def show(self) -> None:
        super().show()
        steps = self.session.state.gflownet.steps[:]
        at = [step.step for step in steps]
        self.query_one("#loss-chart", Chart).show_series(with_mean("loss", at, [s.loss for s in steps]))
        with_spread = [step for step in steps if step.quantiles]
        self.query_one("#residual-chart", Chart).show_series(
            [
                _series("δ median", with_spread, lambda s: s.quantiles[2]),
                _series("δ 5%", with_spread, lambda s: s.quantiles[0]),
                _series("δ 95%", with_spread, lambda s: s.quantiles[-1]),
                _series("log Z", steps, lambda s: s.log_z),
            ]
        )
        validation = self.session.state.gflownet.validation
        looks, found = [e.step for e in validation], [e.metrics["success_mean"] for e in validation]
        self.query_one("#success-chart", Chart).show_series(
            [
                *with_mean("success", at, [s.success for s in steps]),
                *with_mean("path F1", at, [s.path_f1 for s in steps]),
                Series("validation", looks, found, "◇", points=True),
                *_kept(self.session.state.gflownet),
            ]
        )

    def key(self, item: StepRow) -> object:
        return item, len(self.session.state.gflownet.evaluated)

    def draw(self, item: StepRow, palette: dict[str, Style], width: int) -> RenderableType:
        return draw_step(self.session.state.gflownet, item, palette)


def _series(label, steps, value) -> Series:  # type: ignore[no-untyped-def]
    return Series(label, [step.step for step in steps], [value(step) for step in steps])


def _backward(item: StepRow) -> list[tuple[str, str]]:
    """The losses of a backward policy that learns, and its entropy; nothing of one that does not."""
    if item.pb_nll is None:
        return []
    return [
        ("  PB  −log P_B of the walks", fixed(item.pb_nll, 4)),
        ("  PB  −entropy, weighted", fixed(item.pb_entropy, 4)),
        ("  PB  squared weights, weighted", fixed(item.pb_l2, 4)),
        ("entropy of P_B, nats", fixed(item.pb_avg_entropy)),
    ]


def _kept(state: GFlowNetState) -> list[Series]:
    """The step whose weights are kept, as a point of its own."""
    kept = state.kept
    return [Series("best", [kept.step], [kept.metrics["success_mean"]], "★", points=True)] if kept else []


def draw_step(state: GFlowNetState, item: StepRow, palette: dict[str, Style]) -> RenderableType:
    """The loss and what it is made of, the residuals, the samples."""
    title = Text.assemble((f"step {item.step}", palette["strong"]), f" of {state.total_steps:,}")
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style=palette["dim"], no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    rows = [
        ("loss", fixed(item.loss, 4)),
        ("  TB  mean δ²", fixed(item.tb_loss, 4)),
        ("  GT  −log P_F of taught paths", fixed(item.gt_loss, 4)),
        *_backward(item),
        ("δ mean", signed(item.residual)),
        ("δ 5% 25% 50% 75% 95%", " ".join(signed(value, 2) for value in item.quantiles)),
        ("log Z", fixed(item.log_z)),
        ("reward", fixed(item.reward)),
        ("success", fixed(item.success)),
        ("path F1", fixed(item.path_f1)),
        ("edges per path", fixed(item.length, 2)),
        ("retriever prior α", fixed(item.prior_alpha)),
    ]
    for name, value in rows:
        table.add_row(name, value)
    parts: list[RenderableType] = [title, Text(), table]
    if state.validation:
        last = state.validation[-1]
        success = "   ".join(
            f"{name} {fixed(last.metrics[name])}" for name in last.metrics if name.startswith("success@")
        )
        parts += [Text(), Text(f"validation after step {last.step}", palette["heading"]), Text(success)]
    if state.kept:
        success = fixed(state.kept.metrics["success_mean"])
        parts.append(
            Text(f"★ best on validation: step {state.kept.step}, success {success}", palette["accent"])
        )
    return Group(*parts)
