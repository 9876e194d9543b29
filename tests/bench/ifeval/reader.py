"""Reads IFEval's file and makes conversations of it: a standing instruction, unrelated tasks, and one last task.

Each conversation takes one instruction of one prompt. The user says it first, for the whole conversation, then sets
tasks that are the first sentences of other prompts in the file, and last that of the instruction's own prompt. What the
assistant said to the earlier ones is not in the file: the model under test writes it itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from engine.seeds import derive_seed
from engine.slsm.checks.checks import parse_check
from engine.slsm.checks.measures import LANGUAGES
from engine.slsm.judges.judge import kept_question
from engine.slsm.multichallenge import Criterion, Dialogues, wrong
from engine.slsm.turns import Conversation, Turn
from engine.tasks.records import jsonl_records
from tests.bench.ifeval.standing import KNOWN, Given, standing_instruction

_HINT = "IFEval's fields: key, prompt, instruction_id_list, and kwargs, one object for each instruction"
_OPENING = "For this whole conversation: "
_TASK = re.compile(
    r"(?:(?:please|can you|could you) )*(?:write|create|compose|draft|explain|describe|generate|give|make|name|list|"
    r"tell|summarize|suggest|brainstorm)\b.*[.?!]|(?:\w+(?:'s)?) .*\?", re.I,
)  # fmt: skip
_BOUND = re.compile(
    r"\b(?:words?|letters?|lower ?case|capital(?:ized|s)?|upper ?case|caps|commas?|json|xml|bullets?|paragraphs?|"
    r"sentences?|sections?|titles?|quotation|quotes?|responses?|answers?|reply|replies|markdown|format|highlight\w*|placeholders?|"
    r"keywords?|postscript|languages?|entire|contain\w*|includ\w*|mention\w*|exactly|at least|(?:less|more) than|times|"
    r"twice|double|brackets|(?:end|start|finish|begin)\w*|characters?|separat\w*|wrap\w*|repeat\w*|two|three|four|five|"
    r"versions?|following|below|above|this|these|given|rewrite|table|structured|short|P\.S|"
    rf"in (?:{'|'.join(LANGUAGES)}))\b|"
    r"[<>\"*\[\]:\d]", re.I,
)  # fmt: skip
"""Words of a sentence that may be an instruction itself, or that leans on what follows it."""
_SHORTEST, _LONGEST = 20, 160
"""Characters of a task."""


@dataclass(frozen=True)
class _Case:
    """One instruction of one prompt."""

    id: str
    kind: str
    given: Given
    task: str | None
    place: str


def read_ifeval(data: bytes, where: str, name: str, most: int | None, between: int, seed: int) -> Dialogues:
    """Conversations with `between` unrelated tasks; `most` of them, None: all. The same for the same data and seed.
    Raises DataError with line and field."""
    cases: list[_Case] = []
    tasks: list[str] = []
    for place, record in jsonl_records(data.splitlines(), where):
        prompt_cases, task = _read(place, record)
        cases += prompt_cases
        tasks += [task] if task else []
    tasks = list(dict.fromkeys(tasks))
    if len(tasks) <= between:
        raise wrong(
            where,
            f"{len(tasks)} prompts begin with a task that can be set by itself; {between} unrelated ones and a last "
            "one are needed",
            "use the whole file, or set fewer tasks",
        )
    made = [found for case in cases if (found := _conversation(case, tasks, between, seed)) is not None]
    if not made:
        raise wrong(where, "no instruction that the exact checks know", f"they know {', '.join(KNOWN)}")
    if len({one.id for one, _ in made}) < len(made):
        raise wrong(where, "a `key` occurs twice", "give every prompt its own key")
    # The order is drawn, so that a limited number of conversations holds all kinds.
    Random(derive_seed(seed, "slsm", "ifeval order")).shuffle(made)
    kept = made[:most]
    return Dialogues(
        [conversation for conversation, _ in kept],
        {conversation.id: Criterion(kept_question(sentence), "YES") for conversation, sentence in kept},
        hashlib.sha256(data).hexdigest(),
        name,
        len(made) - len(kept),
    )


def _read(place: str, record: dict[str, Any]) -> tuple[list[_Case], str | None]:
    """The cases of a line, and its task."""
    key, prompt, kinds, given = (
        record.get(name) for name in ("key", "prompt", "instruction_id_list", "kwargs")
    )
    if isinstance(key, bool) or not isinstance(key, int | str):
        raise wrong(place, f"`key` is {key!r}", _HINT)
    if not isinstance(prompt, str) or not prompt.strip():
        raise wrong(place, f"`prompt` is {prompt!r}", _HINT)
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        raise wrong(place, f"`instruction_id_list` is {kinds!r}", _HINT)
    if (
        not isinstance(given, list)
        or len(given) != len(kinds)
        or not all(isinstance(one, dict) for one in given)
    ):
        raise wrong(place, "`kwargs` is no list with an object for each instruction", _HINT)
    task = task_of(prompt)
    cases = [
        _Case(f"ifeval-{key}-{number}", kind, one, task, place)
        for number, (kind, one) in enumerate(zip(kinds, given, strict=True), 1)
    ]
    return cases, task


def task_of(prompt: str) -> str | None:
    """The first sentence of a prompt, if it is a task without an instruction on how to answer."""
    first = re.split(r"(?<=[.?!])\s+|\n", prompt.strip(), maxsplit=1)[0]
    fits = _SHORTEST <= len(first) <= _LONGEST and _TASK.fullmatch(first) and not _BOUND.search(first)
    return first if fits else None


def _conversation(
    case: _Case, tasks: Sequence[str], between: int, seed: int
) -> tuple[Conversation, str] | None:
    """The conversation of a case and its standing instruction; None if it has no check."""
    draw = Random(derive_seed(seed, "slsm", case.id))
    try:
        sentence = standing_instruction(case.kind, case.given, draw)
    except ValueError as error:
        raise wrong(case.place, f"{case.kind}: {error}", _HINT) from None
    if sentence is None or parse_check(sentence) is None:
        return None
    others = [task for task in tasks if task != case.task]
    said = draw.sample(others, between + (case.task is None))
    turns = [Turn(f"{_OPENING}{sentence}"), *map(Turn, said), *([Turn(case.task)] if case.task else [])]
    return Conversation(case.id, tuple(turns), case.kind), sentence
