"""The evolved deltas beside the unchanged model and the baselines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from app.blocks.block import Block, Paragraph, Picture, Table, table_of
from app.blocks.plots import interval_picture
from app.methods.cells import bounds_of, difference_of, digits, interval_of
from app.methods.evolution.iterations import ON_MINIBATCH, ON_VALIDATION, WHICH
from app.state.evolution import EvolutionState
from app.table.column import Cell, ListColumn
from app.wording.figures import fixed, probability
from app.wording.text import counted
from app.wording.words import method_name
from engine.events import MethodCompared


def _name(row: MethodCompared) -> Cell:
    cap = f": {row.cap}" if row.cap is not None else ""
    return Cell(method_name(row.method) + cap, "strong" if row.method == "best" else "")


_TOKENS = ("tokens_difference", "tokens_low", "tokens_high")
_METHOD: ListColumn[MethodCompared] = ListColumn(
    "method", "on the test set", 20, value=lambda r: r, show=_name
)
LENGTHS: Sequence[ListColumn[MethodCompared]] = (
    _METHOD,
    ListColumn("tokens", "tokens", 6, "right", help="mean length of an answer; fewer are better",
               value=lambda r: r.mean_tokens, show=digits(1)),
    ListColumn("tokens_difference", "change", 7, "right",
               value=difference_of(*_TOKENS, digits=1, lower_is_better=True),
               help="against the unchanged model, on the same questions; with paired bootstrap 95% intervals"),
    ListColumn("tokens_interval", "95%", 14, "right", 1, value=interval_of(*_TOKENS, 1)),
)  # fmt: skip
CORRECT: Sequence[ListColumn[MethodCompared]] = (
    _METHOD,
    ListColumn("correct", "correct", 7, "right", help="share of the judged answers that are right",
               value=lambda r: r.correctness, show=fixed),
    ListColumn("wilson", "95%", 14, "right", 3, value=bounds_of("wilson_low", "wilson_high")),
    ListColumn("difference", "change", 7, "right", value=difference_of("difference", "low", "high"),
               help="against the unchanged model, on the same questions"),
    ListColumn("interval", "95%", 16, "right", 1, value=interval_of("difference", "low", "high")),
    ListColumn("p", "p", 5, "right", 2, help="McNemar, exact, of correctness", show=probability),
)  # fmt: skip
COMPOSITE: Sequence[ListColumn[MethodCompared]] = (
    _METHOD,
    ListColumn("composite", "composite", 9, "right", help="0.4 shortness + 0.6 correctness", show=fixed),
    ListColumn("ahead", "− evolved", 9, "right", value=difference_of("ahead", "ahead_low", "ahead_high"),
               help="composite minus that of the evolved deltas"),
    ListColumn("ahead_interval", "95%", 16, "right", 2, value=interval_of("ahead", "ahead_low", "ahead_high")),
    ListColumn("n", "n", 4, "right", 4, help="answers that were judged"),
    ListColumn("cannot_tell", "cannot tell", 11, "right", 5, help="answers on which the judge cannot tell"),
)  # fmt: skip


def compared(state: EvolutionState) -> list[Block]:
    """The comparison on the test set, or what there is without one."""
    rows = list(state.compared.values())
    tables = table_of(LENGTHS, rows, "Length of an answer, against the unchanged model", _request(state))
    tables += table_of(CORRECT, rows, "Right answers, against the unchanged model")
    tables += table_of(COMPOSITE, rows, "Composite, against the evolved deltas")
    tables = tables or _untested(state)
    return [*tables, *refused_replies(state)]


def _request(state: EvolutionState) -> list[str]:
    """The request for short answers that the tables name."""
    brief = state.compared.get("brief_prompt")
    return [] if brief is None else [f"{method_name(brief.method)}: {brief.prompt}"]


def untested(state: EvolutionState) -> str:
    """What can be said without a test set: by what the best deltas were chosen; empty with one, and before there are
    deltas."""
    if state.best is None or state.compared or state.began is None or state.began.test:
        return ""
    score = state.deciding(state.best)
    if score is None:
        return ""
    return (
        f"Iteration {state.best.iteration} has the highest composite on {state.decided_on}, {fixed(score.composite)}: "
        f"{score.correct} of {counted(score.judged, 'answers')} right, {fixed(score.mean_tokens, 1)} tokens each. That "
        "chose it; no test set compares it with the unchanged model."
    )


def _untested(state: EvolutionState) -> list[Table]:
    """Without a test set: the first iteration and the best one."""
    sentence = untested(state)
    if not sentence or state.best is None:
        return []
    items = [item for item in state.iterations.values() if item.iteration in (0, state.best.iteration)]
    columns = [*WHICH, *(ON_MINIBATCH if state.by_minibatch else ON_VALIDATION)]
    return table_of(columns, items, "Deltas, the first and the best", [sentence])


_REFUSED: Sequence[ListColumn[tuple[str, int]]] = (
    ListColumn("rule", "what was wrong", 30, value=lambda r: r[0]),
    ListColumn("replies", "replies", 7, "right", value=lambda r: r[1]),
)


def refused_replies(state: EvolutionState) -> list[Table]:
    """How many of the reflector's replies broke which rule; nothing where each could be used."""
    replies = [i.reply for i in state.iterations.values() if i.reply is not None]
    refused = [problems for reply in replies for problems in reply.refused]
    if not refused:
        return []
    aborted = sum(bool(reply.aborted) for reply in replies)
    total = len(refused) + len(replies) - aborted
    rules = Counter(rule for problems in refused for rule in problems).most_common()
    notes = [
        "a refused reply is asked for once more; a reply may break several rules",
        f"{aborted} of {counted(len(replies), 'iterations')} ended without new deltas",
    ]
    title = f"Replies of {replies[-1].reflector} that were refused: {len(refused)} of {total}"
    return table_of(_REFUSED, rules, title, notes)


def details(state: EvolutionState) -> list[Block]:
    """On how many questions the judge cannot tell."""
    began = state.began
    if began is None or not began.cannot_tell:
        return []
    text = f"the judge cannot tell on {began.cannot_tell} of {began.questions} questions"
    return [Paragraph(f"{text}: their answers are not scored", "warn")]


def tokens_picture(state: EvolutionState) -> list[Picture]:
    """The tokens that each method saves, with intervals."""
    compared = state.compared.values()
    rows = ((method_name(r.method), r.tokens_difference, r.tokens_low, r.tokens_high) for r in compared)
    caption = "Tokens of an answer minus those of the unchanged model, with paired bootstrap 95% intervals"
    return interval_picture(rows, caption, digits=1, zero=True)
