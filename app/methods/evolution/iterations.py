"""An iteration: what its deltas brought and where they come from, its scores, the deltas, the reflector's reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from app.blocks.block import Block, Heading, Paragraph, Span, Table, Target, Tone, Words, facts, writing
from app.methods.cases import Cases
from app.methods.cells import linked_counts
from app.methods.evolution.answers import is_of
from app.methods.evolution.clusters import delta_table
from app.methods.source import CaseSource
from app.state.evolution import EvolutionState, IterationState
from app.state.run import RunState
from app.table.column import Cell, ListColumn
from app.wording.figures import fixed, signed
from app.wording.text import counted
from engine.events import EvolutionBegan, IterationBegan, ReflectorReplied, ServerChanged
from engine.evolution.deltas import problem_words

_EMPTY = """No iteration has started yet.

First the vocabulary is divided into clusters; a validation set, where there is one, is answered
once without a processor. After that every iteration gets a row here: the scores of its answers,
and the state of the reflector's reply."""
_QUIET = ("healthy", "stopping", "stopped")
"""States of the model server of which nothing has to be said."""


def iteration_rows(state: RunState) -> list[IterationState]:
    """The iterations that began."""
    return [item for item in state.evolution.iterations.values() if item.place is not None]


def _of(split: str, name: str) -> Callable[[IterationState], float | None]:
    """A figure of one of the iteration's scores, where it has that score."""
    return lambda item: getattr(getattr(item, split), name, None)


def _figure(value: float | None, digits: int = 3) -> Cell:
    return Cell(fixed(value, digits), "dim" if value is None else "")


def _length(value: float | None) -> Cell:
    return _figure(value, 1)


def _status(item: IterationState) -> Cell:
    if item.reply is not None and item.reply.aborted:
        return Cell("aborted", "bad")
    if item.finished:
        return Cell("✓", "good")
    return Cell("reflecting" if item.minibatch is not None else "answering", "warn")


WHICH: Sequence[ListColumn[IterationState]] = (
    ListColumn("iteration", "#", 3, "right", 0),
    ListColumn("best", "★", 1, priority=1, help="kept as best: the highest composite so far",
               show=lambda best: Cell("★" if best else " ", "accent")),
)  # fmt: skip
ON_MINIBATCH: Sequence[ListColumn[IterationState]] = (
    ListColumn("composite", "composite", 9, "right", 0, help="0.4 shortness + 0.6 correctness, minibatch",
               value=_of("minibatch", "composite"), show=_figure),
    ListColumn("correctness", "correct", 7, "right", 1, help="share of judged answers, minibatch",
               value=_of("minibatch", "correctness"), show=_figure),
    ListColumn("tokens", "tokens", 7, "right", 2, help="mean length of an answer, minibatch",
               value=_of("minibatch", "mean_tokens"), show=_length),
)  # fmt: skip
ON_VALIDATION: Sequence[ListColumn[IterationState]] = (
    ListColumn("validation", "validated", 9, "right", 3, help="composite on the validation set, where it decides",
               value=_of("validation", "composite"), show=_figure),
    ListColumn("validation_correctness", "v.correct", 9, "right", 5, help="correctness on the validation set",
               value=_of("validation", "correctness"), show=_figure),
    ListColumn("validation_tokens", "v.tokens", 8, "right", 6, help="mean length on the validation set",
               value=_of("validation", "mean_tokens"), show=_length),
)  # fmt: skip
COLUMNS: Sequence[ListColumn[IterationState]] = (
    *WHICH, *ON_MINIBATCH, *ON_VALIDATION,
    ListColumn("state", "state", 10, priority=4, value=lambda item: item, show=_status),
)  # fmt: skip


def iteration_blocks(event: IterationBegan, source: CaseSource) -> list[Block]:
    """The iteration in full."""
    state = source.state.evolution
    item = state.iterations.get(event.iteration)
    if item is None:
        return [Paragraph("The log has nothing more about this iteration.")]
    return [
        _title(state, item), *server_blocks(item.server), *_gained(state, item), *_scores(state, item),
        *_why(state, item), *delta_table(state, item), *_reply(state, item),
    ]  # fmt: skip


def _title(state: EvolutionState, item: IterationState) -> Block:
    answers = [answer for answer in state.answers if is_of(answer, item.iteration)]
    words: list[str | Span] = [Span(f"iteration {item.iteration}", "strong")]
    if item.best:
        words.append(Span("  ★ kept as best", "accent"))
    if answers:
        link = Target("answers", str(item.iteration))
        words += ["  ", Span(f"its {counted(len(answers), 'answers')}", "accent", link)]
    turned = Counter(answer.turned for answer in answers)
    counts = linked_counts([
        (turned[1], f"▲ {turned[1]:,} turned right", "good", Target("right", str(item.iteration))),
        (turned[-1], f"▼ {turned[-1]:,} turned wrong", "bad", Target("wrong", str(item.iteration))),
    ])  # fmt: skip
    return Paragraph([*words, "  ", *counts] if counts else words)


def server_blocks(server: ServerChanged | None) -> list[Block]:
    """The model server while it starts and where it failed, with the end of its log; else nothing."""
    if server is None or (server.state in _QUIET and not server.detail):
        return []
    tone: Tone = "bad" if server.state == "failed" else "warn"
    head = Paragraph((f"model server, {server.server}: ", Span(server.state, tone), f"  {server.detail}"))
    return [head, writing("\n".join(server.log), "dim")] if server.log else [head]


