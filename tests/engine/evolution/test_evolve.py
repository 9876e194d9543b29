"""The loop, offline, on the model that comes along: files, stopping, resuming, failing."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.config.models.sglang import ServerSection
from engine.errors import DataError, SteerError
from engine.events import (
    AnswerJudged,
    AnswersScored,
    Event,
    MethodCompared,
    Notice,
    ServerChanged,
)
from engine.evolution import from_config, layout
from engine.evolution.clusters.cluster_map import load_cluster_map
from engine.evolution.deltas import read_deltas
from engine.evolution.evolve_stage import Evolve
from engine.evolution.history import History, read_history, write_history
from engine.evolution.plot import draw
from engine.evolution.processor import expected_row
from engine.evolution.processors.check import check_processor
from engine.evolution.scoring.score import Outcome, score
from engine.evolution.splits import BASELINE, MINIBATCH, ON_TEST, TEST, TEST_BRIEF, TEST_PLAIN, VALIDATION
from engine.files import read_jsonl
from engine.lm.loading.load import load_model
from engine.lm.protocol import LanguageModel
from engine.run.gate import StopRequested
from engine.run.stage import StageContext
from tests.engine.evolution.small_evolution import NOTHING_COMPARED, artefacts, configured, finish_stage
from tests.engine.lm.sglang.test_server import section as stand_in_for_sglang
from tests.exactly import exactly
from tests.run_stage import run_stage

pytestmark = pytest.mark.usefixtures("unchecked_processors", "undrawn_plot")

SPLITS = (MINIBATCH, VALIDATION, BASELINE, "brief_1", *ON_TEST)
IN_PARTS = {"batch_size": 3}
"""Some batches to a set of questions: a stop in the middle of the set."""


@pytest.fixture(scope="module")
def whole(clustered: Path, model: LanguageModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three iterations that nothing stopped."""
    folder = Path(shutil.copytree(clustered, tmp_path_factory.mktemp("whole") / "run"))
    run_stage(Evolve(), configured(**IN_PARTS), folder, model)
    return folder


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


def test_ends_early(run: Path, model: LanguageModel) -> None:
    run_stage(Evolve(), configured(patience=1, iterations=9, **NOTHING_COMPARED), run, model)
    history = read_history(layout.history(run))
    assert len(history.iterations) < 9 and history.since_best == 1


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


def test_a_server_is_not_given_the_keys_of_judge_and_reflector(tmp_path: Path) -> None:
    roles = {name: {"openai": {"api_key_env": f"{name.upper()}_KEY"}} for name in ("judge", "reflector")}
    config = configured(server={"kind": "sglang", "command": "sh"}, **roles)
    context = StageContext("evolve", config, tmp_path, lambda event: None, lambda: None, load_model)
    server: Any = from_config.make_server(context)
    assert list(server._hidden) == ["JUDGE_KEY", "REFLECTOR_KEY"]


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
