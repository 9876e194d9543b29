"""What the field's baselines are made from: the run's settings, and the states of its own answers and library."""

from __future__ import annotations

import math
import typing
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.config.config import Config
from engine.config.esm_methods import METHODS
from engine.config.file import load_config
from engine.errors import DataError
from engine.esm import layout
from engine.esm.baselines import cast, field
from engine.esm.baselines.seal import seal_vector
from engine.esm.evaluation.eval_stage import Evaluate
from engine.esm.evaluation.methods import make_variant, read_sources
from engine.esm.evaluation.sources import Sources, VariantInputs
from engine.esm.layers import field_layer
from engine.esm.vectors import vector_bytes
from engine.files import write_jsonl
from engine.lm.protocol import Completion, ModelInfo, Request
from engine.lm.transformers.model import TransformersModel
from engine.tasks.example import TaskExample
from engine.tasks.loaders import load_task_dataset
from tests.engine.esm.test_field import ANSWERS, LAYER, WORDS
from tests.exactly import exactly
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage


class Telling:
    """A model that writes down whose states it is asked for."""

    def __init__(self, model: TransformersModel) -> None:
        self.model, self.tokenizer = model, model.tokenizer
        self.sequences: list[list[int]] = []

    def states(self, sequences: Sequence[Sequence[int]], *rest: Any) -> Any:
        self.sequences += [list(tokens) for tokens in sequences]
        return self.model.states(sequences, *rest)


def test_thoughts_are_read_under_the_system_prompt(embedded: TransformersModel) -> None:
    beginnings = [embedded.tokenizer.encode_chat(prompt, "be brief") for prompt, _ in ANSWERS]
    assert beginnings[0] != embedded.tokenizer.encode_chat(ANSWERS[0][0])
    telling = Telling(embedded)
    model = typing.cast("TransformersModel", telling)
    seal_vector(model, ANSWERS, LAYER, "\n\n", WORDS, "be brief")
    assert len(telling.sequences) == 2
    for begin, tokens in zip(beginnings, telling.sequences, strict=True):
        assert tokens[: len(begin)] == begin


def test_the_layer_is_the_middle_one_of_those_that_are_mined(embedded: TransformersModel) -> None:
    def layer(**fields: object) -> int:
        return field_layer(Config.model_validate(fields), embedded.info)

    assert layer(offline_mine={"candidate_layers": [0, 1, 3]}) == 1
    assert layer(offline_mine={"candidate_layers": [3]}) == 3
    assert layer(offline_mine={"candidate_layers": [0, 1, 2, 3]}) == 2, "of an even number the later one"
    assert layer(offline_mine={"candidate_layers": [3]}, eval={"field": {"layer": 0}}) == 0
    assert layer(eval={"field": {"layer": 3}}) == 3
    last = "layer 4 does not exist: the model has layers 0 to 3 (eval.field.layer): choose among those"
    with pytest.raises(DataError, match=exactly(last)):
        layer(eval={"field": {"layer": 4}})


def test_a_state_is_compared_with_tanh_of_its_projection() -> None:
    """h = (3, 4) lies along c: without tanh its similarity would be 1."""
    states, unit = np.array([[3.0, 4.0], [-4.0, 3.0]]), np.array([0.6, 0.8], dtype=np.float32)
    a, b = math.tanh(3), math.tanh(4)
    found = cast.similarities(states, unit)
    assert found[0] == pytest.approx((3 * a + 4 * b) / (5 * math.hypot(a, b)), abs=1e-7)
    assert 1 - found[0] > 1e-6 and np.isfinite(found).all()


def test_the_condition_s_axis_goes_about_the_middle_of_the_means_however_many_of_each_there_are() -> None:
    """Along x the means differ, along y the states of the larger group do."""
    random, spread = np.random.default_rng(3), np.array([0.1, 1.5, 0.1])
    steer = np.array([2.0, 0, 0]) + spread * random.standard_normal((3, 3))
    leave = np.array([-2.0, 0, 0]) + spread * random.standard_normal((60, 3))
    middle = (sum(steer) / 3 + sum(leave) / 60) / 2

    def axis(centre: Any) -> np.ndarray:
        values, vectors = np.linalg.eigh(sum(np.outer(s - centre, s - centre) for s in [*steer, *leave]))
        return vectors[:, np.argmax(values)]

    found = cast.condition_vector(steer, leave)
    assert abs(axis(middle) @ found) == pytest.approx(1, abs=1e-5)
    assert abs(axis(np.concatenate([steer, leave]).mean(0)) @ found) < 0.9


