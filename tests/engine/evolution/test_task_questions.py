"""The evolution over a task that ESM knows: where its questions come from, who judges, and its figures at the end."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.config.config import Config
from engine.config.esm import PromptSection, TaskSection
from engine.config.evolution import ClustersSection, EvolutionSection
from engine.config.file import load_config
from engine.config.models.model import ModelSection
from engine.config.run import RunSection
from engine.errors import ConfigError, DataError
from engine.events import AnswersScored, Event, EvolutionBegan, MethodCompared
from engine.evolution import layout
from engine.evolution.clusters.clusters_stage import BuildClusters
from engine.evolution.evolve_stage import Evolve
from engine.evolution.history import read_history
from engine.evolution.judges.task_judge import TaskJudge
from engine.evolution.minibatch import QuestionSplits
from engine.evolution.questions import ask, load_splits
from engine.evolution.scoring.comparison import baselines_ahead
from engine.files import read_jsonl
from engine.lm.loading.load import load_model
from engine.lm.model_server import ModelAnswer, ModelQuestion, OnAnswer
from engine.tasks.example import TaskExample
from engine.tasks.financebench import generated_financebench
from engine.tasks.generated.arithmetic import generate
from engine.tasks.task import Task
from tests.exactly import exactly
from tests.offline_evolution import offline
from tests.run_stage import run_stage

pytestmark = pytest.mark.usefixtures("unchecked_processors")

MODEL = ModelSection(device="cpu", path="arithmetic")
BRIEF = ["Be brief.", "Only the number."]


def configured(task: TaskSection | None = None, **changes: object) -> Config:
    fields: dict[str, object] = {
        "questions": "task",
        "judge": {"kind": "task"},
        "iterations": 2,
        "minibatch_size": 6,
        "best_by": "validation",
        "validation_size": 10,
        "test_size": 12,
        "pool_size": 30,
        "batch_size": 12,
        "max_new_tokens": 160,
        "SHORTNESS_SCALE": 200,
        "brief_prompts": BRIEF,
        "length_caps": 4,
    }
    return Config(
        run=RunSection(stages=["clusters", "evolve"]),
        model=MODEL,
        task=task or TaskSection(),
        clusters=ClustersSection(embedder="hashed", k=6, frequency_texts=4),
        evolution=EvolutionSection(**offline({**fields, **changes})),  # type: ignore[arg-type]
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Event]]:
    """A whole run on generated problems with the embedded model."""
    folder, model = tmp_path_factory.mktemp("task"), load_model(MODEL)
    run_stage(BuildClusters(), configured(), folder, model)
    return folder, run_stage(Evolve(), configured(), folder, model)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def is_right(text: str, gold: str) -> bool:
    """Read without the task's own extraction: the number after the last mark."""
    found = re.findall(r"#### (-?\d+)", text)
    return bool(found) and found[-1] == gold


def figures(
    lines: Sequence[dict[str, Any]], golds: dict[str, str], cap: int | None = None
) -> tuple[float, float]:
    """Correctness and mean tokens of stored answers, cut to `cap` tokens."""
    tokenizer = load_model(MODEL).tokenizer
    kept = [line["token_ids"][:cap] for line in lines]
    right = [
        is_right(tokenizer.decode(k), golds[one["example_id"]]) for k, one in zip(kept, lines, strict=True)
    ]
    return sum(right) / len(right), sum(map(len, kept)) / len(kept)


def composite(correct: float, tokens: float) -> float:
    return 0.4 / (1 + tokens / 200) + 0.6 * correct


