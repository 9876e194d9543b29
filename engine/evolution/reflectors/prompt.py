"""The reflector's messages (spec Evolution 4.2)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from engine.evolution.reflectors.reflector import JudgedAnswer, ReflectorInput

SYSTEM = """\
You tune how a language model answers by adding one number, a delta, to the logits of each cluster of its tokens. \
A negative delta makes the tokens of a cluster rarer, a positive one more frequent. Your aim: answers without \
padding, verbosity or filler that are as often right as before.
You are given what each cluster holds, the deltas under which the answers below were written, every answer with \
whether it is right and why, and what you have learnt in earlier iterations. You see no deltas of other runs: \
reason from the answers.
Reply with one JSON object and nothing else: "deltas" maps each cluster id to a number, "summary" says in two to \
four sentences what you learnt this time; it is kept and shown to you in later iterations."""

_USER = """\
## Clusters
{descriptions}

## Deltas under which these answers were written
{deltas}

## What you have learnt so far
{summary}

## Answers, with whether each is right and why
{answers}

---
Say which tokens only pad, and propose new deltas for every cluster, starting from those above: shorter answers, none \
of them wrong for it. "deltas" has exactly the ids {ids}. "summary" has two to four sentences: which clusters padded, \
what you changed, what to try next."""

FIRST = "Nothing yet: this is the first iteration."


def user_message(given: ReflectorInput, answer_characters: int) -> str:
    """The user message; an answer longer than `answer_characters` is cut, and says so."""
    words = {
        name: {
            "description": cluster.description,
            "central_tokens": cluster.central_tokens,
            "frequent_tokens": cluster.frequent_tokens,
        }
        for name, cluster in given.descriptions.items()
    }
    return _USER.format(
        descriptions=json.dumps(words, ensure_ascii=False, indent=1),
        deltas=json.dumps(given.deltas),
        summary=given.history.summary or FIRST,
        answers="\n\n".join(_answers(given.answers, answer_characters)),
        ids=", ".join(given.deltas),
    )


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
