"""The stages of ESM against `oracle.py`, which was written from the specification alone: equal tokens, rewards, pairs,
vectors, library, memory, decisions, answers and tables, on the embedded model in float32."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from engine.config.config import Config
from engine.config.file import load_config
from engine.esm.evaluation.eval_stage import Evaluate
from engine.esm.library.memory_stage import BuildMemory
from engine.esm.library.select_stage import Select
from engine.esm.mining.mine_stage import Mine
from engine.events import Candidate, DecisionTaken, EntryPicked, Event, PairMined
from engine.files import read_jsonl
from engine.lm.loading.load import EMBEDDED
from engine.lm.protocol import Branch, Completion, Finished, Prefixes, Request, Unfinished, ignore
from engine.lm.transformers.model import TransformersModel
from engine.tasks.loaders import load_task_dataset
from tests.engine.esm import oracle
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage

TRAIN, EVALUATED = 8, 5
SMALL = (
    f"task.train_size={TRAIN}", f"task.eval_size={EVALUATED}", "run.seed=4", "control_points.M=4",
    "offline_mine.K=4", "offline_mine.verify=true", "offline_mine.K_pos=2", "offline_mine.K_neg=2",
    "offline_mine.candidate_layers=[1, 2]",
    "offline_mine.max_new_tokens=150", "offline_mine.batch_size_examples=4", "offline_mine.keep_top_C=30",
    "offline_select.B=22", "offline_select.min_per_control_point=1", "offline_select.lambda_diversity=0.5",
    "decode.max_new_tokens=90", "online.batch_size_examples=3", "online.k_retrieve=5", "online.L=2",
    "online.probe_tokens=4", "online.rho=0.5", "online.beta=1.25", "online.k_scale=2.5", "eval.batch_size_greedy=3",
    "eval.methods=[greedy, majority_vote, esm]",
    "eval.ablations=[no_memory, no_probing, random_vector, mean_vector, mean_vector_gated, no_right_entries]",
)  # fmt: skip
METHODS = (
    "esm",
    "no_memory",
    "no_probing",
    "random_vector",
    "mean_vector",
    "mean_vector_gated",
    "no_right_entries",
)
OTHER_SETTINGS = {
    "gates": ("online.min_sim=0.98", "online.min_entries=2", "online.tau_null=0.6", "online.max_tool_m=3"),
    "late": ("online.min_tool_m=3", "online.probe_tokens=0", "control_points.M=3"),
    "carried": ("online.carry_steering=true", "online.k_scale=1.5"),
    "warm": ("decode.temperature=0.8",),
    "short": ("decode.max_new_tokens=30", "control_points.M=2"),
}
CLOSE = 1e-4


@dataclass
class Row:
    """An answer's token ids: what was committed to the prompt, and the last continuation of it, which is its tail if it
    has one (nothing is appended after a tail)."""

    prompt: list[int]
    committed: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)


@dataclass
class Recorder:
    """Token ids that the engine wrote: `requests` with their completions, `rows` of every batch of answers; `texts`:
    all sequences."""

    requests: list[tuple[Request, Completion]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    texts: set[tuple[int, ...]] = field(default_factory=set)

    @contextmanager
    def on(self, model: TransformersModel) -> Iterator[None]:
        generate, opened = model.generate, model.open

        def kept_generate(requests: Sequence[Request], **rest: Any) -> list[Completion]:
            done = generate(requests, **rest)
            for request, completion in zip(requests, done, strict=True):
                self.requests.append((request, completion))
                self.texts.add((*request.prompt, *completion.tokens))
            return done

        def kept_open(prompts: Sequence[Sequence[int]]) -> Prefixes:
            return self._watched(opened(prompts), prompts)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(model, "generate", kept_generate)
            patch.setattr(model, "open", kept_open)
            yield

    def _watched(self, prefixes: Prefixes, prompts: Sequence[Sequence[int]]) -> Prefixes:
        rows = [Row(list(prompt)) for prompt in prompts]
        self.rows += rows
        branch, extend = prefixes.branch, prefixes.extend

        def kept_branch(
            branches: Sequence[Branch], finished: Finished = ignore, unfinished: Unfinished = ignore
        ) -> list[Completion]:
            done = branch(branches, finished, unfinished)
            for one, completion in zip(branches, done, strict=True):
                row = rows[one.row]
                row.last = completion.tokens
                self.texts.add((*row.prompt, *row.committed, *completion.tokens))
            return done

        def kept_extend(row: int, committed: Completion) -> None:
            rows[row].committed.extend(committed.tokens)
            extend(row, committed)

        prefixes.branch, prefixes.extend = kept_branch, kept_extend
        return prefixes


@dataclass
class Run:
    """What the stages did. `folder`: the method's."""

    config: Config
    folder: Path
    events: list[Event]
    seen: Recorder

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@dataclass
class Expected:
    """What the oracle says."""

    plain: oracle.Plain
    train: list[Any]
    evaluated: list[Any]
    rollouts: list[list[oracle.Rollout]]
    pairs: list[oracle.Pair]
    candidates: list[oracle.Entry]

    def library(self, config: Config) -> list[oracle.Entry]:
        return [self.candidates[i] for i, _ in oracle.select(self.candidates, config)]


