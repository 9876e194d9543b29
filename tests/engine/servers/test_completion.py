"""What counts as a completion, and what of a reply is used."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.servers.completion import Reply, Unusable, json_object, read_completion, usable_json
from tests.exactly import exactly


def body(content: Any, usage: Any = None, **choice: Any) -> str:
    message = {"role": "assistant", "content": content, "refusal": choice.pop("refusal", None)}
    found: dict[str, Any] = {"choices": [{"message": message, "finish_reason": "stop", **choice}]}
    return json.dumps(found | ({} if usage is None else {"usage": usage}))


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 3}, (7, 3)),
        ({"prompt_tokens": 7}, (7, 0)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, (0, 0)),
        (None, (None, None)),
        ({}, (None, None)),
        ("many", (None, None)),
        ({"prompt_tokens": None, "completion_tokens": 3}, (None, None)),
        ({"prompt_tokens": -7, "completion_tokens": 3}, (None, None)),
        ({"prompt_tokens": True, "completion_tokens": 3}, (None, None)),
        ({"prompt_tokens": 1e400, "completion_tokens": 3}, (None, None)),
    ],
)
def test_tokens_are_the_servers_or_nobodys(usage: Any, tokens: tuple[int | None, int | None]) -> None:
    reply = read_completion(body("hi", usage))
    assert (reply.prompt_tokens, reply.completion_tokens) == tokens


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        '{"choices": []}',
        '{"choices": [{}]}',
        '{"choices": [{"message": 7}]}',
        body(["no", "text"]),
        body(7),
    ],
)
def test_what_is_no_completion(text: str) -> None:
    with pytest.raises(Unusable):
        read_completion(text)


def test_the_tokens_of_what_is_no_completion_count() -> None:
    with pytest.raises(Unusable) as caught:
        read_completion(body(7, {"prompt_tokens": 7, "completion_tokens": 3}))
    assert (caught.value.prompt_tokens, caught.value.completion_tokens) == (7, 3)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "<!DOCTYPE html><title>Not here</title>",
            "the answer is a web page, not JSON: base_url may name another server, or lack its /v1",
        ),
        (
            " \r\n<html></html>",
            "the answer is a web page, not JSON: base_url may name another server, or lack its /v1",
        ),
        (
            '\n\nevent: message\ndata: {"choices": []}\n\n',
            "the answer is a stream of events, which was not asked for",
        ),
        (
            'data: {"choices": []}\n\ndata: [DONE]\n',
            "the answer is a stream of events, which was not asked for",
        ),
    ],
)
def test_what_is_something_else_is_named(text: str, told: str) -> None:
    with pytest.raises(Unusable, match=exactly(told)):
        read_completion(text)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("<think>Is it 4?\nYes.</think>\n\n4", "4"),
        ("  <think></think>4", "4"),
        ("Is it 4?\nYes.</think>\n\n4", "4"),
        ("4 <think>sure?</think>", "4 <think>sure?</think>"),
        ("<think>cut off in the mid", "<think>cut off in the mid"),
        (
            "A thought.</think>4 <think>sure?",
            "4 <think>sure?",
        ),  # the end of the first belongs to the template
        (None, ""),
    ],
)
def test_thoughts_before_an_answer_are_no_part_of_it(said: str | None, text: str) -> None:
    assert read_completion(body(said)).text == text


@pytest.mark.parametrize(
    "said",
    [
        '{"a": 1}',
        ' {"a": 1}\n',
        '```json\n{"a": 1}\n```',
        '```\n{"a": 1}\n```\n',
        '```JSON\n{\n"a": 1\n}\n```',
        'Sure! ```json\n{"a": 1}\n```',
        'Here it is:\n\n```\n{"a": 1}\n```\nI hope this helps.',
        '{"a": 1}',
    ],
)
def test_json_with_or_without_a_fence(said: str) -> None:
    assert json_object(Reply(said, "stop")) == {"a": 1}


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply("", "stop", "I will not."), "the model refused: I will not."),
        (Reply('{"a": 1}', "length"), "the reply was cut off at the token limit"),
        (Reply('{"a": 1}', "content_filter"), "the reply was held back by the server's content filter"),
        (Reply(" \n", "stop"), "the reply is empty"),
        (Reply("```json\n```", "stop"), "the reply is empty"),
        (Reply('Sure! {"a": 1}', "stop"), "it is not JSON: …"),
        (Reply("[1]", "stop"), "it is not a JSON object"),
        (Reply("[" * 100_000, "stop"), "it is nested too deeply"),
        (Reply(f'{{"a": {"[" * 900}{"]" * 900}}}', "stop"), "it is nested too deeply"),
        (Reply(f'{{"a": {"9" * 5000}}}', "stop"), "it is not JSON: …"),
        (
            Reply('{"correct": false, "correct": true}', "stop"),
            "it is not JSON: the key 'correct' twice in an object",
        ),
        (Reply('{"deltas": {"0": 0, "0": 5}}', "stop"), "it is not JSON: the key '0' twice in an object"),
    ],
)
def test_what_cannot_be_used_says_why(reply: Reply, why: str) -> None:
    with pytest.raises(Unusable, match=exactly(why)):
        json_object(reply)
    assert usable_json(Reply("x", "stop")) == "x"


def test_halves_of_letters_are_none_in_what_is_kept() -> None:
    """No file can hold them: the stage would end where the reply is written down."""
    found = json_object(Reply(r'{"summary": "a\ud800b", "\udfff": ["\udc00"]}', "stop"))
    assert found == {"summary": "a?b", "?": ["?"]}
