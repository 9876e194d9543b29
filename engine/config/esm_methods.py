"""Every method that ESM's stage `eval` decodes problems with: its name, what it needs, how it is made, what it is.

Names only, without the code that they stand for: a screen reads this table as well as a stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from engine.config.config import Config

FieldName = Literal["methods", "ablations", "vector", "contrast", "field"]
"""The field of `eval` that asks for a method."""

Need = Literal["nothing", "memory", "library", "answers", "vector", "pairs"]
"""A run's memory, library or mined answers; the file of `eval.vector`, or of `eval.contrast`."""


@dataclass(frozen=True)
class EvalMethod:
    """`about`: what it is, in a sentence. `module`: of `engine.esm`; its function of the method's name makes the
    controller's `Variant` or, where the method never `steers`, decodes a batch itself."""

    name: str
    asked_by: FieldName
    needs: Need
    module: str
    about: str
    steers: bool = True


_ALL = (
    EvalMethod("greedy", "methods", "nothing", "baselines.plain",
               "the model alone; what the others are compared with", steers=False),
    EvalMethod("majority_vote", "methods", "nothing", "baselines.plain",
               "the most frequent answer of several samples, not steered", steers=False),
    EvalMethod("esm", "methods", "memory", "online.variants",
               "steered by the entry of the memory that fits the state best"),
    EvalMethod("no_memory", "ablations", "nothing", "online.variants", "esm without a memory: never steered"),
    EvalMethod("no_probing", "ablations", "memory", "online.variants",
               "esm without probes: the entry with the largest Â is injected"),
    EvalMethod("random_vector", "ablations", "memory", "online.variants",
               "esm with random directions in place of the mined vectors"),
    EvalMethod("mean_vector", "ablations", "memory", "online.variants",
               "a layer's mean vector at its mean quality, without a memory: nothing speaks for null"),
    EvalMethod("mean_vector_gated", "ablations", "memory", "online.variants",
               "esm's memory and gates, with the mean vector in place of each entry's"),
    EvalMethod("no_right_entries", "ablations", "memory", "online.variants",
               "esm without right entries: nothing speaks for null"),
    EvalMethod("imported_vector", "vector", "vector", "baselines.static",
               "one vector of another tool, before every segment; no memory"),
    EvalMethod("contrast_mean", "contrast", "pairs", "baselines.static",
               "the mean difference of pairs of prompts, before every segment; no memory"),
    EvalMethod("contrast_pca", "contrast", "pairs", "baselines.static",
               "the main direction of pairs of prompts, before every segment; no memory"),
    EvalMethod("prompted", "field", "nothing", "baselines.field",
               "greedy, with a request behind the question; not steered", steers=False),
    EvalMethod("seal", "field", "answers", "baselines.field",
               "one vector away from thoughts that reflect, before every segment; no memory"),
    EvalMethod("cast", "field", "library", "baselines.field",
               "one mean vector, only where a condition on the state is met; no memory"),
    EvalMethod("stir", "field", "memory", "baselines.field", "esm with the settings that STIR published"),
)  # fmt: skip

METHODS = {method.name: method for method in _ALL}
"""By name, in the order in which they are decoded and stand in tables."""


def evaluated_methods(config: Config) -> list[EvalMethod]:
    """Those that a configuration asks for: a vector or pairs of prompts by naming their file, the others by name."""
    section = config.eval
    asked: dict[FieldName, list[str]] = {
        "methods": section.methods,
        "ablations": section.ablations,
        "vector": ["imported_vector"] if section.vector.path else [],
        "contrast": section.contrast.arms if section.contrast.path else [],
        "field": section.field.methods,
    }
    return [method for method in _ALL if method.name in asked[method.asked_by]]
