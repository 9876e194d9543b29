"""A run's configuration: pydantic models with the specs' field names, read from YAML.

Every field has a description and a range; unknown keys are errors. `load_config` reports all errors of a
file at once, each with the path of the field, the value that stood there and what is allowed.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=80)]
PositiveInt = Annotated[int, Field(ge=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Section(BaseModel):
    """Base of all sections: nothing unknown, nothing changed after loading, no silent conversions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, protected_namespaces=())


class RunSection(Section):
    name: Name = Field(default="run", description="Name of the experiment: its folder under `outputs`.")
    outputs: str = Field(default="outputs", min_length=1, description="Folder that holds all runs.")
    seed: NonNegativeInt = Field(default=0, description="Seed of every random draw of the run.")
    stages: list[str] = Field(
        default=["mine", "select", "memory", "eval"], min_length=1, description="Stages to run, in order."
    )


class ModelSection(Section):
    backend: Literal["embedded", "transformers"] = Field(
        default="embedded",
        description="`embedded`: the small model that comes along; `transformers`: any local or hub model.",
    )
    path: str | None = Field(
        default=None, description="Folder or hub name of the model (backend transformers)."
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(default="auto", description="Where the model runs.")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        default="auto", description="Weights' number type."
    )
    max_num_seqs: PositiveInt = Field(
        default=256, description="Sequences in one device batch, probes included."
    )
    threads: NonNegativeInt = Field(default=0, description="CPU threads; 0: one up to 20 M parameters (more only wait for each other), else what torch takes.")

    @model_validator(mode="after")
    def _needs_path(self) -> ModelSection:
        if self.backend == "transformers" and not self.path:
            raise ValueError("backend `transformers` needs `model.path`: a model folder or a hub name")
        return self


class TaskSection(Section):
    dataset: Literal["generated", "gsm8k", "math500", "arc-c", "aime"] = Field(
        default="generated", description="Which task: its loader, prompt, answer extraction and metric."
    )
    path: str | None = Field(
        default=None, description="Local JSONL/parquet file or folder; none: the hub, or the generator."
    )
    train_split: str = Field(default="train", description="Split that is mined.")
    train_size: PositiveInt = Field(default=200, description="Examples to mine.")
    eval_split: str = Field(default="test", description="Split that is evaluated.")
    eval_size: PositiveInt = Field(default=200, description="Examples to evaluate.")
    shuffle: bool = Field(
        default=False, description="Take a seeded random subset instead of the first examples."
    )


class PromptSection(Section):
    template: str | None = Field(
        default=None, description="User prompt with `{question}`; none: the task's own."
    )
    system: str | None = Field(default=None, description="System message, if any.")


class DecodeSection(Section):
    max_new_tokens: PositiveInt = Field(
        default=256, description="T_max: budget of committed tokens an answer."
    )
    temperature: Annotated[float, Field(ge=0, le=5)] = Field(default=0.0, description="0 is greedy decoding.")


class ControlPointsSection(Section):
    M: Annotated[int, Field(ge=1, le=1000)] = Field(default=8, description="Most segments of one answer.")
    segment_delimiter: str = Field(default="\n\n", min_length=1, description="String that ends a segment.")


class OfflineMineSection(Section):
    K: PositiveInt = Field(default=8, description="Rollouts a training example.")
    batch_size_examples: PositiveInt = Field(default=32, description="Training examples a call to the model.")
    max_new_tokens: PositiveInt = Field(default=256, description="T_max of a rollout, also in the reward.")
    temperature: Annotated[float, Field(gt=0, le=5)] = Field(
        default=1.0, description="Sampling temperature of rollouts."
    )
    K_pos: PositiveInt = Field(default=4, description="Most positives of a pair: the highest rewards.")
    K_neg: PositiveInt = Field(default=4, description="Most negatives of a pair: the lowest rewards.")
    eta0: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.1, description="Weight of length in R - eta0 |y|/T_max."
    )
    keep_top_C: PositiveInt = Field(default=2000, description="Pairs kept, by quality.")
    candidate_layers: list[NonNegativeInt] = Field(
        default=[], description="Layers to mine, 0-based; empty: the top third of the model."
    )
    require_correct_and_incorrect: bool = Field(
        default=True, description="Positives are right, negatives wrong rollouts."
    )
    min_correct_rollouts: PositiveInt = Field(default=1, description="Right rollouts a control point needs.")
    min_incorrect_rollouts: PositiveInt = Field(
        default=1, description="Wrong rollouts a control point needs."
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
        default=0, description="Entries every control point is given first."
    )


