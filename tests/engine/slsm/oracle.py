"""The modes of SLSM once more, literally from the specification (the four flows, the memory modes, the table of
costs), in plain Python on plain JSON: no line of `engine/slsm` is used. What the controller found is given."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Message = dict[str, str]


@dataclass
class Answered:
    """A conversation under a mode; `calls`: of controller, model and detector."""

    answer: str
    note: str
    prompts: list[list[Message]]
    calls: tuple[int, int, int]


def note_of(state: dict[str, Any], most: int) -> str:
    """The memory note. Structured: at most `most` lines; broken constraints matter most, then the other constraints,
    what was edited, facts; of equals the newer one."""
    if "memory_text" in state:
        text = state["memory_text"].strip()
        return "[SLSM MEMORY NOTE]\n" + text if text else ""
    places = {"violated": 0, "constraints": 1, "edits": 2, "facts": 3}
    ranked: list[tuple[int, int, str, int]] = []
    for kind in ("constraints", "edits", "facts"):
        for number, item in enumerate(state[kind]):
            rank = places["violated"] if item.get("status") == "violated" else places[kind]
            ranked.append((rank, -number, kind, number))
    chosen = {(kind, number) for _, _, kind, number in sorted(ranked)[:most]}
    lines = ["[SLSM MEMORY NOTE]"]
    titles = {"constraints": "Constraints:", "facts": "User facts/preferences:", "edits": "Latest versions:"}
    for kind, title in titles.items():
        said = [item for number, item in enumerate(state[kind]) if (kind, number) in chosen]
        if said:
            lines.append(title)
        marks = [f"[{item['status']}] " if kind == "constraints" else "" for item in said]
        lines += [f"- {mark}{item['text']}" for mark, item in zip(marks, said, strict=True)]
    return "\n".join(lines) if len(lines) > 1 else ""


def with_note(conversation: list[Message], note: str) -> list[Message]:
    """The original conversation, with the note behind its last message."""
    last = conversation[-1]["content"]
    return [*conversation[:-1], {"role": "user", "content": f"{last}\n\n{note}" if note else last}]


def answered(
    mode: str,
    conversation: list[Message],
    state: dict[str, Any] | None,
    most: int,
    risk_modes: set[str],
    model: Callable[[list[Message]], str],
    conflicts: Callable[[str], bool],
) -> Answered:
    """The flow of one mode. `state`: after the last turn, None for baseline; `conflicts`: of a first answer."""
    turns = sum(message["role"] == "user" for message in conversation)
    if mode == "baseline":
        return Answered(model(conversation), "", [conversation], (0, 1, 0))
    assert state is not None
    note = note_of(state, most)
    if mode == "on_detection":
        first = model(conversation)
        if not (conflicts(first) and note):
            return Answered(first, "", [conversation], (turns, 1, 1))
        again = with_note(conversation, note)
        return Answered(model(again), note, [conversation, again], (turns, 2, 1))
    if mode == "never" or (mode == "on_risk" and state["plan"]["mode"] not in risk_modes):
        note = ""
    prompt = with_note(conversation, note)
    return Answered(model(prompt), note, [prompt], (turns, 1, 0))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def passes(record: dict[str, Any], answer: str) -> bool:
    """The target question of a generated dialogue, read literally."""
    question, said = record["TARGET_QUESTION"], words(answer)
    quoted = re.findall(r'"(.*)"', question)
    if question.startswith("Does the answer end with"):
        holds = said[-1:] == words(quoted[0])
    elif question.startswith("Does the answer contain"):
        holds = words(quoted[0])[0] in said
    elif question.startswith("Is the answer written in capital"):
        holds = any(map(str.isalpha, answer)) and not any(map(str.islower, answer))
    else:
        assert question.startswith("Does the answer give exactly the list"), question
        holds = (
            " ".join(words(quoted[0])) == " ".join(said[said.index("is") + 1 :]) if "is" in said else False
        )
    return bool(said) and holds == (record["PASS_CRITERIA"] == "YES")


def macro_mean(verdicts: list[tuple[str, bool]]) -> float:
    """The mean of the axes' shares. `verdicts`: (axis, passed)."""
    axes: dict[str, list[bool]] = {}
    for axis, passed in verdicts:
        axes.setdefault(axis, []).append(passed)
    return sum(sum(of) / len(of) for of in axes.values()) / len(axes)
