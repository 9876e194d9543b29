"""Earlier answers of a conversation that the data leaves open: the model under test writes them, without a note.

So a conversation goes on as it would with this model, with its own lapses in it, and every mode answers the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from engine.run.keyed_records import KeyedRecords
from engine.run.stage import StageContext
from engine.slsm.chat_model import ChatAnswer, ChatAsk, ChatModel
from engine.slsm.records import TurnKey, TurnRecord
from engine.slsm.turns import Conversation


@dataclass(frozen=True)
class ModelTurns:
    """Writes open turns, and keeps them."""

    context: StageContext
    model: ChatModel
    records: KeyedRecords[TurnKey, TurnRecord]

    def fill(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        """The conversations without open turns but the last: first turns of all, then second turns, and so on."""
        filled = list(conversations)
        for number in range(max((len(one.turns) for one in filled), default=1) - 1):
            self._answer([one for one in filled if one.is_open(number)], number)
            filled = [self._with_turn(one, number) if one.is_open(number) else one for one in filled]
        return filled

    def _answer(self, conversations: Sequence[Conversation], number: int) -> None:
        missing = [one for one in conversations if (one.id, number) not in self.records]
        size = self.context.config.slsm.batch_size
        for first in range(0, len(missing), size):
            self.context.checkpoint()
            batch = missing[first : first + size]
            asks = [
                ChatAsk(
                    tuple(replace(one, turns=one.turns[: number + 1]).messages()),
                    self.context.seed(f"turn {one.id}", number),
                    one.id,
                )
                for one in batch
            ]
            self.model.answer(asks, self.context.checkpoint, partial(self._keep, batch, number))

    def _keep(self, batch: Sequence[Conversation], turn: int, place: int, answer: ChatAnswer) -> None:
        if answer.suspect is not None:
            raise answer.suspect
        self.records.add(TurnRecord(conversation_id=batch[place].id, turn=turn, answer=answer.text))

    def _with_turn(self, conversation: Conversation, number: int) -> Conversation:
        turns = list(conversation.turns)
        turns[number] = turns[number].answered(self.records[conversation.id, number].answer)
        return replace(conversation, turns=tuple(turns))
