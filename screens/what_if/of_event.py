"""Which screen tries another choice in the place of an event."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from app.methods.source import CaseSource
from app.runs.what_if import WhatIfProcess
from engine import events as ev
from screens.what_if.screen import WhatIfScreen

_SCREENS: dict[type[ev.Event], str] = {
    ev.AnswerJudged: "screens.evolution.what_if:of_answer",
    ev.ConversationAnswered: "screens.slsm.what_if:of_answer",
    ev.DecisionTaken: "screens.esm.what_if:of_decision",
    ev.EvidenceAnswered: "screens.gflownet.what_if:of_answer",
    ev.QuestionSampled: "screens.gflownet.what_if:of_question",
    ev.PoolQueryDone: "screens.pool.what_if:of_query",
    ev.SelectorPicked: "screens.pool.what_if:of_picks",
}
"""Imported only by those who ask."""


def has_choice(kind: type[ev.Event]) -> bool:
    """Whether another choice can be tried in the place of such events."""
    return kind in _SCREENS


def what_if_screen(process: WhatIfProcess, event: ev.Event, source: CaseSource) -> WhatIfScreen[Any] | str:
    """The screen for this event's choice, or why there is none."""
    module, _, function = _SCREENS[type(event)].partition(":")
    return getattr(import_module(module), function)(process, event, source)
