"""The reflector's turn in an iteration; message and reply are kept as files (spec Evolution 4, 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from engine.events import ReflectorReplied
from engine.evolution import layout
from engine.evolution.answers import AnswerRecord
from engine.evolution.deltas import Deltas, check_deltas
from engine.evolution.evolution_run import EvolutionRun
from engine.evolution.history import History, Iteration
from engine.evolution.reflectors.prompt import logged
from engine.evolution.reflectors.reflector import (
    JudgedAnswer,
    ReflectorFailed,
    ReflectorInput,
    ReflectorReply,
)
from engine.evolution.scoring.score import Score
from engine.files import decoded, write_atomic


def reflect(
    evolution: EvolutionRun, iteration: int, deltas: Deltas, answers: Sequence[AnswerRecord], score: Score
) -> ReflectorReply:
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
            deltas=reply.deltas,
            summary=reply.summary,
            attempts=reply.attempts,
            aborted=reply.aborted,
            refused=list(reply.refused),
            message=str(message_file.relative_to(run_dir)),
        )
    )
    return reply


def read_stored_reply(path: Path) -> ReflectorReply:
    """A reply that an earlier attempt obtained. Raises DataError."""
    hint = "remove the file: the reflector is asked again"
    return decoded(path, ReflectorReply, "this is not a reply of a reflector", hint)


def _ask(evolution: EvolutionRun, given: ReflectorInput, message: str) -> ReflectorReply:
    try:
        reply = evolution.reflector.reflect(given, message)
    except ReflectorFailed as error:
        text = f"iteration {given.iteration} ends without new deltas: {error}"
        evolution.context.notice(text, level="warning")
        return ReflectorReply({}, "", aborted=str(error), usage=error.spent, refused=error.refused)
    deltas = check_deltas(reply.deltas, evolution.clusters.names, f"the reply of {evolution.reflector.name}")
    return replace(reply, deltas=deltas)


def _reflector_input(
    evolution: EvolutionRun, iteration: int, deltas: Deltas, answers: Sequence[AnswerRecord], score: Score
) -> ReflectorInput:
    judged = [
        JudgedAnswer(
            example=record.example_id,
            text=record.answer,
            tokens=len(record.token_ids),
            correct=record.correct,
            reasoning=record.reasoning,
            clusters=evolution.clusters.of(record.token_ids),
        )
        for record in answers
    ]
    # The reflector sees the current iteration as the last one of the history.
    current = Iteration(
        iteration=iteration, deltas=deltas, examples=[r.example_id for r in answers], score=score
    )
    history = History(iterations=[*evolution.history.iterations, current])
    return ReflectorInput(iteration, deltas, evolution.descriptions, judged, history)
