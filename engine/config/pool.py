"""Configuration of the stages pool and selector (spec Pool)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from engine.config.method import MethodSections, StageEntry
from engine.config.models.openai import NonNegative, OpenAISection
from engine.config.section import NonNegativeInt, PositiveInt, Section


class QuestionFiles(Section):
    """Questions in the JSON files of VQAv2 and OK-VQA, each with an embedding."""

    questions: str = Field(
        min_length=1,
        description="JSON with `questions` (`question_id`, `image_id`, `question`).",
    )
    annotations: str = Field(min_length=1, description="JSON with `annotations` (`question_id`, `answers`).")
    embeddings: str = Field(
        min_length=1,
        description="[n, d] in .npy (memory-mapped) or .safetensors: row i belongs to question i of the file, or "
        "to the question or image whose id is the i-th in NAME.ids.json beside it.",
    )
    images: str | None = Field(
        default=None,
        description="Where the images are, as `folder/COCO_train2014_{image_id:012d}.jpg`; none: they are not shown.",
    )


class PoolFilesSection(Section):
    """Files of dataset `files`: demonstrations are the rows of a single embedding table."""

    FIXED = ("heldout_share", "query_id")

    demonstrations: QuestionFiles | None = Field(
        default=None, description="Questions whose answers may be shown as demonstrations."
    )
    queries: QuestionFiles | None = Field(
        default=None, description="Questions of the RL data; none: the demonstrations are also the queries."
    )
    heldout: QuestionFiles | None = Field(
        default=None, description="Questions to compare selectors on; none: a fifth of the images."
    )
    heldout_share: ClassVar[float] = 0.2
    """Share of the images whose queries are all kept out of training."""
    query_id: ClassVar[str] = "question_id"
    """How RL data names a query."""


class VisionSection(OpenAISection):
    """A vision model behind an OpenAI-compatible server. Demonstrations are earlier turns of the conversation."""

    FIXED = ("workers",)
    INSTEAD = "leave it out, or set `concurrency`"

    max_tokens: PositiveInt = Field(default=500, description="Longest reply, in tokens.")
    system: str = Field(
        default="Answer questions about images with a word, a number or a short phrase, as in the examples.",
        description="System message; empty: none.",
    )
    template: str = Field(
        default="Question: {question}\nShort answer:",
        description="Text beside an image, with `{question}`, the same for demonstrations and query.",
    )
    detail: Literal["low", "high", "auto"] = Field(
        default="auto",
        description="Image resolution to request from servers that support this field.",
    )
    workers: ClassVar[int] = 8
    """Concurrent requests where `concurrency` is 0."""
    requests_per_minute: NonNegative = Field(
        default=0.0, description="Maximum requests in a minute, further attempts included; 0: no limit."
    )

    @model_validator(mode="after")
    def _check_template_has_question(self) -> VisionSection:
        if "{question}" not in self.template:
            raise ValueError("`template` needs {question}")
        return self


class VQASection(Section):
    """The model that answers with two demonstrations."""

    kind: Literal["digits", "openai"] = Field(
        default="digits",
        description="`digits`: offline, votes with its demonstrations; `openai`: a vision model behind a server.",
    )
    openai: VisionSection = VisionSection()


class PoolSection(Section):
    """The stage `pool`."""

    OLDER = {"fill_with_refused": True}
    REMOVED = {"enough_positives": 0}

    dataset: Literal["digits", "files"] = Field(
        default="digits", description="scikit-learn's handwritten digits, or your own files."
    )
    files: PoolFilesSection = PoolFilesSection()
    rl_data: str | None = Field(
        default=None,
        description="JSON of queries with pools and trajectories; digits: none, they are generated.",
    )
    train_queries: PositiveInt = Field(default=300, description="Queries to train on (digits).")
    heldout_queries: PositiveInt = Field(default=150, description="Held-out queries (digits).")
    vqa: VQASection = VQASection()
    search_top_k: Annotated[int, Field(ge=2)] = Field(
        default=300, description="Number of rows nearest to a query from which pairs are made."
    )
    max_eval_pairs: NonNegativeInt = Field(
        default=50, description="Maximum pairs with which a query is asked."
    )
    batch_size: PositiveInt = Field(
        default=16,
        description="Pairs sent to the model together; after a kill at most these are asked again.",
    )
    max_inject_per_query: NonNegativeInt = Field(
        default=8, description="Maximum candidates replaced for each query."
    )
    target_trajectory_count: PositiveInt = Field(default=12, description="Final trajectories of each query.")
    positive_quota: NonNegativeInt = Field(default=4, description="Of these, fully right, if so many exist.")
    partial_quota: NonNegativeInt = Field(default=2, description="Of these, partly right, if so many exist.")
    fill_with_refused: bool = Field(
        default=False,
        description="Where committed trajectories are too few, take refused pairs before any is repeated.",
    )

    @model_validator(mode="after")
    def _fits(self) -> PoolSection:
        if self.dataset == "files":
            if self.files.demonstrations is None:
                raise ValueError("dataset `files` needs `files.demonstrations`")
            if self.rl_data is None:
                raise ValueError("dataset `files` needs `rl_data`")
            if self.vqa.kind == "digits":
                raise ValueError("vqa.kind `digits` answers questions about digits only: choose `openai`")
        if self.positive_quota + self.partial_quota > self.target_trajectory_count:
            raise ValueError(
                "positive_quota and partial_quota are more than target_trajectory_count together"
            )
        return self


class SelectorSection(Section):
    """The stage `selector`."""

    REMOVED = {"oracle_pairs": 500, "checkpoint_every": 50}
    FIXED = (
        "hidden", "inner", "batch_size", "learning_rate", "policy_learning_rate", "weight_decay", "grad_clip",
        "random_pairs", "log_every", "eval_every",
    )  # fmt: skip

    hidden: ClassVar[int] = 64
    """Width of the learned space; four attention heads share it."""
    inner: ClassVar[int] = 256
    """Width of the encoder's inner layer."""
    supervised_steps: NonNegativeInt = Field(default=100, description="Steps on the recorded trajectories.")
    policy_steps: NonNegativeInt = Field(default=200, description="Policy-gradient steps after those.")
    batch_size: ClassVar[int] = 32
    """Queries in each step."""
    learning_rate: ClassVar[float] = 2e-3
    """Learning rate of AdamW on recorded trajectories."""
    policy_learning_rate: ClassVar[float] = 1e-3
    weight_decay: ClassVar[float] = 1e-2
    grad_clip: ClassVar[float] = 1.0
    rollouts: Annotated[int, Field(ge=0, le=256)] = Field(
        default=4,
        description="Pairs drawn and asked a query and policy-gradient step, beside the recorded trajectories: up to "
        "policy_steps * batch_size * rollouts questions to the model. 0: none.",
    )
    random_pairs: ClassVar[int] = 4
    """Pairs drawn for each held-out query by the random baseline."""
    log_every: ClassVar[int] = 10
    eval_every: ClassVar[int] = 40
    """Steps between two evaluations on the held-out queries."""

    @model_validator(mode="after")
    def _check_some_steps(self) -> SelectorSection:
        if not self.supervised_steps + self.policy_steps:
            raise ValueError("supervised_steps and policy_steps are both 0: nothing is trained")
        return self


class PoolSections(MethodSections):
    """The sections and stages of the demonstration pool."""

    stage_entries: ClassVar = (
        StageEntry(
            "pool", "engine.pool.pool_stage:BuildPools", writes=("pool",), reads=("run.seed", "pool")
        ),
        StageEntry(
            "selector", "engine.pool.selector.selector_stage:TrainSelector", ("pool",), ("selector",),
            reads=("run.seed", "pool", "selector"),
        ),
    )  # fmt: skip

    pool: PoolSection = PoolSection()
    selector: SelectorSection = SelectorSection()
