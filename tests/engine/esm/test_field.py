"""The field's baselines as methods of ESM's table, against small literal computations."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from engine.config.config import Config
from engine.config.esm import DecodeSection, EvalSection, FieldSection, OnlineSection
from engine.config.file import load_config
from engine.errors import DataError
from engine.esm.baselines import cast
from engine.esm.baselines.field import cast_variant
from engine.esm.baselines.seal import executes, seal_vector
from engine.esm.evaluation.eval_stage import Evaluate
from engine.esm.evaluation.methods import make_variant
from engine.esm.evaluation.sources import Sources
from engine.esm.library.memory import Entry, EpisodicMemory
from engine.esm.online.control_point import Decider
from engine.esm.online.controller import Controller
from engine.files import read_jsonl
from engine.lm.loading.load import EMBEDDED
from engine.lm.transformers.model import TransformersModel
from engine.tasks.loaders import load_task_dataset
from tests.exactly import exactly
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage

LAYER = 2
ANSWERS = [
    ("3 pens and 4 pens?", "Forward: 3\n\nQuick: let me see, 3 + 4\n\nForward: 3 + 4 = 7\n\n#### 7"),
    ("9 cups, 2 gone?", "Quick: 9\n\nForward: 9 - 2 = 7\n\nForward: we verify it\n\n#### 7"),
]
WORDS = FieldSection(openings=["Quick:"])


@pytest.fixture(scope="module")
def model() -> TransformersModel:
    return TransformersModel.load(str(EMBEDDED), device="cpu", dtype="float32")


def test_a_thought_is_told_by_its_words_as_seal_tells_it() -> None:
    usual = FieldSection()
    assert executes("So 3 + 4 = 7.", usual) and executes("We wait for the bus.", usual)
    assert executes("They VERIFY it in Another Way.", usual), "capitals count"
    for thought in (" Wait, that is odd", "Alternatively, add", "now we verify it", "in another way"):
        assert not executes(thought, usual)


def test_seals_vector_equals_a_literal_computation(
    model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One full pass a thought: the state of the delimiter before it, at its last token."""
    groups: dict[bool, list[np.ndarray]] = {True: [], False: []}
    goes_on = [[False, True, True], [True, False, True]]
    for (prompt, answer), kinds in zip(ANSWERS, goes_on, strict=True):
        pieces = answer.split("\n\n")
        for number, kind in enumerate(kinds, 1):
            tokens = model.tokenizer.encode_chat(prompt)
            for piece in pieces[:number]:
                tokens = [*tokens, *model.tokenizer.encode(piece + "\n\n")]
            with torch.no_grad():
                hidden = model.network.model(input_ids=torch.tensor([tokens]), output_hidden_states=True)
            groups[kind].append(hidden.hidden_states[LAYER + 1][0, -1].double().numpy())
    literal = np.mean(groups[True], axis=0) - np.mean(groups[False], axis=0)
    found = seal_vector(model, ANSWERS, LAYER, "\n\n", WORDS)
    np.testing.assert_allclose(found, literal, atol=2e-4)
    monkeypatch.setattr(FieldSection, "reflection", [])
    monkeypatch.setattr(FieldSection, "transition", [])
    with pytest.raises(DataError, match="of 6 thoughts in 2 mined answers 0 reflect"):
        seal_vector(model, ANSWERS, LAYER, "\n\n", FieldSection(openings=[]))


