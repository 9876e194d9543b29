"""The reflector's messages: built-in ones, or files of the user's with the document's fields (spec Evolution 4.2)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.config.evolution import ReflectorSection
from engine.errors import DataError
from engine.evolution.clusters.descriptions import in_json
from engine.evolution.reflectors.reflector import JudgedAnswer, ReflectorInput
from engine.regular_file import LARGEST_RECORD, read_regular

SYSTEM = """\
You tune how a language model answers by adding one number, a delta, to the logits of each cluster of its tokens. \
A negative delta makes the tokens of a cluster rarer, a positive one more frequent. Your aim: answers without \
padding, verbosity or filler that are as often right as before.
You are given what each cluster holds, the deltas under which the answers below were written, every answer with \
whether it is right and why, and what you have learnt in earlier iterations. You see no deltas of other runs: \
reason from the answers.
Reply with one JSON object and nothing else: "deltas" maps each cluster id to a number, "summary" says in two to \
four sentences what you learnt this time; it is kept and shown to you in later iterations."""

USER = """\
## Clusters (size: tokens of the vocabulary; share: of the answers' tokens)
{{ cluster_descriptions_json }}

## Deltas under which these answers were written
{{ current_deltas_json }}

## What you have learnt so far
{{ cot_summary }}

## Answers, with whether each is right and why
{{ all_responses_with_correctness }}

---
Say which tokens only pad, and propose new deltas for every cluster, starting from those above: shorter answers, none \
of them wrong for it. "deltas" has exactly the ids {{ cluster_ids }}. "summary" has two to four sentences: which \
clusters padded, what you changed, what to try next."""

FIRST = "First iteration; no prior learnings."
"""The summary in the first iteration."""
LATER = "Nothing yet: no earlier reply could be used."

REQUIRED = (
    "cluster_descriptions_json",
    "current_deltas_json",
    "cot_summary",
    "all_responses_with_correctness",
)
"""Fields of the user message; without one of them the reflector would not know what it decides on."""
OPTIONAL = ("iteration_number", "cluster_ids")
_FIELD = re.compile(r"\{\{\s*(.*?)\s*\}\}", re.DOTALL)


@dataclass(frozen=True)
class Prompts:
    """The system message, the user message's template, and the characters of an answer that it shows."""

    system: str
    template: str
    answer_characters: int

    def user_message(self, given: ReflectorInput) -> str:
        """The template with its fields filled in; an answer that is too long is cut, and says so."""
        clusters = [cluster for answer in given.answers for cluster in answer.clusters]
        descriptions = in_json(given.descriptions, clusters)
        values = {
            "cluster_descriptions_json": json.dumps(descriptions, ensure_ascii=False, indent=1),
            "current_deltas_json": json.dumps(given.deltas),
            "cot_summary": given.history.summary or (LATER if given.iteration else FIRST),
            "all_responses_with_correctness": "\n\n".join(_answers(given.answers, self.answer_characters)),
            "iteration_number": str(given.iteration),
            "cluster_ids": ", ".join(given.deltas),
        }
        return _FIELD.sub(lambda field: values[field[1]], self.template)


def read_prompts(section: ReflectorSection) -> Prompts:
    """The configured messages. Raises DataError for a file that cannot be read, a field that is not known, and a
    template without one of `REQUIRED`."""
    system, template = SYSTEM, USER
    if section.system_prompt is not None:
        where = f"evolution.reflector.system_prompt: {section.system_prompt}"
        system = _text(section.system_prompt, where)
        _check_fields(system, where, known=())
    if section.user_template is not None:
        where = f"evolution.reflector.user_template: {section.user_template}"
        template = _text(section.user_template, where)
        _check_fields(template, where, known=(*REQUIRED, *OPTIONAL), required=REQUIRED)
    return Prompts(system, template, section.answer_characters)


def _text(path: str, where: str) -> str:
    try:
        text = read_regular(Path(path).expanduser(), LARGEST_RECORD).decode()
    except (OSError, ValueError) as error:
        raise DataError(
            what=f"this message cannot be read: {error}",
            where=where,
            hint="correct the path, or leave the setting out: there is a built-in message",
        ) from error
    if not text.strip():
        raise DataError(what="this message is empty", where=where, hint="write it, or leave the setting out")
    return text


def _check_fields(text: str, where: str, known: Sequence[str], required: Sequence[str] = ()) -> None:
    fields = _FIELD.findall(text)
    problems = [f"there is no field {{{{ {name} }}}}" for name in dict.fromkeys(fields) if name not in known]
    problems += [f"the field {{{{ {name} }}}} is missing" for name in required if name not in fields]
    if problems:
        allowed = f"its fields are {', '.join(known)}" if known else "the system message has no fields"
        raise DataError(what="; ".join(problems), where=where, hint=allowed)


def logged(system: str, user: str) -> str:
    """Both messages as `reflector_message_NNN.txt` holds them."""
    return f"=== system ===\n{system}\n\n=== user ===\n{user}\n"


def _answers(answers: Sequence[JudgedAnswer], characters: int) -> list[str]:
    right = {True: "yes", False: "no", None: "not judged"}
    return [
        f"example_id: {answer.example}\nCorrect: {right[answer.correct]}\nTokens: {answer.tokens}\n"
        f"Explanation: {answer.reasoning}\nAnswer: {_cut(answer.text, characters)}"
        for answer in answers
    ]


def _cut(text: str, characters: int) -> str:
    if len(text) <= characters:
        return text
    return f"{text[:characters]} [cut: {len(text) - characters} more characters]"
