"""Answers that are in a file, in a model's place: what somebody else's system answered, scored here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.errors import DataError
from engine.lm.protocol import ignore
from engine.servers.spent import Spent
from engine.slsm.chat_model import ChatAnswer, ChatAsk, Given
from engine.slsm.multichallenge import Dialogues, read_bytes, wrong
from engine.tasks.records import jsonl_records

SETTING = "slsm.answers.path"
NOT_IN_FILE = "the file has no answer to it"
NO_FURTHER_ATTEMPT = "the file has no further attempt at it"
_IDS, _ANSWERS = ("QUESTION_ID", "id"), ("RESPONSE", "answer")
_FORM = "one JSON object a line with `QUESTION_ID` and `RESPONSE` (or `id` and `answer`), a text or a list of attempts"


class PublishedAnswers:
    """`ChatModel` that gives each attempt at a conversation the answer of the file, whatever its prompt.

    `attempts`: of the longest list; `deviations`: where the file and the conversations do not fit, in words.
    """

    def __init__(
        self, name: str, answers: Mapping[str, Sequence[str]], deviations: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.attempts = max((1, *map(len, answers.values())))
        self.deviations = tuple(deviations)
        self._answers = answers

    def answer(
        self, asks: Sequence[ChatAsk], checkpoint: Callable[[], None], keep: Given, early: Given = ignore
    ) -> None:
        for number, ask in enumerate(asks):
            given = self._answers.get(ask.conversation)
            if given is None:
                text, failure = "", NOT_IN_FILE
            elif ask.attempt >= len(given):
                text, failure = "", NO_FURTHER_ATTEMPT
            else:
                text = given[ask.attempt].strip()
                failure = "" if text else "the answer in the file is empty"
            keep(number, ChatAnswer(text, Spent(), failure=failure))

    def count_tokens(self, text: str) -> int:
        return -(-len(text) // 4)


def read_answers(path: Path, dialogues: Dialogues) -> PublishedAnswers:
    """The file's answers to these conversations: a text each, or a list with a text or null for each attempt. Raises
    DataError with the line, or where the file answers none of them."""
    answers: dict[str, Sequence[str]] = {}
    for place, record in jsonl_records(read_bytes(path, SETTING).splitlines(), str(path)):
        key = next((record[name] for name in _IDS if name in record), None)
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise wrong(place, f"the id is {key!r}", _FORM)
        if str(key) in answers:
            raise wrong(
                place, f"the id {str(key)!r} occurs twice", "put all attempts at a question into one list"
            )
        answers[str(key)] = _attempts(record, place)
    return PublishedAnswers(f"answers of {path.name}", answers, _deviations(path, set(answers), dialogues))


def _attempts(record: Mapping[str, Any], place: str) -> list[str]:
    given = next((record[name] for name in _ANSWERS if name in record), None)
    if isinstance(given, str):
        return [given]
    if not isinstance(given, list):
        raise wrong(place, f"the answer is {given!r}", _FORM)
    for number, text in enumerate(given, 1):
        if not isinstance(text, str | None):
            raise wrong(place, f"attempt {number} is {text!r}", _FORM)
    return [text or "" for text in given]


def _deviations(path: Path, given: set[str], dialogues: Dialogues) -> list[str]:
    if any(one.is_open(number) for one in dialogues.conversations for number in range(len(one.turns) - 1)):
        raise wrong(
            SETTING,
            "earlier turns of these conversations are written by the model under test, which a file is not",
            "use `local` or `openai`, or data with all turns, such as MultiChallenge",
        )
    asked = {one.id for one in dialogues.conversations}
    missing, unknown = len(asked - given), 0 if dialogues.left_out else len(given - asked)
    deviations = [f"no answer to {missing} of {len(asked)} conversations"] if missing else []
    deviations += [f"no conversation for {unknown} of {len(given)} answers"] if unknown else []
    if missing == len(asked):
        raise DataError(
            what="; ".join(deviations),
            where=str(path),
            hint="name the answers to the conversations of slsm.data.path; ids tell which belongs to which",
        )
    return deviations
