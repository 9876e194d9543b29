"""The form each product takes requests in, from its own words: and that the client finds it once for all its roles."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from engine.config.models.openai import OpenAISection
from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.known_servers import KnownServer, KnownServers
from engine.servers.request_form import Asked, RequestForm, other_form
from tests.exactly import exactly
from tests.misbehaving_server import misbehaving_server
from tests.server_products import ProductServer, product_server

HI = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
SCHEMA = {
    "name": "verdict",
    "schema": {
        "type": "object",
        "properties": {"correct": {"type": "boolean"}},
        "required": ["correct"],
        "additionalProperties": False,
    },
}
FULL = Asked(HI, 50, 0.7, SCHEMA, seed=2**40 + 5)


def client(server: ProductServer, notices: list[str] | None = None, **more: Any) -> OpenAIClient:
    section = OpenAISection(
        model="tiny", base_url=server.root + "/v1", api_key_env="none", timeout=20, retries=0
    )
    told = [] if notices is None else notices
    return OpenAIClient(section, "here", sleep=lambda seconds: None, notice=told.append, **more)


def test_the_first_form_has_everything() -> None:
    body = RequestForm().body(FULL)
    assert body["max_tokens"] == 50 and body["temperature"] == 0.7 and body["messages"] == HI
    assert body["response_format"] == {"type": "json_schema", "json_schema": {**SCHEMA, "strict": True}}
    assert body["seed"] == 5, "some servers keep seeds in 32 bits"
    assert RequestForm().body(replace(FULL, seed=0))["seed"] == 0
    assert "seed" not in RequestForm().body(replace(FULL, seed=None))


def test_what_a_form_leaves_out_is_said_otherwise_where_it_can_be() -> None:
    form = RequestForm("max_completion_tokens", temperature=False, seed=False, system=False, schema="none")
    body = form.body(FULL)
    assert set(body) == {"messages", "max_completion_tokens"}
    (message,) = body["messages"]
    assert message["content"].startswith("Be brief.\n\nhi")
    assert message["content"].endswith("this JSON schema:\n" + json.dumps(SCHEMA["schema"])), (
        "without its name"
    )
    assert replace(form, schema="json_object").body(FULL)["response_format"] == {"type": "json_object"}
    parts = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
    ]
    (message,) = form.body(replace(FULL, messages=parts))["messages"]
    assert [part["text"] for part in message["content"]][:2] == ["Be brief.", "hi"]
    twice = [HI[0], {"role": "system", "content": "Be kind."}, HI[1]]
    (message,) = form.body(replace(FULL, messages=twice))["messages"]
    assert message["content"].startswith("Be brief.\n\nBe kind.\n\nhi")


REFUSALS = [
    (400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
     {"limit": "max_completion_tokens"}),
    (400, "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is "
          "supported.", {"temperature": False}),
    (422, "[{'type': 'extra_forbidden', 'loc': ['body', 'seed'], 'msg': 'Extra inputs are not permitted'}]",
     {"seed": False}),
    (400, "This response_format type is unavailable now", {"schema": "json_object"}),
    (400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
     {"schema": "json_object"}),
    (400, "Failed to parse grammar", {"schema": "json_object"}),
    (400, "System role not supported", {"system": False}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "text", "change", "report"),
    [
        (
            {}, "use max_completion_tokens", {"limit": "max_completion_tokens"},
            "takes max_completion_tokens, not max_tokens",
        ),
        ({}, "temperature is not supported", {"temperature": False}, "takes no temperature: it is left to the server"),
        ({}, "no seed", {"seed": False}, "takes no seed: answers cannot be had again"),
        ({}, "no grammar", {"schema": "json_object"}, "takes no JSON schema: it is put into the prompt"),
        ({}, "no structured output", {"schema": "json_object"}, "takes no JSON schema: it is put into the prompt"),
        (
            {"schema": "json_object"}, "no response_format", {"schema": "none"},
            "takes no response format: JSON is asked for in the prompt alone",
        ),
        ({}, "no system role", {"system": False}, "takes no system message: it goes before the user's first"),
        ({}, "no system message", {"system": False}, "takes no system message: it goes before the user's first"),
    ],
)  # fmt: skip
def test_what_is_changed_is_reported(
    form: dict[str, Any], text: str, change: dict[str, Any], report: str
) -> None:
    before = RequestForm(**form)
    assert other_form(before, FULL, 400, text) == (replace(before, **change), report)


def test_a_schema_stands_behind_the_last_message() -> None:
    asked = Asked([HI[1]], 5, 0.0, {"name": "n", "schema": {"type": "object"}})
    (message,) = RequestForm(tell_schema=True).body(asked)["messages"]
    assert message["content"] == (
        'hi\n\nReply with one JSON object alone. It has to meet this JSON schema:\n{"type": "object"}'
    )
    parts = Asked([{"role": "user", "content": [{"type": "text", "text": "hi"}]}], 5, 0.0, asked.schema)
    (message,) = RequestForm(schema="none").body(parts)["messages"]
    assert [part["text"] for part in message["content"]] == [
        "hi", 'Reply with one JSON object alone. It has to meet this JSON schema:\n{"type": "object"}',
    ]  # fmt: skip


@pytest.mark.parametrize(("status", "text", "change"), REFUSALS)
def test_a_refusal_changes_the_one_thing_it_speaks_of(status: int, text: str, change: dict[str, Any]) -> None:
    found = other_form(RequestForm(), FULL, status, text)
    assert found is not None and found[0] == replace(RequestForm(), **change)
    assert found[1], "and is told"


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (
            400,
            "This model's maximum context length is 512 tokens; your messages and response_format have 600.",
        ),
        (401, "response_format: unauthorized"),
        (500, "grammar compiler crashed"),
        (400, "Invalid image."),
        (400, "The maximum context is 512 tokens, response_format included."),
        (404, "\n<!DOCTYPE html><p>The system has no such page. Was this message of help?</p>"),
    ],
)
def test_other_refusals_are_not_the_forms_fault(status: int, text: str) -> None:
    assert other_form(RequestForm(), FULL, status, text) is None


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (replace(FULL, seed=None), "no seed"), (replace(FULL, schema=None), "no response_format"),
        (replace(FULL, messages=HI[1:]), "no system role"), (FULL, "no system, please"), (FULL, "a low temperature"),
    ],
)  # fmt: skip
def test_what_was_not_sent_or_is_not_meant_is_not_to_blame(asked: Asked, text: str) -> None:
    assert other_form(RequestForm(), asked, 400, text) is None


def test_a_system_message_goes_before_the_first_of_the_user_alone() -> None:
    later = [{"role": "assistant", "content": "hello"}, {"role": "user", "content": "why?"}]
    form = RequestForm(system=False)
    assert form.body(Asked([*HI, *later], 5, 0.0))["messages"] == [
        {"role": "user", "content": "Be brief.\n\nhi"}, *later,
    ]  # fmt: skip
    assert form.body(Asked(HI[1:], 5, 0.0))["messages"] == HI[1:], "there is none"


def test_forms_come_to_an_end() -> None:
    """A server that blames everything is asked a few times, not for ever."""
    form, steps = RequestForm(), 0
    blames = "max_completion_tokens temperature not supported seed response_format system role"
    while (found := other_form(form, FULL, 400, blames)) is not None:
        form, steps = found[0], steps + 1
        assert steps < 10
    assert form == RequestForm("max_completion_tokens", False, False, False, "none")
    with misbehaving_server(lambda body: "x", fault_of=lambda body: "400 max_tokens") as server:
        section = OpenAISection(base_url=server.url, api_key_env="none", retries=9)
        with pytest.raises(
            ServerFailed,
            match=exactly(
                "the server refused the request (400): Unsupported parameter: 'max_tokens'. Use "
                "'max_completion_tokens' instead. (here: gpt-4o at http://127.0.0.1:…/v1): check that the server "
                "answers, the model's name; `steer-tui doctor --server` helps"
            ),
        ):
            OpenAIClient(section, "here").complete(HI)
        assert len(server.requests) == 2


# ---------------------------------------------------------------- over a real connection


@pytest.mark.parametrize(("product", "refused"), [("vLLM", 0), ("SGLang", 0), ("llama.cpp", 0), ("Ollama", 0),
                                                  ("OpenAI", 2), ("bare", 3)])  # fmt: skip
def test_every_product_answers_in_the_form_it_takes(product: str, refused: int) -> None:
    notices: list[str] = []
    with product_server(product) as server:
        asking = client(server, notices)
        reply = asking.complete(HI, SCHEMA, seed=4)
        assert reply.spent.calls == 1 + refused == len(server.requests)
        asking.complete(HI, SCHEMA, seed=4)
        assert len(server.requests) == 2 + refused, "what was found is remembered"
    assert len(notices) == refused + (product == "bare"), "each told once; bare also counts no tokens"


def test_what_one_role_finds_the_others_know() -> None:
    servers, notices = KnownServers(), list[str]()
    with product_server("bare") as server:
        client(server, notices, role="judge", servers=servers).complete(HI, SCHEMA)
        before = len(server.requests)
        client(server, notices, role="controller", servers=servers).complete(HI, SCHEMA)
        assert len(server.requests) == before + 1
    refusals = [text for text in notices if "takes no" in text]
    assert len(refusals) == len(set(refusals))


def test_a_schema_that_is_ignored_is_told_in_the_prompt_from_then_on() -> None:
    notices: list[str] = []
    with misbehaving_server(lambda body: "Yes, it is.") as server:
        section = OpenAISection(base_url=server.url, api_key_env="none")
        asking = OpenAIClient(section, "here", notice=notices.append)
        asking.complete(HI)
        asking.complete(HI, SCHEMA)
        asking.complete(HI, SCHEMA)
        asking.complete(HI)
    told = ["JSON schema" in body["messages"][-1]["content"] for body in server.requests]
    assert told == [False, False, True, False]
    assert all("response_format" in body for body in server.requests[1:3])
    assert len(notices) == 1 and "now in the prompt" in notices[0]


def test_of_several_threads_one_learns_a_form() -> None:
    """Who was refused in a form that another thread has left already tells nothing, and changes nothing."""
    server, old = KnownServer(), RequestForm()
    cold, seedless = replace(old, temperature=False), replace(old, seed=False)
    assert server.learn(old, cold) and not server.learn(old, seedless)
    assert server.form == cold and server.learn(cold, replace(cold, seed=False))
