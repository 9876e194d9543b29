"""The stages' files against each other: every figure of a later one follows from an earlier one."""

from __future__ import annotations

import csv
import json
import re
import shutil
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.config.file import load_config
from engine.esm.evaluation.eval_stage import Evaluate
from engine.esm.evaluation.eval_work import Answering, Batch
from engine.esm.examples import training_examples
from engine.esm.library.memory_stage import BuildMemory
from engine.esm.mining.gold import gold_rollout
from engine.esm.mining.mine_stage import Mine, top_pairs
from engine.esm.mining.mine_work import MinedPair, Mining
from engine.esm.vectors import load_vector
from engine.events import DecisionTaken, EntryPicked, Event, MethodEvaluated, PairMined, StageFinished
from engine.files import read_jsonl
from engine.lm.protocol import Request, Sampling, Steer
from engine.lm.transformers.model import TransformersModel
from engine.run.stage import StageResult
from engine.scale.work import ReadyWork, Work, WorkContext, in_process
from engine.tasks.example import TaskExample
from engine.tasks.task import Task
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage
from tests.small_esm import SMALL

VERIFIED = ("steered_correct", "wrong_correct", "right_correct")


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_rollouts_hold_the_reward_of_their_tokens(run: tuple[Path, list[Event]]) -> None:
    """R - eta0 |y| / T_max (spec ESM 3.2)."""
    examples = read_jsonl(run[0] / "mine/rollouts.jsonl")
    assert len(examples) == 24 and all(len(example["rollouts"]) == 4 for example in examples)
    for rollout in (rollout for example in examples for rollout in example["rollouts"]):
        assert rollout["reward"] == pytest.approx(rollout["correct"] - 0.1 * rollout["tokens"] / 200)


def test_a_pair_is_a_wrong_and_a_right_candidate(run: tuple[Path, list[Event]]) -> None:
    """Quality is the gap of mean rewards; only the wrong one carries the vector (spec ESM 3.5 to 3.7). An entry is a
    candidate if it did what it stands for when it was tried out."""
    folder, events = run
    candidates = read_jsonl(folder / "mine/candidates.jsonl")
    rewards = {
        example["example_id"]: {
            side: [r["reward"] for r in example["rollouts"] if r["correct"] == side] for side in (True, False)
        }
        for example in read_jsonl(folder / "mine/rollouts.jsonl")
    }
    pairs: dict[str, dict[str, Any]] = {}
    for candidate in candidates:
        pairs.setdefault(candidate["pair_id"], {})[candidate["kind"]] = candidate
    mined = {event.pair: event for event in events if isinstance(event, PairMined)}.values()
    helps = {event.pair for event in mined if event.steered_correct and not event.wrong_correct}
    well_alone = {event.pair for event in mined if event.right_correct}
    assert 5 < len(helps) < len(well_alone) < len(mined)
    assert {name for name, pair in pairs.items() if "wrong" in pair} == helps
    assert {name for name, pair in pairs.items() if "right" in pair} == well_alone
    for pair in pairs.values():
        for kind, entry in pair.items():
            assert (entry["vector_path"] is None) == (kind == "right")
            most = max(rewards[entry["example_id"]][True]) - min(rewards[entry["example_id"]][False])
            assert 0 < entry["quality"] <= most + 1e-9
        if "wrong" in pair:
            assert np.linalg.norm(load_vector(folder / "mine" / pair["wrong"]["vector_path"], 128)) > 0