def test_the_figures_follow_from_the_answers(finished: tuple[Path, list[Event]]) -> None:
    """Each method's correctness and tokens, and which cap and request were chosen, computed again from the answers."""
    run, events = finished
    golds = {one.id: one.answer for split in ("train", "test") for one in generate(split, 30, 0)}
    stored = read_jsonl(layout.answers(run))
    by_split = {name: [a for a in stored if a["split"] == name] for name in {a["split"] for a in stored}}
    rows = {event.method: event for event in events if isinstance(event, MethodCompared)}
    best = read_history(layout.history(run)).best
    assert best is not None
    test = [a for a in by_split["test"] if a["iteration"] == best.iteration]
    for name, lines, cap in (
        ("no_processor", by_split["test_plain"], None),
        ("length_cap", by_split["test_plain"], rows["length_cap"].cap),
        ("chosen_cap", by_split["test_plain"], rows["chosen_cap"].cap),
        ("brief_prompt", by_split["test_brief"], None),
        ("best", test, None),
    ):
        correct, tokens = figures(lines, golds, cap)
        row = rows[name]
        assert (row.n, row.correctness, row.mean_tokens) == (
            12,
            pytest.approx(correct),
            pytest.approx(tokens),
        )
        assert row.composite == pytest.approx(composite(correct, tokens))
    assert rows["no_processor"].correctness > 0, "the model answers some: the judge reads its answers"
    longest = max(len(a["token_ids"]) for a in by_split["baseline"])
    caps = {-(-longest * step // 4) for step in (1, 2, 3, 4)}
    by_cap = {cap: composite(*figures(by_split["baseline"], golds, cap)) for cap in caps}
    assert rows["chosen_cap"].cap in caps and by_cap[rows["chosen_cap"].cap or 0] == max(by_cap.values())
    by_request = [composite(*figures(by_split[f"brief_{number}"], golds)) for number in (1, 2)]
    assert rows["brief_prompt"].prompt == BRIEF[by_request.index(max(by_request))]
    assert set(baselines_ahead(list(rows.values()))) == {
        name for name, row in rows.items() if row.composite > rows["best"].composite
    }
    tried = table(layout.baselines(run))
    assert len(tried) == 4 + 2 and [one["chosen"] for one in tried].count("True") == 2
    assert len(table(layout.test_answers(run))) == 5 * 12
    assert [one["method"] for one in table(layout.comparison(run))] == list(rows)


def test_the_test_set_is_the_evaluation_split(finished: tuple[Path, list[Event]]) -> None:
    run, events = finished
    stored = read_jsonl(layout.answers(run))
    train = {one.id for one in generate("train", 30, 0)}
    test = {one.id for one in generate("test", 12, 0)}
    assert {a["example_id"] for a in stored if a["split"].startswith("test")} == test
    assert {a["example_id"] for a in stored if not a["split"].startswith("test")} <= train
    validation = {a["example_id"] for a in stored if a["split"] == "validation"}
    assert validation == {a["example_id"] for a in stored if a["split"] == "brief_2"}
    assert not validation & {a["example_id"] for a in stored if a["split"] == "minibatch"}
    began = next(event for event in events if isinstance(event, EvolutionBegan))
    assert began.judge == "generated (the task's own metric)" and began.questions == 30 + 12
    scored = [event.split for event in events if isinstance(event, AnswersScored)]
    assert scored[-5:] == ["brief_1", "brief_2", "test_plain", "test_brief", "test"]
    counted = {line["id"] for line in read_jsonl(layout.token_frequency(run))}
    assert counted and not counted & (test | validation), "clusters are described from the pool alone"


class Scripted:
    """A server that answers rightly at any length: 30 tokens, or 4 when asked for the number alone."""

    name = "scripted"

    def __init__(self, golds: dict[str, str], encode: Callable[[str], list[int]]) -> None:
        self.golds, self.encode, self.prompts = golds, encode, list[str]()

    def answer(
        self, questions: Sequence[ModelQuestion], checkpoint: Callable[[], None], answered: OnAnswer
    ) -> list[ModelAnswer]:
        self.prompts += [question.prompt for question in questions]
        texts = [("" if q.prompt.endswith(BRIEF[1]) else "so " * 30) + self._mark(q) for q in questions]
        answers = [ModelAnswer(text, self.encode(text)) for text in texts]
        for number, answer in enumerate(answers):
            answered(number, answer)
        return answers

    def _mark(self, question: ModelQuestion) -> str:
        return "#### " + self.golds[question.prompt.split("\n\n")[0]]

    def start(self, processor: Path | None, checkpoint: Callable[[], None]) -> None: ...
    def stop(self) -> None: ...
    def log_tail(self) -> list[str]:
        return []


def test_a_baseline_that_wins_is_said_to_win(
    finished: tuple[Path, list[Event]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request that shortens most is chosen; deltas do nothing here, and the product says who beats them."""
    run, _ = finished
    for name in ("clusters.json", "cluster_ids.npy", "cluster_descriptions.json"):
        (tmp_path / "evolution").mkdir(exist_ok=True)
        (tmp_path / "evolution" / name).write_bytes((run / "evolution" / name).read_bytes())
    golds = {one.question: one.answer for split in ("train", "test") for one in generate(split, 30, 0)}
    server = Scripted(golds, load_model(MODEL).tokenizer.encode)
    monkeypatch.setattr("engine.evolution.evolution_run.make_server", lambda context: server)
    events = run_stage(Evolve(), configured(iterations=1), tmp_path, load_model(MODEL))
    rows = {event.method: event for event in events if isinstance(event, MethodCompared)}
    assert rows["brief_prompt"].prompt == BRIEF[1] and rows["brief_prompt"].correctness == 1.0
    assert rows["chosen_cap"].correctness == 1.0, "no cap below the longest answer keeps them right"
    assert baselines_ahead(list(rows.values())) == ["brief_prompt"]
    assert (rows["brief_prompt"].ahead_low or 0) > 0
    asked = [prompt.rpartition("\n\n")[2] for prompt in server.prompts]
    assert asked.count(BRIEF[0]) == 10 and asked.count(BRIEF[1]) == 10 + 12


def test_without_baselines_the_deltas_stand_beside_no_processor(
    finished: tuple[Path, list[Event]], tmp_path: Path
) -> None:
    run, _ = finished
    (tmp_path / "evolution").mkdir()
    for name in ("clusters.json", "cluster_ids.npy", "cluster_descriptions.json"):
        (tmp_path / "evolution" / name).write_bytes((run / "evolution" / name).read_bytes())
    config = configured(
        iterations=1, brief_prompts=[], length_caps=0, validation_size=2, test_size=2, minibatch_size=2
    )
    events = run_stage(Evolve(), config, tmp_path, load_model(MODEL))
    rows = [event.method for event in events if isinstance(event, MethodCompared)]
    assert rows == ["no_processor", "length_cap", "best"] and not layout.baselines(tmp_path).exists()


# ---------------------------------------------------------------- questions and judge


def write_lines(path: Path, *records: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.fixture
def gsm8k(tmp_path: Path) -> Path:
    for split, count in (("train", 8), ("test", 3)):
        lines = [{"question": f"{split} {i}?", "answer": f"So it is.\n#### 1,{i:03}"} for i in range(count)]
        write_lines(tmp_path / f"gsm8k/{split}.jsonl", *lines)
    return tmp_path / "gsm8k"


SMALL = {"minibatch_size": 2, "validation_size": 3, "test_size": 3}


def test_a_published_task_with_its_prompt(gsm8k: Path) -> None:
    config = configured(TaskSection(dataset="gsm8k", path=str(gsm8k)), **SMALL)
    config = config.model_copy(update={"prompt": PromptSection(system="You count.")})
    splits = load_splits(config)
    assert (len(splits.pool), len(splits.validation), len(splits.test)) == (5, 3, 3)
    assert [one.question for one in splits.test] == ["test 0?", "test 1?", "test 2?"]
    asked = ask(splits.test[1], config, 0, "Be brief.")
    assert asked.prompt == Task("gsm8k", "gsm8k").prompt(splits.test[1]) + "\n\nBe brief."
    assert asked.prompt.startswith("test 1?\n\n")
    assert asked.system == "You count."
    judge = TaskJudge(Task("gsm8k", "gsm8k"))
    golds = splits.test[1].meta["answers"]
    assert golds == ["1001"]
    assert judge.judge("", golds, "#### 1,001").correct and judge.judge("", golds, "I say $1001.00").correct
    assert judge.judge("", golds, "#### 1002").correct is False
    assert judge.judge("", golds, "who knows").correct is False
    assert "no answer can be read" in judge.judge("", golds, "who knows").reasoning


def test_an_answer_s_draw_goes_with_run_question_and_iteration(gsm8k: Path) -> None:
    """A request behind the question draws as the question does."""
    config = configured(TaskSection(dataset="gsm8k", path=str(gsm8k)), **SMALL, temperature=0.5)
    runs = [config.model_copy(update={"run": RunSection(seed=seed)}) for seed in (1, 2)]
    examples = load_splits(config).test[:2]
    asked = [ask(one, run, number) for run in runs for one in examples for number in (0, 1)]
    assert len({question.seed for question in asked}) == len(asked) == 8
    assert ask(examples[0], runs[0], 1, "Be brief.").seed == ask(examples[0], runs[0], 1).seed
    assert {(question.max_tokens, question.temperature) for question in asked} == {(160, 0.5)}


def test_the_sets_are_drawn_by_the_run_s_seed(gsm8k: Path) -> None:
    """Of a task, and of generated questions over texts, which are others for each seed."""
    task = configured(TaskSection(dataset="gsm8k", path=str(gsm8k)), **SMALL)
    texts = Config(evolution=EvolutionSection(**offline({**SMALL, "pool_size": 20})))
    generated = [[one.id for one in generated_financebench("dev", 20, seed)] for seed in range(6)]
    assert len({*generated[0], *generated[1]}) == 40
    for config, known in ((task, [[f"gsm8k-train-{n}" for n in range(8)]] * 6), (texts, generated)):
        drawn = [load_splits(config.model_copy(update={"run": RunSection(seed=seed)})) for seed in range(6)]
        aside = [[ids.index(one.id) for one in of.validation] for of, ids in zip(drawn, known, strict=True)]
        assert len({*map(tuple, aside)}) > 1 and all(places == sorted(places) for places in aside)
        asked = [[ids.index(one.id) for one in of.minibatch(0)] for of, ids in zip(drawn, known, strict=True)]
        assert len({*map(tuple, asked)}) > 1


def test_a_minibatch_is_drawn_by_seed_and_iteration() -> None:
    pool = [TaskExample(str(number), "q", "1") for number in range(30)]
    drawn = {
        (seed, iteration): tuple(one.id for one in QuestionSplits(pool, [], [], 5, seed).minibatch(iteration))
        for seed in (1, 2)
        for iteration in (0, 1)
    }
    assert len(set(drawn.values())) == 4


def test_too_few_questions_are_told_with_the_split(gsm8k: Path) -> None:
    task = TaskSection(dataset="gsm8k", path=str(gsm8k))
    with pytest.raises(ConfigError) as caught:
        load_splits(configured(task, minibatch_size=6, validation_size=3, test_size=4))
    told = str(caught.value)
    assert "at most the 8 questions" in told and "at most the 3 questions of task.eval_split `test`" in told
    with pytest.raises(
        ConfigError,
        match=exactly(
            "evolution.minibatch_size, evolution.validation_size: found 2 and 3, expected together at most the 4 "
            "questions that evolution.pool_size takes from task.train_split `train` (configuration): correct this"
            " value"
        ),
    ):
        load_splits(configured(task, **SMALL, pool_size=4))
    just_enough = load_splits(configured(task, **SMALL, pool_size=5))
    assert [len(part) for part in (just_enough.pool, just_enough.validation, just_enough.test)] == [2, 3, 3]


def test_a_question_in_both_splits_is_refused(gsm8k: Path) -> None:
    write_lines(gsm8k / "test.jsonl", *({"question": f"train {i}?", "answer": "#### 1"} for i in range(3)))
    with pytest.raises(
        DataError,
        match=exactly(
            "3 examples are both learnt from and evaluated: gsm8k-test-0, gsm8k-test-1, gsm8k-test-2 "
            "(task.train_split, task.eval_split): choose splits that share no example, or take these out of the "
            "training file"
        ),
    ):
        load_splits(configured(TaskSection(dataset="gsm8k", path=str(gsm8k)), **SMALL))


OUT = ": expected `questions: task` takes its questions from the section `task`: leave `financebench` and `pool` out"
TWO_SETS = (
    "`brief_prompts` and `length_caps` are chosen on the validation set and compared on the test set: set "
    "`validation_size` and `test_size`, or leave them out"
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{questions: task, financebench: f.jsonl}", OUT),
        ("{questions: task, pool: [1]}", OUT),
        (
            "{judge: {kind: task}}",
            ": expected `judge.kind: task` judges a task's answers: set `questions: task`",
        ),
        ("{length_caps: 2, validation_size: 4, test_size: 0}", f": expected {TWO_SETS}"),
        (
            "\n  length_caps: 2\n  test_size: 0",
            f": expected {TWO_SETS}",
        ),  # the line of the key, not of what it holds
        ("{brief_prompts: [Brief.], validation_size: 0, test_size: 4}", f": expected {TWO_SETS}"),
        ("{brief_prompts: ['']}", ".brief_prompts[0]: found '', expected text, not empty"),
    ],
)
def test_settings_that_do_not_fit_together(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"evolution: {text}\n")
    with pytest.raises(
        ConfigError, match=exactly(f"…/c.yaml:1 evolution{words} (configuration): correct this value")
    ):
        load_config(path)


def test_the_judge_follows_the_questions() -> None:
    def kind(**fields: object) -> str:
        return EvolutionSection.model_validate(fields).judge_kind

    assert kind(questions="task", judge={"kind": "auto"}) == "task"
    assert kind(judge={"kind": "auto"}) == "numeric"
    assert kind(questions="task", judge={"kind": "numeric"}) == "numeric"
    assert kind() == kind(questions="task") == "openai"
