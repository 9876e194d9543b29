"""Events of the stage `slsm`: states turn by turn, answers under each mode, scores."""

from __future__ import annotations

import msgspec

from engine.events.base import Event


class StateItem(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """An item of a structured state. `kind`: facts, constraints, assumptions, unknowns or edits."""

    kind: str
    id: str
    text: str
    status: str = ""
    evidence: str = ""


class StateChange(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """`operation`: added, changed or resolved; `before`: text before, of a changed one."""

    operation: str
    item: StateItem
    before: str = ""
    why: str = ""


class AnswerConflict(msgspec.Struct, frozen=True, omit_defaults=True):
    """A conflict of an answer with the memory. `item`: id or words of what it contradicts; `exact`: proved by a check,
    not by a model's judgement."""

    item: str
    why: str
    exact: bool = False


class SLSMBegan(Event, tag=True, kw_only=True, frozen=True):
    """The setup of the comparison. `dataset_hash`: SHA-256 of the file. `variants`: [mode, memory mode]; `detector`:
    what finds conflicts of an answer (controller, checks or both), "" where no variant looks for them; `compared`: the
    mode of the verdict, "" where there is none, as in older logs."""

    conversations: int
    variants: list[list[str]]
    controller: str
    model: str
    judge: str
    dataset: str
    dataset_hash: str
    axes: list[str]
    detector: str = ""
    compared: str = ""


class ConversationOpened(Event, tag=True, kw_only=True, frozen=True):
    """A conversation. `turns`: [user, assistant] each; the last one has no assistant."""

    conversation_id: str
    axis: str
    turns: list[list[str]]


class StateUpdated(Event, tag=True, kw_only=True, frozen=True):
    """The state after turn `turn` (0-based). `changes`: structured; `new_text`, `gone_text`: sentences of a flat
    memory. `gated`: left out because the quote does not occur. `failure`: why the state before stands."""

    conversation_id: str
    memory_mode: str
    turn: int
    plan_mode: str
    reasons: list[str] = []
    items: list[StateItem] = []
    changes: list[StateChange] = []
    gated: list[StateItem] = []
    memory_text: str = ""
    new_text: list[str] = []
    gone_text: list[str] = []
    mismatch: bool = False
    failure: str = ""
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0


class ConversationAnswered(Event, tag=True, kw_only=True, frozen=True):
    """One answer under one mode. `note`: as injected, "" if none was; `reason`: why, or why not. `first_answer`: of
    on_detection, where a second was asked for. Calls and tokens are what this mode costs by itself: what two modes
    share is charged to both. `cut`: the answer ends at the limit of tokens; `failure`: why there is none, which fails.
    `passed` None: not judged, `verdict` says why."""

    conversation_id: str
    axis: str
    mode: str
    memory_mode: str
    attempt: int
    answer: str
    cut: bool = False
    failure: str = ""
    injected: bool
    reason: str
    note: str = ""
    note_tokens: int = 0
    first_answer: str = ""
    conflicts: list[AnswerConflict] = []
    detector_failure: str = ""
    controller_calls: int = 0
    controller_tokens: int = 0
    model_calls: int = 0
    model_tokens: int = 0
    detector_calls: int = 0
    detector_tokens: int = 0
    cost: float = 0.0
    passed: bool | None = None
    verdict: str = ""

    @property
    def tokens(self) -> int:
        """Of controller, model and detector together."""
        return self.controller_tokens + self.model_tokens + self.detector_tokens


class ModeScored(Event, tag=True, kw_only=True, frozen=True):
    """A line of `slsm/modes.csv`. `score`: macro mean over axes of the share of conversations that pass, with its
    stratified bootstrap 95% interval; None where nothing was judged. `difference`: to baseline, paired. `by_axis`:
    [axis, score, low, high, n].
    Calls and tokens are means a conversation. `fixed`, `wasted`, `broke`: conversations in which a note was injected,
    by what it did to the answer without one. `cut`, `unanswered`: conversations whose answer ends at the limit of
    tokens, and those without one, which count as failed."""

    mode: str
    memory_mode: str
    n: int
    judged: int
    score: float | None
    low: float | None
    high: float | None
    by_axis: list[list[str | float]]
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    injections: int = 0
    injected_tokens: float = 0.0
    controller_calls: float = 0.0
    model_calls: float = 0.0
    detector_calls: float = 0.0
    controller_tokens: float = 0.0
    model_tokens: float = 0.0
    detector_tokens: float = 0.0
    cost: float = 0.0
    fixed: int = 0
    wasted: int = 0
    broke: int = 0
    failures: int = 0
    cut: int = 0
    unanswered: int = 0