def test_a_pair_is_verified_by_greedy_answers_from_its_prefixes(embedded: TransformersModel) -> None:
    """From the first wrong rollout with and without the vector, and from the first right one."""
    config, task = load_config(DEMO, [*SMALL, "online.k_scale=1.5"]), Task("generated", "generated")
    reported: list[Event] = []
    context = WorkContext(lambda section: embedded, lambda: None, reported.append)
    results = Mining(config).open(context)(training_examples(config)[:5])
    verified = {event.pair: event for event in reported if isinstance(event, PairMined)}
    examples = {example.id: example for example in training_examples(config)}
    requests: list[Request] = []
    begun: list[tuple[MinedPair, TaskExample, str]] = []
    for mined in results:
        example = examples[mined.line["example_id"]]
        prompt = embedded.tokenizer.encode_chat(task.prompt(example))
        for pair in mined.pairs:
            event, vectors = verified[pair.record["pair_id"]], pair.vectors
            steer = Steer(vectors.right_key - vectors.wrong_key, event.layer, 1.5 * event.quality)
            for text, added in (
                (event.negative_text, steer),
                (event.negative_text, None),
                (event.positive_text, None),
            ):
                prefix = "".join(part + "\n\n" for part in text.split("\n\n")[: event.control_point_m])
                written = embedded.tokenizer.encode(prefix)
                requests.append(Request([*prompt, *written], Sampling(200 - len(written)), steer=added))
                begun.append((pair, example, prefix))
    answers: dict[str, list[bool]] = defaultdict(list)
    for (pair, example, prefix), completion in zip(begun, embedded.generate(requests), strict=True):
        answer = task.extract(prefix + completion.text)
        answers[pair.record["pair_id"]].append(task.is_correct(answer, example.answer))
    for pair, *_ in begun:
        event, outcome = verified[pair.record["pair_id"]], answers[pair.record["pair_id"]]
        assert outcome == [event.steered_correct, event.wrong_correct, event.right_correct]
        assert outcome == [pair.record[key] for key in VERIFIED]
    assert len(set(map(tuple, answers.values()))) > 2, "the cases do not differ"


def test_the_best_pairs_stand_in_the_order_in_which_they_were_mined() -> None:
    """The best of all comes last; of two that are as good the earlier is kept."""
    qualities = {"a": 0.5, "b": 0.7, "c": 0.1, "d": 0.5, "e": 0.9}
    pairs = [{"pair_id": name, "quality": quality} for name, quality in qualities.items()]
    assert [pair["pair_id"] for pair in top_pairs(pairs, 3)] == ["a", "b", "e"]


def test_without_verification_every_pair_is_two_candidates(
    embedded: TransformersModel, tmp_path: Path
) -> None:
    config = load_config(DEMO, [*SMALL, "task.train_size=8", "offline_mine.verify=false"])
    mined = [event for event in run_stage(Mine(), config, tmp_path, embedded) if isinstance(event, PairMined)]
    candidates = read_jsonl(tmp_path / "esm/mine/candidates.jsonl")
    assert len(candidates) == 2 * len(mined) > 10
    assert {event.steered_correct for event in mined} == {None}


def test_library_and_memory_hold_what_was_picked(run: tuple[Path, list[Event]]) -> None:
    """In the same order, with unit keys that are the library's own."""
    folder, events = run
    library = read_jsonl(folder / "library/library.jsonl")
    picked = [event.tool_name for event in events if isinstance(event, EntryPicked)]
    assert [row["tool_name"] for row in library] == picked and len(set(picked)) == 40
    entries, keys = read_jsonl(folder / "memory/entries.jsonl"), np.load(folder / "memory/keys.npy")
    assert [row["tool_name"] for row in entries] == picked
    assert keys.shape == (40, 128) and np.allclose(np.linalg.norm(keys, axis=1), 1, atol=1e-5)
    for row, key in zip(library, keys, strict=True):
        own = load_vector(folder / "library" / row["key_path"], 128)
        assert np.allclose(key, own / np.linalg.norm(own), atol=1e-6)


