"""What a check of a server tells of what it saw."""

from __future__ import annotations

from typing import Any

import pytest

from engine.doctor.capabilities import CHECKS, Capability, Check, NoCompletion, Seen
from engine.doctor.chat_probe import ProbeReply
from engine.servers.completion import Reply
from engine.servers.http import HttpAnswer

NOBODY: Any = None


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (Seen("ok", "text"), ("ok", "text", "")),
        (Seen("unknown", "text"), ("unknown", "text", "")),
        (Seen("no", "text"), ("no", "text", "of no")),
        (Seen("no", "text", "another"), ("no", "text", "another")),
        (Seen("unknown", "text", "another"), ("unknown", "text", "another")),
    ],
)
def test_the_meaning_of_no_is_the_checks_own(seen: Seen, told: tuple[Any, str, str]) -> None:
    check = Check("seed", lambda probe, first: seen, "of no")
    assert check(NOBODY, NOBODY) == Capability("seed", *told)


def test_an_error_is_the_result_of_its_check() -> None:
    def refused(*_: Any) -> Seen:
        raise NoCompletion("422: no seed here")

    def misshapen(*_: Any) -> Seen:
        raise KeyError("choices")

    assert Check("seed", refused, "of no")(NOBODY, NOBODY) == Capability(
        "seed", "no", "422: no seed here", "of no"
    )
    found = Check("seed", misshapen, "of no")(NOBODY, NOBODY)
    assert found.state == "unknown" and "unexpected shape ('choices')" in found.text and not found.meaning


def said(text: str, finish: str = "stop", tokens: int | None = None) -> ProbeReply:
    return ProbeReply(HttpAnswer(200), Reply(text, finish, prompt_tokens=9, completion_tokens=tokens))


class Saying:
    """A server that gives these answers in turn, the last one to everything after it. `asked`: with which fields."""

    def __init__(self, *replies: ProbeReply) -> None:
        self._replies, self.asked = list(replies), list[dict[str, Any]]()

    def ask(self, messages: Any, max_tokens: int = 48, temperature: float = 0.0, **more: Any) -> ProbeReply:
        self.asked.append({"max_tokens": max_tokens, "temperature": temperature, **more})
        return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]


CUT_OFF = said('{"colour": ', "length")
OBJECT = said('{"word": "hello"}')
FITS = said('{"colour": "red", "sure": true}')
CHECKED = "answers are checked here, and asked for again with the error"


def replies(*texts: str) -> list[ProbeReply]:
    return [said(text) for text in texts]


@pytest.mark.parametrize(
    ("name", "given", "state", "text", "meaning"),
    [
        ("usage", [], "ok", "9 + 2 tokens reported", ""),
        ("token limit", [said("1 2", "length"), said("1 2 3", tokens=7)], "ok",
         "max_tokens is obeyed, max_completion_tokens is not", ""),
        ("token limit", [said("1 2 3", tokens=7)], "no", "max_tokens is not, max_completion_tokens is not",
         "answers may be longer than configured"),
        ("token limit", [said("1 2 3", tokens=6), said("1")], "ok",
         "max_tokens is obeyed, max_completion_tokens is uncertain", ""),
        ("token limit", [said("1 2 3", tokens=7), said("1")], "unknown",
         "max_tokens is not, max_completion_tokens is uncertain", "answers may be longer than configured"),
        ("json_schema", [FITS], "ok", "enforced against a prompt that asks for no JSON", ""),
        ("json_schema", [CUT_OFF], "unknown", "the JSON was cut off: its shape is unknown", CHECKED),
        ("json_schema", [OBJECT], "no", 'JSON, but not of the schema: "{\\"word\\": \\"hello\\"}"', CHECKED),
        ("json_schema", [said('{"colour": "red", "sure": 1}')], "no",
         'JSON, but not of the schema: "{\\"colour\\": \\"red\\", \\"sure\\": 1}"', CHECKED),
        ("json_schema", [said("hello\n there")], "no", 'accepted, but not enforced: "hello there"', CHECKED),
        ("json_object", [OBJECT], "ok", "enforced against a prompt that asks for no JSON", ""),
        ("json_object", [CUT_OFF], "ok", "started against a prompt that asks for no JSON, and cut off", ""),
        ("json_object", [said("h" * 61)], "no", f'accepted, but not enforced: "{"h" * 60}"',
         "only asked for where json_schema is refused"),
        ("seed", replies(*"aaaabcd"), "ok", "the same seed gives the same answer, another seed another answer", ""),
        ("seed", replies(*"aaab"), "no", "the same seed gave 2 answers",
         "sampled answers cannot be repeated; those at temperature 0 may (SGLang honours seeds where it is started "
         "with --enable-deterministic-inference)"),
        ("seed", replies("a"), "unknown", "all seeds gave the same answer at temperature 2", ""),
        ("images", [said("It is RED.")], "ok", "a red square is seen", ""),
        ("images", [said("No image shared")], "unknown", 'accepted, but a red square is called "No image shared"',
         "not for pool.vqa (vision)"),
    ],
)  # fmt: skip
def test_what_is_said_of_an_answer(
    name: str, given: list[ProbeReply], state: Any, text: str, meaning: str
) -> None:
    probe: Any = Saying(*given)
    (check,) = [one for one in CHECKS if one.name == name]
    assert check(probe, said("hello", tokens=2)) == Capability(name, state, text, meaning)


def test_without_token_counts_there_is_no_usage() -> None:
    (check,) = [one for one in CHECKS if one.name == "usage"]
    found = check(NOBODY, ProbeReply(HttpAnswer(500)))
    assert (found.state, found.text) == ("no", "no token counts")


def test_each_field_is_asked_for_as_it_is_checked() -> None:
    limits, sampled = Saying(said("1")), Saying(said("a"))
    probes: dict[str, Any] = {"token limit": limits, "seed": sampled}
    for check in CHECKS:
        if check.name in probes:
            check(probes[check.name], said("hello"))
    assert [one["limit"] for one in limits.asked] == ["max_tokens", "max_completion_tokens"]
    assert {one["max_tokens"] for one in limits.asked} == {6}
    assert [one["seed"] for one in sampled.asked] == [7, 7, 7, 7, 8, 9, 10]
    assert {one["temperature"] for one in sampled.asked} == {2.0}
