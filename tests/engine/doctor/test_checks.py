"""What a check of a server tells of what it saw."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import pytest

from engine.doctor.capabilities import CHECKS, Capability, Check, NoCompletion, Seen
from engine.doctor.chat_probe import ProbeReply, _completion
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

    assert Check("seed", refused, "of no")(NOBODY, NOBODY) == Capability(
        "seed", "no", "422: no seed here", "of no"
    )


@pytest.mark.parametrize(
    "error", [KeyError("choices"), IndexError("choices"), AttributeError("x"), TypeError("y")]
)
def test_fields_of_another_form_leave_it_open(error: Exception) -> None:
    def misshapen(*_: Any) -> Seen:
        raise error

    said = f"the answer has an unexpected shape ({error})"
    assert Check("seed", misshapen, "of no")(NOBODY, NOBODY) == Capability("seed", "unknown", said)


def said(text: str, finish: str = "stop", tokens: int | None = None) -> ProbeReply:
    return ProbeReply(HttpAnswer(200), Reply(text, finish, prompt_tokens=9, completion_tokens=tokens))


class Saying:
    """A server that gives these answers in turn, the last one to everything after it. `asked`: with which fields."""

    def __init__(self, *replies: ProbeReply) -> None:
        self._replies, self.asked = list(replies), list[dict[str, Any]]()
        self.questions: list[Any] = []

    def ask(self, messages: Any, max_tokens: int = 48, temperature: float = 0.0, **more: Any) -> ProbeReply:
        self.questions.append(messages)
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
        ("token limit", [said("", tokens=0)], "ok", "max_tokens is obeyed, max_completion_tokens is obeyed", ""),
        ("token limit", [said("1 2 3", tokens=7), said("1")], "unknown",
         "max_tokens is not, max_completion_tokens is uncertain", "answers may be longer than configured"),
        ("json_schema", [FITS], "ok", "enforced against a prompt that asks for no JSON", ""),
        ("json_schema", [CUT_OFF], "unknown", "the JSON was cut off: its shape is unknown", CHECKED),
        ("json_schema", [OBJECT], "no", 'JSON, but not of the schema: "{\\"word\\": \\"hello\\"}"', CHECKED),
        ("json_schema", [said('{"colour": "red", "sure": 1}')], "no",
         'JSON, but not of the schema: "{\\"colour\\": \\"red\\", \\"sure\\": 1}"', CHECKED),
        ("json_schema", [said('{"colour": "green", "sure": false}')], "ok",
         "enforced against a prompt that asks for no JSON", ""),
        ("json_schema", [said('{"colour": "blue", "sure": true}')], "no",
         'JSON, but not of the schema: "{\\"colour\\": \\"blue\\", \\"sure\\": true}"', CHECKED),
        ("json_schema", [said('{"colour": "red", "sure": true, "more": 1}')], "no",
         'JSON, but not of the schema: "{\\"colour\\": \\"red\\", \\"sure\\": true, \\"more\\": 1}"', CHECKED),
        ("json_schema", [said("")], "no", "accepted, but not enforced: the reply is empty", CHECKED),
        ("json_object", [said("\n {", "length")], "ok",
         "started against a prompt that asks for no JSON, and cut off", ""),
        ("json_object", [said("Grüße")], "no", 'accepted, but not enforced: "Grüße"',
         "only asked for where json_schema is refused"),
        ("json_object", [said("{")], "no", 'accepted, but not enforced: "{"',
         "only asked for where json_schema is refused"),
        ("json_object", [said("hello", "length")], "no", 'accepted, but not enforced: "hello"',
         "only asked for where json_schema is refused"),
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


def test_what_is_asked_for_json_and_of_an_image() -> None:
    """Room for an object; a whole picture of 64 by 64 red pixels beside the question."""
    probes: dict[str, Any] = {
        name: Saying(said("hello")) for name in ("json_schema", "json_object", "images")
    }
    for check in CHECKS:
        if check.name in probes:
            check(probes[check.name], said("hello"))
    schema, plain, image = probes.values()
    (asked,) = schema.asked
    assert (asked["max_tokens"], asked["schema"]["name"]) == (96, "probe")
    assert sorted(asked["schema"]["schema"]["required"]) == ["colour", "sure"]
    assert plain.asked == [{"max_tokens": 96, "temperature": 0.0, "response_format": {"type": "json_object"}}]
    assert schema.questions == plain.questions
    assert image.asked == [{"max_tokens": 48, "temperature": 0.0}]
    ((turn,),) = image.questions
    picture, words = turn["content"]
    assert (turn["role"], picture["type"], words["type"]) == ("user", "image_url", "text")
    assert words["text"] == "Which colour is this image? Answer with one word."
    kind, _, data = picture["image_url"]["url"].partition(",")
    content = base64.b64decode(data)
    assert kind == "data:image/png;base64" and content[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", content[16:24]) == (64, 64)
    begin = content.index(b"IDAT")
    (length,) = struct.unpack(">I", content[begin - 4 : begin])
    rows = zlib.decompress(content[begin + 4 : begin + 4 + length])
    assert rows == (b"\0" + b"\xff\0\0" * 64) * 64


@pytest.mark.parametrize(
    ("status", "read"), [(0, False), (199, False), (200, True), (299, True), (300, False), (404, False)]
)
def test_a_completion_is_read_from_an_answer_that_is_one(status: int, read: bool) -> None:
    text = json.dumps({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]})
    found = _completion(HttpAnswer(status, text))
    assert (found.text if found else None) == ("hi" if read else None)
    for broken in ("", "[]", "[" * 100_000, "{}"):
        assert _completion(HttpAnswer(status, broken)) is None