@pytest.fixture(scope="module")
def model() -> TransformersModel:
    return TransformersModel.load(str(EMBEDDED), device="cpu", dtype="float32", max_num_seqs=32)


@pytest.fixture(scope="module")
def run(model: TransformersModel, tmp_path_factory: pytest.TempPathFactory) -> Run:
    config, folder, seen = load_config(DEMO, list(SMALL)), tmp_path_factory.mktemp("run"), Recorder()
    events: list[Event] = []
    with seen.on(model):
        for stage in (Mine(), Select(), BuildMemory(), Evaluate()):
            events += run_stage(stage, config, folder, model)
    return Run(config, folder / "esm", events, seen)


@pytest.fixture(scope="module")
def expected(run: Run) -> Expected:
    plain = oracle.Plain(EMBEDDED, [*run.seen.texts])
    return mined_by_the_oracle(plain, run.config)


def mined_by_the_oracle(plain: oracle.Plain, config: Config) -> Expected:
    train = load_task_dataset("generated", None, "train", TRAIN, seed=config.run.seed)
    evaluated = load_task_dataset("generated", None, "test", EVALUATED, seed=config.run.seed)
    rollouts = [oracle.roll_out(plain, example, config) for example in train]
    pairs: list[oracle.Pair] = []
    for example, own in zip(train, rollouts, strict=True):
        for pair in oracle.contrasts(plain, example, own, config):
            pair.verified = oracle.verify(plain, example, pair, config)
            pairs.append(pair)
    return Expected(plain, train, evaluated, rollouts, pairs, oracle.candidates(pairs, config))


def vector(path: Path) -> Any:
    return torch.load(path, weights_only=True).numpy()


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def close(found: float | None, wanted: float | None) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return abs(found - wanted) <= CLOSE


def test_a_wrong_guess_changes_nothing(expected: Expected) -> None:
    """Passes over guessed texts give what one pass a token gives."""
    prompt = expected.plain.prompt(expected.train[0].question)
    literal = oracle.Plain(EMBEDDED)
    state = np.linspace(-1, 1, 128)
    steer = [oracle.Injection(len(prompt) - 1, 1, state)]
    for injections, temperature in (([], 1.0), (steer, 0.0)):
        slow = literal.write(prompt, 25, injections, temperature, seed=5)
        astray = oracle.Plain(EMBEDDED, [[*prompt, *slow.tokens[:9], 7, 7, 7], [*prompt, 9]])
        fast = astray.write(prompt, 25, injections, temperature, seed=5)
        assert fast.tokens == slow.tokens and (fast.text, fast.ended) == (slow.text, slow.ended)
        assert np.allclose(fast.logprobs, slow.logprobs, atol=CLOSE)
        assert astray.passes < literal.passes


def test_rollouts_and_rewards(run: Run, expected: Expected) -> None:
    sampled = [(r, c) for r, c in run.seen.requests if r.capture_after is not None]
    lines = read_jsonl(run.folder / "mine/rollouts.jsonl")
    assert [line["example_id"] for line in lines] == [example.id for example in expected.train]
    wanted = [y for own in expected.rollouts for y in own]
    assert [c.tokens for _, c in sampled] == [y.tokens for y in wanted]
    found = [rollout for line in lines for rollout in line["rollouts"]]
    for kept, (_, completion), y in zip(found, sampled, wanted, strict=True):
        assert (kept["text"], kept["correct"]) == (y.text, y.correct)
        assert (kept["tokens"], kept["segments"]) == (len(y.tokens), len(y.ends))
        assert kept["reward"] == pytest.approx(y.reward)
        assert completion.state_ends[:4] == y.ends
    assert 0.2 < np.mean([y.correct for y in wanted]) < 0.8 and len({y.reward for y in wanted}) > 5