@pytest.mark.parametrize("method", ["esm", "no_probing"])
def test_answers_add_up_to_their_steps(run: tuple[Path, list[Event]], method: str) -> None:
    """Tokens, budgets and decisions; and the log tells the same."""
    folder, events = run
    lines = read_jsonl(folder / f"eval/{method}/per_example.jsonl")
    logged = [event for event in events if isinstance(event, DecisionTaken) and event.method == method]
    assert len(logged) == sum(len(line["steps"]) for line in lines)
    for line in lines:
        assert line["tokens_used"] == sum(step["committed_tokens"] for step in line["steps"])
        assert line["probe_tokens_used"] == sum(step["probe_tokens"] for step in line["steps"])
        assert line["budget_used"] == line["tokens_used"] + line["probe_tokens_used"]
        assert line["steered"] == sum(step["chosen"] is not None for step in line["steps"])
        mine = [event for event in logged if event.example == line["example_id"]]
        assert "".join(event.segment for event in mine) == line["text"]
    if method == "no_probing":
        assert not any(line["probe_tokens_used"] for line in lines)


def test_what_a_memory_tells_at_its_end(
    run: tuple[Path, list[Event]], tmp_path: Path, embedded: TransformersModel
) -> None:
    shutil.copytree(run[0] / "library", tmp_path / "esm/library")
    results: list[StageResult] = []
    run_stage(BuildMemory(), load_config(DEMO, list(SMALL)), tmp_path, embedded, results=results)
    entries = read_jsonl(run[0] / "library/library.jsonl")
    points = {entry["control_point_m"] for entry in entries}
    files = ["esm/memory/keys.npy", "esm/memory/entries.jsonl", "esm/memory/memory.json"]
    assert results == [StageResult({"entries": len(entries), "control_points": len(points)}, files)]
    assert len(entries) > len(points) > 1


def test_tables_follow_from_the_answers(run: tuple[Path, list[Event]]) -> None:
    folder, _ = run
    rows = [*table(folder / "tables/main_results_single.csv"), *table(folder / "tables/ablation.csv")]
    greedy = read_jsonl(folder / "eval/greedy/per_example.jsonl")
    assert {row["method"] for row in rows} >= {"greedy", "esm", "no_probing"}
    for row in rows:
        lines = read_jsonl(folder / f"eval/{row['method']}/per_example.jsonl")
        right = [line["correct"] for line in lines]
        assert float(row["accuracy"]) == pytest.approx(np.mean(right))
        assert float(row["mean_committed_tokens"]) == pytest.approx(
            np.mean([line["tokens_used"] for line in lines])
        )
        if row["method"] != "greedy":
            fixed = sum(a and not b["correct"] for a, b in zip(right, greedy, strict=True))
            assert int(row["fixed"]) == fixed
            difference = np.mean(right) - np.mean([line["correct"] for line in greedy])
            assert float(row["difference"]) == pytest.approx(difference)
    summary = read_jsonl(folder / "eval/esm/summary.jsonl")[-1]
    assert (summary["n"], summary["T_max"]) == (12, 200)
    compared = json.loads((folder / "tables/compare_T200.json").read_text())
    assert [row["method"] for row in compared] == ["majority_vote", "esm", "no_probing"]
    cases = (folder / "cases/cases_T200.md").read_text()
    shown = {
        name
        for part in re.findall(r"steered at (m=.*):", cases)
        for name in re.findall(r"m=\d+ (.+?) α=", part)
    }
    names = {entry["name"] for entry in read_jsonl(folder / "memory/entries.jsonl")}
    assert cases.startswith("# Cases") and shown and shown <= names


def test_the_verdict_is_the_row_of_esm_beside_greedy(run: tuple[Path, list[Event]]) -> None:
    folder, events = run
    (verdict,) = (event.verdict for event in events if isinstance(event, StageFinished))
    assert verdict is not None and (verdict.metric, verdict.unit, verdict.n) == ("accuracy", "share", 12)
    row = next(
        event
        for event in events
        if isinstance(event, MethodEvaluated) and event.method == "esm" and event.final
    )
    greedy = read_jsonl(folder / "eval/greedy/per_example.jsonl")
    right = [line["correct"] for line in read_jsonl(folder / "eval/esm/per_example.jsonl")]
    assert verdict.curve == pytest.approx(np.cumsum(right) / np.arange(1, 13), abs=1e-3)
    assert (verdict.value, verdict.baseline_value) == pytest.approx(
        (row.accuracy, np.mean([line["correct"] for line in greedy]))
    )
    assert (verdict.difference, verdict.low, verdict.high) == (row.difference, row.low, row.high)
    turned = [own - line["correct"] for own, line in zip(right, greedy, strict=True)]
    assert (verdict.fixed, verdict.broken) == (turned.count(1), turned.count(-1)) and verdict.fixed
    assert verdict.tokens == pytest.approx(row.mean_tokens + row.mean_probe_tokens)


