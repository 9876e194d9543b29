"""Vectors from elsewhere as methods of ESM's table: imported from a file, or made from pairs of prompts."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from engine.config.config import Config
from engine.config.esm import ContrastSection, DecodeSection, EvalSection, VectorSection
from engine.config.esm_methods import METHODS, evaluated_methods
from engine.config.file import load_config
from engine.errors import DataError
from engine.esm.baselines import static
from engine.esm.baselines.prompt_pairs import (
    PromptPair,
    differences,
    mean_difference,
    principal_difference,
    read_pairs,
    state_tokens,
)
from engine.esm.evaluation.eval_stage import Evaluate
from engine.esm.evaluation.methods import make_variant, read_sources
from engine.esm.evaluation.sources import Sources, VariantInputs
from engine.esm.layers import contrast_layer
from engine.esm.online.control_point import Answer
from engine.esm.online.controller import Controller
from engine.esm.online.variants import Variant, one_vector
from engine.files import read_jsonl
from engine.lm.loading.load import EMBEDDED
from engine.lm.protocol import Request, Sampling, Steer, Vector
from engine.lm.transformers.model import TransformersModel
from engine.tasks.loaders import load_task_dataset
from engine.vectors.formats import vector_file
from engine.vectors.layer_vectors import LayerVectors
from engine.vectors.names import FORMATS
from tests.exactly import exactly
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage

LAYER = 2
PAIRS = [
    PromptPair("3 + 4 = 7\n\n", "3 + 4 = 8\n\n"),
    PromptPair("10 - 2 = 8\n\n", "10 - 2 = 3\n\n"),
    PromptPair("= 5", "= 6", prompt="What is 2 + 3?"),
    PromptPair("= 9", "= 1", prompt="What is 4 + 5?"),
]


@pytest.fixture(scope="module")
def model() -> TransformersModel:
    return TransformersModel.load(str(EMBEDDED), device="cpu", dtype="float32")


@pytest.fixture(scope="module")
def vector(model: TransformersModel) -> Vector:
    return 20 * mean_difference(differences(model, PAIRS, LAYER))


def _config(**eval_fields: object) -> Config:
    return Config(decode=DecodeSection(max_new_tokens=60), eval=EvalSection.model_validate(eval_fields))


def _answers(model: TransformersModel, config: Config, variant: Variant) -> list[Answer]:
    examples = load_task_dataset("generated", None, "dev", 4)
    prompts = [model.tokenizer.encode_chat(example.question) for example in examples]
    return Controller(model, config, variant).run([example.id for example in examples], prompts)


def _written(folder: Path, form: str, vector: Vector) -> Path:
    path = folder / f"vector{FORMATS[form].suffix}"
    path.write_bytes(vector_file(form, LayerVectors({LAYER: vector}), "arithmetic", 1.0))
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_an_exported_vector_steers_as_before_it_was_exported(
    form: str, model: TransformersModel, vector: Vector, tmp_path: Path
) -> None:
    section = VectorSection(path=str(_written(tmp_path, form, vector)), layer=LAYER, scale=1.5)
    config = _config(vector=section)
    sources = read_sources([METHODS["imported_vector"]], config, lambda: model.info, tmp_path)
    assert sources.vector is not None and sources.vector[0] == LAYER
    np.testing.assert_array_equal(sources.vector[1], vector)
    assert METHODS["imported_vector"] in evaluated_methods(config)
    assert METHODS["imported_vector"] not in evaluated_methods(_config())
    steered = _answers(model, config, make_variant("imported_vector", model, config, sources))
    direct = _answers(model, config, one_vector("imported_vector", LAYER, vector, 1.5))
    plain = _answers(model, config, Variant("no_memory", None))
    assert [answer.tokens for answer in steered] == [answer.tokens for answer in direct]
    assert [answer.tokens for answer in steered] != [answer.tokens for answer in plain]


def test_a_static_vector_is_added_once_before_each_segment(model: TransformersModel, vector: Vector) -> None:
    """Against segments that are each written by a request of their own."""
    config = _config()
    delimiter, budget = config.control_points.segment_delimiter, config.decode.max_new_tokens
    examples = load_task_dataset("generated", None, "dev", 4)
    answers = _answers(model, config, one_vector("imported_vector", LAYER, vector, 1.5))
    for example, answer in zip(examples, answers, strict=True):
        prompt, written = model.tokenizer.encode_chat(example.question), []
        for decision in answer.decisions:
            may = decision.m >= config.online.min_tool_m and decision.phase == "segment"
            assert decision.alpha == (1.5 if may else 0) and decision.probe_tokens == 0
            assert (decision.gate == "always") is may
            steer = Steer(vector, LAYER, 1.5) if may else None
            stop = delimiter if decision.phase == "segment" else None
            request = Request([*prompt, *written], Sampling(budget - len(written), stop=stop), steer=steer)
            written += model.generate([request])[0].tokens
        assert answer.tokens == written


def _literal_differences(model: TransformersModel) -> np.ndarray:
    """One pass a text through the bare network."""
    tokenizer, network = model.tokenizer, model.network.model

    def state(pair: PromptPair, text: str) -> np.ndarray:
        before = tokenizer.encode_chat(pair.prompt) if pair.prompt else []
        tokens = torch.tensor([[*before, *tokenizer.encode(text)]])
        with torch.no_grad():
            hidden = network(input_ids=tokens, output_hidden_states=True).hidden_states
        return hidden[LAYER + 1][0, -1].double().numpy()

    return np.stack([state(pair, pair.positive) - state(pair, pair.negative) for pair in PAIRS])


def test_directions_of_pairs_equal_a_literal_computation(model: TransformersModel) -> None:
    found, literal = differences(model, PAIRS, LAYER), _literal_differences(model)
    np.testing.assert_allclose(found, literal, atol=2e-4)
    mean = sum(literal) / len(literal)
    np.testing.assert_allclose(mean_difference(found), mean, atol=2e-4)
    values, axes = np.linalg.eigh(sum(np.outer(d, d) for d in literal))
    axis = axes[:, np.argmax(values)]
    axis = axis * np.sign((literal @ axis).mean()) * np.linalg.norm(mean)
    np.testing.assert_allclose(principal_difference(found), axis, atol=2e-3)
    assert np.linalg.norm(principal_difference(found)) == pytest.approx(np.linalg.norm(mean), rel=1e-4)


def test_the_vectors_of_pairs_are_those_of_their_names_with_the_set_layer_and_strength(
    model: TransformersModel, tmp_path: Path
) -> None:
    config = _config(contrast=ContrastSection(path="pairs", layer=1, scale=2.5))
    sources, found = Sources(pairs=tuple(PAIRS)), differences(model, PAIRS, 1)
    for name, made in (("contrast_mean", mean_difference), ("contrast_pca", principal_difference)):
        variant = make_variant(name, model, config, sources)
        assert (variant.name, variant.layers, variant.strength, variant.probing) == (name, (1,), 2.5, False)
        assert variant.retrieve is not None
        (hit,) = variant.retrieve(2, np.zeros((1, model.info.hidden_size), dtype=np.float32)).hits
        assert hit.entry.vector is not None
        np.testing.assert_allclose(hit.entry.vector, made(found), atol=1e-6)
    assert contrast_layer(_config(contrast=ContrastSection()), model.info) == 2, "the middle one of four"


def test_pairs_are_asked_under_the_run_s_system_prompt_and_at_layer_0_where_that_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[Any] = []

    def told(*rest: Any) -> Any:
        given.append(rest)
        return np.ones((1, 2))

    monkeypatch.setattr(static, "differences", told)
    config = load_config(DEMO, ["prompt.system=S", "eval.contrast.layer=0"])
    nobody: Any = SimpleNamespace(info=SimpleNamespace(num_layers=4))
    static.contrast_mean(VariantInputs("contrast_mean", nobody, config, Sources(pairs=tuple(PAIRS))))
    assert given == [(nobody, tuple(PAIRS), 0, "S")]


@pytest.mark.parametrize("layer", [0, 3])
def test_of_a_file_with_several_layers_the_chosen_one_is_read(tmp_path: Path, layer: int) -> None:
    vectors = LayerVectors({n: np.full(4, n + 1.0, dtype=np.float32) for n in (0, 1, 3)})
    path = tmp_path / "v.safetensors"
    path.write_bytes(vector_file("safetensors", vectors, "m", 1.0))
    config = _config(vector=VectorSection(path=str(path), layer=layer))
    info: Any = SimpleNamespace(hidden_size=4, num_layers=4)
    found, vector = static.read_vector(config, info, tmp_path)
    assert (found, vector.tolist()) == (layer, [layer + 1.0] * 4)


def test_answers_of_pairs_begin_under_the_system_prompt(model: TransformersModel) -> None:
    tokenizer = model.tokenizer
    answer = tokenizer.encode("= 5")
    begin = tokenizer.encode_chat("What is 2 + 3?", "be brief")
    assert state_tokens(model, "What is 2 + 3?", "= 5", "be brief") == [*begin, *answer]
    assert state_tokens(model, None, "= 5", "be brief") == answer
    asked = differences(model, PAIRS[2:], LAYER, "be brief")
    assert np.abs(asked - differences(model, PAIRS[2:], LAYER)).max() > 1e-3


def test_all_static_methods_stand_in_the_table_without_a_memory(
    model: TransformersModel, vector: Vector, tmp_path: Path
) -> None:
    """`eval` alone: nothing was mined."""
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("\n".join(json.dumps({"positive": p.positive, "negative": p.negative}) for p in PAIRS))
    overrides = (
        "task.eval_size=6", "eval.methods=[greedy]", "eval.ablations=[]", "eval.contrast.layer=2",
        f"eval.vector.path={_written(tmp_path, 'gguf', vector)}", f"eval.contrast.path={pairs}",
    )  # fmt: skip
    run_stage(Evaluate(), load_config(DEMO, list(overrides)), tmp_path, model)
    table = json.loads((tmp_path / "esm/tables/compare_T200.json").read_text())
    names = ["imported_vector", "contrast_mean", "contrast_pca"]
    assert [row["method"] for row in table] == names and all(row["n"] == 6 for row in table)
    for name in names:
        lines = read_jsonl(tmp_path / f"esm/eval/{name}/per_example.jsonl")
        steps = [step for line in lines for step in line["steps"] if step["chosen"]]
        assert steps and {(step["chosen"], step["layer"], step["alpha"]) for step in steps} == {(name, 2, 1)}


def test_files_may_lie_below_the_user_s_folder(
    model: TransformersModel, vector: Vector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    written = _written(tmp_path, "gguf", vector)
    (tmp_path / "pairs.jsonl").write_text('{"positive": "a", "negative": "b"}\n')
    config = _config(
        vector=VectorSection(path=f"~/{written.name}"), contrast=ContrastSection(path="~/pairs.jsonl")
    )
    methods = [METHODS["imported_vector"], METHODS["contrast_mean"]]
    sources = read_sources(methods, config, lambda: model.info, tmp_path / "run")
    assert sources.vector is not None and sources.vector[0] == LAYER
    assert sources.pairs == (PromptPair("a", "b"),)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"positive": "a"}', "pairs.jsonl:2): write"),
        ('{"positive": "a", "negative": "a"}', "the same text"),
        ('{"positive": "a", "negative": 3}', "`negative`: expected str, got int"),
        ('{"positive": "a", "negative": "b", "prompt": 1}', "`prompt`: expected str"),
        ('{"positive": "a", "negative": "b", "question": "c"}', "unknown field `question`"),
        ("{", "pairs.jsonl:2"),
    ],
)
def test_a_bad_pair_is_told_with_its_line(line: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(f'{{"positive": "a", "negative": "b"}}\n{line}\n')
    with pytest.raises(DataError) as caught:
        read_pairs(path)
    assert said in str(caught.value)


def test_pairs_that_differ_in_nothing_and_layers_that_are_not_there_are_told(
    model: TransformersModel, tmp_path: Path
) -> None:
    with pytest.raises(
        DataError,
        match=exactly(
            "positive and negative texts have the same states on average (eval.contrast.path): take pairs whose "
            "last tokens come after what differs"
        ),
    ):
        mean_difference(np.zeros((3, 8)))
    with pytest.raises(
        DataError,
        match=exactly(
            "layer 9 does not exist: the model has layers 0 to 3 (eval.contrast.layer): choose among those"
        ),
    ):
        contrast_layer(_config(contrast=ContrastSection(layer=9)), model.info)
    path = tmp_path / "pairs.jsonl"
    path.write_text("")
    with pytest.raises(
        DataError, match=exactly("the file holds no pairs (…/pairs.jsonl): write a pair a line")
    ):
        read_pairs(path)
