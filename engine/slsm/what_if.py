"""What if: an answer in a conversation given again under another note, an edited one, or none.

Seeds belong to conversations and turns, so whatever is different in the new answer comes from the note. The unchanged
answer is given beside it, and the event says whether it repeats the record.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from engine.config.section import NonNegativeInt, Section
from engine.errors import DataError
from engine.events import AnswerTried, ConversationAnswered, OtherAnswer
from engine.files import read_records
from engine.run.stage import StageContext
from engine.servers.spent import AskFailed
from engine.slsm import layout
from engine.slsm.answering import NO_MEMORY
from engine.slsm.chat_model import ChatAsk, answer_of
from engine.slsm.from_config import make_chat_model, make_dialogues, make_judge
from engine.slsm.policy import REMINDER, note_of
from engine.slsm.records import StateRecord, TurnRecord
from engine.slsm.turns import Conversation


class WhatIfRequest(Section):
    """The note to try behind the user's message of turn `turn` (counted from 0; None: the last one): `note`, or that of
    a memory after this turn, or the sentence that is always the same. `mode`, `memory_mode` and `attempt` name the
    recorded answer."""

    conversation: str
    mode: str
    memory_mode: str = NO_MEMORY
    attempt: NonNegativeInt = 0
    turn: NonNegativeInt | None = None
    note: Annotated[str, Field(max_length=20_000)] = ""
    source: Literal["note", "structured", "flat", "reminder"] = "note"


class WhatIf:
    """The conversations of a run, ready to be answered again. Raises SteerError where model or data are missing."""

    form: ClassVar[type[Section]] = WhatIfRequest
    stage: ClassVar[str] = "slsm"

    def __init__(self, context: StageContext) -> None:
        self._context = context
        self._dialogues = make_dialogues(context)
        self._model = make_chat_model(context)
        self._judge = make_judge(context) if self._dialogues.criteria else None
        self._conversations = {one.id: one for one in self._dialogues.conversations}

    def tried(self, request: WhatIfRequest) -> AnswerTried:
        """The answers: with the note of the record, with none, and with the wanted one. Raises DataError for what the
        run does not have."""
        result, conversation = self._recorded(request), self._conversation(request.conversation)
        last = len(conversation.turns) - 1
        turn = last if request.turn is None else request.turn
        if turn > last:
            raise DataError(
                what=f"the conversation has no turn {turn + 1}",
                where=request.conversation,
                hint=f"choose one of 1 to {last + 1}",
            )
        then = result.answer if turn == last else conversation.turns[turn].assistant or ""
        note = result.note if turn == last else ""
        recorded_note = "the note of the run" if note else "no note, as in the run"
        committed = self._answer(conversation, request, turn, note, recorded_note)
        difference = "" if committed.text == then else self._difference(result, turn, last)
        return AnswerTried(
            system="slsm",
            example=conversation.id,
            case=request.model_dump(include={"mode", "memory_mode", "attempt"}) | {"turn": turn},
            question=conversation.turns[turn].user,
            gold=self._criterion(conversation.id) if turn == last else "",
            committed=committed,
            none=self._answer(conversation, request, turn, "", "no note"),
            yours=[self._answer(conversation, request, turn, *self._note(request, turn))],
            exact=not difference,
            difference=difference,
        )

    # ------------------------------------------------------------ the record

    def _recorded(self, request: WhatIfRequest) -> ConversationAnswered:
        path = layout.results(self._context.run_dir)
        key = (request.conversation, request.mode, request.memory_mode, request.attempt)
        there = path.is_file() and request.conversation in self._conversations
        for result in read_records(path, ConversationAnswered) if there else []:
            if (result.conversation_id, result.mode, result.memory_mode, result.attempt) == key:
                return result
        raise DataError(
            what=f"{request.mode} has no answer in conversation {request.conversation!r}",
            where=str(path),
            hint="choose an answer of this run",
        )

    def _conversation(self, name: str) -> Conversation:
        """With the turns that the model wrote itself."""
        conversation, path = self._conversations[name], layout.turns(self._context.run_dir)
        written = read_records(path, TurnRecord) if path.is_file() else []
        answers = {record.turn: record.answer for record in written if record.conversation_id == name}
        turns = [
            turn.answered(answers[number]) if number in answers and turn.assistant is None else turn
            for number, turn in enumerate(conversation.turns)
        ]
        return replace(conversation, turns=tuple(turns))

    def _wrote(self, conversation: str, turn: int) -> bool:
        """Whether the model wrote the answer of an earlier turn itself."""
        return self._conversations[conversation].turns[turn].assistant is None

    def _difference(self, result: ConversationAnswered, turn: int, last: int) -> str:
        if turn < last and not self._wrote(result.conversation_id, turn):
            return "the answer in this turn came with the conversation: no model of this run wrote it"
        if self._context.config.slsm.answers.kind == "openai":
            return "another answer came: the model behind a server need not answer twice alike"
        return f"the run has: {result.answer}" if turn == last else "the model wrote something else then"

    def _criterion(self, conversation: str) -> str:
        criterion = self._dialogues.criteria.get(conversation)
        return "" if criterion is None else f"{criterion.target_question} {criterion.pass_criteria}"

    # ------------------------------------------------------------ another choice

    def _note(self, request: WhatIfRequest, turn: int) -> tuple[str, str]:
        """The note to try, and what it is in words."""
        if request.source == "note":
            return request.note, "your note" if request.note else "no note"
        if request.source == "reminder":
            return REMINDER, "the sentence that is always the same"
        path = layout.states(self._context.run_dir)
        for record in read_records(path, StateRecord) if path.is_file() else []:
            if record.key() == (request.conversation, request.source, turn):
                note = note_of(record.restored(), self._context.config.slsm.note_max_items)
                words = f"the note of the {request.source} memory"
                return note, words if note else "an empty memory: no note"
        raise DataError(
            what=f"the run kept no {request.source} memory of this turn",
            where=str(path),
            hint="write the note yourself, or run with this kind of memory in slsm.compare_memory",
        )

    def _answer(
        self, conversation: Conversation, request: WhatIfRequest, turn: int, note: str, words: str
    ) -> OtherAnswer:
        last = len(conversation.turns) - 1
        turns = (*conversation.turns[:turn], conversation.turns[turn].answered(None))
        asked = replace(conversation, turns=turns).messages(note)
        seed = (
            self._context.seed(f"answer {conversation.id}", request.attempt)
            if turn == last
            else self._context.seed(f"turn {conversation.id}", turn)
        )
        answer = answer_of(self._model, ChatAsk(tuple(asked), seed, conversation.id))
        right, verdict = self._judged(conversation.id, answer.text) if turn == last else (None, "")
        if answer.failure:
            right, verdict = (False if self._judge else None), f"no answer: {answer.failure}"
        return OtherAnswer(
            given=words,
            text=answer.text,
            right=right,
            verdict=verdict,
            tokens=self._model.count_tokens(note) if note else 0,
            note=note,
        )

    def _judged(self, conversation: str, answer: str) -> tuple[bool | None, str]:
        criterion = self._dialogues.criteria.get(conversation)
        if self._judge is None or criterion is None:
            return None, ""
        try:
            verdict = self._judge.judge(criterion, answer)
        except AskFailed as error:
            return (False if self._context.config.slsm.judge.failures_fail else None), str(error)
        return verdict.passed, verdict.reason
