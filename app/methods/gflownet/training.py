"""How the sampler was trained, and the graphs it was trained on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.blocks.block import Block, Heading, Paragraph, Span, Table, Words, facts, table_of
from app.methods.cells import digits
from app.methods.chart import Series, with_mean
from app.state.gflownet import GFlowNetState
from app.state.run import RunState
from app.table.column import ListColumn
from app.wording.figures import fixed, signed
from app.wording.text import counted
from engine.events import AgentGraphsBuilt, GraphsBuilt, RetrieverMeasured, SamplerEvaluated, SamplerStep

_MOST_STEPS = 10

STEPS: Sequence[ListColumn[SamplerStep]] = (
    ListColumn("step", "step", 6, "right", 0),
    ListColumn("loss", "loss", 8, "right", 0, show=fixed),
    ListColumn("residual", "δ", 8, "right", 1, show=signed,
               help="mean residual of trajectory balance, log Z + log P_F − log P_B − log R: 0 for a perfect sampler"),
    ListColumn("spread", "5…95%", 15, "right", 4, help="quantiles of δ over the step's paths",
               value=lambda s: s.residual_quantiles,
               show=lambda q: f"{signed(q[0], 2)} {signed(q[-1], 2)}" if q else "·"),
    ListColumn("log_z", "log Z", 7, "right", 2, help="mean over the step's questions", show=digits(2)),
    ListColumn("success", "meeting", 7, "right", 0, help="share of sampled paths that meet an answer",
               value=lambda s: s.success_mean, show=fixed),
    ListColumn("path_f1", "path F1", 7, "right", 3, help="against the edges of all shortest paths",
               value=lambda s: s.path_hit_f1, show=fixed),
    ListColumn("length", "edges", 5, "right", 6, help="mean length of a path",
               value=lambda s: s.length_mean, show=digits(2)),
    ListColumn("alpha", "α", 5, "right", 5, help="weight of the retriever's log scores, the prior",
               value=lambda s: s.prior_alpha, show=digits(2)),
    ListColumn("entropy", "H(P_B)", 6, "right", 5, help="mean entropy of the backward policy that is learnt, nats",
               value=lambda s: None if s.pb_nll is None else s.pb_avg_entropy, show=digits(2)),
    ListColumn("speed", "paths/s", 8, "right", 8, value=lambda s: s.trajectories_per_second,
               show=lambda v: f"{v:,.0f}"),
)  # fmt: skip


def steps(state: GFlowNetState) -> list[Block]:
    """The newest step with what its loss is made of, and some of those before it."""
    rows = state.steps[::-1]
    if not rows:
        return []
    newest, every = rows[0], -(-len(rows) // _MOST_STEPS)
    title = (Span(f"step {newest.step:,}", "strong"), f" of {newest.steps:,}")
    return [Paragraph(title), *_validation(state), *table_of(STEPS, rows[::every]), *_loss(newest)]


def _validation(state: GFlowNetState) -> list[Block]:
    lines: list[Block] = []
    if state.validation:
        last = state.validation[-1]
        shares = [
            f"{name} {fixed(last.metrics[name])}" for name in last.metrics if name.startswith("success@")
        ]
        what = Span("   (share of questions of which one of the first K paths meets an answer)", "dim")
        lines.append(Paragraph((f"validation after step {last.step:,}: {'   '.join(shares)}", what)))
    if (kept := state.kept) is not None:
        meeting = f"{fixed(kept.metrics['success_mean'])} of its paths meet an answer"
        lines.append(Paragraph(f"★ best on validation, kept: step {kept.step:,}, {meeting}", "accent"))
    return lines


def _loss(step: SamplerStep) -> list[Block]:
    """The parts of a step's loss; those of a backward policy where one is learnt."""
    learnt = step.pb_nll is not None
    quantiles = " ".join(signed(value, 2) for value in step.residual_quantiles)
    rows: list[tuple[str, Words | None]] = [
        ("loss", fixed(step.loss, 4)),
        ("TB  mean δ²", fixed(step.tb_loss, 4)),
        ("GT  taught paths, weighted", fixed(step.gt_loss, 4)),
        ("PB  −log P_B of the walks", fixed(step.pb_nll, 4) if learnt else None),
        ("PB  −entropy, weighted", fixed(step.pb_entropy, 4) if learnt else None),
        ("PB  squared weights, weighted", fixed(step.pb_l2, 4) if learnt else None),
        ("δ 5% 25% 50% 75% 95%", quantiles),
        ("reward", fixed(step.rollout_reward)),
    ]
    return [Heading(f"what the loss of step {step.step:,} is made of", 4), facts(rows)]


# ---------------------------------------------------------------- curves


def loss_curve(state: RunState) -> list[Series]:
    """The loss of each step."""
    rows = state.gflownet.steps[:]
    return with_mean("loss", [row.step for row in rows], [row.loss for row in rows])


