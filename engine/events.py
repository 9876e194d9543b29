"""The event vocabulary: everything a run says about itself, one JSON line each in `events.jsonl`.

The log is the only source of every screen (live, attached or replayed), so an event carries whatever a
reader needs to draw it. Events are facts: never commands, never secrets. A reader meets logs written by
other versions: it skips types it does not know and counts them (`Unknown`), and new fields have defaults.
"""

from __future__ import annotations

from typing import Any, Union

import msgspec

SCHEMA_VERSION = 1


class Event(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True, tag_field="type"):
    """What every event carries. `seq` counts from 0 (the header); `time` is Unix seconds."""

    seq: int = 0
    time: float = 0.0
    stage: str = ""


# ---------------------------------------------------------------- the run


class Header(Event, tag=True, kw_only=True, frozen=True):
    """First line of a log."""

    schema_version: int
    name: str
    run_id: str
    seed: int
    stages: list[str]
    versions: dict[str, str] = {}


class WorkerStarted(Event, tag=True, kw_only=True, frozen=True):
    """A worker process took the run up, for the first time (`attempt` 1) or again."""

    pid: int
    attempt: int
    stages: list[str]


class WorkerStopped(Event, tag=True, kw_only=True, frozen=True):
    """A worker's last word. `status`: finished, stopped (asked to), failed. All that was done is on disk."""

    status: str
    kept: str = ""


class StageStarted(Event, tag=True, kw_only=True, frozen=True):
    """`done` of `total` `unit`s were already there from an earlier attempt."""

    total: int
    done: int = 0
    unit: str = "items"


class StageProgress(Event, tag=True, kw_only=True, frozen=True):
    """`tokens`: generated so far by this attempt at the stage (for throughput), `elapsed`: its seconds."""

    done: int
    total: int
    tokens: int = 0
    elapsed: float = 0.0
    note: str = ""


class StageFinished(Event, tag=True, kw_only=True, frozen=True):
    """`summary`: the stage's figures by name; `files`: what it wrote, relative to the run directory."""

    seconds: float
    summary: dict[str, float | int | str] = {}
    files: list[str] = []


class StageSkipped(Event, tag=True, kw_only=True, frozen=True):
    """Finished by an earlier attempt."""


class StagePaused(Event, tag=True, kw_only=True, frozen=True):
    """The stage waits between two items."""


class StageResumed(Event, tag=True, kw_only=True, frozen=True):
    """The stage goes on."""


class StageStopped(Event, tag=True, kw_only=True, frozen=True):
    """The stage was asked to stop; `done` items are kept."""

    done: int = 0


class StageFailed(Event, tag=True, kw_only=True, frozen=True):
    """What went wrong, where, and how to mend it; `traceback` only for what the program did not foresee."""

    what: str
    where: str = ""
    mend: str = ""
    traceback: str = ""


class Notice(Event, tag=True, kw_only=True, frozen=True):
    """Something the user should know. `level`: info or warning."""

    text: str
    level: str = "info"


class ModelLoaded(Event, tag=True, kw_only=True, frozen=True):
    """Which model answers, and what it is made of."""

    name: str
    backend: str
    device: str
    dtype: str
    num_layers: int
    hidden_size: int
    parameters: int = 0
    fingerprint: str = ""
    seconds: float = 0.0


# ---------------------------------------------------------------- training (embedded model)


class TrainingStep(Event, tag=True, kw_only=True, frozen=True):
    """One reported point of a training curve."""

    step: int
    loss: float
    learning_rate: float = 0.0
    tokens_per_second: float = 0.0


# ---------------------------------------------------------------- ESM: mine, select, memory


class RolloutsMined(Event, tag=True, kw_only=True, frozen=True):
    """K rollouts of one training example, scored (spec ESM 3.1, 3.2)."""

    example: str
    question: str
    n: int
    correct: int
    mean_tokens: float
    mean_reward: float
    segments: list[int] = []
    pairs: int = 0


