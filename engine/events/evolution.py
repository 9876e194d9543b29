"""Events of the stages clusters and evolve."""

from __future__ import annotations

import msgspec

from engine.events.base import Event


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
    """The vocabulary is divided into clusters. `tokens`: rows of the logits."""

    tokens: int
    clusters: list[TokenCluster]
    embedder: str = ""


class ServerChanged(Event, tag=True, kw_only=True, frozen=True):
    """The model server's state: stopped, starting, healthy, failed. `log`: the last lines it wrote."""

    state: str
    server: str = ""
    detail: str = ""
    log: list[str] = []


class EvolutionBegan(Event, tag=True, kw_only=True, frozen=True):
    """What the evolution works with. `best_by`: whose composite decides on the best deltas, that of the `minibatch` or
    of the `validation` set (as in older logs, which do not name it). `weights`: of shortness and correctness in the
    composite; `scale`: tokens. On `cannot_tell` of the `questions` the judge cannot tell: their answers are counted,
    not scored."""

    clusters: list[str]
    iterations: int
    minibatch: int
    validation: int
    test: int = 0
    best_by: str = "validation"
    scale: float
    weights: list[float]
    server: str
    judge: str
    reflector: str
    questions: int = 0
    cannot_tell: int = 0


class IterationBegan(Event, tag=True, kw_only=True, frozen=True):
    """An iteration with the deltas it uses."""

    iteration: int
    deltas: dict[str, float]
    examples: list[str] = []


class AnswerJudged(Event, tag=True, kw_only=True, frozen=True):
    """One answer. `split`: minibatch, validation or test; without processor: baseline and test_plain, and after a
    request for short answers brief_1, brief_2, … (validation) and test_brief.

    `correct` None: the judge failed or, with `cannot_tell`, it cannot judge this question; `reasoning` says why.
    `pieces` are the answer's tokens as text, `clusters` the cluster of each (255: none)."""

    iteration: int
    split: str
    example: str
    question: str
    gold: str
    answer: str
    tokens: int
    correct: bool | None = None
    cannot_tell: bool = False
    reasoning: str = ""
    pieces: list[str] = []
    clusters: list[int] = []


class AnswersScored(Event, tag=True, kw_only=True, frozen=True):
    """A set of answers, scored (spec Evolution 1, step 8). `judged` of the answers count; on `cannot_tell` of the
    others the judge cannot tell, on the rest it failed. `error`: standard error of the composite; `best`: by this score
    the iteration is a new best."""

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
    cannot_tell: int = 0
    best: bool = False


class ReflectorReplied(Event, tag=True, kw_only=True, frozen=True):
    """New deltas for the next iteration, or why there are none (`aborted`). `refused`: of each reply that could not be
    used the rules that it broke, with what broke them. `message`: file with the request."""

    iteration: int
    reflector: str
    deltas: dict[str, float] = {}
    summary: str = ""
    attempts: int = 1
    aborted: str = ""
    refused: list[dict[str, str]] = []
    message: str = ""


class MethodCompared(Event, tag=True, kw_only=True, frozen=True):
    """A line of `tables/test.csv`, on the test set. `method`: no_processor; length_cap, which cuts its answers to the
    best deltas' mean length; chosen_cap, whose `cap` validation chose; brief_prompt, with the request for short answers
    (`prompt`) that validation chose; or best, the evolved deltas.

    `n` answers were judged; on `cannot_tell` others the judge cannot tell. All intervals are paired bootstrap 95%
    intervals. `difference`: correctness minus that of no_processor, with McNemar's exact p; `tokens_difference`: the
    same of mean tokens; `ahead`: composite minus that of best."""

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
    cannot_tell: int = 0
    prompt: str = ""
    tokens_difference: float | None = None
    tokens_low: float | None = None
    tokens_high: float | None = None
    ahead: float | None = None
    ahead_low: float | None = None
    ahead_high: float | None = None


class IterationFinished(Event, tag=True, kw_only=True, frozen=True):
    """The iteration is in history.json. Sums of the whole evolution so far: calls, tokens, cost of judge and
    reflector."""

    iteration: int
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