def test_cast_is_made_from_the_wrong_and_right_states_of_its_own_layer(tmp_path: Path) -> None:
    """Entries of another layer are the other way about."""
    info = ModelInfo("m", "transformers", "cpu", "float32", 4, 6, 16, 1, "print")
    folder, random = tmp_path / "esm/library", np.random.default_rng(0)
    folder.mkdir(parents=True)
    rows: list[dict[str, object]] = []
    kept: dict[str, list[np.ndarray]] = {"wrong": [], "right": [], "vector": []}
    for number in range(80):
        kind, layer = ("wrong", "right")[number % 2], 1 + number // 40
        side = 3.0 if (kind == "wrong") == (layer == 2) else -0.2
        key = (side * np.eye(6)[0] + 0.1 * random.standard_normal(6)).astype(np.float32)
        vector = np.full(6, number, dtype=np.float32)
        (folder / f"k{number}.pt").write_bytes(vector_bytes(key))
        (folder / f"v{number}.pt").write_bytes(vector_bytes(vector))
        if layer == 2:
            kept[kind].append(key)
            if kind == "wrong":
                kept["vector"].append(vector)
        rows.append(
            {
                "tool_name": f"t{number}", "kind": kind, "example_id": "e", "control_point_m": 1, "layer": layer,
                "quality": 0.5, "key_path": f"k{number}.pt", "model": "print",
                "vector_path": f"v{number}.pt" if kind == "wrong" else None,
            }
        )  # fmt: skip
    write_jsonl(folder / "library.jsonl", rows)
    config = Config.model_validate({"eval": {"field": {"methods": ["cast"], "layer": 2, "scale": 3.0}}})
    sources = read_sources([METHODS["cast"]], config, lambda: info, tmp_path)
    assert sources.library is not None
    condition, mean = sources.library
    assert all(condition.met(key) for key in kept["wrong"])
    assert not any(condition.met(key) for key in kept["right"])
    np.testing.assert_allclose(mean, np.mean(kept["vector"], axis=0))
    model: Any = SimpleNamespace(info=info)
    variant = make_variant("cast", model, config, sources)
    assert variant.retrieve is not None and variant.strength == 3.0
    assert variant.retrieve(2, np.array([kept["right"][0]])).gate == "condition"
    found = variant.retrieve(2, np.array([kept["wrong"][0]]))
    assert found.gate is None and found.hits[0].entry.layer == 2
    np.testing.assert_array_equal(found.hits[0].entry.vector, mean)


def test_prompted_asks_the_question_with_the_request_behind_it(
    embedded: TransformersModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    generate = embedded.generate

    def noted(requests: Sequence[Request], **rest: Any) -> list[Completion]:
        asked.extend(embedded.tokenizer.decode(request.prompt) for request in requests)
        return generate(requests, **rest)

    monkeypatch.setattr(embedded, "generate", noted)
    overrides = (
        "task.eval_size=3", "eval.methods=[greedy]", "eval.ablations=[]", "eval.field.methods=[prompted]",
        "eval.field.prompt=Take care.", "decode.max_new_tokens=8",
    )  # fmt: skip
    config = load_config(DEMO, list(overrides))
    run_stage(Evaluate(), config, tmp_path, embedded)
    questions = [e.question for e in load_task_dataset("generated", None, "test", 3, config.run.seed)]
    plain, prompted = asked[:3], asked[3:]
    for question, without, told in zip(questions, plain, prompted, strict=True):
        assert question in without and "Take care." not in without
        assert f"{question}\nTake care." in told


def test_a_state_across_the_condition_is_not_similar_to_it() -> None:
    """Its projection has no length, and 0 / 0 is no number."""
    states, unit = np.array([[0.0, 5.0], [0.0, 0.0], [7.0, 0.0]]), np.array([1.0, 0.0], dtype=np.float32)
    assert cast.similarities(states, unit).tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(("most", "read"), [(9, "Q a:x, Q a:y, Q b:x"), (2, "Q a:x, Q a:y")])
def test_each_mined_answer_is_read_once_and_no_more_than_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, read: str
) -> None:
    """Those to examples that the run no longer has are passed over: nothing tells how they were asked."""
    examples = [TaskExample(name, name, "1") for name in "ab"]
    monkeypatch.setattr(field, "training_examples", lambda config: examples)
    monkeypatch.setattr(field, "MOST_TEXTS", most)
    write_jsonl(
        layout.mine(tmp_path) / "rollouts.jsonl",
        [
            {
                "example_id": key,
                "rollouts": [{"text": text, "correct": True, "segments": 1} for text in texts],
            }
            for key, texts in (("a", "xxy"), ("gone", "z"), ("b", "xx"))
        ],
    )
    info = ModelInfo("m", "transformers", "cpu", "float32", 4, 8, 16, 1, "print")
    config = load_config(DEMO, ["prompt.template='Q {question}'"])
    found = field.read_answers(config, info, tmp_path)
    assert ", ".join(f"{prompt}:{text}" for prompt, text in found) == read


def test_seal_is_made_with_the_run_s_delimiter_words_and_system_prompt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[Any] = []
    monkeypatch.setattr(
        field, "seal_vector", lambda *rest: given.extend(rest) or np.ones(2, dtype=np.float32)
    )
    settings = ["prompt.system=S", "control_points.segment_delimiter=END", "eval.field.layer=3"]
    config = load_config(DEMO, [*settings, "eval.field.scale=0.5"])
    model: Any = SimpleNamespace(info=SimpleNamespace(num_layers=4))
    made = field.seal(VariantInputs("seal", model, config, Sources(answers=(("Q", "A"),))))
    assert given == [model, (("Q", "A"),), 3, "END", config.eval.field, "S"]
    assert (made.layers, made.strength) == ((3,), 0.5)
