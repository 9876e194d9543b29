"""Configuration of the evolution (spec Evolution 3)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from engine.config.method import MethodSections, StageEntry
from engine.config.models.model import ModelSection
from engine.config.models.openai import OpenAISection, Positive
from engine.config.models.sglang import ServerSection
from engine.config.section import CustomClass, NonNegativeInt, PositiveInt, Section


class ClustersSection(Section):
    """The stage `clusters` (spec Evolution 1, 2.5). Paths name files that were computed elsewhere."""

    OLDER = {"numbers": "written"}
    FIXED = ("pca_dim", "tokens_listed")
    REMOVED = {"frequency_corpus": None}

    k: Annotated[int, Field(ge=2, le=250)] = Field(
        default=10, description="k-means clusters; the two special clusters are added to these."
    )
    numbers: Literal["arithmetic", "written"] = Field(
        default="arithmetic",
        description="Cluster 1: `arithmetic`: digits and + - * / $ % =; `written`: also the full stop and comma that "
        "stand in numbers, and line ends around all of these.",
    )
    embedder: str = Field(
        default="sentence-transformers/all-MiniLM-L6-v2",
        min_length=1,
        description="sentence-transformers model (folder or hub name), or `hashed` (spelling only, no weights).",
    )
    device: Literal["cpu", "cuda", "mps"] = Field(
        default="cpu", description="Where the embedder runs; a device that this machine lacks ends the stage."
    )
    batch_size: PositiveInt = Field(default=256, description="Tokens the embedder takes at once.")
    embeddings: str | None = Field(default=None, description="embeddings.npy computed elsewhere.")
    pca: str | None = Field(default=None, description="PCA computed elsewhere (joblib: needs trust_files).")
    labels: str | None = Field(
        default=None,
        description="labels_kmeans.joblib computed elsewhere (needs trust_files), or .npy: a label for each "
        "token.",
    )
    descriptions: str | None = Field(
        default=None, description="cluster_descriptions.json computed elsewhere."
    )
    trust_files: bool = Field(
        default=False, description="Open joblib files named here: they are pickles and can run any program."
    )
    frequency_texts: NonNegativeInt = Field(
        default=0, description="Answers the model generates for counting; 0: nothing is counted."
    )
    pca_dim: ClassVar[int] = 50
    tokens_listed: ClassVar[int] = 12


class ReflectorSection(Section):
    FIXED = ("limit", "answer_characters")

    kind: Literal["statistical", "openai"] | CustomClass = Field(
        default="openai",
        description="`statistical`: counts clusters, offline; `openai`: a language model; or `module:Class`.",
    )
    step: Positive = Field(
        default=2.0, description="Largest change of a delta in the first iteration (statistical)."
    )
    limit: ClassVar[float] = 8.0
    answer_characters: ClassVar[int] = 4000
    system_prompt: str | None = Field(
        default=None, description="File with the system message to a language model; none: the built-in one."
    )
    user_template: str | None = Field(
        default=None,
        description="File with the user message and fields such as {{ current_deltas_json }}; none: the built-in one.",
    )
    openai: OpenAISection = OpenAISection()


class JudgeSection(Section):
    FIXED = ("attempts",)
    REMOVED = {"text_threshold": None, "labels": None}

    kind: Literal["auto", "numeric", "task", "openai"] | CustomClass = Field(
        default="openai",
        description="`numeric`: compares figures and yes or no, offline; `task`: the task's own metric; `openai`: a "
        "language model; `auto`: `task` for a task's questions, else `numeric`; or `module:Class`.",
    )
    tolerance: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.01,
        description="Largest relative difference of numbers that count as equal; absolute for 0.",
    )
    attempts: ClassVar[int] = 3
    openai: OpenAISection = OpenAISection()


class EvolutionSection(Section):
    """The stage `evolve`."""

    OLDER = {"best_by": "validation"}
    FIXED = ("failures",)
    REMOVED = {
        "max_calls": None, "max_tokens": None, "target": None, "branch_of": None, "branch_iteration": 0,
    }  # fmt: skip
    INSTEAD = "leave it out; max_cost and patience end it early, initial_deltas names deltas to start from"

    kconfig: str | None = Field(
        default=None,
        description="A .config written by `make menuconfig`; values in the YAML take precedence.",
    )
    model: ModelSection | None = Field(
        default=None, description="Model of clusters and evolution, if it is not the run's model."
    )
    questions: Literal["financebench", "task"] = Field(
        default="financebench",
        description="`financebench`: questions over texts, named by the next field; `task`: those of the section "
        "`task`, its training split for the evolution and its evaluation split for the test set.",
    )
    financebench: str | None = Field(
        default=None,
        description="FinanceBench JSONL, or `hub:PatronusAI/financebench`; none: generated statements.",
    )
    pool: Literal["all"] | list[NonNegativeInt] = Field(
        default="all", description="Questions of FinanceBench to draw from: all, or 0-based line numbers."
    )
    pool_size: PositiveInt = Field(
        default=400, description="Questions to generate, or to take from the task's training split."
    )
    minibatch_size: PositiveInt = Field(default=24, description="Questions in each iteration.")
    best_by: Literal["minibatch", "validation"] = Field(
        default="minibatch",
        description="What decides on the best deltas: the composite of each iteration's `minibatch`, or that of a "
        "fixed `validation` set, which confirms iterations whose minibatch looks better.",
    )
    validation_size: NonNegativeInt = Field(
        default=0,
        description="Questions set aside to choose by: deltas, and the baselines' settings; 0: none.",
    )
    test_size: NonNegativeInt = Field(
        default=0,
        description="Questions set aside for a comparison at the end, which decide nothing; 0: no comparison.",
    )
    iterations: PositiveInt = Field(default=10, description="Maximum number of iterations.")
    patience: NonNegativeInt = Field(
        default=0, description="Stop after this many iterations without a new best; 0: never."
    )
    max_cost: Positive | None = Field(
        default=None, description="Start no iteration once judge and reflector have cost this much."
    )
    SHORTNESS_SCALE: Positive = Field(default=100.0, description="Tokens at which shortness is one half.")
    brief_prompts: list[Annotated[str, Field(min_length=1)]] = Field(
        default=[],
        description="Requests for short answers, each put after the questions without deltas; the best one on the "
        "validation set is compared on the test set.",
    )
    length_caps: NonNegativeInt = Field(
        default=0,
        description="Lengths at which answers without deltas are cut; the best one on the validation set is compared "
        "on the test set. 0: none.",
    )
    initial_deltas: str | None = Field(default=None, description="JSON file of initial deltas; none: zeros.")
    max_new_tokens: PositiveInt = Field(default=192, description="Longest answer, in tokens.")
    temperature: Annotated[float, Field(ge=0, le=5)] = Field(default=0.0, description="0 is greedy decoding.")
    batch_size: PositiveInt = Field(
        default=8, description="Questions sent together; a pause waits for their answers."
    )
    failures: ClassVar[int] = 3
    """Consecutive iterations without the reflector's reply after which the stage fails."""
    server: ServerSection = ServerSection()
    reflector: ReflectorSection = ReflectorSection()
    judge: JudgeSection = JudgeSection()

    @property
    def judge_kind(self) -> str:
        """The judge's kind; `auto` follows the questions."""
        if self.judge.kind == "auto":
            return "task" if self.questions == "task" else "numeric"
        return self.judge.kind

    @model_validator(mode="after")
    def _has_the_sets_it_needs(self) -> EvolutionSection:
        if self.best_by == "validation" and not self.validation_size:
            raise ValueError("`best_by: validation` chooses on a validation set: set `validation_size`")
        if (self.brief_prompts or self.length_caps) and not (self.validation_size and self.test_size):
            raise ValueError(
                "`brief_prompts` and `length_caps` are chosen on the validation set and compared on the test set: set "
                "`validation_size` and `test_size`, or leave them out"
            )
        return self

    @model_validator(mode="after")
    def _fits_the_questions(self) -> EvolutionSection:
        if self.questions == "task" and (self.financebench is not None or self.pool != "all"):
            raise ValueError(
                "`questions: task` takes its questions from the section `task`: leave `financebench` and `pool` out"
            )
        if self.questions != "task" and self.judge.kind == "task":
            raise ValueError("`judge.kind: task` judges a task's answers: set `questions: task`")
        return self


