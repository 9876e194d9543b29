"""The evolved deltas beside the unchanged model and the baselines, and the judge beside people."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.blocks.block import Block, Paragraph, Picture, Table, table_of
from app.blocks.plots import Interval, interval_plot
from app.figures import bounds, fixed, interval, probability, share, signed
from app.state.evolution import EvolutionState
from app.table.column import Cell, ListColumn, Tone
from app.text import counted
from app.words import method_name
from engine.events import AnswersScored, JudgeMeasured, MethodCompared


def _name(row: MethodCompared) -> Cell:
    cap = f": {row.cap}" if row.cap is not None else ""
    return Cell(method_name(row.method) + cap, "strong" if row.method == "best" else "")


def _sure(low: float | None, high: float | None, lower_is_better: bool = False) -> Tone:
    """Whether an interval of a difference lies on the better or the worse side of 0."""
    if low is None or high is None or low <= 0 <= high:
        return ""
    return "good" if (high < 0) == lower_is_better else "bad"


def _fewer_tokens(row: MethodCompared) -> Cell:
    return Cell(
        signed(row.tokens_difference, 1), _sure(row.tokens_low, row.tokens_high, lower_is_better=True)
    )


def _more_correct(row: MethodCompared) -> Cell:
    return Cell(signed(row.difference), _sure(row.low, row.high))


COMPARED: Sequence[ListColumn[MethodCompared]] = (
    ListColumn("method", "on the test set", 20, value=lambda r: r, show=_name),
    ListColumn("tokens", "tokens", 6, "right", help="mean length of an answer; fewer are better",
               value=lambda r: r.mean_tokens, show=lambda v: fixed(v, 1)),
    ListColumn("tokens_difference", "change", 7, "right", value=lambda r: r, show=_fewer_tokens,
               help="against the unchanged model, on the same questions; with paired bootstrap 95% intervals"),
    ListColumn("tokens_interval", "95%", 14, "right", 3, value=lambda r: interval(r.tokens_low, r.tokens_high, 1)),
    ListColumn("correct", "correct", 7, "right", help="share of the judged answers that are right",
               value=lambda r: r.correctness, show=fixed),
    ListColumn("difference", "change", 7, "right", value=lambda r: r, show=_more_correct),
    ListColumn("interval", "95%", 16, "right", 4, value=lambda r: interval(r.low, r.high)),
    ListColumn("p", "p", 5, "right", 5, help="McNemar, exact, of correctness", value=lambda r: r.p, show=probability),
)  # fmt: skip
COMPOSITE: Sequence[ListColumn[MethodCompared]] = (
    ListColumn("method", "on the test set", 20, value=lambda r: r, show=_name),
    ListColumn("composite", "composite", 9, "right", help="0.4 shortness + 0.6 correctness",
               value=lambda r: r.composite, show=fixed),
    ListColumn("ahead", "− evolved", 9, "right", value=lambda r: r,
               show=lambda r: Cell(signed(r.ahead), _sure(r.ahead_low, r.ahead_high)),
               help="composite minus that of the evolved deltas"),
    ListColumn("ahead_interval", "95%", 16, "right", 2, value=lambda r: interval(r.ahead_low, r.ahead_high)),
    ListColumn("n", "n", 4, "right", 4, help="answers that were judged", value=lambda r: r.n),
    ListColumn("cannot_tell", "cannot tell", 11, "right", 5, help="answers on which the judge cannot tell",
               value=lambda r: r.cannot_tell),
    ListColumn("wilson", "correct, 95%", 14, "right", 3, value=lambda r: bounds(r.wilson_low, r.wilson_high)),
)  # fmt: skip
JUDGE: Sequence[ListColumn[JudgeMeasured]] = (
    ListColumn("type", "kind of question", 16, value=lambda r: r.question_type or "all questions"),
    ListColumn("answers", "answers", 7, "right", 4, value=lambda r: r.answers),
    ListColumn("judged", "judged", 6, "right", 3, help="share on which the judge could tell",
               value=lambda r: share(r.judged / r.answers, 0)),
    ListColumn("agreement", "agree", 6, "right", help="share of these on which judge and people say the same",
               value=lambda r: r.agreement, show=fixed),
    ListColumn("kappa", "κ", 6, "right", help="Cohen's kappa: agreement beyond chance; 1 is perfect, 0 is chance",
               value=lambda r: r.kappa, show=fixed),
    ListColumn("kappa_interval", "95%", 14, "right", 1, value=lambda r: bounds(r.kappa_low, r.kappa_high)),
    ListColumn("precision", "precision", 9, "right", 2, help='of the judge\'s "right", against people',
               value=lambda r: r.precision, show=fixed),
    ListColumn("recall", "recall", 6, "right", 2, value=lambda r: r.recall, show=fixed),
)  # fmt: skip


def compared(state: EvolutionState) -> list[Block]:
    """The comparison on the test set, or what there is without one; and the judge."""
    rows = list(state.compared.values())
    tables = table_of(COMPARED, rows, "Evolved deltas, against the unchanged model", _words(state))
    tables += table_of(COMPOSITE, rows, "Composite, against the evolved deltas")
    tables = tables or _untested(state)
    return [*tables, *judge(state, [""])] if tables else []


def _words(state: EvolutionState) -> list[str]:
    """What the comparison says, and the request for short answers that the table names."""
    said, brief = state.drawn, state.compared.get("brief_prompt")
    text = "" if said is None else re.sub(r"(?<![\w-])-(?=\d)", "−", said.text)
    for name in ("chosen_cap", "length_cap", "brief_prompt", "no_processor"):
        text = text.replace(name, method_name(name))
    sentences = [f"{text[0].upper()}{text[1:]}."] if text else []
    return [*sentences, *([f"{method_name('brief_prompt')}: {brief.prompt}"] if brief is not None else [])]


_UNTESTED: Sequence[ListColumn[tuple[str, AnswersScored]]] = (
    ListColumn("which", "deltas", 20, value=lambda r: r[0]),
    ListColumn("n", "n", 4, "right", value=lambda r: r[1].judged),
    ListColumn("cannot_tell", "cannot tell", 11, "right", 1, value=lambda r: r[1].cannot_tell),
    ListColumn("correct", "correct", 7, "right", value=lambda r: r[1].correctness, show=fixed),
    ListColumn("tokens", "tokens", 6, "right", value=lambda r: r[1].mean_tokens, show=lambda v: fixed(v, 1)),
    ListColumn("composite", "composite", 9, "right", value=lambda r: r[1].composite, show=fixed),
)


def untested(state: EvolutionState) -> str:
    """What can be said without a test set: by what the best deltas were chosen; empty with one, and before there are
    deltas."""
    if state.best is None or state.compared or state.began is None or state.began.test:
        return ""
    score = state.deciding(state.best)
    if score is None:
        return ""
    return (
        f"Iteration {state.best.iteration} has the highest composite on {state.decided_on}, {score.composite:.3f}: "
        f"{score.correct} of {counted(score.judged, 'answers')} right, {score.mean_tokens:.1f} tokens each. That chose "
        "it; no test set compares it with the unchanged model."
    )


def _untested(state: EvolutionState) -> list[Table]:
    """Without a test set: the first iteration and the best one, each by the answers that decided on it."""
    sentence = untested(state)
    if not sentence or state.best is None:
        return []
    names = {state.best.iteration: "best"} | ({0: "first"} if state.best.iteration else {})
    scores = {number: state.deciding(state.iterations[number]) for number in sorted(names)}
    rows = [(f"{names[n]}, iteration {n}", score) for n, score in scores.items() if score is not None]
    title = "Deltas, each on its own minibatch" if state.by_minibatch else "Deltas, on the validation set"
    return table_of(_UNTESTED, rows, title, [sentence])


def judge(state: EvolutionState, kinds: Sequence[str]) -> list[Table]:
    """How far the judge agrees with people on these kinds of question; "": on all."""
    rows = [state.judge[kind] for kind in kinds if kind in state.judge]
    return table_of(JUDGE, rows, f"Judge {rows[0].judge}, against people's labels" if rows else "")


def details(state: EvolutionState) -> list[Block]:
    """The judge by kind of question, and on how many it cannot tell."""
    kinds = [kind for kind in state.judge if kind or not compared(state)]
    began, blocks = state.began, list[Block](judge(state, kinds))
    if began is not None and began.cannot_tell:
        text = f"the judge cannot tell on {began.cannot_tell} of {began.questions} questions"
        blocks.append(Paragraph(f"{text}: their answers are not scored", "warn"))
    return blocks


def tokens_picture(state: EvolutionState) -> list[Picture]:
    """The tokens that each method saves, with intervals."""
    rows = [
        Interval(method_name(row.method), row.tokens_difference, row.tokens_low, row.tokens_high)
        for row in state.compared.values()
        if row.tokens_difference is not None
    ]
    drawing = interval_plot(rows, digits=1, zero=True)
    caption = "Tokens of an answer minus those of the unchanged model, with paired bootstrap 95% intervals"
    return [] if drawing is None else [Picture(drawing, caption)]
