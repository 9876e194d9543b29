"""The table of methods: each can be asked for, is made, and says what it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.config.config import Config
from engine.config.esm_methods import METHODS, EvalMethod, evaluated_methods
from engine.errors import DataError
from engine.esm.evaluation.methods import make_variant, maker, read_sources
from engine.esm.evaluation.sources import Sources
from engine.esm.library.memory import Entry, EpisodicMemory
from engine.lm.protocol import ModelInfo
from engine.lm.transformers.model import TransformersModel
from tests.exactly import exactly

INFO = ModelInfo("m", "transformers", "cpu", "float32", 4, 6, 16, 1, "print")


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_the_function_of_a_method_is_there_and_its_sentence_says_something(method: EvalMethod) -> None:
    assert callable(maker(method)) and len(method.about.split()) >= 5
    assert method.steers or method.needs == "nothing"


def test_a_configuration_asks_for_methods_in_the_table_s_order() -> None:
    config = Config.model_validate(
        {
            "eval": {
                "methods": ["esm", "greedy"], "ablations": ["mean_vector", "no_memory"], "vector": {"path": "v"},
                "contrast": {"path": "p"}, "field": {"methods": ["stir", "prompted"]},
            }
        }
    )  # fmt: skip
    assert [method.name for method in evaluated_methods(config)] == [
        "greedy", "esm", "no_memory", "mean_vector", "imported_vector", "contrast_mean", "contrast_pca",
        "prompted", "stir",
    ]  # fmt: skip


def test_only_what_is_needed_is_read(tmp_path: Path) -> None:
    """Nor is the model asked who it is where nothing is needed."""

    def nobody() -> ModelInfo:
        raise AssertionError

    plain = [method for method in METHODS.values() if method.needs == "nothing"]
    assert {method.name for method in plain} == {"greedy", "majority_vote", "no_memory", "prompted"}
    assert read_sources(plain, Config(), nobody, tmp_path) == Sources()
    for name, file, stage in (
        ("esm", "memory/entries.jsonl", "memory"), ("cast", "library/library.jsonl", "select"),
        ("seal", "mine/rollouts.jsonl", "mine"),
    ):  # fmt: skip
        words = f"`{Path(file).name}` is not there (…/esm/{file}): run the stage `{stage}` of this run first"
        with pytest.raises(DataError, match=exactly(words)):
            read_sources([METHODS[name]], Config(), lambda: INFO, tmp_path)


def test_control_variants_change_one_thing_of_the_run_s_own_esm(embedded: TransformersModel) -> None:
    """With online.variant no_probing none of them probes; by itself only no_probing does not."""
    width = embedded.info.hidden_size
    entries = [
        Entry("w", 2, 1, 0.5, np.full(width, 2.0, dtype=np.float32), "x"), Entry("r", 2, 1, 0.5, None, "x"),
    ]  # fmt: skip
    sources = Sources(EpisodicMemory.of(entries, np.ones((2, width), dtype=np.float32)))
    names = ("esm", "no_probing", "random_vector", "mean_vector", "mean_vector_gated", "no_right_entries")
    for variant, probing in (("esm", {"no_probing"}), ("no_probing", {*names})):
        config = Config.model_validate({"online": {"variant": variant}})
        made = {name: make_variant(name, embedded, config, sources) for name in names}
        assert {name for name, one in made.items() if not one.probing} == probing
        state = np.ones((1, width), dtype=np.float32)
        hits = {
            name: [hit.entry.tool_name for hit in one.retrieve(2, state).hits]
            for name, one in made.items()
            if one.retrieve
        }
        assert hits["esm"] == hits["random_vector"] == hits["mean_vector_gated"] == ["w", "r"]
        assert (hits["no_right_entries"], hits["mean_vector"]) == (["w"], ["layer 2 mean"])


def test_no_probing_is_esm_without_probes() -> None:
    entries = [Entry("w", 2, 1, 0.5, np.ones(2, dtype=np.float32), "x")]
    sources = Sources(EpisodicMemory.of(entries, np.ones((1, 2), dtype=np.float32)))
    nobody: Any = None
    for variant, probing in (("esm", True), ("no_probing", False)):
        made = make_variant(variant, nobody, Config(), sources)
        assert (made.name, made.probing, made.layers, made.strength) == (variant, probing, (2,), None)
        assert made.retrieve is not None
        found = made.retrieve(2, np.ones((1, 2), dtype=np.float32))
        assert [hit.entry.tool_name for hit in found.hits] == ["w"]
    none = make_variant("no_memory", nobody, Config(), sources)
    assert (none.name, none.retrieve) == ("no_memory", None)


def test_the_mean_vector_is_as_good_as_the_entries_that_have_vectors(embedded: TransformersModel) -> None:
    """Two of quality 0.5 and 0.7, and one that speaks for null, which is in neither mean."""
    width = embedded.info.hidden_size
    vectors = [np.full(width, number, dtype=np.float32) for number in (2.0, 4.0)]
    entries = [
        Entry("w", 2, 1, 0.5, vectors[0], "x"),
        Entry("v", 2, 1, 0.7, vectors[1], "x"),
        Entry("r", 2, 1, 0.0, None, "x"),
    ]
    sources = Sources(EpisodicMemory.of(entries, np.ones((3, width), dtype=np.float32)))
    retrieve = make_variant("mean_vector", embedded, Config(), sources).retrieve
    assert retrieve is not None
    [hit] = retrieve(2, np.ones((1, width), dtype=np.float32)).hits
    assert hit.entry.vector is not None
    assert (hit.entry.quality, set(hit.entry.vector)) == (pytest.approx(0.6), {3.0})
    assert hit.ahat == pytest.approx(0.6)
