"""Answers that are in a file, in a model's place: what somebody else's system answered, scored here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from engine.errors import DataError
from engine.servers.spent import Spent
from engine.slsm.chat_model import ChatAnswer, ChatAsk
from engine.slsm.multichallenge import Dialogues, json_lines, read_bytes, wrong

SETTING = "slsm.answers.path"
_IDS, _ANSWERS = ("QUESTION_ID", "id"), ("RESPONSE", "answer")
_MEND = "one JSON object a line with `QUESTION_ID` and `RESPONSE` (or `id` and `answer`)"


class PublishedAnswers:
    """`ChatModel` that gives each conversation the answer of the file, whatever its prompt."""

    def __init__(self, name: str, answers: dict[str, str]) -> None:
        self.name = name
        self._answers = answers

    def answer(self, asks: Sequence[ChatAsk], checkpoint: Callable[[], None]) -> Iterator[ChatAnswer]:
        for ask in asks:
            text = self._answers[ask.conversation].strip()
            yield ChatAnswer(text, Spent(), failure="" if text else "the answer in the file is empty")

    def count_tokens(self, text: str) -> int:
        return -(-len(text) // 4)


def read_answers(path: Path, dialogues: Dialogues) -> PublishedAnswers:
    """The file's answers to exactly these conversations. Raises DataError with the line, or the ids that do not fit."""
    answers: dict[str, str] = {}
    for _, place, record in json_lines(read_bytes(path, SETTING), str(path)):
        key = next((record[name] for name in _IDS if name in record), None)
        text = next((record[name] for name in _ANSWERS if name in record), None)
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise wrong(place, f"the id is {key!r}", _MEND)
        if not isinstance(text, str):
            raise wrong(place, f"the answer is {text!r}", _MEND)
        if str(key) in answers:
            raise wrong(place, f"the id {str(key)!r} occurs twice", "keep one answer to each question")
        answers[str(key)] = text
    _check_ids(path, set(answers), dialogues)
    return PublishedAnswers(f"answers of {path.name}", answers)


def _check_ids(path: Path, given: set[str], dialogues: Dialogues) -> None:
    if any(one.is_open(number) for one in dialogues.conversations for number in range(len(one.turns) - 1)):
        raise wrong(
            SETTING,
            "earlier turns of these conversations are written by the model under test, which a file is not",
            "use `local` or `openai`, or data with all turns, such as MultiChallenge",
        )
    wanted = [one.id for one in dialogues.conversations]
    missing = [key for key in wanted if key not in given]
    strange = sorted(given - {*wanted, *dialogues.left_out})
    problems = [
        f"{what} {len(keys)} of {of}: {', '.join(keys[:3])}{', …' * (len(keys) > 3)}"
        for what, keys, of in (
            ("no answer to", missing, f"{len(wanted)} conversations"),
            ("no conversation for", strange, f"{len(given)} answers"),
        )
        if keys
    ]
    if problems:
        raise DataError(
            what="; ".join(problems),
            where=str(path),
            mend="give one answer to each conversation of slsm.data.path, by its id",
        )
