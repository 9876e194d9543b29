"""The form in which a server takes requests. What it refuses is left out, or put another way, from then on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Message = dict[str, Any]
"""`role` and `content`: a text, or a list of parts (text, image_url) as vision models take them."""
Schema = dict[str, Any]
"""`name` and `schema`, as `response_format` takes them."""


def object_schema(**properties: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_FORM_STATUSES = (400, 404, 422, 501)
_LARGEST_SEED = 2**31 - 1
"""Some servers keep seeds in 32 bits with a sign."""


@dataclass(frozen=True)
class Asked:
    """What is requested, in no server's words."""

    messages: Sequence[Message]
    max_tokens: int
    temperature: float
    schema: Schema | None = None
    seed: int | None = None


@dataclass(frozen=True)
class RequestForm:
    """How a server is asked.

    `limit`: name of the token limit; `temperature`, `seed`, `system`: whether such is sent (without `system` the system
    message goes before the first of the user); `schema`: as what a JSON schema is sent; `tell_schema`: it also stands
    in the prompt.
    """

    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    seed: bool = True
    system: bool = True
    schema: Literal["json_schema", "json_object", "none"] = "json_schema"
    tell_schema: bool = False

    @property
    def schema_in_prompt(self) -> bool:
        """Whether the model reads the schema itself."""
        return self.tell_schema or self.schema != "json_schema"

    def body(self, asked: Asked) -> dict[str, Any]:
        """The request's fields, model aside."""
        messages = list(asked.messages)
        if asked.schema is not None and self.schema_in_prompt:
            messages = _with_schema(messages, asked.schema)
        if not self.system:
            messages = _without_system(messages)
        fields: dict[str, Any] = {"messages": messages, self.limit: asked.max_tokens}
        if self.temperature:
            fields["temperature"] = asked.temperature
        if self.seed and asked.seed is not None:
            fields["seed"] = asked.seed & _LARGEST_SEED
        if asked.schema is not None and self.schema == "json_schema":
            strict = {**asked.schema, "strict": True}
            fields["response_format"] = {"type": "json_schema", "json_schema": strict}
        elif asked.schema is not None and self.schema == "json_object":
            fields["response_format"] = {"type": "json_object"}
        return fields


def other_form(form: RequestForm, asked: Asked, status: int, text: str) -> tuple[RequestForm, str] | None:
    """The form to try after a refusal with `text`, and what to report of it; None where the form is not to blame."""
    reason = text.lower()
    if status not in _FORM_STATUSES or "context length" in reason or "maximum context" in reason:
        return None
    if reason.lstrip().startswith("<"):  # a page for people, which speaks of systems and messages, too
        return None
    if form.limit == "max_tokens" and "max_completion_tokens" in reason:
        return replace(form, limit="max_completion_tokens"), "takes max_completion_tokens, not max_tokens"
    if form.temperature and "temperature" in reason and "support" in reason:
        return replace(form, temperature=False), "takes no temperature: it is left to the server"
    if form.seed and asked.seed is not None and "seed" in reason:
        return replace(form, seed=False), "takes no seed: answers cannot be had again"
    if asked.schema is not None and form.schema != "none" and _blames_schema(reason):
        if form.schema == "json_schema":
            return replace(form, schema="json_object"), "takes no JSON schema: it is put into the prompt"
        return replace(form, schema="none"), "takes no response format: JSON is asked for in the prompt alone"
    has_system = any(message["role"] == "system" for message in asked.messages)
    if form.system and has_system and "system" in reason and ("role" in reason or "message" in reason):
        return replace(form, system=False), "takes no system message: it goes before the user's first"
    return None


def _blames_schema(reason: str) -> bool:
    words = ("response_format", "response format", "json_schema", "json_object", "schema", "grammar", "guided",
             "structured output")  # fmt: skip
    return any(word in reason for word in words)


def _with_schema(messages: list[Message], schema: Schema) -> list[Message]:
    *before, last = messages
    rule = f"\n\nReply with one JSON object alone. It has to meet this JSON schema:\n{json.dumps(schema['schema'])}"
    content = last["content"]
    more = content + rule if isinstance(content, str) else [*content, {"type": "text", "text": rule.strip()}]
    return [*before, {**last, "content": more}]


def _without_system(messages: list[Message]) -> list[Message]:
    system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    others = [message for message in messages if message["role"] != "system"]
    for place, message in enumerate(others):
        if system and message["role"] == "user":
            content = message["content"]
            text = (
                f"{system}\n\n{content}"
                if isinstance(content, str)
                else [{"type": "text", "text": system}, *content]
            )
            others[place] = {**message, "content": text}
            break
    return others