def test_pairs_and_what_they_do(run: Run, expected: Expected) -> None:
    last, kept = (
        {event.pair: event for event in run.of(PairMined)},
        read_jsonl(run.folder / "mine/pairs.jsonl"),
    )
    assert last.keys() == {pair.name for pair in expected.pairs}
    for record, pair in zip(kept, expected.pairs, strict=True):
        event = last[pair.name]
        assert (event.example, event.control_point_m, event.layer) == (pair.example, pair.m, pair.layer)
        assert (event.positives, event.negatives) == (len(pair.positives), len(pair.negatives))
        assert (event.positive_text, event.negative_text) == (pair.positives[0].text, pair.negatives[0].text)
        assert event.quality == pytest.approx(pair.quality)
        assert close(event.delta_norm, float(np.linalg.norm(pair.delta)))
        assert (event.steered_correct, event.wrong_correct, event.right_correct) == pair.verified
        assert (record["pair_id"], record["quality"]) == (event.pair, event.quality)
    assert len({pair.verified for pair in expected.pairs}) > 2, "verification decides nothing"


def test_candidates_and_their_vectors(run: Run, expected: Expected) -> None:
    records = read_jsonl(run.folder / "mine/candidates.jsonl")
    assert [record["tool_name"] for record in records] == [entry.name for entry in expected.candidates]
    for record, entry in zip(records, expected.candidates, strict=True):
        assert np.allclose(vector(run.folder / "mine" / record["key_path"]), entry.key, atol=CLOSE)
        assert (record["vector_path"] is None) == (entry.vector is None)
        if entry.vector is not None:
            assert np.allclose(vector(run.folder / "mine" / record["vector_path"]), entry.vector, atol=CLOSE)
    useful = {
        pair.name for pair in expected.pairs if pair.verified and (pair.verified[0] or pair.verified[2])
    }
    assert len({record["pair_id"] for record in records}) == 30 < len(useful), "keep_top_C cuts nothing"
    effects = {int(row["layer"]): row for row in rows_of(run.folder / "mine/effects.csv")}
    for layer in (1, 2):
        own = [pair.verified for pair in expected.pairs if pair.layer == layer and pair.verified]
        fixed, broken = (sum(a == side and b != side for a, b, _ in own) for side in (True, False))
        row = effects[layer]
        assert (int(row["pairs"]), int(row["becomes_right"]), int(row["becomes_wrong"])) == (
            len(own),
            fixed,
            broken,
        )
        assert float(row["p"]) == pytest.approx(oracle.mcnemar(fixed, broken))


@pytest.mark.parametrize(
    "settings",
    [
        (),
        ("offline_select.min_per_control_point=0",),
        (
            "offline_select.min_per_control_point=0",
            "offline_select.lambda_diversity=3",
            "offline_select.B=28",
        ),
        ("offline_select.min_per_control_point=2", "offline_select.epsilon=0.1"),
        ("offline_select.method=top_quality",),
    ],
)
def test_the_library_in_order(
    run: Run, expected: Expected, settings: tuple[str, ...], tmp_path: Path, model: TransformersModel
) -> None:
    config = load_config(DEMO, [*SMALL, *settings])
    (tmp_path / "esm").mkdir()
    (tmp_path / "esm/mine").symlink_to(run.folder / "mine")
    events = [e for e in run_stage(Select(), config, tmp_path, model) if isinstance(e, EntryPicked)]
    picks = oracle.select(expected.candidates, config)
    assert [event.tool_name for event in events] == [expected.candidates[i].name for i, _ in picks]
    assert np.allclose([event.gain for event in events], [gain for _, gain in picks], atol=CLOSE)
    assert np.allclose([e.objective for e in events], np.cumsum([gain for _, gain in picks]), atol=CLOSE)
    assert len(picks) < len(expected.candidates), "selection selects nothing"


def test_memory_holds_the_library_s_keys(run: Run, expected: Expected) -> None:
    library = expected.library(run.config)
    entries = read_jsonl(run.folder / "memory/entries.jsonl")
    assert [entry["tool_name"] for entry in entries] == [entry.name for entry in library]
    assert [entry["control_point_m"] for entry in entries] == [entry.m for entry in library]
    assert [entry["layer"] for entry in entries] == [entry.layer for entry in library]
    assert np.allclose(np.load(run.folder / "memory/keys.npy"), oracle.memory_keys(library), atol=CLOSE)
    assert len({entry.layer for entry in library}) == 2 and len({entry.m for entry in library}) > 2


