"""Baselines of the field, as rows of ESM's table: what others would do with the same model, problems and layer.

- `prompted`: greedy decoding with a request behind the question
- `seal`: one fixed vector away from reflecting thoughts, before every segment: `seal.py`
- `stable`: the same of stable thoughts, less what the questions are about: `stable.py`
- `cast`: the library's mean vector, only where a condition on the state is met: `cast.py`
- `stir`: ESM as STIR published its settings (Shi et al. 2026, arXiv 2602.04925, and the README of its code): the 256
  entries that were picked first, injected with k_scale 0.75. STIR mines at 60% of the depth and verifies no entries;
  here layer and entries are those of the run, and so is what is not published (neighbours, probes, their length).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from engine.config.config import Config
from engine.config.esm import FieldSection
from engine.errors import DataError
from engine.esm import cast, layout
from engine.esm.decide import Hit, Retrieval
from engine.esm.examples import training_examples
from engine.esm.layout import required
from engine.esm.lines import read_entries, read_mined
from engine.esm.memory import Entry, EpisodicMemory
from engine.esm.mine_work import candidate_layers
from engine.esm.seal import MOST_TEXTS, Answered, seal_vector
from engine.esm.stable import sampled_thoughts, stable_vector
from engine.esm.variants import Variant, make_variant
from engine.esm.vectors import load_vector
from engine.files import inside, read_jsonl
from engine.lm.protocol import LanguageModel, ModelInfo, Vector
from engine.tasks.loaders import configured_task

STIR_K_SCALE, STIR_ENTRIES = 0.75, 256
PROMPTED = "prompted"
FROM_THOUGHTS = ("seal", "stable")
WITHOUT_MEMORY = (PROMPTED, *FROM_THOUGHTS, "cast")
"""They need no memory: `cast` reads the library itself, whose keys are not normalised."""


def field_methods(config: Config) -> list[str]:
    """Those that the configuration asks for."""
    return list(dict.fromkeys(config.eval.field.methods))


@dataclass(frozen=True)
class FieldSources:
    """What they are made from. `answered`: mined answers with their prompts; `condition` with `mean`: of the library at
    `layer`."""

    layer: int = 0
    answered: tuple[Answered, ...] = ()
    condition: cast.Condition | None = None
    mean: Vector | None = None

    @classmethod
    def read(cls, config: Config, run_dir: Path, info: ModelInfo) -> FieldSources:
        """Raises DataError for a layer that is not there, and for files that the methods need and are not there."""
        methods = field_methods(config)
        if not {*FROM_THOUGHTS, "cast"} & set(methods):
            return cls()
        layer = field_layer(config, info)
        answered = _answered(config, run_dir) if {*FROM_THOUGHTS} & set(methods) else ()
        if "cast" not in methods:
            return cls(layer, answered)
        return cls(layer, answered, *_condition(run_dir, layer, info))

    def variant(self, name: str, model: LanguageModel, config: Config, memory: EpisodicMemory) -> Variant:
        """The steering method called `name`."""
        section = config.eval.field
        if name == "stir":
            return _stir(config, memory)
        if name == "cast":
            assert self.condition is not None and self.mean is not None
            return cast_variant(self.layer, self.mean, self.condition, section.scale)
        delimiter, system = config.control_points.segment_delimiter, config.prompt.system
        thoughts = (model, self.answered, self.layer, delimiter, section)
        if name == "stable":
            temperature = config.offline_mine.temperature
            sampled = sampled_thoughts(model, delimiter, temperature, config.run.seed)
            vector = stable_vector(*thoughts, sampled, system)
        else:
            vector = seal_vector(*thoughts, system)
        offered = _offer(name, self.layer, vector)
        return Variant(name, lambda m, states: offered, (self.layer,), probing=False, strength=section.scale)


NO_FIELD = FieldSources()


def prompt_behind(section: FieldSection, question: str) -> str:
    """What the method `prompted` asks."""
    return f"{question}\n{section.prompt}"


def cast_variant(layer: int, vector: Vector, condition: cast.Condition, strength: float) -> Variant:
    """Adds strength * vector before a segment whose state meets the condition."""
    offered, refused = _offer("cast", layer, vector), Retrieval("condition", 1)
    return Variant(
        "cast",
        lambda m, states: offered if condition.met(states[0]) else refused,
        (layer,),
        probing=False,
        strength=strength,
    )


def field_layer(config: Config, info: ModelInfo) -> int:
    """`eval.field.layer`, or the middle one of those that are mined. Raises DataError if the model lacks it."""
    layer = config.eval.field.layer
    if layer is None:
        mined = candidate_layers(config.offline_mine.candidate_layers, info.num_layers)
        return mined[len(mined) // 2]
    if layer >= info.num_layers:
        raise DataError(
            what=f"layer {layer} does not exist: the model has layers 0 to {info.num_layers - 1}",
            where="eval.field.layer",
            mend="choose among those",
        )
    return layer


def _offer(name: str, layer: int, vector: Vector) -> Retrieval:
    return Retrieval(None, 1, [Hit(Entry(name, layer, 0, 1.0, vector, source="all"), 1.0, 1.0)])


def _stir(config: Config, memory: EpisodicMemory) -> Variant:
    """The library is in the order in which entries were picked, so its beginning is the smaller library."""
    first = EpisodicMemory.of(memory.entries[:STIR_ENTRIES], memory.keys[:STIR_ENTRIES])
    online = config.online.model_copy(update={"k_scale": STIR_K_SCALE})
    return replace(make_variant("stir", first, online, config.run.seed), online=online)


def _answered(config: Config, run_dir: Path) -> tuple[Answered, ...]:
    """Distinct mined answers, in the order in which they were mined."""
    path = required(layout.mine(run_dir) / "rollouts.jsonl", "mine")
    task = configured_task(config.task)
    prompts = {e.id: task.prompt(e, config.prompt.template) for e in training_examples(config)}
    found = (
        (prompts[line["example_id"]], str(rollout.get("text", "")))
        for line in read_mined(read_jsonl(path), path)
        if line["example_id"] in prompts
        for rollout in line["rollouts"]
    )
    return tuple(dict.fromkeys(found))[:MOST_TEXTS]


def _condition(run_dir: Path, layer: int, info: ModelInfo) -> tuple[cast.Condition, Vector]:
    """The condition between the library's wrong and right states at `layer`, and the mean of its vectors there."""
    folder = layout.library(run_dir)
    rows = read_entries(folder / "library.jsonl", "select", info.num_layers)
    own = [row for row in rows if row["layer"] == layer]
    keys = {
        kind: [
            load_vector(inside(folder, row["key_path"]), info.hidden_size)
            for row in own
            if (row["vector_path"] is None) is (kind == "right")
        ]
        for kind in ("wrong", "right")
    }
    if not keys["wrong"] or not keys["right"]:
        raise DataError(
            what=f"`cast` needs entries of both kinds at layer {layer}: the library has {len(keys['wrong'])} wrong "
            f"and {len(keys['right'])} right ones there",
            where=str(folder),
            mend="set `eval.field.layer` to a layer that has both, or leave `cast` out of `eval.field.methods`",
        )
    vectors = [
        load_vector(inside(folder, row["vector_path"]), info.hidden_size) for row in own if row["vector_path"]
    ]
    mean = np.stack(vectors).mean(axis=0, dtype=np.float32)
    return cast.fit(np.stack(keys["wrong"]), np.stack(keys["right"])), mean
