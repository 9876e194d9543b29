"""The loop, offline, on the model that comes along: files, stopping, resuming, failing."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.config.config import Config
from engine.config.evolution import ClustersSection, EvolutionSection
from engine.config.models.model import ModelSection
from engine.config.models.sglang import ServerSection
from engine.config.run import RunSection
from engine.config.stages import STAGES
from engine.errors import ConfigError, DataError, SteerError
from engine.events import (
    AnswerJudged,
    AnswersScored,
    Event,
    EvolutionBegan,
    IterationBegan,
    IterationFinished,
    MethodCompared,
    Notice,
    ReflectorReplied,
    ServerChanged,
    StageProgress,
    StageStarted,
)
from engine.evolution import from_config, layout
from engine.evolution.answers import BASELINE, MINIBATCH, ON_TEST, TEST, TEST_BRIEF, TEST_PLAIN, VALIDATION
from engine.evolution.clusters.cluster_map import load_cluster_map
from engine.evolution.clusters.clusters_stage import BuildClusters
from engine.evolution.deltas import read_deltas, write_deltas
from engine.evolution.evolve_stage import Evolve, _Loop
from engine.evolution.history import History, Iteration, read_history, write_history
from engine.evolution.judges.judge import JudgeFailed, Verdict
from engine.evolution.plot import draw
from engine.evolution.processor import expected_row, processor_source
from engine.evolution.processors.check import check_processor
from engine.evolution.reflectors.reflection import read_stored_reply
from engine.evolution.reflectors.reflector import (
    JudgedAnswer,
    ReflectorFailed,
    ReflectorInput,
    ReflectorReply,
)
from engine.evolution.report import _chosen_by
from engine.evolution.scoring.score import Outcome, score
from engine.files import read_jsonl
from engine.lm.loading.load import load_model
from engine.lm.protocol import LanguageModel
from engine.run.gate import StopRequested
from engine.run.stage import StageContext, StageResult
from engine.servers.spent import Spent
from tests.engine.evolution.test_split_evaluator import ByHand
from tests.engine.lm.sglang.test_server import section as stand_in_for_sglang
from tests.exactly import exactly
from tests.offline_evolution import offline
from tests.run_stage import run_stage

pytestmark = pytest.mark.usefixtures("unchecked_processors", "undrawn_plot")

SPLITS = (MINIBATCH, VALIDATION, BASELINE, "brief_1", *ON_TEST)
MODEL = ModelSection(device="cpu", path="statements")
IN_PARTS = {"batch_size": 3}
"""Some batches to a set of questions: a stop in the middle of the set."""
NOTHING_COMPARED: dict[str, object] = {"test_size": 0, "brief_prompts": [], "length_caps": 0}
"""Half of the questions are those of the comparison at the end."""


def configured(**changes: object) -> Config:
    fields: dict[str, object] = {
        "iterations": 3,
        "minibatch_size": 6,
        "best_by": "validation",
        "validation_size": 8,
        "test_size": 5,
        "pool_size": 30,
        "batch_size": 8,
        "max_new_tokens": 60,
        "brief_prompts": ["Be brief."],
        "length_caps": 4,
    }
    return Config(
        run=RunSection(stages=["clusters", "evolve"]),
        model=MODEL,
        clusters=ClustersSection(embedder="hashed", k=6, frequency_texts=8),
        evolution=EvolutionSection(**offline({**fields, **changes})),  # type: ignore[arg-type]
    )


def finish_stage(folder: Path, config: Config, model: LanguageModel) -> StageResult:
    """What the stage itself says came of it."""
    context = StageContext("evolve", config, folder, lambda event: None, lambda: None, lambda section: model)
    return Evolve().run(context)


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return load_model(MODEL)


@pytest.fixture(scope="module")
def clustered(model: LanguageModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clustered")
    run_stage(BuildClusters(), configured(), folder, model)
    return folder


@pytest.fixture
def run(clustered: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(clustered, tmp_path / "run"))


@pytest.fixture(scope="module")
def whole(clustered: Path, model: LanguageModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three iterations that nothing stopped."""
    folder = Path(shutil.copytree(clustered, tmp_path_factory.mktemp("whole") / "run"))
    run_stage(Evolve(), configured(**IN_PARTS), folder, model)
    return folder


