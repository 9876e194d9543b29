"""Configuration of the stages graphs, retriever, agent-graphs, gflownet and answer (spec GFlowNet)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from engine.config.method import MethodSections, StageEntry
from engine.config.models.model import ModelSection
from engine.config.models.openai import NonNegative, OpenAISection, Positive
from engine.config.section import CustomClass, NonNegativeInt, PositiveInt, Section

Share = Annotated[float, Field(ge=0, le=1)]


class GraphsSection(Section):
    """The stage `graphs`: g_raw to g_retrieval (spec 0.1, 0.2)."""

    FIXED = ("batch_size",)
    REMOVED = {"hold_out": "questions"}

    dataset: Literal["generated", "rog", "pathquestion"] = Field(
        default="generated",
        description="The project's own generator, RoG parquet files, or the text files of PathQuestion.",
    )
    path: str | None = Field(
        default=None,
        description="rog: folder with the parquet files of the three splits, or `hub:rmanluo/RoG-webqsp`; "
        "pathquestion: the file of questions.",
    )
    knowledge_base: str | None = Field(
        default=None, description="pathquestion: the file of triples that belongs to the questions."
    )
    split_seed: NonNegativeInt = Field(
        default=0, description="pathquestion: draws the three splits; paraphrases are in one of them."
    )
    train_size: PositiveInt = Field(default=400, description="Questions to train on.")
    validation_size: PositiveInt = Field(default=50, description="All choices are made on these questions.")
    test_size: PositiveInt = Field(default=100, description="Held-out questions.")
    nodes: Annotated[int, Field(ge=50)] = Field(default=2000, description="Entities of the generated graph.")
    edges: Annotated[int, Field(ge=50)] = Field(
        default=300, description="Approximate edges of a question's subgraph (generated)."
    )
    max_hops: Annotated[int, Field(ge=1, le=4)] = Field(
        default=3,
        description="Longest chain from start to answer (generated); how far the graph reaches from the question's "
        "entity, in edges (pathquestion).",
    )
    embedder: str = Field(
        default="sentence-transformers/all-MiniLM-L6-v2",
        min_length=1,
        description="sentence-transformers model (folder or hub name), or `hashed` (spelling only, no weights).",
    )
    mask_topic: bool = Field(
        default=False,
        description="Embed a question without the name of its entity, which says nothing about what is asked of it.",
    )
    unit_variance: bool = Field(
        default=False,
        description="Scale embeddings, which have length 1, so that each number in them has a variance of about 1: "
        "scorer and sampler then heed what the texts say as readily as degrees and flags.",
    )
    false_triples: NonNegativeInt = Field(
        default=0,
        description="pathquestion: beside each triple of a training question come so many made-up ones, with other "
        "relations between the same entities, so that which relation is right has to be learned from the words.",
    )
    device: Literal["cpu", "cuda", "mps"] = Field(default="cpu", description="Where the embedder runs.")
    batch_size: ClassVar[int] = 256
    """Texts the embedder takes at once."""
    add_inverse_edges: bool = Field(
        default=False, description="Paths may also follow each edge from tail to head."
    )

    @property
    def sizes(self) -> dict[str, int]:
        """Most questions of each split."""
        return {"train": self.train_size, "validation": self.validation_size, "test": self.test_size}


class RetrieverSection(Section):
    """The stage `retriever`: scores for edges (spec 0.2)."""

    FIXED = ("distance_rounds", "learning_rate", "recall_k")

    scores: str | None = Field(
        default=None,
        description="SubgraphRAG's retrieval_result.pth, or a folder with several files; none: train the scorer.",
    )
    hidden: PositiveInt = Field(default=128, description="Width of the scorer.")
    distance_rounds: ClassVar[int] = 2
    epochs: PositiveInt = Field(default=10, description="Passes over the training questions.")
    batch_size: PositiveInt = Field(default=16, description="Questions in each step.")
    learning_rate: ClassVar[float] = 1e-3
    """Learning rate of Adam."""
    recall_k: ClassVar[list[int]] = [10, 50, 100]
    """recall@k that are reported."""


class AgentGraphsSection(Section):
    """The stage `agent-graphs`: g_retrieval to g_agent (spec 0.3)."""

    REMOVED = {"force_include_gt": True}

    anchor_top_k: PositiveInt = Field(default=50, description="Best-scored edges whose ends are anchors.")
    hops: Annotated[int, Field(ge=1, le=4)] = Field(
        default=2, description="Longest path from a start to an anchor, in edges."
    )
    through_anchors: bool = Field(
        default=False,
        description="Paths may continue through an anchor; off: they end at the first one (spec 0.3).",
    )


class EnvironmentSection(Section):
    max_steps: Annotated[int, Field(ge=1, le=32)] = Field(
        default=3, description="T_max: longest path, in edges."
    )
    forbid_revisit: bool = Field(default=True, description="Visit no node twice.")
    forbid_backtrack: bool = Field(default=True, description="Do not return to the node just left.")


class EmbedderSection(Section):
    use_retriever_projector: bool = Field(
        default=True,
        description="Project questions, entities and relations as the trained retriever does, then to H; off: the "
        "sampler learns projections of its own (with retriever.scores there is no retriever to share with).",
    )
    freeze_projector: bool = Field(
        default=True,
        description="Keep the retriever's projector as it is; off: the sampler trains it further.",
    )


class PolicySection(Section):
    REMOVED = {"dropout": 0.0}

    kind: Literal["edge_mlp_mixer", "edge_frontier", "edge_gat"] = Field(
        default="edge_gat",
        description="Network that scores edges and STOP; edge_gat alone sees what lies behind an edge.",
    )
    hidden: PositiveInt = Field(default=64, description="H: width of all tokens.")
    heads: PositiveInt = Field(default=4, description="Attention heads (edge_gat); a divisor of hidden.")


class ActorSection(Section):
    retriever_prior_alpha_start: NonNegative = Field(
        default=2.0, description="Weight of the log retriever score at the first step."
    )
    retriever_prior_alpha_end: NonNegative = Field(
        default=0.5, description="The same weight after annealing."
    )
    retriever_prior_anneal_steps: PositiveInt = Field(
        default=10_000, description="Steps between these weights."
    )
    policy_temperature: Positive = Field(default=1.0, description="Temperature in training rollouts.")
    eval_policy_temperature: Positive = Field(default=1.0, description="Temperature in evaluation.")
    random_action_prob: Share = Field(
        default=0.05, description="Share of uniformly random actions in training rollouts."
    )


class RewardSection(Section):
    kind: Literal["answer_only", "answer_diffusion", "gold_paths"] = Field(
        default="answer_only",
        description="What is paid: reaching an answer (`answer_diffusion` is another name for it), or ending at one "
        "along the paths that the data set gives (without such paths: shortest ones).",
    )
    success_reward: Positive = Field(default=10.0, description="Reward of a path that reaches an answer.")
    failure_reward: Positive = Field(default=0.01, description="Reward of a path that reaches no answer.")
    lambda_reach: NonNegative = Field(default=0.0, description="Weight of the share of answers reached.")

    @model_validator(mode="after")
    def _check_reward_order(self) -> RewardSection:
        if self.failure_reward >= self.success_reward:
            raise ValueError("failure_reward below success_reward: else the sampler learns to miss answers")
        return self


class EstimatorSection(Section):
    log_pb_mode: Literal["uniform", "learned", "exact"] = Field(
        default="uniform",
        description="uniform: P_F follows R over in-degrees; learned: a network, uniform at first; exact (log P_B = "
        "0): P_F follows R.",
    )
    learn_pb: bool = Field(
        default=True, description="Train the learned network, too; off: it stays as initialised."
    )
    pb_entropy_coef: NonNegative = Field(
        default=0.01, description="Weight of the entropy at each target node."
    )
    pb_l2_reg: NonNegative = Field(
        default=0.0, description="Weight of the squared parameters of the learned network."
    )


class EarlyStoppingSection(Section):
    monitor: Literal["rollout_reward", "success_mean", "answer_f1", "path_hit_f1"] = Field(
        default="rollout_reward",
        description="Mean over single trajectories of validation questions by which weights are compared (spec 9.1).",
    )
    restore_best: bool = Field(
        default=True,
        description="Evaluate and draw paths with the weights that were best on validation; off: with the last ones.",
    )
    patience: PositiveInt | None = Field(
        default=None,
        description="End training after so many evaluations on validation without a better one; none: after `steps`.",
    )


class GFlowNetSection(Section):
    """The stage `gflownet`."""

    OLDER = {
        "embedder": {"use_retriever_projector": False}, "early_stopping": {"restore_best": False},
        "auto_add_path_hit_f1": True, "token_features": ["scores", "structure"],
    }  # fmt: skip
    FIXED = ("learning_rate_end", "log_z_learning_rate", "grad_clip", "log_every")

    steps: PositiveInt = Field(
        default=10_000,
        description="Training steps; by default as many as the retriever's prior is annealed over.",
    )
    batch_size: PositiveInt = Field(default=16, description="Questions in each step.")
    num_train_rollouts: PositiveInt = Field(
        default=1, description="K: trajectories for each question in training."
    )
    learning_rate: Positive = Field(default=2e-3, description="Learning rate of Adam, at first.")
    learning_rate_end: ClassVar[float] = 2e-4
    """At the end of the cosine schedule."""
    log_z_learning_rate: ClassVar[float] = 1e-2
    grad_clip: ClassVar[float] = 1.0
    """Largest gradient norm."""
    gt_replay: Literal["likelihood", "balance", "reward"] = Field(
        default="likelihood",
        description="Known paths to learn from as well. likelihood: -log P_F of a shortest path, which draws P_F away "
        "from R; balance: trajectory balance on it; reward: -log P_F of paths drawn in proportion to R (log_pb_mode "
        "exact; otherwise balance).",
    )
    gt_replay_ratio: Share = Field(default=1.0, description="Share of questions that also learn from them.")
    gt_loss_weight: NonNegative = Field(default=1.0, description="Weight of the loss on them.")
    num_eval_rollouts: PositiveInt = Field(default=20, description="Trajectories for each held-out question.")
    distinct_paths: bool = Field(
        default=False,
        description="Evidence is drawn without replacement, so no path comes twice; off: independent samples. Figures "
        "are given for both.",
    )
    path_hit_k: list[PositiveInt] = Field(default=[3], description="Windows of path_hit_f1@K.")
    auto_add_path_hit_f1: bool = Field(
        default=True,
        description="The progress line shows path_hit_f1@max(path_hit_k) of validation and test, too.",
    )
    success_k: list[PositiveInt] = Field(
        default=[1, 10, 20], description="K of success@K, beside 1 and num_eval_rollouts."
    )
    log_every: ClassVar[int] = 10
    eval_every: PositiveInt = Field(default=200, description="Steps between two evaluations on validation.")
    checkpoint_every: PositiveInt = Field(default=50, description="Steps between two checkpoints.")
    device: Literal["cpu", "cuda"] = Field(default="cpu", description="Device for training.")
    token_features: list[Literal["scores", "structure"]] = Field(
        default=[],
        description="Ours, beside the texts. scores: an edge's token has its retriever score; structure: a node's "
        "token has whether it is a start and has text, and its degrees.",
    )
    environment: EnvironmentSection = EnvironmentSection()
    embedder: EmbedderSection = EmbedderSection()
    policy: PolicySection = PolicySection()
    actor: ActorSection = ActorSection()
    reward: RewardSection = RewardSection()
    estimator: EstimatorSection = EstimatorSection()
    early_stopping: EarlyStoppingSection = EarlyStoppingSection()

    @model_validator(mode="before")
    @classmethod
    def _drop_removed_fields(cls, value: Any) -> Any:
        """Older runs, which write every field out, have two that were removed: how many processes shared a step."""
        if isinstance(value, dict) and {"processes", "parts"} <= value.keys():
            return {name: setting for name, setting in value.items() if name not in ("processes", "parts")}
        return value

    @model_validator(mode="after")
    def _enough_rollouts(self) -> GFlowNetSection:
        most = max(self.success_k, default=1)
        if most > self.num_eval_rollouts:
            raise ValueError(
                f"num_eval_rollouts >= every success_k: success@{most} takes {most} trajectories a question"
            )
        return self


class AnswerSection(Section):
    """The stage `answer`."""

    reader: Literal["paths", "model", "openai"] | CustomClass = Field(
        default="openai",
        description="`openai`: a model behind a server; `model`: the run's language model; `paths`: offline, follows "
        "the triples by sentence similarity; or `module:Class`.",
    )
    model: ModelSection | None = Field(
        default=None, description="Model that answers, if it is not the run's model."
    )
    openai: OpenAISection = OpenAISection()
    system: str | None = Field(
        default=None, description="System message to a language model; none: the built-in one."
    )
    questions: PositiveInt = Field(default=100, description="Held-out questions to answer.")
    token_budget: PositiveInt = Field(default=100, description="Tokens of the triplets in a prompt.")
    max_new_tokens: PositiveInt = Field(default=32, description="Longest answer, in tokens.")


class GFlowNetSections(MethodSections):
    """The sections and stages of the evidence paths."""

    stage_entries: ClassVar = (
        StageEntry(
            "graphs", "engine.gflownet.graphs.graphs_stage:BuildGraphs",
            writes=("gflownet/g_retrieval.lmdb*", "gflownet/entit*", "gflownet/relation*", "gflownet/dropped.json"),
            reads=("run.seed", "graphs"),
        ),
        StageEntry(
            "retriever", "engine.gflownet.retriever.retriever_stage:TrainRetriever", ("graphs",),
            writes=("gflownet/retriever*", "gflownet/scores"), reads=("run.seed", "retriever"),
        ),
        StageEntry(
            "agent-graphs", "engine.gflownet.agent_graphs.agent_graphs_stage:BuildAgentGraphs", ("retriever",),
            writes=("gflownet/g_agent",), reads=("agent_graphs",),
        ),
        StageEntry(
            "gflownet", "engine.gflownet.training.gflownet_stage:TrainGFlowNet", ("agent-graphs",),
            writes=(
                "gflownet/gflownet*", "gflownet/training.jsonl", "gflownet/validation.jsonl", "gflownet/paths.jsonl",
                "gflownet/tables/[!a]*",
            ),
            reads=("run.seed", "gflownet", "retriever.hidden", "answer.token_budget"),
        ),
        StageEntry(
            "answer", "engine.gflownet.answer.answer_stage:AnswerQuestions", ("gflownet",),
            writes=("gflownet/answers.jsonl", "gflownet/tables/a*"), reads=("run.seed", "model", "graphs", "answer"),
        ),
    )  # fmt: skip

    graphs: GraphsSection = GraphsSection()
    retriever: RetrieverSection = RetrieverSection()
    agent_graphs: AgentGraphsSection = AgentGraphsSection()
    gflownet: GFlowNetSection = GFlowNetSection()
    answer: AnswerSection = AnswerSection()
