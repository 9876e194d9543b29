"""The reflector's turn in an iteration; message and reply are kept as files (spec Evolution 4, 7)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from engine.events import ReflectorReplied
from engine.evolution import layout
from engine.evolution.answers import AnswerRecord
from engine.evolution.deltas import Deltas, check_deltas
from engine.evolution.evolution_run import EvolutionRun
from engine.evolution.history import History, Iteration
from engine.evolution.reflectors.prompt import logged
from engine.evolution.reflectors.reflector import JudgedAnswer, ReflectorFailed, ReflectorInput
from engine.evolution.score import Score
from engine.files import decoded, write_atomic
from engine.servers.spent import Spent


class StoredReply(msgspec.Struct, frozen=True, kw_only=True):
    """`reflector_reply_NNN.json`. `deltas` is None where `aborted` says why."""

    deltas: Deltas | None
    summary: str = ""
    attempts: int = 1
    raw: str = ""
    aborted: str = ""
    usage: Spent = Spent()


def reflect(
    evolution: EvolutionRun, iteration: int, deltas: Deltas, answers: Sequence[AnswerRecord], score: Score
) -> StoredReply:
    """The reflector's reply to an iteration, read from its file if an earlier attempt already obtained it."""
    run_dir = evolution.context.run_dir
    path = layout.reflector_reply(run_dir, iteration)
    message_file = layout.reflector_message(run_dir, iteration)
    if path.is_file():
        reply = read_stored_reply(path)
    else:
        given = _reflector_input(evolution, iteration, deltas, answers, score)
        message = evolution.prompts.user_message(given)
        write_atomic(message_file, logged(evolution.prompts.system, message))
        evolution.context.checkpoint()
        reply = _ask(evolution, given, message)
        if not reply.aborted:  # a resumed run asks again after a failure
            write_atomic(path, msgspec.json.format(msgspec.json.encode(reply), indent=2) + b"\n")
    evolution.context.emit(
        ReflectorReplied(
            iteration=iteration,
            reflector=evolution.reflector.name,
            deltas=reply.deltas or {},
            summary=reply.summary,
            attempts=reply.attempts,
            aborted=reply.aborted,
            message=str(message_file.relative_to(run_dir)),
        )
    )
    return reply


def read_stored_reply(path: Path) -> StoredReply:
    """A reply that an earlier attempt obtained. Raises DataError."""
    mend = "remove the file: the reflector is asked again"
    return decoded(path, StoredReply, "this is no reply of a reflector", mend)


def _ask(evolution: EvolutionRun, given: ReflectorInput, message: str) -> StoredReply:
    try:
        reply = evolution.reflector.reflect(given, message)
    except ReflectorFailed as error:
        evolution.context.notice(
            f"iteration {given.iteration} ends without new deltas: {error}", level="warning"
        )
        return StoredReply(deltas=None, aborted=str(error), usage=error.usage)
    deltas = check_deltas(reply.deltas, evolution.clusters.names, f"the reply of {evolution.reflector.name}")
    return StoredReply(
        deltas=deltas, summary=reply.summary, attempts=reply.attempts, raw=reply.raw, usage=reply.usage
    )


def _reflector_input(
    evolution: EvolutionRun, iteration: int, deltas: Deltas, answers: Sequence[AnswerRecord], score: Score
) -> ReflectorInput:
    ids = evolution.clusters.ids
    judged = [
        JudgedAnswer(
            example=record.example_id,
            text=record.answer,
            tokens=len(record.token_ids),
            correct=record.correct,
            reasoning=record.reasoning,
            clusters=[int(ids[token]) for token in record.token_ids if token < len(ids)],
        )
        for record in answers
    ]
    # The reflector sees the current iteration as the last one of the history.
    current = Iteration(
        iteration=iteration, deltas=deltas, examples=[r.example_id for r in answers], score=score
    )
    history = History(iterations=[*evolution.history.iterations, current])
    return ReflectorInput(iteration, deltas, evolution.descriptions, judged, history)