def check_candidate(found: Candidate, wanted: oracle.Offer, null: oracle.Written | None) -> None:
    assert (found.entry, found.layer) == (wanted.entry.name, wanted.entry.layer)
    assert found.kind == ("right" if wanted.entry.vector is None else "wrong")
    assert close(found.similarity, wanted.similarity) and close(found.ahat, wanted.ahat)
    assert found.quality == pytest.approx(wanted.entry.quality)
    assert close(found.score, wanted.score)
    assert found.probed == (wanted.probe is not None)
    if wanted.probe is not None and null is not None:
        assert (found.probe_text, found.probe_tokens) == (wanted.probe.text, len(wanted.probe.tokens))
        assert close(found.logprob, wanted.probe.mean_logprob)
        assert close(found.delta_logprob, wanted.probe.mean_logprob - null.mean_logprob)


def check_decision(found: DecisionTaken, wanted: oracle.Decision) -> None:
    assert (found.m, found.gate, found.memory_size) == (wanted.m, wanted.gate, wanted.memory_size)
    assert found.phase == ("tail" if wanted.gate == "tail" else "segment")
    for candidate, offer in zip(found.candidates, wanted.offers, strict=True):
        check_candidate(candidate, offer, wanted.null_probe)
    assert close(found.top_similarity, wanted.top_similarity)
    assert close(found.null_ahat, wanted.null_ahat) and close(found.null_score, wanted.null_score)
    assert close(found.null_logprob, wanted.null_probe.mean_logprob if wanted.null_probe else None)
    assert found.null_probe == (wanted.null_probe.text if wanted.null_probe else "")
    chosen = wanted.chosen
    assert (found.chosen, found.layer) == (
        (chosen.entry.name, chosen.entry.layer) if chosen else (None, None)
    )
    assert close(found.score, chosen.score if chosen else None) and close(found.alpha, wanted.alpha)
    assert (found.segment, found.ended) == (wanted.segment, wanted.ended)
    assert (found.committed_tokens, found.probe_tokens) == (len(wanted.tokens), wanted.probe_tokens)
    assert found.null_segment == wanted.null_segment


def check_answers(
    events: Sequence[DecisionTaken],
    lines: Sequence[dict[str, Any]],
    rows: Sequence[Row],
    answers: Sequence[oracle.Answer],
    examples: Sequence[Any],
) -> None:
    """Of one method: decision by decision, then texts, tokens and budgets."""
    assert len(lines) == len(examples)
    for line, row, answer, example in zip(lines, rows, answers, examples, strict=True):
        own = [event for event in events if event.example == example.id]
        for event, decision in zip(own, answer.decisions, strict=True):
            check_decision(event, decision)
        steered = sum(decision.chosen is not None for decision in answer.decisions)
        tail = row.last if answer.decisions[-1].gate == "tail" else []
        assert [*row.committed, *tail] == answer.tokens
        check_line(line, answer, example, steered)


def check_line(line: dict[str, Any], answer: oracle.Answer, example: Any, steered: int = 0) -> None:
    assert (line["example_id"], line["gold"]) == (example.id, example.answer)
    assert (line["text"], line["pred"]) == (answer.text, oracle.marked(answer.text))
    assert line["correct"] == (line["pred"] == example.answer)
    assert (line["tokens_used"], line["probe_tokens_used"]) == (len(answer.tokens), answer.probe_tokens)
    assert (line["budget_used"], line["steered"]) == (len(answer.tokens) + answer.probe_tokens, steered)


@pytest.fixture(scope="module")
def answered(run: Run, expected: Expected) -> dict[str, list[oracle.Answer]]:
    """The oracle's answers by method."""
    library = expected.library(run.config)
    plain_methods: dict[str, Callable[..., oracle.Answer]] = {
        "greedy": oracle.greedy,
        "majority_vote": oracle.majority_vote,
    }
    found = {
        name: [write(expected.plain, example, run.config) for example in expected.evaluated]
        for name, write in plain_methods.items()
    }
    for name in METHODS:
        online = oracle.Online(expected.plain, library, run.config, name)
        found[name] = [online.answer(example) for example in expected.evaluated]
    return found


@pytest.mark.parametrize("method", METHODS)
def test_decisions_and_answers(
    run: Run, expected: Expected, answered: dict[str, list[oracle.Answer]], method: str
) -> None:
    events = [event for event in run.of(DecisionTaken) if event.method == method]
    lines = read_jsonl(run.folder / f"eval/{method}/per_example.jsonl")
    first = METHODS.index(method) * EVALUATED
    rows = run.seen.rows[first : first + EVALUATED]
    check_answers(events, lines, rows, answered[method], expected.evaluated)
    if method != "no_memory":
        assert any(decision.chosen for answer in answered[method] for decision in answer.decisions)


