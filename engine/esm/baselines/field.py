"""Baselines of the field, as rows of ESM's table: what others would do with the same model, problems and layer.

- `prompted`: greedy decoding with a request behind the question
- `seal`: one fixed vector away from reflecting thoughts, before every segment: `seal.py`
- `cast`: the library's mean vector, only where a condition on the state is met: `cast.py`
- `stir`: ESM as STIR published its settings (Shi et al. 2026, arXiv 2602.04925, and the README of its code): the 256
  entries that were picked first, injected with k_scale 0.75. STIR mines at 60% of the depth and verifies no entries;
  here layer and entries are those of the run, and so is what is not published (neighbours, probes, their length).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from engine.config.config import Config
from engine.errors import DataError
from engine.esm import layout
from engine.esm.baselines.cast import Condition, fit
from engine.esm.baselines.plain import BaselineInputs, greedy
from engine.esm.baselines.seal import MOST_TEXTS, MinedAnswer, seal_vector
from engine.esm.evaluation.sources import VariantInputs
from engine.esm.examples import training_examples
from engine.esm.layers import field_layer
from engine.esm.lines import read_entries, read_mined
from engine.esm.online.decide import Retrieval
from engine.esm.online.variants import Variant, one_vector, retrieving
from engine.esm.vectors import load_vector
from engine.files import inside, read_jsonl, required
from engine.lm.protocol import ModelInfo, Vector
from engine.tasks.loaders import configured_task

STIR_K_SCALE, STIR_ENTRIES = 0.75, 256


def prompted(inputs: BaselineInputs) -> None:
    """Greedy decoding with a request behind the question."""
    behind = inputs.config.eval.field.prompt
    greedy(inputs, [replace(e, question=f"{e.question}\n{behind}") for e in inputs.examples])


def seal(inputs: VariantInputs) -> Variant:
    """SEAL's vector, before every segment."""
    section, layer = inputs.config.eval.field, field_layer(inputs.config, inputs.model.info)
    delimiter, system = inputs.config.control_points.segment_delimiter, inputs.config.prompt.system
    vector = seal_vector(inputs.model, inputs.sources.answers or (), layer, delimiter, section, system)
    return one_vector(inputs.name, layer, vector, section.scale)


def cast(inputs: VariantInputs) -> Variant:
    """The library's mean vector, before a segment whose state meets the condition."""
    assert inputs.sources.library is not None
    layer = field_layer(inputs.config, inputs.model.info)
    return cast_variant(layer, *inputs.sources.library, inputs.config.eval.field.scale)


def cast_variant(layer: int, condition: Condition, vector: Vector, strength: float) -> Variant:
    """Adds strength * vector before a segment whose state meets the condition."""
    always, refused = one_vector("cast", layer, vector, strength), Retrieval("condition", 1)
    offered = always.retrieve
    assert offered is not None
    return replace(
        always, retrieve=lambda m, states: offered(m, states) if condition.met(states[0]) else refused
    )


def stir(inputs: VariantInputs) -> Variant:
    """The library is in the order in which entries were picked, so its beginning is the smaller library."""
    first = inputs.memory.only(range(min(STIR_ENTRIES, len(inputs.memory.entries))))
    online = inputs.config.online.model_copy(update={"k_scale": STIR_K_SCALE})
    return replace(retrieving(inputs.name, first, online), online=online)


def read_answers(config: Config, info: ModelInfo, run_dir: Path) -> tuple[MinedAnswer, ...]:
    """Distinct mined answers, in the order in which they were mined. Raises DataError, also for a layer that is not
    there."""
    field_layer(config, info)
    path = required(layout.mine(run_dir) / "rollouts.jsonl", "mine")
    task = configured_task(config.task)
    prompts = {e.id: task.prompt(e, config.prompt.template) for e in training_examples(config)}
    answered = (
        (prompts[line["example_id"]], str(rollout.get("text", "")))
        for line in read_mined(read_jsonl(path), path)
        if line["example_id"] in prompts
        for rollout in line["rollouts"]
    )
    return tuple(dict.fromkeys(answered))[:MOST_TEXTS]


def read_library(config: Config, info: ModelInfo, run_dir: Path) -> tuple[Condition, Vector]:
    """The condition between the library's wrong and right states at the layer, and the mean of its vectors there: the
    library itself, as the memory's keys are normalised. Raises DataError."""
    layer, folder = field_layer(config, info), layout.library(run_dir)
    rows = read_entries(folder / "library.jsonl", "select", info.num_layers)
    at_layer = [row for row in rows if row["layer"] == layer]
    keys = {
        kind: [
            load_vector(inside(folder, row["key_path"]), info.hidden_size)
            for row in at_layer
            if (row["vector_path"] is None) is (kind == "right")
        ]
        for kind in ("wrong", "right")
    }
    if not keys["wrong"] or not keys["right"]:
        raise DataError(
            what=f"`cast` needs entries of both kinds at layer {layer}: the library has {len(keys['wrong'])} wrong "
            f"and {len(keys['right'])} right ones there",
            where=str(folder),
            hint="set `eval.field.layer` to a layer that has both, or leave `cast` out of `eval.field.methods`",
        )
    vectors = [
        load_vector(inside(folder, row["vector_path"]), info.hidden_size)
        for row in at_layer
        if row["vector_path"]
    ]
    mean = np.stack(vectors).mean(axis=0, dtype=np.float32)
    return fit(np.stack(keys["wrong"]), np.stack(keys["right"])), mean
