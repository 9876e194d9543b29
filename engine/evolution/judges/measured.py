"""The judge in use, held against people's labels before the evolution begins, and its limits told (`judge.labels`)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from engine.errors import DataError
from engine.events import without_envelope
from engine.evolution import layout
from engine.evolution.evolution_run import EvolutionRun
from engine.evolution.judges.agreement import agreement_with_people
from engine.evolution.judges.judge import Verdict, judge_with_retries
from engine.evolution.judges.labelled_answers import LabelledAnswer, read_labelled_answers
from engine.files import csv_text, write_atomic
from engine.run.keyed_records import KeyedRecords
from engine.servers.side_by_side import map_side_by_side
from engine.servers.spent import Spent


class LabelVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of `judge_labels.jsonl`. `key`: digest of question, references and answer; `correct` None: it cannot
    tell."""

    key: str
    correct: bool | None
    reasoning: str
    usage: Spent = Spent()


def measure_judge(evolution: EvolutionRun) -> Spent:
    """Judge the labelled answers, and tell how far judge and people agree. Verdicts of an earlier attempt are kept.
    Returns their cost; nothing is done without `evolution.judge.labels`."""
    path = evolution.context.config.evolution.judge.labels
    if path is None:
        return Spent()
    types = {name: question.meta["type"] for name, question in evolution.questions.by_id.items()}
    answers = read_labelled_answers(path, types)
    verdicts, lost = _verdicts(evolution, answers)
    judgements = [_verdict(verdicts.get(_key(answer))) for answer in answers]
    if all(verdict.correct is None for verdict in judgements):
        raise DataError(
            what=f"the judge {evolution.judge.name} judged none of {len(answers)} labelled answers",
            where=f"evolution.judge.labels: {path}",
            hint="see why in the notices, or give answers to questions that it can judge",
        )
    seed = evolution.context.config.run.seed
    rows = list(agreement_with_people(answers, judgements, seed, evolution.judge.name, path).values())
    table = csv_text([without_envelope(row) for row in rows])
    write_atomic(layout.judge_table(evolution.context.run_dir), table)
    for row in rows:
        evolution.context.emit(row)
    if failures := rows[0].answers - rows[0].judged - rows[0].cannot_tell:
        text = f"the judge failed on {failures} of {rows[0].answers} labelled answers; they are left out"
        evolution.context.notice(text, level="warning")
    return sum((verdict.usage for verdict in verdicts.values()), lost)


def _verdicts(
    evolution: EvolutionRun, answers: Sequence[LabelledAnswer]
) -> tuple[KeyedRecords[str, LabelVerdict], Spent]:
    """All verdicts by key, and the cost of those that failed: a resumed run asks for these again."""
    context, judge = evolution.context, evolution.judge
    section = context.config.evolution
    kept = KeyedRecords(layout.judge_labels(context.run_dir), LabelVerdict, lambda verdict: verdict.key)
    lost = Spent()
    left = list({_key(answer): answer for answer in answers if _key(answer) not in kept}.values())

    def ask(answer: LabelledAnswer) -> Verdict:
        attempts = section.judge.attempts
        return judge_with_retries(judge, answer.question, answer.golds, answer.answer, attempts, lambda: None)

    for first in range(0, len(left), section.batch_size):
        context.checkpoint()
        batch = left[first : first + section.batch_size]
        for answer, verdict in zip(batch, list(map_side_by_side(ask, batch, len(batch))), strict=True):
            if verdict.failed:
                lost += verdict.usage
                context.notice(f"a labelled answer was not judged: {verdict.reasoning}", level="warning")
            else:
                kept.add(LabelVerdict(_key(answer), verdict.correct, verdict.reasoning, verdict.usage))
        context.progress(0, section.iterations, note=f"judge against labels: {len(kept)} of {len(answers)}")
    return kept, lost


def _key(answer: LabelledAnswer) -> str:
    text = "\0".join((answer.question, *answer.golds, "", answer.answer))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _verdict(kept: LabelVerdict | None) -> Verdict:
    return Verdict(None, "", failed=True) if kept is None else Verdict(kept.correct, kept.reasoning)
