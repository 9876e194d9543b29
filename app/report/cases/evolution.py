"""Evolution: an iteration with its scores and the reflector's reply; an answer with the judge's reasoning."""

from __future__ import annotations

from app.blocks.block import Block, Changes, Heading, Paragraph, Table, facts, writing
from app.figures import fixed, outcome_words, signed
from app.methods.source import CaseSource
from engine.events import AnswerJudged, IterationBegan, ReflectorReplied

_UNCHANGED = ("baseline", "test_plain")
_HEADER = ("answers", "n", "right", "correctness", "mean tokens", "composite", "± standard error")


def iteration(event: IterationBegan, source: CaseSource) -> list[Block]:
    """Its scores, the reply, and the deltas before and after."""
    item = source.state.evolution.iterations.get(event.iteration)
    if item is None:
        return [Paragraph("The log has nothing more about this iteration.")]
    rows = [
        (
            name, str(score.judged), str(score.correct), fixed(score.correctness), fixed(score.mean_tokens, 1),
            fixed(score.composite), fixed(score.error),
        )
        for name, score in item.scores.items()
    ]  # fmt: skip
    blocks: list[Block] = []
    if item.best:
        blocks.append(
            Paragraph(f"Kept as best: the highest composite so far on {source.state.evolution.decided_on}.")
        )
    if rows:
        blocks.append(Table(_HEADER, rows, 6))
    if item.reply is not None:
        blocks += _reply(item.reply, item.deltas, source)
    return blocks


def answer(event: AnswerJudged, source: CaseSource) -> list[Block]:
    """Question, answer, judgement."""
    verdict = "the judge cannot tell" if event.cannot_tell else outcome_words(event.correct)
    blocks: list[Block] = [
        Heading("Question", 4),
        writing(event.question),
        facts([("right answer", event.gold), ("verdict", verdict), ("tokens", str(event.tokens))]),
        *_answer(event, source),
    ]
    if event.reasoning:
        blocks += [Heading("The judge's reasoning", 4), writing(event.reasoning)]
    return blocks


def _answer(event: AnswerJudged, source: CaseSource) -> list[Block]:
    """The answer; under deltas, beside the one that the unchanged model gave to the same question."""
    rows = source.state.evolution.answers
    plain = next((r for r in rows if r.example == event.example and r.split in _UNCHANGED), None)
    other = source.at(plain.place, AnswerJudged) if plain is not None else None
    if other is None or other.split == event.split:
        return [Heading("Answer", 4), writing(event.answer)]
    title = (
        f"Answer: − the unchanged model ({other.tokens} tokens), + under the deltas ({event.tokens} tokens)"
    )
    return [Heading(title, 4), Changes(event.answer, other.answer)]


def _reply(reply: ReflectorReplied, before: dict[str, float], source: CaseSource) -> list[Block]:
    blocks: list[Block] = [Heading(f"{reply.reflector} replied", 4)]
    if reply.aborted:
        return [*blocks, Paragraph(f"No valid reply: {reply.aborted}")]
    clusters = source.state.evolution.clusters
    rows = [
        (
            name, ", ".join(clusters[name].frequent_tokens[:6]) if name in clusters else "",
            signed(before.get(name, 0.0), 2), signed(value, 2), signed(value - before.get(name, 0.0), 2),
        )
        for name, value in reply.deltas.items()
    ]  # fmt: skip
    header = ("cluster", "its most frequent tokens", "now", "next", "change")
    return [
        *blocks,
        writing(reply.summary),
        Table(header, rows, 3, "Deltas, added to the logits of a cluster's tokens"),
    ]