def _gained(state: EvolutionState, item: IterationState) -> list[Block]:
    """What the iteration's deltas brought on what decides, beside the best before them."""
    score, best = state.deciding(item), state.gain(item.iteration)
    if score is None or best is None:
        return []
    before, of = best
    gain = score.composite - before
    sign = "▲" if score.best else "≈" if gain >= 0 else "▼"
    other = "; other questions than before" if state.by_minibatch else ""
    words: Words = (
        Span(f"{sign} {signed(gain)} composite on {state.decided_on}, ", "good" if score.best else "dim"),
        Span(f"from {fixed(before)} ({of}) to {fixed(score.composite)}{other}", "dim"),
    )
    return [Paragraph(words)]


def _why(state: EvolutionState, item: IterationState) -> list[Block]:
    """Where the iteration's deltas come from: the reply to the iteration before it."""
    earlier = state.iterations.get(item.iteration - 1)
    if earlier is None or earlier.reply is None or earlier.reply.aborted:
        return []
    reply = earlier.reply.summary
    why: Words = (Span("the reply to ", "dim"), _link(earlier.iteration), Span(": ", "dim"), reply)
    return [facts([("why these", why)])]


def _link(iteration: int) -> Span:
    return Span(f"iteration {iteration}", "accent", Target("iteration", str(iteration)))


def _scores(state: EvolutionState, item: IterationState) -> list[Block]:
    """Its scores, and what the unchanged model reaches on the validation set."""
    scores = list(item.scores.items())
    if item.validation is not None and state.baseline is not None:
        scores.append(("validation, unchanged model", state.baseline))
    if not item.scores or state.began is None:
        return []
    rows: list[Sequence[Words]] = [
        (
            name, f"{score.correct} of {score.judged}", fixed(score.correctness), fixed(score.mean_tokens, 1),
            fixed(score.shortness), Span(fixed(score.composite), "strong"), fixed(score.error),
        )
        for name, score in scores
    ]  # fmt: skip
    header = ("answers", "right", "correct", "tokens", "shortness", "composite", "± error")
    notes = [composite_words(state.began), "± error: standard error of the composite"]
    table = Table(header, rows, 6, notes=notes, priority=(0, 3, 1, 1, 4, 0, 2))
    return [table, *_unscored(item), *_not_tried(state, item)]


def composite_words(began: EvolutionBegan) -> str:
    """What the composite is, with this run's weights and scale."""
    short, correct = began.weights
    return (
        f"composite = {short:g} × shortness + {correct:g} × share of right answers; "
        f"shortness = 1 / (1 + mean tokens / {began.scale:g})"
    )


def _unscored(item: IterationState) -> list[Block]:
    """Answers that count for nothing: the judge cannot tell, or failed."""
    blocks: list[Block] = []
    for name, score in item.scores.items():
        if score.cannot_tell:
            blocks.append(Paragraph(f"{name}: on {score.cannot_tell} the judge cannot tell", "dim"))
        if failures := score.answers - score.judged - score.cannot_tell:
            blocks.append(Paragraph(f"{name}: on {failures} the judge failed", "warn"))
    return blocks


def _not_tried(state: EvolutionState, item: IterationState) -> list[Block]:
    if item.validation is not None or item.minibatch is None or state.by_minibatch:
        return []
    text = "not tried on the validation set: the minibatch was not better than the best, within its error"
    return [Paragraph(text, "dim")]


def _reply(state: EvolutionState, item: IterationState) -> list[Block]:
    """What the reflector answered, and which iteration tries it."""
    reply = item.reply
    if reply is None:
        return []
    attempts = Span(f", after {reply.attempts} attempts" if reply.attempts > 1 else "", "warn")
    last = state.began is not None and item.iteration + 1 >= state.began.iterations
    tried = ", after the last iteration: none tries it" if last else ", for the next iteration"
    heading = Heading((f"{reply.reflector} replied", attempts, Span(tried, "dim")), 4)
    blocks: list[Block] = [heading, *_refused(reply)]
    if reply.aborted:
        return [*blocks, Paragraph(f"no valid reply: {reply.aborted}", "bad")]
    sent = [Paragraph(f"sent: {reply.message}", "dim")] if reply.message else []
    return [*blocks, writing(reply.summary), *_tried(state, item.iteration + 1), *sent]


def _refused(reply: ReflectorReplied) -> list[Block]:
    """The replies that could not be used, each with the rules that it broke."""
    return [
        Paragraph(f"reply {number} refused: {problem_words(problems)}", "warn")
        for number, problems in enumerate(reply.refused, 1)
    ]


def _tried(state: EvolutionState, iteration: int) -> list[Block]:
    return [Paragraph(("→ ", _link(iteration)))] if iteration in state.iterations else []


def _is_best(state: RunState, item: IterationState) -> bool:
    best = state.evolution.best
    return best is not None and best.iteration == item.iteration


def _remark(state: RunState) -> str:
    evolution = state.evolution
    began, best, before = evolution.began, evolution.best, evolution.baseline
    if began is None:
        return ""
    planned = f"{began.iterations} planned"
    if best is None or (score := evolution.deciding(best)) is None:
        return planned
    summary = f"★ iteration {best.iteration} is the best by {evolution.decided_on}: {fixed(score.composite)}"
    gain = "" if evolution.by_minibatch or before is None else f", no deltas {fixed(before.composite)}"
    return (
        summary + gain if len(evolution.iterations) == began.iterations else f"{planned}  │  {summary}{gain}"
    )


ITERATIONS: Cases[IterationState] = Cases(
    name="iterations",
    columns=COLUMNS,
    rows=iteration_rows,
    event=IterationBegan,
    words=lambda event: f"iteration {event.iteration}",
    draw=iteration_blocks,
    empty=_EMPTY,
    notable=_is_best,
    notable_words="iteration whose deltas are kept as best (★)",
    remark=_remark,
)