class PairMined(Event, tag=True, kw_only=True, frozen=True):
    """A contrastive pair entered the top-C pool (spec ESM 3.4 to 3.7)."""

    pair: str
    example: str
    control_point_m: int
    layer: int
    quality: float
    positives: int
    negatives: int
    delta_norm: float
    source: str = "rollout"
    positive_text: str = ""
    negative_text: str = ""


class EntryPicked(Event, tag=True, kw_only=True, frozen=True):
    """The greedy DPP (or the per-control-point floor) took one candidate (spec ESM 4.3, 4.4)."""

    order: int
    lib_id: str
    tool_name: str
    kind: str
    example: str
    control_point_m: int
    layer: int
    quality: float
    gain: float
    objective: float
    max_similarity: float
    reason: str = "dpp"


class MemoryBuilt(Event, tag=True, kw_only=True, frozen=True):
    """The index that retrieval will search (spec ESM 5). `by_control_point`: m -> [wrong, right] counts."""

    entries: int
    hidden_size: int
    layers: list[int]
    by_control_point: dict[str, list[int]]


# ---------------------------------------------------------------- ESM: eval


class Candidate(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A retrieved memory entry as the controller weighed it (spec ESM 6.3 to 6.7).

    `kind`: wrong (can be injected) or right (supports null). `probed` entries carry the probe's mean token
    log-probability (nats), its text and its length in tokens.
    """

    entry: str
    kind: str
    similarity: float
    quality: float
    ahat: float
    layer: int = 0
    source: str = ""
    probed: bool = False
    logprob: float | None = None
    delta_logprob: float | None = None
    score: float | None = None
    probe_text: str = ""
    probe_tokens: int = 0


class DecisionTaken(Event, tag=True, kw_only=True, frozen=True):
    """One control point of one example, decided (spec ESM 6.3 to 6.10).

    `gate` names the rule that settled it: see `engine.esm.decide`. `chosen` is the entry's name or
    None for the null action; `alpha` is the injected scale. `tokens_before` counts the committed tokens of
    the answer before this segment. `null_segment` is what the unsteered model would have committed here,
    when `online.record_null` asked for it (its tokens are in no budget).
    """

    method: str
    example: str
    m: int
    phase: str = "segment"
    gate: str
    memory_size: int = 0
    top_similarity: float | None = None
    best_ahat: float | None = None
    null_ahat: float | None = None
    null_logprob: float | None = None
    null_score: float | None = None
    null_probe: str = ""
    candidates: list[Candidate] = []
    chosen: str | None = None
    layer: int | None = None
    delta_logprob: float | None = None
    score: float | None = None
    alpha: float = 0.0
    tokens_before: int = 0
    committed_tokens: int = 0
    probe_tokens: int = 0
    ended: str = ""
    prefix: str = ""
    segment: str = ""
    null_segment: str | None = None


class ExampleEvaluated(Event, tag=True, kw_only=True, frozen=True):
    """One evaluated example under one method. `budget_used` = committed + probe tokens."""

    method: str
    index: int
    example: str
    question: str
    gold: str
    pred: str
    correct: bool
    tokens_used: int
    probe_tokens_used: int = 0
    budget_used: int = 0
    decisions: int = 0
    steered: int = 0
    text: str = ""


class MethodEvaluated(Event, tag=True, kw_only=True, frozen=True):
    """A method is through its examples: its row of the result tables, against greedy where that is there.

    `difference` is accuracy minus greedy's over the same examples, `low`/`high` its paired bootstrap 95%
    interval, `p` McNemar's exact two-sided p. `final` is False for running figures.
    """

    method: str
    n: int
    accuracy: float
    mean_tokens: float
    mean_probe_tokens: float = 0.0
    tokens_per_second: float = 0.0
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    fixed: int = 0
    broken: int = 0
    final: bool = True


# ---------------------------------------------------------------- Evolution: clusters


class TokenCluster(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One cluster of tokens (spec Evolution 2.5). `share`: of all counted tokens, between 0 and 1;
    `central_tokens`: nearest to the cluster's mean first; `frequent_tokens`: most counted first."""

    id: str
    description: str
    size: int
    share: float = 0.0
    central_tokens: list[str] = []
    frequent_tokens: list[str] = []


class ClustersBuilt(Event, tag=True, kw_only=True, frozen=True):
    """The vocabulary is in clusters. `tokens`: rows of the logits; `unassigned`: padding rows, in no cluster;
    `frequency_source`: what the frequent tokens were counted in."""

    tokens: int
    clusters: list[TokenCluster]
    unassigned: int = 0
    embedder: str = ""
    frequency_source: str = ""


# ---------------------------------------------------------------- evolution of cluster deltas


class ServerChanged(Event, tag=True, kw_only=True, frozen=True):
    """The model server's state: stopped, starting, healthy, failed. `log`: the last lines it wrote."""

    state: str
    server: str = ""
    detail: str = ""
    log: list[str] = []


class EvolutionBegan(Event, tag=True, kw_only=True, frozen=True):
    """What the evolution works with. `weights`: of shortness and correctness in the composite; `scale`: tokens."""

    clusters: list[str]
    iterations: int
    minibatch: int
    validation: int
    scale: float
    weights: list[float]
    server: str
    judge: str
    reflector: str
    branched_from: str = ""


class IterationBegan(Event, tag=True, kw_only=True, frozen=True):
    """An iteration with the deltas it uses. `inherited`: it was finished by the run this one branched from."""

    iteration: int
    deltas: dict[str, float]
    examples: list[str] = []
    inherited: str = ""


class AnswerJudged(Event, tag=True, kw_only=True, frozen=True):
    """One answer. `split`: minibatch, validation or baseline; `correct` None: the judge failed, `reasoning` says
    why. `pieces` are the answer's tokens as text, `clusters` the cluster of each (255: none)."""

    iteration: int
    split: str
    example: str
    question: str
    gold: str
    answer: str
    tokens: int
    correct: bool | None = None
    reasoning: str = ""
    pieces: list[str] = []
    clusters: list[int] = []


class AnswersScored(Event, tag=True, kw_only=True, frozen=True):
    """A set of answers, scored (spec Evolution 1, step 8). `error`: standard error of the composite."""

    iteration: int
    split: str
    answers: int
    judged: int
    correct: int
    mean_tokens: float
    shortness: float
    correctness: float
    composite: float
    error: float = 0.0
    best: bool = False


class ReflectorReplied(Event, tag=True, kw_only=True, frozen=True):
    """New deltas for the next iteration, or why there are none (`aborted`). `message`: file of what was sent."""

    iteration: int
    reflector: str
    deltas: dict[str, float] = {}
    summary: str = ""
    attempts: int = 1
    aborted: str = ""
    message: str = ""


class MethodCompared(Event, tag=True, kw_only=True, frozen=True):
    """A line of `tables/validation.csv`: no_processor, length_cap or best, on the validation set. `difference`:
    correctness minus that of no_processor, with its paired bootstrap 95% interval and McNemar's exact p."""

    method: str
    n: int
    correctness: float
    wilson_low: float
    wilson_high: float
    mean_tokens: float
    shortness: float
    composite: float
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    cap: int | None = None


class IterationFinished(Event, tag=True, kw_only=True, frozen=True):
    """The iteration is in history.json. Sums of the whole evolution so far: calls, tokens, cost of judge and
    reflector."""

    iteration: int
    best_iteration: int
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0


EVENT_TYPES: tuple[type[Event], ...] = tuple(
    t for t in list(globals().values()) if isinstance(t, type) and issubclass(t, Event) and t is not Event
)

_TAGS = frozenset(t.__name__ for t in EVENT_TYPES)
_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Union[EVENT_TYPES])
_envelope = msgspec.json.Decoder(dict[str, Any])


class Unknown(msgspec.Struct, frozen=True):
    """A well-formed line of a type this version does not know: skipped and counted."""

    type: str


def encode(event: Event) -> bytes:
    """One line of the log, newline included."""
    return _encoder.encode(event) + b"\n"


def decode(line: bytes) -> Event | Unknown:
    """The event on one line. Raises `msgspec.DecodeError` when the line is no event at all."""
    try:
        return _decoder.decode(line)
    except msgspec.ValidationError:
        tag = str(_envelope.decode(line).get("type"))
        if tag in _TAGS:
            raise
        return Unknown(tag)