@pytest.mark.parametrize("method", ["greedy", "majority_vote"])
def test_baselines(
    run: Run, expected: Expected, answered: dict[str, list[oracle.Answer]], method: str
) -> None:
    lines = read_jsonl(run.folder / f"eval/{method}/per_example.jsonl")
    for line, answer, example in zip(lines, answered[method], expected.evaluated, strict=True):
        check_line(line, answer, example)


def test_tables(run: Run, expected: Expected, answered: dict[str, list[oracle.Answer]]) -> None:
    rows = {row["method"]: row for row in rows_of(run.folder / "tables/main_results_single.csv")}
    rows |= {row["method"]: row for row in rows_of(run.folder / "tables/ablation.csv")}
    assert rows.keys() == answered.keys()
    right = {
        name: [oracle.marked(a.text) == e.answer for a, e in zip(own, expected.evaluated, strict=True)]
        for name, own in answered.items()
    }
    for name, own in answered.items():
        row = rows[name]
        committed, probes = sum(len(a.tokens) for a in own), sum(a.probe_tokens for a in own)
        assert int(row["n"]) == EVALUATED
        assert float(row["accuracy"]) == pytest.approx(sum(right[name]) / EVALUATED)
        assert float(row["mean_committed_tokens"]) == pytest.approx(committed / EVALUATED)
        assert float(row["mean_probe_tokens"]) == pytest.approx(probes / EVALUATED)
        assert float(row["mean_total_tokens"]) == pytest.approx((committed + probes) / EVALUATED)
        if name == "greedy":
            continue
        gains = [int(a) - int(b) for a, b in zip(right[name], right["greedy"], strict=True)]
        fixed, broken = gains.count(1), gains.count(-1)
        assert (int(row["fixed"]), int(row["broken"])) == (fixed, broken)
        assert float(row["difference"]) == pytest.approx(sum(gains) / EVALUATED)
        assert float(row["mcnemar_p"]) == pytest.approx(oracle.mcnemar(fixed, broken))
        interval = np.quantile(oracle.every_resample(gains), [0.025, 0.975])
        assert [float(row["low"]), float(row["high"])] == pytest.approx(interval, abs=1 / EVALUATED)
    assert any(int(rows[name]["fixed"]) for name in METHODS), "no method fixes anything"


@pytest.mark.parametrize("name", OTHER_SETTINGS)
def test_other_settings(
    run: Run, expected: Expected, model: TransformersModel, tmp_path: Path, name: str
) -> None:
    """Gates and thresholds, steering that is carried on, sampling, and budgets that end inside a segment."""
    settings = ["eval.methods=[esm]", "eval.ablations=[]", *OTHER_SETTINGS[name]]
    config, seen = load_config(DEMO, [*SMALL, *settings]), Recorder()
    (tmp_path / "esm").mkdir()
    for folder in ("library", "memory"):
        (tmp_path / "esm" / folder).symlink_to(run.folder / folder)
    with seen.on(model):
        events = run_stage(Evaluate(), config, tmp_path, model)
    taken = [event for event in events if isinstance(event, DecisionTaken)]
    lines = read_jsonl(tmp_path / "esm/eval/esm/per_example.jsonl")
    expected.plain.guesses = [*run.seen.texts, *seen.texts]
    online = oracle.Online(expected.plain, expected.library(run.config), config, "esm")
    answers = [online.answer(example) for example in expected.evaluated]
    check_answers(taken, lines, seen.rows, answers, expected.evaluated)
    assert {event.gate for event in taken} > {"first_segment"}


@pytest.mark.slow
def test_one_pass_a_token_says_the_same(run: Run, expected: Expected) -> None:
    """The oracle without guesses."""
    literal = mined_by_the_oracle(oracle.Plain(EMBEDDED), run.config)
    assert [pair.verified for pair in literal.pairs] == [pair.verified for pair in expected.pairs]
    assert [[y.tokens for y in own] for own in literal.rollouts] == [
        [y.tokens for y in own] for own in expected.rollouts
    ]
    library = literal.library(run.config)
    assert [entry.name for entry in library] == [entry.name for entry in expected.library(run.config)]
    online, fast = (
        oracle.Online(plain, library, run.config, "esm") for plain in (literal.plain, expected.plain)
    )
    for example in expected.evaluated:
        assert online.answer(example).tokens == fast.answer(example).tokens
