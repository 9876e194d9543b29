"""The evolution: its best deltas beside no processor and the baselines; its judge beside people."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from app.figures import bounds, fixed, interval, probability, signed
from app.result_tables.layout import result_tables
from app.state.evolution import EvolutionState
from app.state.run import RunState
from app.verdict_text import untested_sentence
from app.words import method_name

_FIGURES = ("n", "cannot tell", "correct", "95% interval", "tokens", "composite")
_DIFFERENCES = ("correct", "95% interval", "p", "tokens", "95% interval", "composite", "95% interval")
_JUDGE = ("answers", "judged", "agreement", "kappa", "95% interval", "precision", "recall")


def tables(state: RunState) -> list[Table]:
    """The judge against people's labels, and the comparison on the test set, or what there is without one."""
    measured, compared = state.evolution.judge.values(), state.evolution.compared.values()
    judge = [
        (
            row.question_type or "all questions", str(row.answers), f"{row.judged / row.answers:.0%}",
            fixed(row.agreement), fixed(row.kappa), bounds(row.kappa_low, row.kappa_high), fixed(row.precision),
            fixed(row.recall),
        )
        for row in measured
    ]  # fmt: skip
    rows = [
        (
            method_name(row.method) + (f": {row.cap}" if row.cap is not None else ""), str(row.n), str(row.cannot_tell),
            fixed(row.correctness), bounds(row.wilson_low, row.wilson_high), f"{row.mean_tokens:.1f}",
            fixed(row.composite),
        )
        for row in compared
    ]  # fmt: skip
    differences = [
        (
            method_name(row.method), signed(row.difference), interval(row.low, row.high), probability(row.p),
            signed(row.tokens_difference, 1), interval(row.tokens_low, row.tokens_high, 1),
            signed(row.ahead), interval(row.ahead_low, row.ahead_high),
        )
        for row in compared
    ]  # fmt: skip
    name = next((row.judge for row in measured), "")
    agreement = result_tables(f"Judge {name}, against people's labels", [""], _JUDGE, judge)
    if not rows:
        untested = _untested(state.evolution)
        return [*agreement, *untested] if untested else []
    last = result_tables(
        "Correctness and tokens minus the unchanged model's, composite minus that of the evolved deltas",
        [""],
        _DIFFERENCES,
        differences,
    )
    last[0].caption = _words(state)
    return [
        *agreement,
        *result_tables("Deltas, on the test set", [""], _FIGURES, rows),
        *last,
    ]


def _untested(evolution: EvolutionState) -> list[Table]:
    """Without a test set: the first iteration and the best one, each by the answers that decided on it."""
    sentence = untested_sentence(evolution)
    if not sentence or evolution.best is None:
        return []
    names = {evolution.best.iteration: "best"} | ({0: "first"} if evolution.best.iteration else {})
    scores = {number: evolution.deciding(evolution.iterations[number]) for number in sorted(names)}
    rows = [
        (f"{names[number]}, iteration {number}", str(score.judged), str(score.cannot_tell), fixed(score.correctness),
         f"{score.mean_tokens:.1f}", fixed(score.composite))
        for number, score in scores.items()
        if score is not None
    ]  # fmt: skip
    title = "Deltas, each on its own minibatch" if evolution.by_minibatch else "Deltas, on the validation set"
    columns = [name for name in _FIGURES if name != "95% interval"]
    return result_tables(title, [""], columns, rows, notes=[sentence])


def _words(state: RunState) -> Text:
    """What the comparison says, and the request for short answers that the table names."""
    drawn, brief = state.evolution.drawn, state.evolution.compared.get("brief_prompt")
    lines = []
    if drawn is not None:
        said = drawn.text
        for name in ("chosen_cap", "length_cap", "brief_prompt", "no_processor"):
            said = said.replace(name, method_name(name))
        lines = [f"{said[0].upper()}{said[1:]}."]
    lines += [f"{method_name('brief_prompt')}: {brief.prompt}"] if brief is not None else []
    return Text("\n".join(lines))
