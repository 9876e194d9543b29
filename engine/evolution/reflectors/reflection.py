"""Asking the reflector, once an iteration: what it is sent and what it said are files (spec Evolution 4, 7)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from engine.events import ReflectorReplied
from engine.evolution import layout
from engine.evolution.answers import AnswerRecord
from engine.evolution.deltas import Deltas, check_deltas
from engine.evolution.history import History, Iteration
from engine.evolution.reflectors.prompt import SYSTEM, logged, user_message
from engine.evolution.reflectors.reflector import JudgedAnswer, ReflectorFailed, ReflectorInput
from engine.evolution.score import Score
from engine.evolution.setup import Setup
from engine.files import write_atomic
from engine.servers.spent import Spent


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """`reflector_reply_NNN.json`. `deltas` is None where `aborted` says why."""

    deltas: Deltas | None
    summary: str = ""
    attempts: int = 1
    raw: str = ""
    aborted: str = ""
    usage: Spent = Spent()


def reflect(
    setup: Setup, iteration: int, deltas: Deltas, answers: Sequence[AnswerRecord], found: Score
) -> Reply:
    """The reply, from its file if an earlier attempt at this iteration already has it."""
    run_dir = setup.context.run_dir
    path = layout.reflector_reply(run_dir, iteration)
    message_file = layout.reflector_message(run_dir, iteration)
    if path.is_file():
        reply = msgspec.json.decode(path.read_bytes(), type=Reply)
    else:
        given = _given(setup, iteration, deltas, answers, found)
        characters = setup.context.config.evolution.reflector.answer_characters
        message = user_message(given, characters)
        write_atomic(message_file, logged(SYSTEM, message))
        setup.context.checkpoint()
        reply = _ask(setup, given, message)
        if not reply.aborted:  # what failed is asked again by whoever resumes here
            write_atomic(path, msgspec.json.format(msgspec.json.encode(reply), indent=2) + b"\n")
    setup.context.emit(
        ReflectorReplied(
            iteration=iteration,
            reflector=setup.reflector.name,
            deltas=reply.deltas or {},
            summary=reply.summary,
            attempts=reply.attempts,
            aborted=reply.aborted,
            message=str(message_file.relative_to(run_dir)),
        )
    )
    return reply


def _ask(setup: Setup, given: ReflectorInput, message: str) -> Reply:
    try:
        reply = setup.reflector.reflect(given, message)
    except ReflectorFailed as error:
        setup.context.notice(f"iteration {given.iteration} ends without new deltas: {error}", level="warning")
        return Reply(deltas=None, aborted=str(error), usage=error.usage)
    deltas = check_deltas(reply.deltas, setup.clusters.names, f"the reply of {setup.reflector.name}")
    return Reply(
        deltas=deltas, summary=reply.summary, attempts=reply.attempts, raw=reply.raw, usage=reply.usage
    )


def _given(
    setup: Setup, iteration: int, deltas: Deltas, answers: Sequence[AnswerRecord], found: Score
) -> ReflectorInput:
    ids = setup.clusters.ids
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
    # The iteration at hand is the last of the history that the reflector knows.
    now = Iteration(iteration=iteration, deltas=deltas, examples=[r.example_id for r in answers], score=found)
    history = History(iterations=[*setup.history.iterations, now])
    return ReflectorInput(iteration, deltas, setup.descriptions, judged, history)
