"""Its fold: a row a question."""

from __future__ import annotations

from typing import NamedTuple

from agreement.events import AgreementMeasured
from app.state.columns import AppendOnlyList
from app.state.method import MethodState
from engine.run.event_log import LogPlace


class Row(NamedTuple):
    """A question as the list shows it."""

    example: str
    answer: str
    share: float
    place: LogPlace


class AgreementState(MethodState):
    """What its screen knows."""

    title = "Agreement"
    stages_shown = ("agreement",)
    page = "agreement.page:PAGE"

    def __init__(self) -> None:
        self.rows: AppendOnlyList[Row] = AppendOnlyList()


@AgreementState.on(AgreementMeasured)
def _measured(state: AgreementState, event: AgreementMeasured, place: LogPlace) -> None:
    state.rows.append(Row(event.example, event.answer, event.share, place), key=event.example)
