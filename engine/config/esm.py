"""Configuration of ESM: its task, its decoding, and its four stages (spec ESM 5)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from engine.config.esm_methods import METHODS, FieldName
from engine.config.method import MethodSections, StageEntry
from engine.config.section import Finite, NonNegativeInt, PositiveInt, Section


class FieldsSection(Section):
    question: str = Field(default="question", description="Field that holds the problem.")
    answer: str = Field(default="answer", description="Field that holds the right answer.")
    solution: str | None = Field(default=None, description="Field that holds a worked solution, if any.")
    choices: str | None = Field(
        default=None, description="Field with the texts of a multiple choice; none: the question lists them."
    )
    id: str | None = Field(default=None, description="Field that names the problem; none: its number.")


class TaskSection(Section):
    dataset: Literal["generated", "gsm8k", "math500", "arc-c", "aime", "files"] = Field(
        default="generated",
        description="Which task: its loader, prompt, answer extraction and metric. `files`: files of any form, see "
        "`fields` and `compare`.",
    )
    fields: FieldsSection = Field(
        default=FieldsSection(), description="What the fields of a record are called, with dataset `files`."
    )
    compare: Annotated[
        str,
        Field(
            pattern=r"^(exact|number|math|choice|[A-Za-z_][\w.]*:[A-Za-z_]\w*)$",
            max_length=200,
            json_schema_extra={"words": "exact, number, math, choice or `module:function` of your own"},
        ),
    ] = Field(
        default="exact",
        description="How an answer is read and compared, with dataset `files`: exact, number, math, choice, or "
        "`module:function` of the text and the right answer.",
    )
    path: str | None = Field(
        default=None,
        description="File or folder (JSONL, parquet, JSON, CSV), or `hub:owner/name`; none: its copy on the hub.",
    )
    train_split: str = Field(default="train", description="Split that is mined.")
    train_size: PositiveInt = Field(default=200, description="Examples to mine.")
    eval_split: str = Field(default="test", description="Split that is evaluated.")
    eval_size: PositiveInt = Field(default=200, description="Examples to evaluate.")
    shuffle: bool = Field(
        default=False, description="Take a seeded random subset instead of the first examples."
    )

    @model_validator(mode="after")
    def _files_need_a_path(self) -> TaskSection:
        if self.dataset == "files" and self.path is None:
            raise ValueError("dataset `files` needs `task.path`: a file, a folder or hub:owner/name")
        return self


class PromptSection(Section):
    template: str | None = Field(
        default=None, description="User prompt with `{question}`; none: the task's own."
    )
    system: str | None = Field(default=None, description="System message, if any.")


class DecodeSection(Section):
    max_new_tokens: PositiveInt = Field(
        default=256, description="T_max: budget of committed tokens for each answer."
    )
    temperature: Annotated[float, Field(ge=0, le=5)] = Field(default=0.0, description="0 is greedy decoding.")


class ControlPointsSection(Section):
    M: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=8, description="Maximum number of segments of an answer."
    )
    segment_delimiter: str = Field(default="\n\n", min_length=1, description="String that ends a segment.")


class OfflineMineSection(Section):
    K: PositiveInt = Field(default=8, description="Rollouts for each training example.")
    batch_size_examples: PositiveInt = Field(
        default=32, description="Training examples in each call to the model."
    )
    max_new_tokens: PositiveInt = Field(default=256, description="T_max of a rollout, also in the reward.")
    temperature: Annotated[float, Field(gt=0, le=5)] = Field(
        default=1.0, description="Sampling temperature of rollouts."
    )
    K_pos: PositiveInt = Field(default=4, description="Maximum positives of a pair: the highest rewards.")
    K_neg: PositiveInt = Field(default=4, description="Maximum negatives of a pair: the lowest rewards.")
    eta0: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.1, description="Weight of length in R - eta0 |y|/T_max."
    )
    keep_top_C: PositiveInt = Field(default=2000, description="Number of pairs kept, the best by quality.")
    candidate_layers: list[NonNegativeInt] = Field(
        default=[], description="Layers to mine, 0-based; empty: the top third of the model."
    )
    require_correct_and_incorrect: bool = Field(
        default=True, description="Positives must be right rollouts, negatives wrong ones."
    )
    min_correct_rollouts: PositiveInt = Field(
        default=1, description="Right rollouts that a control point needs."
    )
    min_incorrect_rollouts: PositiveInt = Field(
        default=1, description="Wrong rollouts that a control point needs."
    )
    verify: bool = Field(
        default=False,
        description="Try every entry out on its own problem, and keep only those that do what they stand for.",
    )
    pos_source: Literal["rollout", "gold", "rollout_or_gold"] = Field(
        default="rollout", description="Where positives come from; gold is the data set's own solution."
    )


class OfflineSelectSection(Section):
    method: Literal["dpp", "top_quality"] = Field(
        default="dpp", description="Quality and diversity, or quality alone."
    )
    B: PositiveInt = Field(default=512, description="Size of the library.")
    lambda_diversity: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=1.0, description="Weight of log det(K_S + epsilon I)."
    )
    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=1e-3, description="Diagonal term of log det."
    )
    min_per_control_point: NonNegativeInt = Field(
        default=0, description="Entries that every control point gets first."
    )


class OfflineMemorySection(Section):
    normalize_keys: bool = Field(default=True, description="Store keys with unit length.")
    imports: str | None = Field(
        default=None,
        description="JSON lines that name vectors of other tools: they become entries, beside the library's or alone.",
    )


class OnlineSection(Section):
    variant: Literal["esm", "no_memory", "no_probing"] = Field(
        default="esm",
        description="What the method esm is here: the whole of it, never steering, or choosing without probes. "
        "eval.ablations are variants of that, and may not name it again.",
    )
    batch_size_examples: PositiveInt = Field(default=32, description="Examples that are decoded together.")
    k_retrieve: PositiveInt = Field(default=16, description="Neighbours retrieved at a control point.")
    L: PositiveInt = Field(default=3, description="Entries probed at a control point.")
    probe_tokens: NonNegativeInt = Field(
        default=8, description="Length of a probe; 0: choose without probing."
    )
    beta: Finite = Field(default=1.0, description="Weight of A-hat in Score.")
    rho: Finite = Field(default=1.0, description="Weight of the probe's log-probability difference in Score.")
    k_scale: Finite = Field(default=4.0, description="alpha = k_scale * Score.")
    tau_null: Finite = Field(default=0.0, description="A Score below this is not steered.")
    min_sim: Annotated[float, Field(ge=-1, le=1)] = Field(
        default=0.0, description="Top similarity below this: no memory."
    )
    min_entries: NonNegativeInt = Field(
        default=1, description="Fewer entries at the control point: no memory."
    )
    min_tool_m: PositiveInt = Field(default=2, description="First segment that may be steered.")
    max_tool_m: PositiveInt | None = Field(default=None, description="Last segment that may be steered.")
    carry_steering: bool = Field(
        default=False, description="Keep steered key/values instead of an unsteered re-prefill."
    )
    record_null: bool = Field(
        default=False,
        description="Also write the segment of the null action at steered points (not counted in budgets).",
    )


def one_of(asked_by: FieldName) -> Any:
    """The rule of a text that names one of the methods which a field of `eval` asks for."""
    names: list[Any] = [name for name, method in METHODS.items() if method.asked_by == asked_by]
    return Field(pattern=f"^({'|'.join(names)})$", json_schema_extra={"enum": names})


class VectorSection(Section):
    path: str | None = Field(
        default=None,
        description="File of a steering vector: GGUF, safetensors, or a .pt of steering-vectors, EasySteer or lm-eval. "
        "With it, `imported_vector` is evaluated as well.",
    )
    layer: NonNegativeInt | None = Field(
        default=None, description="Layer whose vector is taken, 0-based; none: the file's only one."
    )
    scale: Finite = Field(default=1.0, description="What is added at each control point is scale * vector.")


class ContrastSection(Section):
    FIXED = ("arms",)

    path: str | None = Field(
        default=None,
        description="JSONL file of pairs: `positive`, `negative`, and `prompt` if both are answers to one. With it, "
        "the mean difference of the pairs and the first principal component of their differences are evaluated as "
        "well.",
    )
    arms: ClassVar[list[str]] = ["contrast_mean", "contrast_pca"]
    layer: NonNegativeInt | None = Field(
        default=None,
        description="Layer whose states are contrasted and steered, 0-based; none: the middle one.",
    )
    scale: Finite = Field(default=1.0, description="What is added at each control point is scale * vector.")


class FieldSection(Section):
    FIXED = ("reflection", "transition")

    methods: list[Annotated[str, one_of("field")]] = Field(
        default=[],
        description="What others do: a request in the prompt; SEAL's vector away from reflecting thoughts; CAST's "
        "mean vector under a condition; ESM with the settings that STIR published.",
    )
    layer: NonNegativeInt | None = Field(
        default=None,
        description="Layer of `seal` and `cast`, 0-based; none: the one that is mined.",
    )
    scale: Finite = Field(default=1.0, description="`seal` and `cast` add scale * vector.")
    prompt: str = Field(
        default="Check each step before you write it.",
        min_length=1,
        description="What `prompted` puts behind the question.",
    )
    reflection: ClassVar[list[str]] = [
        "verify", "make sure", "hold on", "think again", "'s correct", "'s incorrect", "Let me check", "seems right",
    ]  # fmt: skip
    """Words that mark a thought that reflects (`seal`)."""
    transition: ClassVar[list[str]] = [
        "think differently", "another way", "another approach", "another method", "another solution",
        "another strategy", "another technique",
    ]  # fmt: skip
    """Words that mark a thought that changes course (`seal`)."""
    openings: list[Annotated[str, Field(min_length=1)]] = Field(
        default=["Wait", "Alternatively"],
        description="Beginnings that mark a thought of either kind (`seal`).",
    )


class EvalSection(Section):
    FIXED = ("bootstrap_resamples", "cases")
    REMOVED = {"side_effects": 0}

    methods: list[Annotated[str, one_of("methods")]] = Field(
        default=["greedy", "esm"], min_length=1, description="Methods to evaluate."
    )
    votes: PositiveInt = Field(
        default=3, description="Samples of the majority vote, at the rollouts' temperature."
    )
    ablations: list[Annotated[str, one_of("ablations")]] = Field(
        default=["no_memory", "no_probing"], description="Variants of esm, at its own layer and scale."
    )
    vector: VectorSection = Field(
        default=VectorSection(), description="A vector from another tool, as one more method."
    )
    contrast: ContrastSection = Field(
        default=ContrastSection(), description="Vectors from pairs of prompts, as further methods."
    )
    field: FieldSection = Field(
        default=FieldSection(), description="Baselines of the field, as further methods."
    )
    batch_size_greedy: PositiveInt = Field(
        default=64, description="Examples in each call of plain greedy decoding."
    )
    bootstrap_resamples: ClassVar[int] = 10_000
    cases: ClassVar[int] = 10
    """Improved and worsened examples written to cases/."""


class ESMSections(MethodSections):
    """The sections and stages of ESM."""

    stage_entries: ClassVar = (
        StageEntry(
            "mine", "engine.esm.mining.mine_stage:Mine", writes=("esm/mine",),
            reads=(
                "run.seed", "model", "task.dataset", "task.fields", "task.compare", "task.path", "task.train_split",
                "task.train_size", "task.shuffle", "prompt", "control_points", "offline_mine",
            ),
            reads_if={"offline_mine.verify": ("online.k_scale", "online.beta")},
        ),
        StageEntry(
            "select", "engine.esm.library.select_stage:Select", ("mine",), ("esm/library",),
            reads=("offline_select", "offline_mine.verify"),
        ),
        StageEntry(
            "memory", "engine.esm.library.memory_stage:BuildMemory", ("select",), ("esm/memory",),
            reads=("model", "prompt.system", "control_points.M", "offline_memory"),
        ),
        StageEntry(
            "eval", "engine.esm.evaluation.eval_stage:Evaluate", ("memory",), ("esm/eval", "esm/tables", "esm/cases"),
            reads=(
                "run.seed", "model", "task", "prompt", "decode", "control_points", "offline_mine", "online", "eval",
            ),
        ),
    )  # fmt: skip

    task: TaskSection = TaskSection()
    prompt: PromptSection = PromptSection()
    decode: DecodeSection = DecodeSection()
    control_points: ControlPointsSection = ControlPointsSection()
    offline_mine: OfflineMineSection = OfflineMineSection()
    offline_select: OfflineSelectSection = OfflineSelectSection()
    offline_memory: OfflineMemorySection = OfflineMemorySection()
    online: OnlineSection = OnlineSection()
    eval: EvalSection = EvalSection()

    @model_validator(mode="after")
    def _ablations_differ_from_esm(self) -> Self:
        """Those that `online.variant` has made of esm itself: an error where they are named, else left out."""
        variant, ablations = self.online.variant, self.eval.ablations
        same = [] if variant == "esm" else ablations if variant == "no_memory" else [variant]
        left = [name for name in ablations if name not in same]
        if left == ablations:
            return self
        if "ablations" in self.eval.model_fields_set:
            named = ", ".join(name for name in ablations if name in same)
            raise ValueError(
                f"eval.ablations without {named}: where online.variant is {variant}, esm itself is no different "
                "(or leave online.variant at esm)"
            )
        object.__setattr__(self, "eval", self.eval.model_copy(update={"ablations": left}))
        return self
