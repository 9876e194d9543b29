"""Events of the stages mine, select, memory and eval."""

from __future__ import annotations

import msgspec

from engine.events.base import Event


class RolloutEnded(Event, tag=True, kw_only=True, frozen=True):
    """One rollout of a training example has ended (spec ESM 3.1, 3.2). `draw`: its number, from 0; `segments`: how many
    it has that a delimiter ends; its text is in rollouts.jsonl once its batch is stored."""

    example: str
    draw: int
    correct: bool
    reward: float
    tokens: int
    segments: int
    pred: str = ""


class RolloutsMined(Event, tag=True, kw_only=True, frozen=True):
    """K rollouts of one training example, scored (spec ESM 3.1, 3.2)."""

    example: str
    question: str
    n: int
    correct: int
    mean_tokens: float
    segments: list[int] = []
    pairs: int = 0


class PairMined(Event, tag=True, kw_only=True, frozen=True):
    """A contrastive pair was mined (spec ESM 3.4 to 3.7); said with its example's last rollout. With
    `offline_mine.verify` it is said once more when its vector was tried out: whether the greedy answer is
    right from its wrong prefix with the vector and without, and from its right prefix without."""

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
    steered_correct: bool | None = None
    wrong_correct: bool | None = None
    right_correct: bool | None = None


class EntryPicked(Event, tag=True, kw_only=True, frozen=True):
    """The greedy DPP (or the per-control-point floor) chose a candidate (spec ESM 4.3, 4.4). `name`: what it is called,
    none in older logs."""

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
    name: str = ""


class MemoryBuilt(Event, tag=True, kw_only=True, frozen=True):
    """The index that retrieval will search (spec ESM 5). `by_control_point`: m -> [wrong, right] counts."""

    entries: int
    hidden_size: int
    layers: list[int]
    by_control_point: dict[str, list[int]]


class Candidate(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A retrieved memory entry as the controller weighed it (spec ESM 6.3 to 6.7).

    `entry` is its id; `name`: what it is called, none in older logs.
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
    name: str = ""


class DecisionTaken(Event, tag=True, kw_only=True, frozen=True):
    """One control point of one example, decided (spec ESM 6.3 to 6.10).

    `gate` names the rule that decided: see `engine.esm.online.decide`. `chosen` is the entry's id or
    None for the null action; `alpha` is the injected scale. `logprob` and `null_logprob` are the mean token
    log-probabilities (nats) of the chosen entry's probe and of null's, `delta_logprob` their difference.
    `tokens_before` counts the committed tokens of
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
    logprob: float | None = None
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
    """A method has done its examples: its row of the result tables, compared with greedy if that was evaluated.

    `difference` is accuracy minus greedy's over the same examples, `low`/`high` its paired bootstrap 95%
    interval, `p` McNemar's exact two-sided p. `final` is False for running figures.
    `tokens_per_second`: committed and probe tokens while they are decoded, of one process where there are several.
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


class TriedAnswer(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One answer of a what-if: its segment at the control point, the whole text, the verdict, and its cost in tokens.

    `chosen`: what was injected at each control point from the first on, None for null. `alpha`: the strength at the
    control point in question."""

    alpha: float = 0.0
    chosen: list[str | None] = []
    segment: str = ""
    text: str = ""
    pred: str = ""
    correct: bool = False
    tokens_used: int = 0
    probe_tokens_used: int = 0


class WhatIfTried(Event, tag=True, kw_only=True, frozen=True):
    """An answer decoded again with another choice at control point `m`; none of the run's own results.

    `committed`: decoded again without a change; `exact` says whether it repeats the record, `difference` where not.
    `null`: unsteered at `m`. `yours`: one answer for each strength asked for. `entries`: what was injected
    (`names`: what these are called), all at `layer`; none: null was asked for. `onward`: the same was done at all
    later control points, too; else the controller chose there."""

    method: str
    example: str
    m: int
    question: str
    gold: str
    entries: list[str]
    layer: int | None
    onward: bool
    committed: TriedAnswer
    null: TriedAnswer
    yours: list[TriedAnswer]
    exact: bool
    difference: str = ""
    names: list[str] = []
