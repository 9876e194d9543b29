"""The loop, its answers made by hand: what is asked, scored and kept in each iteration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.events import (
    AnswersScored,
    EvolutionBegan,
    IterationBegan,
    IterationFinished,
    Notice,
    ReflectorReplied,
    StageProgress,
    StageStarted,
)
from engine.evolution import layout
from engine.evolution.deltas import read_deltas, write_deltas
from engine.evolution.evolve_stage import Evolve, _Loop
from engine.evolution.history import History, read_history, write_history
from engine.evolution.processor import processor_source
from engine.evolution.reflectors.reflection import read_stored_reply
from engine.evolution.reflectors.reflector import (
    JudgedAnswer,
    ReflectorFailed,
    ReflectorInput,
    ReflectorReply,
)
from engine.evolution.splits import MINIBATCH
from engine.run.gate import StopRequested
from engine.run.stage import StageResult
from engine.servers.spent import Spent
from tests.engine.evolution.small_evolution import EMPTY_REPLY, artefacts
from tests.engine.evolution.test_split_evaluator import ByHand

pytestmark = pytest.mark.usefixtures("unchecked_processors", "undrawn_plot")


class Replying:
    """A reflector that adds 0.5 to each delta, refuses in the iterations it is told to, and keeps what it was given."""

    name = "replying"

    def __init__(self, refuses: Sequence[int] = ()) -> None:
        self.refuses, self.given = refuses, list[tuple[ReflectorInput, str]]()

    def reflect(self, given: ReflectorInput, message: str) -> ReflectorReply:
        self.given.append((given, message))
        if given.iteration in self.refuses:
            failed = ReflectorFailed(what="it refused", where="the reflector", hint="ask another")
            failed.spent = Spent(1, 7, 0.25)
            raise failed
        deltas = {name: value + 0.5 for name, value in given.deltas.items()}
        return ReflectorReply(
            deltas, f"Less {given.iteration}.", "raw", usage=Spent(2, 9, 0.5), refused=[EMPTY_REPLY]
        )


WRITTEN = {0.0: "aac", 0.5: "bbbbbbbbb", 1.0: "c", 1.5: "c"}
"""The answer to every question by the deltas of the processor; without one it is `bac`."""


def by_hand(folder: Path, refuses: Sequence[int] = (), finished: int = 0, **changes: Any) -> ByHand:
    """Of four iterations 0 and 2 are better than what was before; 1 is worse, and 3 as good."""

    def says(prompt: str, under: str) -> str:
        if not under:
            return "bac"
        deltas = read_deltas(layout.deltas_current(folder), made.clusters.names)
        return WRITTEN[deltas["0"]]

    sizes = {"iterations": 4, "test_size": 0, "best_by": "validation"}
    made = ByHand(folder, says, **{**sizes, **changes})
    made.reflector = Replying(refuses)
    made.history = read_history(layout.history(folder))
    assert len(made.history.iterations) == finished
    return made


def looped(evolution: ByHand) -> StageResult:
    made: Any = evolution
    return _Loop(made).run()


def test_an_iteration_is_asked_scored_and_kept(tmp_path: Path) -> None:
    """The validation set is asked only where the minibatch looks as good as the best within an error."""
    evolution = by_hand(tmp_path)
    result = looped(evolution)
    started = ["", *["processor.py"] * 4]
    assert evolution.server.started == started
    names = ["0", "1", "2"]
    assert evolution.events[:2] == [
        StageStarted(total=4, done=0, unit="iterations"),
        EvolutionBegan(
            clusters=names, iterations=4, minibatch=2, best_by="validation", validation=3, test=0, scale=10.0,
            weights=[0.4, 0.6], server="saying", judge="letters", questions=6, cannot_tell=0, reflector="replying",
        ),
    ]  # fmt: skip
    scored = [(one.iteration, one.split, one.best) for one in evolution.of_kind(AnswersScored)]
    assert scored == [
        (0, "baseline", False), (0, "minibatch", False), (0, "validation", True), (1, "minibatch", False),
        (2, "minibatch", False), (2, "validation", True), (3, "minibatch", False), (3, "validation", False),
    ]  # fmt: skip
    minibatches = [[one.id for one in evolution.questions.minibatch(number)] for number in range(4)]
    deltas = [dict.fromkeys(names, 0.5 * number) for number in range(5)]
    began = evolution.of_kind(IterationBegan)
    assert began == [
        IterationBegan(iteration=number, deltas=deltas[number], examples=minibatches[number])
        for number in range(4)
    ]
    history = read_history(layout.history(tmp_path)).iterations
    assert history == evolution.history.iterations
    assert [(one.iteration, one.deltas, one.new_deltas, one.examples) for one in history] == [
        (number, deltas[number], deltas[number + 1], minibatches[number]) for number in range(4)
    ]
    assert [one.best for one in history] == [True, False, True, False]
    right = [0.4 / 1.3 + 0.6, 0.4 / 1.9, 0.4 / 1.1 + 0.6, 0.4 / 1.1 + 0.6]
    assert [one.score.composite for one in history] == pytest.approx(right)
    assert [one.validation and one.validation.answers for one in history] == [3, None, 3, 3]
    assert [(one.summary, one.reflector, one.attempts, one.aborted) for one in history] == [
        (f"Less {number}.", "replying", 2, "") for number in range(4)
    ]
    # judged: baseline, minibatch and validation in the first, then what each asked; two calls of the reflector
    calls = [3 + 2 + 3 + 2, 2 + 2, 2 + 3 + 2, 2 + 3 + 2]
    assert [one.usage.calls for one in history] == calls
    ended = evolution.of_kind(IterationFinished)
    assert [(one.iteration, one.calls) for one in ended] == [(n, sum(calls[: n + 1])) for n in range(4)]
    assert ended[-1].tokens == history[0].usage.tokens + sum(one.usage.tokens for one in history[1:])
    notes = [one for one in evolution.of_kind(StageProgress) if one.note.startswith("composite")]
    assert [(one.done, one.total, one.note) for one in notes] == [
        (1, 4, "composite 0.908, 3 tokens"), (2, 4, "composite 0.211, 9 tokens"), (3, 4, "composite 0.964, 1 tokens"),
        (4, 4, "composite 0.964, 1 tokens"),
    ]  # fmt: skip
    assert read_deltas(layout.deltas_best(tmp_path), names) == deltas[2]
    assert read_deltas(layout.deltas_current(tmp_path), names) == deltas[4], "the last proposal"
    assert layout.deltas_best(tmp_path).read_text() == '{\n  "0": 1.0,\n  "1": 1.0,\n  "2": 1.0\n}\n'
    assert layout.processor_best(tmp_path).read_text() == processor_source(evolution.clusters, deltas[2])
    assert (result.summary["ended"], result.summary["best_iteration"]) == ("all 4 iterations", 2)
    assert not evolution.of_kind(Notice)


def test_what_the_reflector_is_given_and_what_is_kept_of_its_reply(tmp_path: Path) -> None:
    evolution = by_hand(tmp_path, iterations=2)
    looped(evolution)
    (first, _), (second, message) = evolution.reflector.given
    minibatch = [one.id for one in evolution.questions.minibatch(1)]
    assert (second.iteration, second.deltas) == (1, dict.fromkeys("012", 0.5))
    assert second.descriptions == evolution.descriptions
    assert second.answers == [
        JudgedAnswer(name, "b" * 9, 9, False, f"read {'b' * 9}", clusters=[1] * 9) for name in minibatch
    ]
    seen = [(one.iteration, one.examples, one.deltas) for one in second.history.iterations]
    assert seen[1] == (1, minibatch, second.deltas) and len(seen) == 2 and len(first.history.iterations) == 1
    assert second.history.iterations[1].score == evolution.history.iterations[1].score
    answers = "\n\n".join(
        f"example_id: {name}\nCorrect: no\nTokens: 9\nExplanation: read bbbbbbbbb\nAnswer: bbbbbbbbb"
        for name in minibatch
    )
    assert message == f"Iteration 0: Less 0.|{answers}"
    logged = layout.reflector_message(tmp_path, 1).read_text()
    assert logged == f"=== system ===\nTune.\n\n=== user ===\n{message}\n"
    assert layout.reflector_reply(tmp_path, 1).read_text().startswith('{\n  "deltas": {\n    "0": 1.0,\n')
    assert read_stored_reply(layout.reflector_reply(tmp_path, 1)) == ReflectorReply(
        dict.fromkeys("012", 1.0), "Less 1.", "raw", usage=Spent(2, 9, 0.5), refused=[EMPTY_REPLY]
    )
    assert evolution.of_kind(ReflectorReplied)[1] == ReflectorReplied(
        iteration=1, reflector="replying", deltas=dict.fromkeys("012", 1.0), summary="Less 1.", attempts=2,
        refused=[EMPTY_REPLY], message="evolution/reflector_message_001.txt",
    )  # fmt: skip


def test_finished_iterations_and_a_stored_reply_are_not_asked_for_again(tmp_path: Path) -> None:
    """As a kill leaves it that came after the reply of iteration 2 and before its line in the history."""
    whole = by_hand(tmp_path, iterations=3)
    looped(whole)
    files = artefacts(tmp_path)
    history = read_history(layout.history(tmp_path))
    write_history(layout.history(tmp_path), History(iterations=history.iterations[:2]))
    write_deltas(layout.deltas_best(tmp_path), dict.fromkeys("012", 7.0))
    again = by_hand(tmp_path, finished=2, iterations=3)
    looped(again)
    assert again.events[0] == StageStarted(total=3, done=2, unit="iterations")
    assert not again.server.asked and not again.reflector.given and not again.judge.asked
    assert again.server.started == ["processor.py"]
    assert [one.iteration for one in again.of_kind(IterationBegan)] == [2]
    assert [one.deltas for one in again.of_kind(ReflectorReplied)] == [dict.fromkeys("012", 1.5)]
    assert artefacts(tmp_path) == files
    write_deltas(layout.deltas_best(tmp_path), dict.fromkeys("012", 7.0))
    layout.processor_best(tmp_path).unlink()
    longer = by_hand(tmp_path, finished=3, iterations=4)
    looped(longer)
    best = dict.fromkeys("012", 1.0)
    assert read_deltas(layout.deltas_best(tmp_path), ["0", "1", "2"]) == best
    assert layout.processor_best(tmp_path).read_text() == processor_source(longer.clusters, best)
    assert longer.of_kind(IterationBegan)[0].deltas == dict.fromkeys("012", 1.5)


def test_by_minibatches_the_better_minibatch_is_kept(tmp_path: Path) -> None:
    evolution = by_hand(tmp_path, best_by="minibatch", validation_size=0)
    looped(evolution)
    assert evolution.server.started == ["processor.py"] * 4
    scored = [(one.iteration, one.split, one.best) for one in evolution.of_kind(AnswersScored)]
    assert scored == [
        (0, MINIBATCH, True),
        (1, MINIBATCH, False),
        (2, MINIBATCH, True),
        (3, MINIBATCH, False),
    ]
    history = read_history(layout.history(tmp_path)).iterations
    assert [(one.best, one.validation) for one in history] == [
        (True, None),
        (False, None),
        (True, None),
        (False, None),
    ]
    assert read_deltas(layout.deltas_best(tmp_path), ["0", "1", "2"]) == dict.fromkeys("012", 1.0)


def test_an_iteration_without_a_reply_keeps_its_deltas_and_its_cost(tmp_path: Path) -> None:
    evolution = by_hand(tmp_path, refuses=[0, 1], iterations=3)
    boundaries: list[int] = []
    evolution.context.boundary = lambda: boundaries.append(len(evolution.history.iterations))
    looped(evolution)
    assert boundaries == [1, 2, 3]
    history = read_history(layout.history(tmp_path)).iterations
    assert [one.deltas["0"] for one in history] == [0.0, 0.0, 0.0]
    refused = "it refused (the reflector): ask another"
    assert [(one.aborted, one.new_deltas, one.summary, one.attempts) for one in history[:2]] == [
        (refused, None, "", 1)
    ] * 2
    assert read_deltas(layout.deltas_current(tmp_path), list("012")) == dict.fromkeys("012", 0.5)
    assert history[0].usage.calls == 3 + 2 + 3 + 1 and history[2].new_deltas == dict.fromkeys("012", 0.5)
    assert [one.text for one in evolution.of_kind(Notice)] == [
        f"iteration {number} ends without new deltas: {refused}" for number in (0, 1)
    ]
    assert not layout.reflector_reply(tmp_path, 0).exists() and layout.reflector_reply(tmp_path, 2).exists()


def test_questions_outside_the_judge_are_told_before_anything_is_asked(tmp_path: Path) -> None:
    evolution = by_hand(tmp_path, iterations=1)
    evolution.judge.outside = {"v1?"}
    looped(evolution)
    began, notice = evolution.events[1:3]
    assert isinstance(began, EvolutionBegan) and (began.questions, began.cannot_tell) == (6, 1)
    outside = "1 of 6 questions are outside what the judge letters can judge (no letter is asked for)"
    assert notice == Notice(text=f"{outside}: their answers are counted, not scored", level="warning")


@pytest.mark.parametrize(
    ("reached", "error", "tried"), [(None, 0.0, True), (0.5, 0.1, True), (0.5, 0.09, False), (0.4, 0.0, True)]
)
def test_only_a_minibatch_as_good_as_the_best_within_its_error_is_confirmed(
    reached: float | None, error: float, tried: bool
) -> None:
    """A composite of 0.4."""
    figures: Any = SimpleNamespace(composite=0.4, error=error)
    asked: list[tuple[int, str]] = []
    loop: Any = SimpleNamespace(
        section=SimpleNamespace(best_by="validation"),
        history=SimpleNamespace(reached=reached, is_best=lambda score: True),
        evaluator=SimpleNamespace(
            score=lambda number, split: figures,
            report_score=lambda number, split, best=False: (split, best),
            ask=lambda number, split: asked.append((number, split)),
        ),
    )
    assert _Loop._score(loop, 3) == (figures, ("validation", True) if tried else None, tried)
    assert asked == [(3, "validation")] * tried


def test_the_server_is_stopped_however_the_stage_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[bool] = []
    server = SimpleNamespace(stop=lambda: stopped.append(True))
    monkeypatch.setattr(
        "engine.evolution.evolve_stage.EvolutionRun", lambda _: SimpleNamespace(server=server)
    )
    context: Any = None
    for failure in (None, StopRequested()):
        monkeypatch.setattr(
            "engine.evolution.evolve_stage._Loop",
            lambda _, failure=failure: SimpleNamespace(run=lambda: raised(failure)),
        )
        if failure is None:
            assert Evolve().run(context) == StageResult({"all": 1})
        else:
            with pytest.raises(StopRequested):
                Evolve().run(context)
    assert stopped == [True, True]


def raised(failure: BaseException | None) -> StageResult:
    if failure is not None:
        raise failure
    return StageResult({"all": 1})
