"""Events of the stages graphs, retriever, agent-graphs, gflownet and answer."""

from __future__ import annotations

import msgspec

from engine.events.base import Event


class GraphsBuilt(Event, tag=True, kw_only=True, frozen=True):
    """The retrieval graphs of a split (spec GFlowNet 0.2). `dropped` by reason; `broken_triples`: those that were left
    out because they are not three texts; `reachable`: samples of which some answer can be reached; `hops`: how long the
    shortest path is, over samples; `signal_to_noise`: median of the shortest path's edges over all edges."""

    split: str
    samples: int
    dropped: dict[str, int] = {}
    broken_triples: int = 0
    edges_mean: float = 0.0
    nodes_mean: float = 0.0
    in_degree_max: int = 0
    reachable: int = 0
    signal_to_noise: float = 0.0
    hops: dict[str, int] = {}


class RetrieverEpoch(Event, tag=True, kw_only=True, frozen=True):
    """An epoch of the edge scorer. `recall`: recall@k on the validation split, by k."""

    epoch: int
    epochs: int
    loss: float
    recall: dict[str, float] = {}
    best: bool = False


class RetrieverMeasured(Event, tag=True, kw_only=True, frozen=True):
    """The chosen scorer, or scores computed elsewhere, on a split. For the latter, `missing`: samples without scores;
    `unscored`: edges of the others that are not named; `strangers`: scored triples that are not in their graph."""

    split: str
    samples: int
    recall: dict[str, float]
    source: str = ""
    missing: int = 0
    unscored: int = 0
    strangers: int = 0


class AgentGraphsBuilt(Event, tag=True, kw_only=True, frozen=True):
    """The agent graphs of a split (spec GFlowNet 0.3)."""

    split: str
    samples: int
    dropped: dict[str, int] = {}
    edges_mean: float = 0.0
    nodes_mean: float = 0.0


class SamplerStep(Event, tag=True, kw_only=True, frozen=True):
    """A training step of the sampler (spec GFlowNet 5, 7). `residual_quantiles`: 5, 25, 50, 75 and 95% of delta over
    the step's trajectories, `residual` their mean; `log_z`, `success_mean` ... are means over the step. `pb_nll`,
    `pb_entropy` and `pb_l2` are the terms of a backward policy that learns (None: it does not), `pb_avg_entropy` is its
    mean entropy in nats at the nodes that the walks reach."""

    step: int
    steps: int
    loss: float
    tb_loss: float
    gt_loss: float | None = None
    pb_nll: float | None = None
    pb_entropy: float | None = None
    pb_l2: float | None = None
    pb_avg_entropy: float = 0.0
    residual: float = 0.0
    residual_quantiles: list[float] = []
    log_z: float = 0.0
    prior_alpha: float = 0.0
    rollout_reward: float = 0.0
    success_mean: float = 0.0
    answer_f1: float = 0.0
    path_hit_precision: float = 0.0
    path_hit_recall: float = 0.0
    path_hit_f1: float = 0.0
    length_mean: float = 0.0
    gradient_norm: float = 0.0
    refused: int = 0
    trajectories_per_second: float = 0.0


class SamplerEvaluated(Event, tag=True, kw_only=True, frozen=True):
    """A method on a split after `step` steps: gflownet (independent draws), distinct, greedy, beam, prior. `metrics`
    has the spec's names (GFlowNet 9); `total_variation` there is between P_F and R / sum R, over the `listed` questions
    whose paths could all be listed. `settings` were chosen on validation; `intervals` are 95% bounds of some metrics.
    `n` questions have an agent graph; figures called `..._all@K` are over these and the `missed` ones, of which no path
    reaches an answer. `best`: the best weights so far, by validation."""

    step: int
    split: str
    method: str
    n: int
    k: int
    missed: int = 0
    metrics: dict[str, float]
    settings: dict[str, float] = {}
    listed: int = 0
    intervals: dict[str, tuple[float, float]] = {}
    best: bool = False


class PathStep(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One edge of a path in words. `gt`: on a shortest path to an answer."""

    head: str
    relation: str
    tail: str
    score: float
    gt: bool = False
    answer: bool = False


class SampledPath(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A distinct path among those drawn for a question. `probability` is P_F; `answers` the answers it meets."""

    steps: list[PathStep]
    count: int
    probability: float
    reward: float
    answers: list[str] = []


class QuestionSampled(Event, tag=True, kw_only=True, frozen=True):
    """The paths drawn for one held-out question, and the prompt they make. `distinct`: drawn without replacement, the
    most probable first; otherwise `samples` draws, each for itself, the most frequent path first. `answers`: those in
    the agent graph; `golds`: texts of all gold answers."""

    sample_id: str
    question: str
    starts: list[str]
    answers: list[str]
    golds: list[str] = []
    nodes: int
    edges: int
    samples: int
    distinct: bool = False
    log_z: float
    temperature: float
    prior_alpha: float
    paths: list[SampledPath]
    prompt: str = ""


class EvidenceAnswered(Event, tag=True, kw_only=True, frozen=True):
    """One held-out question answered from evidence. `method`: gflownet (its paths) or triples (the best-scored ones).
    `hit`: some gold answer is named; `recall`: the share of them that are; `prompt_tokens`: of the triples;
    `cut`: the answer ends at the limit of tokens; `failure`: why there is none, which is a miss."""

    sample_id: str
    method: str
    question: str
    golds: list[str]
    answer: str
    hit: bool
    recall: float
    triples: int
    prompt_tokens: int
    prompt: str = ""
    cut: bool = False
    failure: str = ""


class EvidenceCompared(Event, tag=True, kw_only=True, frozen=True):
    """A line of `tables/answers.csv`. `difference`: hit minus that of triples, with its paired bootstrap 95% interval
    and McNemar's exact p. `hit_all`, `recall_all`: of the paths, over all held-out questions, of which the `missed`
    ones count 0: no path in their graph reaches an answer. Triples, which need no path, are not asked about those."""

    method: str
    reader: str
    n: int
    hit: float
    recall: float
    triples: float
    prompt_tokens: float
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    missed: int = 0
    hit_all: float | None = None
    recall_all: float | None = None