class Letters:
    """A token a character; the state of a token is its place and its number, at each layer."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.tokenizer = SimpleNamespace(
            encode=lambda text: [ord(letter) for letter in text],
            encode_chat=lambda prompt, system: [1] * (len(prompt) + len(system or "")),
        )

    def states(self, sequences: Any, positions: Any, layers: Any) -> list[np.ndarray]:
        self.asked.append(len(sequences))
        return [
            np.array([[[at, tokens[at], layer] for layer in layers] for at in own], dtype=np.float32)
            for tokens, own in zip(sequences, positions, strict=True)
        ]


@pytest.mark.parametrize(("at_once", "asked"), [(1, [1, 1, 1]), (2, [2, 1]), (32, [3])])
def test_seals_vector_by_hand(monkeypatch: pytest.MonkeyPatch, at_once: int, asked: list[int]) -> None:
    """States of the delimiters before the thoughts: executing at places 5, 9 and 4, the others at 5 and 9."""
    monkeypatch.setattr("engine.esm.baselines.seal._AT_ONCE", at_once)
    model: Any = Letters()
    answered = [("p", "a|;b|;Quick: c"), ("pp", "a|;Quick: b"), ("", "b|;c")]
    found = seal_vector(model, answered, 3, "|;", WORDS, system="s")
    ends = {True: [2 + 2, 1 + 2], False: [2 + 5, 3 + 2]}
    assert found.tolist() == [sum(ends[True]) / 2 - sum(ends[False]) / 2, 0.0, 0.0]
    assert model.asked == asked and found.dtype == np.float32


def test_casts_condition_equals_a_literal_computation() -> None:
    random = np.random.default_rng(0)
    axis = np.eye(6)[0]
    steer = 3 * axis + 0.1 * random.standard_normal((40, 6))
    leave = -0.2 * axis + random.standard_normal((50, 6)) * np.array([0.1, 1, 1, 1, 1, 1])
    condition = cast.fit(steer, leave)
    middle = (steer.mean(0) + leave.mean(0)) / 2
    values, vectors = np.linalg.eigh(sum(np.outer(s - middle, s - middle) for s in [*steer, *leave]))
    first = vectors[:, np.argmax(values)]
    assert abs(first @ condition.vector) == pytest.approx(1, abs=1e-5)

    def similarity(state: np.ndarray) -> float:
        projected = np.tanh(np.outer(first, first) / (first @ first) @ state)
        return float(state @ projected / np.linalg.norm(state) / np.linalg.norm(projected))

    wanted = [True] * len(steer) + [False] * len(leave)
    seen = [similarity(state) for state in [*steer, *leave]]

    def f1(threshold: float, at_least: bool) -> float:
        said = [(value >= threshold) == at_least for value in seen]
        hits = sum(a and b for a, b in zip(said, wanted, strict=True))
        return 2 * hits / (sum(said) + sum(wanted))

    best = max(f1(threshold, side) for threshold in seen for side in (True, False))
    assert condition.f1 == pytest.approx(best) and condition.f1 > 0.95 and condition.at_least
    assert condition.met(steer[0]) and not condition.met(leave[np.argmin(seen[40:])])
    away = cast.fit(leave, steer)
    assert away.f1 > 0.95 and not away.met(steer[0])


def test_cast_steers_only_where_the_state_meets_the_condition(model: TransformersModel) -> None:
    config = Config(decode=DecodeSection(max_new_tokens=60))
    examples = load_task_dataset("generated", None, "dev", 4)
    prompts = [model.tokenizer.encode_chat(example.question) for example in examples]
    vector = np.zeros(model.info.hidden_size, dtype=np.float32)
    states = model.open(prompts).states(range(4), [LAYER])[:, 0]
    condition = cast.fit(states[:2] + 1, states[2:] - 1)
    answers = Controller(model, config, cast_variant(LAYER, condition, vector, 2.0)).run(
        [example.id for example in examples], prompts
    )
    decisions = [decision for answer in answers for decision in answer.decisions]
    for answer, prompt in zip(answers, prompts, strict=True):
        written: list[int] = []
        for decision in answer.decisions:
            if decision.gate in ("always", "condition"):
                state = model.states([[*prompt, *written]], [[len(prompt) + len(written) - 1]], [LAYER])[0][
                    0, 0
                ]
                assert (decision.gate == "always") is condition.met(state)
                assert decision.alpha == (2.0 if decision.gate == "always" else 0.0)
            written += answer.tokens[len(written) : len(written) + decision.committed_tokens]
    assert {"first_segment"} < {decision.gate for decision in decisions}


def test_of_thresholds_that_separate_alike_the_lowest_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 0.3, 0.6 that want steering and 0.4, 0.5 that want none: from 0.3 on all four, or below 0.4, or from 0.6 on
    the one alone have F1 2/3."""
    monkeypatch.setattr(cast, "similarities", lambda states, vector: states[:, 0])
    steer, leave = np.array([[0.3, 1.0], [0.6, 0.0]]), np.array([[0.4, 0.0], [0.5, 0.0]])
    found = cast.fit(steer, leave)
    assert (found.threshold, found.at_least, found.f1) == (0.3, True, pytest.approx(2 / 3))