class OfflineMemorySection(Section):
    normalize_keys: bool = Field(default=True, description="Store keys with unit length.")


class OnlineSection(Section):
    batch_size_examples: PositiveInt = Field(default=32, description="Examples decided together.")
    k_retrieve: PositiveInt = Field(default=16, description="Neighbours retrieved at a control point.")
    L: PositiveInt = Field(default=3, description="Entries probed at a control point.")
    probe_tokens: NonNegativeInt = Field(
        default=8, description="Length of a probe; 0: choose without probing."
    )
    beta: Finite = Field(default=1.0, description="Weight of A-hat in Score.")
    rho: Finite = Field(default=1.0, description="Weight of the probe's log-probability difference in Score.")
    k_scale: Finite = Field(default=4.0, description="alpha = k_scale * Score.")
    tau_null: Finite = Field(default=0.0, description="A Score below this is not worth steering.")
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
        description="Also write what null would have committed at steered points (in no budget).",
    )


Ablation = Literal[
    "no_memory", "no_probing", "random_vector", "mean_vector", "mean_vector_gated", "no_right_entries"
]


class EvalSection(Section):
    methods: list[Literal["greedy", "esm"]] = Field(
        default=["greedy", "esm"], min_length=1, description="What is evaluated."
    )
    ablations: list[Ablation] = Field(
        default=[
            "no_memory",
            "no_probing",
            "random_vector",
            "mean_vector",
            "mean_vector_gated",
            "no_right_entries",
        ],
        description="Variants of esm, at its own layer and scale.",
    )
    batch_size_greedy: PositiveInt = Field(
        default=64, description="Examples a call in plain greedy decoding."
    )
    bootstrap_resamples: PositiveInt = Field(default=10_000, description="Resamples of the paired bootstrap.")
    cases: NonNegativeInt = Field(default=10, description="Improved and worsened examples written to cases/.")


class ClustersSection(Section):
    """The stage `clusters` (spec Evolution 1, 2.5). Paths name files that were made elsewhere."""

    k: Annotated[int, Field(ge=2, le=250)] = Field(
        default=10, description="k-means clusters; the two special ones come on top."
    )
    pca_dim: PositiveInt = Field(default=50, description="Components of the PCA before k-means.")
    embedder: str = Field(
        default="sentence-transformers/all-MiniLM-L6-v2",
        min_length=1,
        description="sentence-transformers model (folder or hub name), or `hashed` (spelling only, no weights).",
    )
    device: Literal["cpu", "cuda", "mps"] = Field(
        default="cpu", description="Where the embedder runs; one that is not there ends the stage."
    )
    batch_size: PositiveInt = Field(default=256, description="Tokens the embedder takes at once.")
    embeddings: str | None = Field(default=None, description="embeddings.npy made elsewhere.")
    pca: str | None = Field(default=None, description="PCA made elsewhere (joblib: needs trust_files).")
    labels: str | None = Field(
        default=None, description="labels_kmeans.joblib made elsewhere (needs trust_files), or .npy."
    )
    descriptions: str | None = Field(default=None, description="cluster_descriptions.json made elsewhere.")
    trust_files: bool = Field(
        default=False, description="Open joblib files named here: they are pickles and can run any program."
    )
    frequency_corpus: str | None = Field(
        default=None,
        description="Text file, or JSONL with `text`, in which tokens are counted; none: the model's answers.",
    )
    frequency_texts: NonNegativeInt = Field(
        default=200, description="Answers the model generates for counting; 0: nothing is counted."
    )
    tokens_listed: PositiveInt = Field(default=12, description="Tokens of each kind a description lists.")


class Config(Section):
    """One run."""

    run: RunSection = RunSection()
    model: ModelSection = ModelSection()
    task: TaskSection = TaskSection()
    prompt: PromptSection = PromptSection()
    decode: DecodeSection = DecodeSection()
    control_points: ControlPointsSection = ControlPointsSection()
    offline_mine: OfflineMineSection = OfflineMineSection()
    offline_select: OfflineSelectSection = OfflineSelectSection()
    offline_memory: OfflineMemorySection = OfflineMemorySection()
    online: OnlineSection = OnlineSection()
    eval: EvalSection = EvalSection()
    clusters: ClustersSection = ClustersSection()
