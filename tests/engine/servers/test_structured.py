"""A structured request: asked once more with what was wrong; and what a refusal says, whatever its shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.servers.client import ServerFailed, ask_structured
from engine.servers.completion import Reply, Unusable
from engine.servers.refusal import is_about_content, refusal_text
from engine.servers.request_form import object_schema
from engine.servers.spent import Spent

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How many?"}]


class Client:
    """Gives the replies in order, and keeps what it was asked."""

    def __init__(self, *replies: Reply | ServerFailed) -> None:
        self.replies = list(replies)
        self.asked: list[list[str]] = []

    def complete(self, messages: Any, schema: Any) -> Reply:
        assert schema == {"name": "n"}
        self.asked.append([message["content"] for message in messages])
        reply = self.replies.pop(0)
        if isinstance(reply, ServerFailed):
            raise reply
        return reply


def reply(text: str) -> Reply:
    return Reply(text, "stop", spent=Spent(1, 10, 0.5))


def failure() -> ServerFailed:
    failed = ServerFailed(what="it is down", where="w", hint="h")
    failed.spent = Spent(3, 5, 0.25)
    return failed


def number(given: Reply) -> int:
    if not given.text.isdigit():
        raise Unusable("no number", given.text)
    return int(given.text)


def asked(*replies: Reply | ServerFailed) -> tuple[Any, Client]:
    client = Client(*replies)
    return ask_structured(client, MESSAGES, {"name": "n"}, number), client  # type: ignore[arg-type]


def test_a_usable_reply_is_asked_for_once() -> None:
    found, client = asked(reply("7"))
    assert (found.value, found.text, found.failure, found.refused) == (7, "7", "", [])
    assert found.spent == Spent(1, 10, 0.5) and client.asked == [["Be brief.", "How many?"]]


def test_the_second_request_says_what_was_wrong_with_the_first() -> None:
    found, client = asked(reply("many"), reply("7"))
    assert (found.value, found.failure, found.spent) == (7, "", Spent(2, 20, 1.0))
    assert client.asked[1] == [
        "Be brief.",
        "How many?\n\nYour last reply could not be used: no number: many\nReply again, with the JSON object alone.",
    ]
    assert [error.problems for error in found.refused] == [{"no number": "many"}]


def test_after_two_unusable_replies_the_last_one_is_the_failure() -> None:
    found, client = asked(reply("many"), reply("few"))
    assert (found.value, found.text, found.failure) == (None, "", "no number: few")
    assert len(client.asked) == 2 and found.failed is None


def test_after_a_failure_of_the_server_nothing_more_is_asked() -> None:
    found, client = asked(reply("many"), failure())
    assert found.failure == "it is down" and found.spent == Spent(4, 15, 0.75) and len(client.asked) == 2
    found, client = asked(failure())
    assert found.failed is not None and found.spent == Spent(3, 5, 0.25) and len(client.asked) == 1


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"error": {"message": "m", "code": 1}}, "m"),
        ({"error": {"detail": "d"}}, "d"),
        ({"message": "m", "object": "error"}, "m"),
        ({"error": "plain"}, "plain"),
        (
            {"detail": [{"loc": ["body", "seed"], "msg": "no"}, {"msg": "bad"}, "words"]},
            "body.seed: no; : bad; words",
        ),
    ],
)
def test_the_words_of_a_refusal(body: Any, text: str) -> None:
    assert refusal_text(json.dumps(body)) == text


@pytest.mark.parametrize(
    "body", ["<html>", '["a"]', '"a"', '{"error": ""}', '{"error": {"message": 7}}', "7", ""]
)
def test_a_refusal_of_no_known_shape_stands_as_it_is(body: str) -> None:
    assert refusal_text(body) == body


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ("maximum context length is 10 tokens", True), ("the prompt is longer than 4096", True),
        ("content management policy", True), ("it was flagged", True), ("no such parameter", False), ("", False),
    ],
)  # fmt: skip
def test_whether_a_refusal_is_about_what_was_asked(message: str, content: bool) -> None:
    assert is_about_content(message) is content


def test_the_schema_of_an_object_has_exactly_its_properties() -> None:
    text = {"type": "string"}
    assert object_schema(why=text, right={"type": "boolean"}) == {
        "type": "object", "properties": {"why": text, "right": {"type": "boolean"}}, "required": ["why", "right"],
        "additionalProperties": False,
    }  # fmt: skip