def test_stir_is_esm_with_the_first_entries_and_its_own_scale(model: TransformersModel) -> None:
    width = model.info.hidden_size
    entries = [
        Entry(f"e{number}", LAYER, 1, 1.0, np.ones(width, dtype=np.float32), "x") for number in range(300)
    ]
    memory = EpisodicMemory.of(entries, np.ones((300, width), dtype=np.float32))
    config = Config(online=OnlineSection(k_scale=9.0, k_retrieve=400))
    variant = make_variant("stir", model, config, Sources(memory))
    assert variant.retrieve is not None and variant.online is not None and variant.online.k_scale == 0.75
    found = variant.retrieve(2, np.ones((1, width), dtype=np.float32))
    assert {hit.entry.tool_name for hit in found.hits} == {f"e{number}" for number in range(256)}
    assert Decider.of(config, variant).online.k_scale == 0.75 and config.online.k_scale == 9.0


def _run(folder: Path, methods: str, *overrides: str) -> list[dict[str, object]]:
    common = ("task.eval_size=4", "task.train_size=2", "eval.methods=[greedy]", "eval.ablations=[]")
    config = load_config(DEMO, [*common, f"eval.field.methods={methods}", *overrides])
    run_stage(Evaluate(), config, folder, TransformersModel.load(str(EMBEDDED), device="cpu"))
    return json.loads((folder / "esm/tables/compare_T200.json").read_text())


def test_prompted_and_seal_stand_in_the_table_without_a_memory(tmp_path: Path) -> None:
    examples = load_task_dataset("generated", None, "train", 2)
    mined = [
        {
            "example_id": example.id,
            "rollouts": [{"correct": True, "segments": 3, "text": text} for _, text in ANSWERS],
        }
        for example in examples
    ]
    path = tmp_path / "esm/mine/rollouts.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in mined))
    rows = _run(tmp_path, "[prompted, seal]", 'eval.field.openings=["Quick:"]', "eval.field.scale=2")
    assert [row["method"] for row in rows] == ["prompted", "seal"]
    steps = [s for line in read_jsonl(tmp_path / "esm/eval/seal/per_example.jsonl") for s in line["steps"]]
    assert {s["alpha"] for s in steps if s["chosen"]} == {2.0}
    asked = read_jsonl(tmp_path / "esm/eval/prompted/per_example.jsonl")
    assert all(not line["steps"] and not line["question"].endswith("write it.") for line in asked)


def test_what_a_baseline_lacks_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match=exactly(
            "`rollouts.jsonl` is not there (…/esm/mine/rollouts.jsonl): run the stage `mine` of this run first"
        ),
    ):
        _run(tmp_path, "[seal]")
    with pytest.raises(
        DataError,
        match=exactly(
            "`library.jsonl` is not there (…/esm/library/library.jsonl): run the stage `select` of this run first"
        ),
    ):
        _run(tmp_path, "[cast]")
    with pytest.raises(
        DataError,
        match=exactly(
            "layer 9 does not exist: the model has layers 0 to 3 (eval.field.layer): choose among those"
        ),
    ):
        _run(tmp_path, "[cast]", "eval.field.layer=9")
    assert EvalSection().field.methods == []