def artefacts(run: Path) -> dict[str, bytes]:
    """All files of the evolution; pictures hold the time of drawing."""
    root = run / "evolution"
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.suffix not in (".png", ".svg")
    }


def test_files_follow_from_the_answers(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.evolution.evolve_stage.draw", draw)
    events = run_stage(Evolve(), configured(), run, model)
    history = read_history(layout.history(run))
    assert [item.iteration for item in history.iterations] == [0, 1, 2]
    assert history.iterations[0].validation is not None and history.iterations[0].best
    answers = read_jsonl(layout.answers(run))
    for item in history.iterations:
        own = [a for a in answers if (a["iteration"], a["split"]) == (item.iteration, "minibatch")]
        assert [a["example_id"] for a in own] == item.examples and len(set(item.examples)) == 6
        outcomes = [Outcome(len(a["token_ids"]), a["correct"]) for a in own]
        assert score(outcomes, 100.0) == item.score
        assert layout.reflector_message(run, item.iteration).read_text().count("example_id:") == 6
    for before, after in zip(history.iterations, history.iterations[1:], strict=False):
        assert after.deltas == before.new_deltas
    best = history.best
    assert best is not None and best.validation is not None
    kept = [item for item in history.iterations if item.best]
    assert max(item.validation.composite for item in kept if item.validation) == best.validation.composite
    clusters = load_cluster_map(layout.folder(run))
    assert read_deltas(layout.deltas_best(run), clusters.names) == best.deltas
    check_processor(layout.processor_best(run), clusters.vocab_size, expected_row(clusters, best.deltas))
    assert layout.plot(run).stat().st_size > 1000
    compared = [event for event in events if isinstance(event, MethodCompared)]
    names = ["no_processor", "length_cap", "chosen_cap", "brief_prompt", "best"]
    assert [event.method for event in compared] == names
    for row, iteration, split in (
        (compared[0], 0, TEST_PLAIN),
        (compared[3], 0, TEST_BRIEF),
        (compared[4], best.iteration, TEST),
    ):
        own = [a for a in answers if (a["iteration"], a["split"]) == (iteration, split)]
        found = score([Outcome(len(a["token_ids"]), a["correct"]) for a in own], 100.0)
        assert len(own) == row.n == 5 and row.composite == pytest.approx(found.composite)
    assert layout.comparison(run).read_text().count("\n") == 1 + 5
    assert layout.test_answers(run).read_text().count("\n") == 1 + 5 * 5


def test_answers_carry_their_tokens_clusters(run: Path, model: LanguageModel) -> None:
    events = run_stage(Evolve(), configured(iterations=1), run, model)
    clusters = load_cluster_map(run / "evolution")
    told = [event for event in events if isinstance(event, AnswerJudged)]
    assert len(told) == 8 + 6 + 8 + 8 + 5 + 5 + 5
    for event in told:
        if "brief" not in event.split:  # after a request that it never saw, it writes tokens that are no text
            assert "".join(event.pieces) == event.answer
        assert len(event.pieces) == len(event.clusters) == event.tokens
        assert set(event.clusters) <= set(range(clusters.count))


def test_no_question_is_in_two_sets(whole: Path) -> None:
    answers = read_jsonl(layout.answers(whole))
    sets = {split: {a["example_id"] for a in answers if a["split"] == split} for split in SPLITS}
    assert (len(sets[VALIDATION]), len(sets[TEST])) == (8, 5)
    assert sets[VALIDATION] == sets["baseline"] == sets["brief_1"]
    assert sets[TEST] == sets[TEST_PLAIN] == sets[TEST_BRIEF]
    assert not sets[VALIDATION] & sets["minibatch"]
    assert not sets[TEST] & (sets["minibatch"] | sets[VALIDATION])


def test_the_test_set_is_asked_last_and_once(whole: Path) -> None:
    splits = [a["split"] for a in read_jsonl(layout.answers(whole))]
    assert splits[-23:] == ["brief_1"] * 8 + [TEST_PLAIN] * 5 + [TEST_BRIEF] * 5 + [TEST] * 5
    assert not set(ON_TEST) & set(splits[:-15])


def test_deltas_steer(run: Path, model: LanguageModel) -> None:
    """An end that comes much sooner makes answers shorter: the processor is really in use."""
    names = load_cluster_map(run / "evolution").names
    path = run / "deltas.json"
    path.write_text(json.dumps(dict.fromkeys(names, 0.0) | {"0": 12.0}))
    config = configured(iterations=1, initial_deltas=str(path))
    scored = [e for e in run_stage(Evolve(), config, run, model) if isinstance(e, AnswersScored)]
    by_split = {event.split: event for event in scored}
    assert by_split["validation"].mean_tokens < 0.7 * by_split["baseline"].mean_tokens


def test_stopped_anywhere_it_ends_as_if_it_had_not_been(
    run: Path, whole: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every checkpoint may be the last one of an attempt."""
    rng, stops = random.Random(3), 0
    for _ in range(200):
        left = [rng.randint(1, 600)]

        def checkpoint(left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise StopRequested

        monkeypatch.setattr(model, "between", lambda call, working, stop=checkpoint: stop())
        context = StageContext(
            "evolve", configured(**IN_PARTS), run, lambda event: None, checkpoint, lambda section: model
        )
        try:
            Evolve().run(context)
        except StopRequested:
            stops += 1
        else:
            break
    assert stops >= 3
    assert artefacts(run) == artefacts(whole)


def test_a_torn_batch_is_asked_again(run: Path, whole: Path, model: LanguageModel) -> None:
    """Half of a batch at the end of answers.jsonl, as a kill in the middle of a write leaves it."""
    shutil.copytree(whole / "evolution", run / "evolution", dirs_exist_ok=True)
    answers = layout.answers(run)
    lines = answers.read_bytes().splitlines(keepends=True)
    answers.write_bytes(b"".join(lines[:12]) + lines[12][:40])
    layout.history(run).unlink()
    for path in (run / "evolution").glob("reflector_reply_*.json"):
        path.unlink()
    run_stage(Evolve(), configured(**IN_PARTS), run, model)
    assert artefacts(run) == artefacts(whole)


def test_killed_after_its_history_an_iteration_lacks_nothing(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_and_die(path: Path, history: History) -> None:
        write_history(path, history)
        raise KeyboardInterrupt

    config = configured(iterations=1, **NOTHING_COMPARED)
    with monkeypatch.context() as patch:
        patch.setattr("engine.evolution.evolve_stage.write_history", write_and_die)
        with pytest.raises(KeyboardInterrupt):
            run_stage(Evolve(), config, run, model)
    run_stage(Evolve(), config, run, model)
    assert layout.plot(run).is_file()


def test_stop_after_the_iteration(run: Path, model: LanguageModel) -> None:
    def boundary() -> None:
        raise StopRequested

    context = StageContext(
        "evolve", configured(), run, lambda event: None, lambda: None, lambda section: model, boundary
    )
    with pytest.raises(StopRequested):
        Evolve().run(context)
    assert len(read_history(layout.history(run)).iterations) == 1


def test_minibatches_decide_and_a_test_set_alone_compares(run: Path, model: LanguageModel) -> None:
    """No validation set: nothing is asked of one, and no baseline is chosen on it."""
    alone = {"best_by": "minibatch", "validation_size": 0, "brief_prompts": [], "length_caps": 0}
    config, events = configured(**alone), []
    context = StageContext("evolve", config, run, events.append, lambda: None, lambda section: model)
    result = Evolve().run(context)
    splits = [answer["split"] for answer in read_jsonl(layout.answers(run))]
    assert splits == [MINIBATCH] * 18 + [TEST_PLAIN] * 5 + [TEST] * 5
    rows = [event.method for event in events if isinstance(event, MethodCompared)]
    assert rows == ["no_processor", "length_cap", "best"]
    assert result.verdict is not None and result.verdict.n == 5
    history = read_history(layout.history(run))
    composites = [item.score.composite for item in history.iterations]
    best = history.best
    assert best is not None and best.score.composite == max(composites) == history.reached
    assert [item.validation for item in history.iterations] == [None] * 3


@pytest.mark.parametrize(
    ("best_by", "size", "judged", "words"),
    [
        ("minibatch", 0, 6, "its minibatch, which chose it"),
        ("validation", 8, 8, "the validation set, which chose it"),
    ],
)
def test_without_a_test_set_the_summary_says_what_was_measured(
    run: Path, model: LanguageModel, best_by: str, size: int, judged: int, words: str
) -> None:
    alone = {"validation_size": size, "test_size": 0, "brief_prompts": [], "length_caps": 0}
    result = finish_stage(run, configured(best_by=best_by, iterations=1, **alone), model)
    item = read_history(layout.history(run)).iterations[0]
    score = item.score if item.validation is None else item.validation
    assert result.verdict is None and result.summary["measured_on"] == words
    assert result.summary["composite"] == round(score.composite, 4) and result.summary["judged"] == judged
    assert not {"composite_before", "tokens_before", "baselines_ahead"} & result.summary.keys()
    assert not layout.comparison(run).exists() and not layout.test_answers(run).exists()


EMPTY = {"the reply is empty": ""}


class Failing:
    """A reflector that fails in the iterations it is told to, and has one reply refused in the others."""

    name = "failing"

    def __init__(self, fails: set[int]) -> None:
        self.fails = fails

    def reflect(self, given: ReflectorInput, message: str) -> ReflectorReply:
        if given.iteration in self.fails:
            failed = ReflectorFailed(what="it refused", where="the reflector", hint="ask another")
            failed.refused = [EMPTY, EMPTY]
            raise failed
        deltas = {name: value + 0.1 for name, value in given.deltas.items()}
        return ReflectorReply(deltas, "It went well.", refused=[EMPTY])


def test_an_iteration_without_reply_is_kept_and_the_next_goes_on(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice, but not in a row: it has not given up."""
    monkeypatch.setattr("engine.config.evolution.EvolutionSection.failures", 2)
    monkeypatch.setattr("engine.evolution.evolution_run.make_reflector", lambda context: Failing({1, 3}))
    events = run_stage(Evolve(), configured(iterations=4, **NOTHING_COMPARED), run, model)
    history = read_history(layout.history(run)).iterations
    assert "it refused" in history[1].aborted and history[1].new_deltas is None
    assert history[2].deltas == history[1].deltas and history[2].examples != history[1].examples
    told = [event for event in events if isinstance(event, ReflectorReplied)]
    assert [bool(event.aborted) for event in told] == [False, True, False, True]
    assert [event.refused for event in told] == [[EMPTY], [EMPTY, EMPTY], [EMPTY], [EMPTY, EMPTY]]
    assert [event.attempts for event in told] == [2, 2, 2, 2]
    assert list(read_stored_reply(layout.reflector_reply(run, 0)).refused) == [EMPTY], (
        "what a resumed run reads"
    )
    kept = [layout.reflector_reply(run, iteration).is_file() for iteration in range(4)]
    assert kept == [True, False, True, False], "a reply that failed is asked for again"


GAVE_UP = exactly(
    "the reflector gave no valid reply in 3 iterations in a row: it refused (the reflector): ask another "
    "(evolution.reflector): correct what it says and resume, with more `evolution.iterations` where all are done: "
    "every finished iteration is kept; or start a run with `evolution.reflector.kind: statistical`, the offline "
    "reflector"
)


def test_a_reflector_that_always_fails_ends_the_stage_and_loses_nothing(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.evolution.evolution_run.make_reflector", lambda context: Failing({1, 2, 3}))
    config = configured(iterations=6, **NOTHING_COMPARED)
    with pytest.raises(
        SteerError,
        match=GAVE_UP,
    ):
        run_stage(Evolve(), config, run, model)
    assert len(read_history(layout.history(run)).iterations) == 4
    monkeypatch.setattr("engine.evolution.evolution_run.make_reflector", from_config.make_reflector)
    run_stage(Evolve(), config, run, model)
    assert len(read_history(layout.history(run)).iterations) == 6


def test_a_reflector_that_gave_up_at_the_end_is_told_again(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left to iterate then, and still this is no end like any other."""
    monkeypatch.setattr("engine.evolution.evolution_run.make_reflector", lambda context: Failing({1, 2, 3}))
    told = []
    for _ in range(2):
        with pytest.raises(
            SteerError,
            match=GAVE_UP,
        ) as caught:
            run_stage(Evolve(), configured(iterations=4), run, model)
        told.append(str(caught.value))
    assert told[0] == told[1]
    run_stage(Evolve(), configured(iterations=5), run, model)
    assert len(read_history(layout.history(run)).iterations) == 5


def test_ends_early(run: Path, model: LanguageModel) -> None:
    run_stage(Evolve(), configured(patience=1, iterations=9, **NOTHING_COMPARED), run, model)
    history = read_history(layout.history(run))
    assert len(history.iterations) < 9 and history.since_best == 1


class Priced:
    """A judge that costs, fails at every answer it is told to, and is stopped at one."""

    name = "priced"

    def __init__(self, fails: set[int] | None = None, stops: int = 0) -> None:
        self.asked, self.fails, self.stops = 0, fails or set(), stops

    def cannot_tell(self, question: str, golds: Sequence[str]) -> str:
        return ""

    def judge(self, question: str, golds: Sequence[str], answer: str) -> Verdict:
        self.asked += 1
        if self.asked == self.stops:
            raise StopRequested
        usage = Spent(calls=1, tokens=10, cost=0.5)
        if self.asked in self.fails:
            failed = JudgeFailed(what="no verdict", where="the judge", hint="ask another")
            failed.spent = usage
            raise failed
        return Verdict(True, "fine", usage)


def test_a_budget_ends_it(run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first iteration takes 8 + 6 + 8 verdicts; no second one is begun."""
    monkeypatch.setattr("engine.evolution.evolution_run.make_judge", lambda context: Priced())
    result = finish_stage(run, configured(iterations=9, max_cost=10), model)
    assert len(read_history(layout.history(run)).iterations) == 1
    assert str(result.summary["ended"]) == "11 is spent"


def test_verdicts_that_failed_are_charged(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answer 3 gets its verdict at the second attempt, and of the rest none fails: one call more than answers."""
    judge = Priced({3})
    monkeypatch.setattr("engine.evolution.evolution_run.make_judge", lambda context: judge)
    run_stage(Evolve(), configured(iterations=1), run, model)
    usage = read_history(layout.history(run)).usage
    assert (usage.calls, usage.tokens, usage.cost) == (23, 230, 11.5)


def test_a_judge_that_was_dead_judges_when_it_is_back(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers it failed on are kept and judged anew, not asked for again; what failed before is charged."""
    dead, alive = Priced(set(range(1000))), Priced()
    monkeypatch.setattr("engine.evolution.evolution_run.make_judge", lambda context: dead)
    for _ in range(2):
        with pytest.raises(
            DataError,
            match=exactly(
                "none of 8 answers could be judged: on 0 the judge cannot tell, on 8 it failed (evolution.judge): see"
                " why in the notices, correct that and resume: the answers are kept; or start a run with "
                "`evolution.judge.kind: auto`, an offline judge"
            ),
        ):
            run_stage(Evolve(), configured(iterations=1), run, model)
    kept = read_jsonl(layout.answers(run))
    assert kept and all(one["correct"] is None for one in kept)
    monkeypatch.setattr("engine.evolution.evolution_run.make_judge", lambda context: alive)
    run_stage(Evolve(), configured(iterations=1), run, model)
    after = read_jsonl(layout.answers(run))
    assert [one["answer"] for one in after[: len(kept)]] == [one["answer"] for one in kept]
    assert all(one["correct"] for one in after)
    history = read_history(layout.history(run))
    assert history.usage.calls == dead.asked + 22


def test_the_summary_tells_of_every_call(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of those for the test set, and for its answers that were cut to a length cap. At those a stop comes, in the
    fiftieth call: what the judge has said by then is not asked again."""
    stopped, judge = Priced(stops=50), Priced()
    judges = iter([stopped, judge])
    monkeypatch.setattr("engine.evolution.evolution_run.make_judge", lambda context: next(judges))
    with pytest.raises(StopRequested):
        finish_stage(run, configured(iterations=1), model)
    kept = str(layout.cut_verdicts(run).relative_to(run))
    assert 0 < len(read_jsonl(run / kept)) < 50 and kept in STAGES["evolve"].writes
    result = finish_stage(run, configured(iterations=1), model)
    assert kept in result.files
    summary, verdict = result.summary, result.verdict
    assert verdict is not None and verdict.cost == summary["spent_cost"]
    calls = stopped.asked - 1 + judge.asked
    assert summary["spent_calls"] == calls > 50 > 22 + 8 + 5 + 5 + 5
    assert summary["spent_tokens"] == 10 * calls and summary["spent_cost"] == calls / 2


class Narrow(Priced):
    """It judges questions of last year only, and calls all answers to them right."""

    name = "narrow"

    def cannot_tell(self, question: str, golds: Sequence[str]) -> str:
        return "" if "last year" in question else "not of last year"

    def judge(self, question: str, golds: Sequence[str], answer: str) -> Verdict:
        verdict = super().judge(question, golds, answer)
        reason = self.cannot_tell(question, golds)
        return Verdict(None, reason, verdict.usage) if reason else verdict


def test_the_summary_without_a_test_set_counts_the_judged_answers() -> None:
    """Two of four: of the others, the judge cannot tell on one, and failed on one."""
    outcomes = [Outcome(10, True), Outcome(20, False), Outcome(30, None, True), Outcome(40, None)]
    best = Iteration(iteration=0, deltas={}, examples=[], score=score(outcomes, 100.0))
    assert _chosen_by(best) == {
        "measured_on": "its minibatch, which chose it",
        "composite": round(0.4 / 1.25 + 0.6 / 2, 4),
        "tokens": 25.0,
        "judged": 2,
        "cannot_tell": 1,
        "correctness": 0.5,
    }


def test_where_the_judge_cannot_tell_answers_are_counted_and_not_scored(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told before anything is asked, in every score and in the comparison; nothing is judged again for it."""
    monkeypatch.setattr("engine.evolution.evolution_run.make_judge", lambda context: Narrow())
    events = run_stage(Evolve(), configured(iterations=1, test_size=8), run, model)
    began = next(event for event in events if isinstance(event, EvolutionBegan))
    assert began.questions == 30 and 0 < began.cannot_tell < 30
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert any(f"{began.cannot_tell} of 30 questions are outside" in text for text in notices)
    assert not any("judge failed" in text for text in notices)
    scores = [event for event in events if isinstance(event, AnswersScored)]
    assert all(one.judged + one.cannot_tell == one.answers and one.correctness == 1.0 for one in scores)
    assert any(one.cannot_tell for one in scores)
    told = [event for event in events if isinstance(event, AnswerJudged)]
    assert {(event.correct, event.cannot_tell) for event in told} == {(True, False), (None, True)}
    assert all(event.cannot_tell == ("last year" not in event.question) for event in told)
    rows = [event for event in events if isinstance(event, MethodCompared)]
    assert all(row.n + row.cannot_tell == 8 and row.cannot_tell for row in rows)
    assert "Correct: not judged" in layout.reflector_message(run, 0).read_text()


def test_a_set_that_the_judge_cannot_judge_at_all_is_refused(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Blind(Narrow):
        def cannot_tell(self, question: str, golds: Sequence[str]) -> str:
            return "no question at all"

    judge = Blind()
    monkeypatch.setattr("engine.evolution.evolution_run.make_judge", lambda context: judge)
    with pytest.raises(
        ConfigError,
        match=exactly(
            "evolution.judge: found narrow: no question at all, expected a judge that can judge some of the "
            "validation set (8 questions): `kind: openai`, or other questions (configuration): correct this value"
        ),
    ):
        run_stage(Evolve(), configured(), run, model)
    assert judge.asked == 0 and not layout.answers(run).exists()


def test_bad_input(run: Path, model: LanguageModel, tmp_path: Path) -> None:
    def fails(match: str, **changes: object) -> None:
        with pytest.raises(SteerError, match=exactly(match)):
            run_stage(Evolve(), configured(**changes), run, model)

    fails(
        "evolution.validation_size, evolution.test_size: found 28 and 5, and a minibatch of 6, expected "
        "together at most "
        "the 30 questions of the pool: both are set aside (configuration): correct this value",
        validation_size=28,
    )
    fails(
        "deltas cannot be read: No such file or directory (…/none.json): correct the path, or restore the file",
        initial_deltas=str(tmp_path / "none.json"),
    )
    (tmp_path / "bad.json").write_text('{"0": 1}')
    fails(
        "these are not deltas: missing clusters: 1, 2, 3, 4, 5, 6, 7 (…/bad.json): give one finite number for "
        "each of the "
        "clusters 0 to 7",
        initial_deltas=str(tmp_path / "bad.json"),
    )
    (tmp_path / "bench.jsonl").write_text('{"question": "q"}\n')
    fails(
        "a question lacks financebench_id, answer, evidence (…/bench.jsonl:1): use FinanceBench's published fields: "
        "financebench_id, question, answer, evidence",
        financebench=str(tmp_path / "bench.jsonl"),
    )
    fails(
        "the questions cannot be read: no such file (…/none.jsonl): correct `evolution.financebench`: a JSONL file, or "
        "hub:PatronusAI/financebench",
        financebench=str(tmp_path / "none.jsonl"),
    )
    layout.history(run).write_text("{")
    fails(
        "the history cannot be read: Input data was truncated (…/run/evolution/history.json): restore the file, "
        "or start "
        "a new run"
    )
    with pytest.raises(
        DataError,
        match=exactly(
            "`clusters.json` is not there (…/empty/evolution): run the stage `clusters` of this run first"
        ),
    ):
        run_stage(Evolve(), configured(), tmp_path / "empty", model)


@pytest.mark.usefixtures("stand_in_libraries")
def test_over_a_server_the_history_is_the_same(
    run: Path, clustered: Path, tmp_path: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop, generate, start, healthy, minibatch: the loop does not know who answers."""
    monkeypatch.setattr(ServerSection, "health_interval", 0.1)
    short = {"iterations": 2, "minibatch_size": 3, "validation_size": 3, "max_new_tokens": 24}
    run_stage(Evolve(), configured(**short), run, model)
    served = Path(shutil.copytree(clustered, tmp_path / "served"))
    server = stand_in_for_sglang(f"crash-once={tmp_path / 'crashed'}")
    events = run_stage(Evolve(), configured(**short, server=server), served)
    states = [event.state for event in events if isinstance(event, ServerChanged)]
    assert states[:6] == ["stopping", "starting", "healthy", "restarting", "healthy", "stopping"]
    one, other = (read_history(layout.history(folder)).iterations for folder in (run, served))
    assert [item.new_deltas for item in one] == [item.new_deltas for item in other]
    assert [item.score for item in one] == [item.score for item in other]
    assert read_jsonl(layout.answers(run)) == read_jsonl(layout.answers(served))
    assert "device-side assert" in layout.server_log(served).read_text()


@pytest.mark.parametrize(("kind", "times"), [("sglang", 1), ("in_process", 0)])
def test_models_leave_the_device_to_a_server_that_is_started(tmp_path: Path, kind: str, times: int) -> None:
    """2: one model on the GPU at a time."""
    unloaded: list[bool] = []
    config = configured(server={"kind": kind, "command": "sh"})
    from_config.make_server(
        StageContext(
            "evolve", config, tmp_path, lambda event: None, lambda: None, load_model,
            unload_models=lambda: unloaded.append(True),
        )
    )  # fmt: skip
    assert len(unloaded) == times


@pytest.mark.parametrize(
    ("temperature", "more", "told"),
    [(0.0, "", 0), (0.7, "", 1), (0.7, " --enable-deterministic-inference", 0)],
)
def test_a_server_that_ignores_seeds_is_told(
    tmp_path: Path, temperature: float, more: str, told: int
) -> None:
    """Only where something is drawn."""
    server = stand_in_for_sglang()
    server = server.model_copy(update={"command": server.command + more})
    events: list[Event] = []
    config = configured(server=server, temperature=temperature)
    from_config.make_server(StageContext("evolve", config, tmp_path, events.append, lambda: None, load_model))
    assert [event.level for event in events if isinstance(event, Notice)] == ["warning"] * told


# ---------------------------------------------------------------- the loop, its answers made by hand


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
            deltas, f"Less {given.iteration}.", "raw", usage=Spent(2, 9, 0.5), refused=[EMPTY]
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
    assert read_deltas(layout.deltas_current(tmp_path), names) == deltas[3]
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
        dict.fromkeys("012", 1.0), "Less 1.", "raw", usage=Spent(2, 9, 0.5), refused=[EMPTY]
    )
    assert evolution.of_kind(ReflectorReplied)[1] == ReflectorReplied(
        iteration=1, reflector="replying", deltas=dict.fromkeys("012", 1.0), summary="Less 1.", attempts=2,
        refused=[EMPTY], message="evolution/reflector_message_001.txt",
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
    longer = by_hand(tmp_path, finished=3, iterations=4)
    looped(longer)
    assert read_deltas(layout.deltas_best(tmp_path), ["0", "1", "2"]) == dict.fromkeys("012", 1.0)
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