def residual_curves(state: RunState) -> list[Series]:
    """Median and 5% and 95% quantiles of the residual, and log Z."""
    rows = state.gflownet.steps[:]
    spread = [row for row in rows if row.residual_quantiles]
    return [
        _line("δ median", spread, lambda row: row.residual_quantiles[2]),
        _line("δ 5%", spread, lambda row: row.residual_quantiles[0]),
        _line("δ 95%", spread, lambda row: row.residual_quantiles[-1]),
        _line("log Z", rows, lambda row: row.log_z),
    ]


def _line(label: str, rows: Sequence[SamplerStep], value: Callable[[SamplerStep], float]) -> Series:
    return Series(label, [row.step for row in rows], [value(row) for row in rows])


def success_curves(state: RunState) -> list[Series]:
    """Samples that meet an answer, their path F1, the looks at validation, and the step whose weights are kept."""
    rows, kept = state.gflownet.steps[:], state.gflownet.kept
    at = [row.step for row in rows]
    return [
        *with_mean("training", at, [row.success_mean for row in rows]),
        *with_mean("path F1", at, [row.path_hit_f1 for row in rows]),
        _validated("validation", "◇", state.gflownet.validation),
        _validated("best", "★", [] if kept is None else [kept]),
    ]


def _validated(label: str, mark: str, events: Sequence[SamplerEvaluated]) -> Series:
    values = [event.metrics["success_mean"] for event in events]
    return Series(label, [event.step for event in events], values, mark, points=True)


# ---------------------------------------------------------------- data


def _left_out(event: GraphsBuilt | AgentGraphsBuilt) -> str:
    broken = event.broken_triples if isinstance(event, GraphsBuilt) else 0
    reasons = {**event.dropped, **({"triples that are not three texts": broken} if broken else {})}
    return ", ".join(f"{reason} {count:,}" for reason, count in reasons.items())


def _hops(hops: Mapping[str, int]) -> str:
    return " ".join(f"{length}:{count:,}" for length, count in sorted(hops.items()))


def _thousands(value: float) -> str:
    return f"{value:,.0f}"


GRAPHS: Sequence[ListColumn[Any]] = (
    ListColumn("split", "split", 10),
    ListColumn("hops", "hops", 18, priority=2, help="length of the shortest path to an answer : questions", show=_hops),
    ListColumn("left_out", "left out", 20, priority=1, value=_left_out),
    ListColumn("questions", "questions", 9, "right", value=lambda g: g.samples, show=_thousands),
    ListColumn("reachable", "reachable", 9, "right", help="a path leads to an answer", show=_thousands),
    ListColumn("edges", "edges", 7, "right", value=lambda g: g.edges_mean, show=_thousands),
    ListColumn("nodes", "nodes", 7, "right", 3, value=lambda g: g.nodes_mean, show=_thousands),
    ListColumn("in_degree", "largest in-degree", 17, "right", 4, value=lambda g: g.in_degree_max, show=_thousands),
    ListColumn("signal", "signal", 7, "right", 1, help="the shortest path's share of the edges, median",
               value=lambda g: g.signal_to_noise, show=lambda v: f"{v:.2%}"),
)  # fmt: skip

_OF_BOTH = ("split", "left_out", "questions", "edges", "nodes")
AGENT_GRAPHS: Sequence[ListColumn[Any]] = [column for column in GRAPHS if column.key in _OF_BOTH]


def data(state: GFlowNetState) -> list[Block]:
    """What each stage before the training kept and left out."""
    return [
        *table_of(GRAPHS, state.graphs.values(), "Graphs of the questions"),
        *_retriever(state),
        *table_of(AGENT_GRAPHS, state.agent_graphs.values(), "Agent graphs: the parts to walk on"),
    ]


def _retriever(state: GFlowNetState) -> list[Block]:
    """The scorer of edges, by epoch and by split."""
    kept, best = max((e.epoch for e in state.epochs if e.best), default=0), "★ kept: most recall"
    epochs = [
        (f"{e.epoch}/{e.epochs}", Span(best if e.epoch == kept else "", "accent"), e.recall, e.loss)
        for e in state.epochs
    ]
    splits = [(split, Span(_unscored(e), "warn"), e.recall) for split, e in state.recall.items()]
    return [
        *_recall("The retriever, which scores the edges, on validation", "epoch", epochs, "loss"),
        *_recall("Its recall", "split", splits),
    ]


def _recall(caption: str, first: str, known: Sequence[Any], *figures: str) -> list[Table]:
    """A name, a remark, the recall at each K and the `figures` behind it."""
    ks = list(dict.fromkeys(k for row in known for k in row[2]))
    rows = [
        (name, remark, *map(fixed, more), *(fixed(of.get(k)) for k in ks))
        for name, remark, of, *more in known
    ]
    header = (first, "", *figures, *(f"recall@{k}" for k in ks))
    return [Table(header, rows, len(ks) + len(figures), caption)] if rows else []


def _unscored(event: RetrieverMeasured) -> str:
    """What the scores lack, if they were computed elsewhere."""
    lacking = [f"{counted(event.missing, 'questions')} without scores"] if event.missing else []
    if event.unscored:
        lacking.append(f"{counted(event.unscored, 'triples')} of the others without a score")
    return ", ".join(lacking)
