"""The course of the evolution: scores and lengths by iteration, who judged and reflected, what it cost."""

from __future__ import annotations

from collections.abc import Callable

from app.blocks.block import Block, Facts, facts
from app.methods.chart import Series
from app.methods.evolution.clusters import cluster_table, delta_map
from app.methods.evolution.iterations import composite_words, server_blocks
from app.state.evolution import EvolutionState, IterationState
from app.state.run import RunState
from app.wording.text import counted
from engine.events import AnswersScored

_BASELINE = "no deltas"

Value = Callable[[AnswersScored], float]


def scores(state: RunState) -> list[Series]:
    """Composite and correctness of the minibatches, the composite on the validation set with that of no deltas, and the
    iterations that were kept as best."""
    evolution = state.evolution
    kept = [item for item in evolution.iterations.values() if item.best]
    best = [(item.iteration, score) for item in kept if (score := evolution.deciding(item)) is not None]
    return [
        _line("composite", _on_minibatch(evolution), lambda score: score.composite),
        _line("correct", _on_minibatch(evolution), lambda score: score.correctness),
        *_validation(evolution, lambda score: score.composite),
        Series("best", [number for number, _ in best], [s.composite for _, s in best], "★", points=True),
    ]


def lengths(state: RunState) -> list[Series]:
    """Mean tokens of an answer, on the minibatch and on the validation set."""
    evolution = state.evolution
    minibatch = _line("minibatch", _on_minibatch(evolution), lambda score: score.mean_tokens)
    return [minibatch, *_validation(evolution, lambda score: score.mean_tokens)]


def _on_minibatch(state: EvolutionState) -> list[tuple[int, AnswersScored]]:
    return [(i.iteration, i.minibatch) for i in state.iterations.values() if i.minibatch is not None]


def _line(label: str, scored: list[tuple[int, AnswersScored]], value: Value) -> Series:
    return Series(label, [number for number, _ in scored], [value(score) for _, score in scored])


def _validation(state: EvolutionState, value: Value) -> list[Series]:
    """On the validation set: the iterations that were tried there, and the level of no deltas. Nothing where
    minibatches decide: they have other questions."""
    if state.by_minibatch:
        return []
    items: list[IterationState] = list(state.iterations.values())
    lines = [
        _line("validation", [(i.iteration, i.validation) for i in items if i.validation is not None], value)
    ]
    if state.baseline is not None and items:
        level = value(state.baseline)
        lines.append(Series(_BASELINE, [items[0].iteration, items[-1].iteration], [level, level]))
    return lines


def course(state: EvolutionState) -> list[Block]:
    """Who took part and what they used, the deltas by iteration, the clusters."""
    return [*server_blocks(state.server), *_usage(state), *delta_map(state), *cluster_table(state)]


def _usage(state: EvolutionState) -> list[Facts]:
    began, usage = state.began, state.usage
    if began is None:
        return []
    spent = ""
    if usage is not None:
        calls, tokens = counted(usage.calls, "calls"), counted(usage.tokens, "tokens")
        spent = f"; both: {calls}, {tokens}, cost {usage.cost:.2f}"
    rows = [
        ("iterations", f"{len(state.iterations)} of {began.iterations}"),
        ("model server", began.server),
        ("judge, reflector", f"{began.judge}, {began.reflector}{spent}"),
        ("score", composite_words(began)),
    ]
    return [facts(rows)]
