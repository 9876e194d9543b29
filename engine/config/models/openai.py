"""Configuration of a model behind an OpenAI-compatible server."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from engine.config.section import NonNegativeInt, PositiveInt, Section
from engine.servers.address import is_bare
from engine.servers.key import is_variable

NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


OFFLINE = {
    "evolution.judge.openai": "evolution.judge.kind: auto",
    "evolution.reflector.openai": "evolution.reflector.kind: statistical",
    "slsm.controller.openai": "slsm.controller.kind: rules",
    "answer.openai": "answer.reader: paths",
}
"""The setting that does without a role's server: the other way out where its key or server is missing."""


class OpenAISection(Section):
    """A model behind an OpenAI-compatible server."""

    model: str = Field(default="gpt-4o", min_length=1, description="Name of the model on the server.")
    base_url: str | None = Field(
        default=None, description="Address of the server, without password or query; none: OpenAI's own."
    )
    api_key_env: str = Field(
        default="OPENAI_API_KEY",
        min_length=1,
        description="Environment variable that holds the key; `none`: the server needs no key.",
    )
    timeout: Positive = Field(default=120.0, description="Seconds for a request, to its last byte.")
    retries: NonNegativeInt = Field(
        default=4, description="Further attempts after 408, 409, 429, 5xx and broken connections."
    )
    concurrency: NonNegativeInt = Field(
        default=0,
        description="Maximum concurrent requests of all roles to this address, or its slots if fewer; 0: no limit.",
    )
    max_tokens: PositiveInt = Field(default=2000, description="Longest reply, in tokens.")
    temperature: Annotated[float, Field(ge=0, le=2)] = Field(default=0.0, description="Sampling temperature.")
    price_prompt: NonNegative = Field(default=0.0, description="Price of a million prompt tokens.")
    price_completion: NonNegative = Field(default=0.0, description="Price of a million completion tokens.")

    # These errors do not repeat the value: it may be a key. A run's folder keeps its configuration.

    @field_validator("base_url")
    @classmethod
    def _check_no_secret(cls, url: str | None) -> str | None:
        if url is not None and not is_bare(url):
            raise ValueError("an address like http://127.0.0.1:8000/v1, without user, password or query")
        return url

    @field_validator("api_key_env")
    @classmethod
    def _names_a_variable(cls, name: str) -> str:
        if not is_variable(name):
            raise ValueError("the name of an environment variable that holds the key, not the key; or `none`")
        return name