class EvolutionSections(MethodSections):
    """The sections and stages of evolution."""

    stage_entries: ClassVar = (
        StageEntry(
            "clusters", "engine.evolution.clusters.clusters_stage:BuildClusters",
            writes=(
                "evolution/embeddings.npy", "evolution/*.joblib", "evolution/cluster*",
                "evolution/token_frequency.jsonl",
            ),
            reads=(
                "run.seed", "model", "task", "prompt", "clusters", "evolution.model", "evolution.questions",
                "evolution.financebench", "evolution.pool", "evolution.pool_size", "evolution.minibatch_size",
                "evolution.validation_size", "evolution.test_size", "evolution.batch_size", "evolution.max_new_tokens",
            ),
        ),
        StageEntry(
            "evolve", "engine.evolution.evolve_stage:Evolve", ("clusters",),
            writes=(
                "evolution/deltas_*", "evolution/processor*", "evolution/answers.jsonl", "evolution/history.json",
                "evolution/evolution_lengths.*", "evolution/tables", "evolution/cut_verdicts.jsonl",
                "evolution/reflector_*", "evolution/server.log",
            ),
            reads=("run.seed", "model", "task", "prompt", "evolution"),
        ),
    )  # fmt: skip

    clusters: ClustersSection = ClustersSection()
    evolution: EvolutionSection = EvolutionSection()
