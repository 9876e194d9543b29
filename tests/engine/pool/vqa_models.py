"""VQA models for tests: they know a score for every pair, count what they are asked, and can fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.pool.vqa.vqa import Ask, BareVQAModel, OnAnswer, VQAAsk, VQAReply
from engine.servers.spent import Spent

ANNOTATIONS = ["right"] * 8 + ["nearly"] * 2
"""`right` scores 1, `nearly` 0.6, anything else 0."""


def replies_of(
    model: BareVQAModel, asks: Sequence[Ask], checkpoint: Callable[[], None] = lambda: None
) -> list[VQAReply]:
    """The model's reply to each ask, in their order."""
    replies: dict[int, VQAReply] = {}
    model.answer(asks, checkpoint, replies.__setitem__)
    return [replies[number] for number in range(len(asks))]


class TableModel:
    """Answers `right`, `nearly`, `wrong`, or fails where `answer_of` gives None."""

    def __init__(self, answer_of: Callable[[str, tuple[int, int]], str | None], name: str = "table") -> None:
        self.name = name
        self.batches: list[list[VQAAsk]] = []
        self._answer_of = answer_of

    @property
    def asked(self) -> list[VQAAsk]:
        """Everything, in order."""
        return [ask for batch in self.batches for ask in batch]

    def answer(self, asks: Sequence[VQAAsk], checkpoint: Callable[[], None], answered: OnAnswer) -> None:
        """One reply each."""
        checkpoint()
        self.batches.append(list(asks))
        for number, ask in enumerate(asks):
            answered(number, self._reply(ask))

    def _reply(self, ask: VQAAsk) -> VQAReply:
        answer = self._answer_of(ask.query_id, ask.demonstrations)
        error = "no answer" if answer is None else None
        return VQAReply(answer=answer, error=error, spent=Spent(1, 10, 0.5))