@pytest.mark.parametrize(
    ("source", "sources"), [("gold", {"gold"}), ("rollout_or_gold", {"rollout", "gold"})]
)
def test_positives_from_the_data_set(
    embedded: TransformersModel, tmp_path: Path, source: str, sources: set[str]
) -> None:
    """gold: always the data set's solution; rollout_or_gold: only where no rollout is right (spec ESM 3.4)."""
    config = load_config(
        DEMO,
        [
            *SMALL,
            "task.train_size=12",
            f"offline_mine.pos_source={source}",
            "offline_mine.K=2",
            "offline_mine.verify=false",
        ],
    )
    pairs = [e for e in run_stage(Mine(), config, tmp_path, embedded) if isinstance(e, PairMined)]
    assert {pair.source for pair in pairs} == sources
    right = {
        line["example_id"]: any(rollout["correct"] for rollout in line["rollouts"])
        for line in read_jsonl(tmp_path / "esm/mine/rollouts.jsonl")
    }
    if source == "rollout_or_gold":
        assert all(right[pair.example] == (pair.source == "rollout") for pair in pairs)


def test_gold_is_paid_as_a_rollout_with_its_text(embedded: TransformersModel) -> None:
    """One that the model would write: its tokens, the end token among them, count alike."""
    config = load_config(DEMO, SMALL)
    example = training_examples(config)[0]
    gold = gold_rollout(embedded, embedded.tokenizer.encode(example.question), example, [2], config)
    assert gold is not None
    tokens = [*embedded.tokenizer.encode(gold.text), *embedded.tokenizer.eos_token_ids]
    mine = config.offline_mine
    assert gold.reward == pytest.approx(1 - mine.eta0 * len(tokens) / mine.max_new_tokens)


def test_a_method_s_pace_is_that_of_its_work_however_its_answers_arrive(
    run: tuple[Path, list[Event]], embedded: TransformersModel, tmp_path: Path
) -> None:
    """From several replicas, what was waited for comes all at once."""
    seconds: dict[str, float] = defaultdict(float)

    def at_the_end(work: Work[Any, Any], context: WorkContext) -> ReadyWork[Any, Any]:
        if not isinstance(work, Answering):  # the model's identity
            return in_process(work, context)
        do = work.open(context)

        def over(items: Iterable[Batch]) -> Iterator[Any]:
            found: list[Any] = []
            for item in items:
                begun = time.perf_counter()
                found.append(do(item))
                seconds[item.method] += time.perf_counter() - begun
            return iter(found)

        return over

    shutil.copytree(run[0], tmp_path / "esm", ignore=shutil.ignore_patterns("eval"))
    config = load_config(
        DEMO, [*SMALL, "task.eval_size=6", "eval.methods=[greedy, esm]", "eval.ablations=[]"]
    )
    events = run_stage(Evaluate(), config, tmp_path, embedded, spread=at_the_end)
    paces = {e.method: e for e in events if isinstance(e, MethodEvaluated) and e.final}
    assert paces.keys() == seconds.keys() == {"greedy", "esm"}
    for method, pace in paces.items():
        spent = (pace.mean_tokens + pace.mean_probe_tokens) * pace.n
        assert spent / pace.tokens_per_second == pytest.approx(seconds[method], rel=0.2)
