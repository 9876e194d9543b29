"""A language model behind an OpenAI-compatible server: requests, retries, and what they cost.

The key is read from the environment when the client is made, is handed to the library, and is struck out of every
text that leaves this file.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from engine.errors import ConfigError, Problem, SteerError

Message = dict[str, str]
"""`role` and `content`."""
Schema = dict[str, Any]
"""`name` and `schema`, as `response_format` takes them."""

_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0
_LONGEST_QUOTE = 200


class ServerFailed(SteerError):
    """No usable answer could be had, however often it was asked: `calls` times."""

    calls = 1


class OpenAIConfig(Protocol):
    """What is read of a configuration."""

    @property
    def model(self) -> str: ...
    @property
    def base_url(self) -> str | None: ...
    @property
    def api_key_env(self) -> str: ...
    @property
    def timeout(self) -> float: ...
    @property
    def retries(self) -> int: ...
    @property
    def max_tokens(self) -> int: ...
    @property
    def temperature(self) -> float: ...
    @property
    def price_prompt(self) -> float: ...
    @property
    def price_completion(self) -> float: ...


@dataclass(frozen=True)
class Spent:
    """Requests that were sent; tokens of prompts and completions; cost in the prices' unit."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True)
class Reply:
    """`finish_reason`: stop, length, content_filter, ...; `refusal`: the model's own words, if it refused."""

    text: str
    finish_reason: str
    refusal: str
    spent: Spent


@dataclass(frozen=True)
class _Passing:
    """What went wrong, and how long the server asks to wait, if it says so."""

    what: str
    wait: float | None = None


class OpenAIClient:
    """Safe to be used from several threads."""

    def __init__(self, config: OpenAIConfig, where: str, sleep: Callable[[float], None] = time.sleep) -> None:
        """`where` names the configuration's section in errors. Raises ConfigError without a key for OpenAI."""
        key = os.environ.get(config.api_key_env, "")
        if not key and config.base_url is None:
            allowed = f"the environment variable {config.api_key_env} set to a key, or `base_url` of a server"
            raise ConfigError([Problem(f"{where}.api_key_env", config.api_key_env, allowed)])
        from openai import OpenAI  # a second: only who speaks to a server waits for it

        self._config = config
        self._where = where
        self._sleep = sleep
        self._key = key
        self._client = OpenAI(
            api_key=key or "none", base_url=config.base_url, timeout=config.timeout, max_retries=0
        )

    def __repr__(self) -> str:
        return f"OpenAIClient({self._config.model} at {self._config.base_url or 'OpenAI'})"

    def complete(self, messages: Sequence[Message], schema: Schema | None = None) -> Reply:
        """One completion; 429, 5xx, broken connections and answers that are no completion are tried again.

        Raises ServerFailed.
        """
        problem, wait = _Passing("", 0.0), _FIRST_WAIT
        for attempt in range(self._config.retries + 1):
            if attempt:
                self._sleep(wait if problem.wait is None else problem.wait)
                wait = min(2 * wait, _LONGEST_WAIT)
            found = self._once(messages, schema)
            if isinstance(found, Reply):
                return replace(found, spent=replace(found.spent, calls=attempt + 1))
            problem = found
        failed = self._failed(f"{problem.what} ({self._config.retries + 1} attempts)")
        failed.calls = self._config.retries + 1
        raise failed

    def _once(self, messages: Sequence[Message], schema: Schema | None) -> Reply | _Passing:
        """A reply, or what went wrong in a way that may pass."""
        import openai

        extra: dict[str, Any] = {}
        if schema is not None:
            extra["response_format"] = {"type": "json_schema", "json_schema": {**schema, "strict": True}}
        try:
            raw = self._client.chat.completions.with_raw_response.create(
                model=self._config.model,
                messages=list(messages),  # type: ignore[arg-type]
                max_tokens=self._config.max_tokens,
                temperature=self._config.temperature,
                **extra,
            )
            return self._reply(raw.text)
        except openai.RateLimitError as error:
            wait = _seconds(error.response.headers.get("retry-after"))
            return _Passing(self._told("the server is overloaded or a limit is reached (429)", error), wait)
        except openai.APIStatusError as error:
            if error.status_code >= 500:
                return _Passing(self._told(f"the server failed ({error.status_code})", error))
            what = self._told(f"the server refused the request ({error.status_code})", error)
            raise self._failed(what) from None
        except openai.APITimeoutError:
            return _Passing(f"no answer within {self._config.timeout:g} s")
        except openai.APIConnectionError as error:
            return _Passing(self._told("the connection failed", error))
        except (openai.APIError, ValueError, RecursionError) as error:
            return _Passing(self._told("the answer cannot be read", error))
        except Exception as error:  # a body that breaks off surfaces as an error of the transport library
            if type(error).__module__.partition(".")[0] not in ("httpx", "httpx2", "httpcore", "httpcore2"):
                raise
            return _Passing(self._told("the connection broke", error))

    def _reply(self, body: str) -> Reply | _Passing:
        found = json.loads(body)
        try:
            choice = found["choices"][0]
            message = choice["message"]
            text, refusal = message.get("content") or "", message.get("refusal") or ""
            usage = found.get("usage") or {}
            prompt, completion = (
                max(0, int(usage.get(f"{name}_tokens") or 0)) for name in ("prompt", "completion")
            )
        except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError):
            return _Passing("the answer is no chat completion")
        if not isinstance(text, str) or not isinstance(refusal, str):
            return _Passing("the answer is no chat completion")
        cost = (prompt * self._config.price_prompt + completion * self._config.price_completion) / 1e6
        text, refusal = self.scrub(text), self.scrub(refusal)  # a server may repeat what it was sent
        return Reply(text, str(choice.get("finish_reason")), refusal, Spent(1, prompt + completion, cost))

    def _told(self, what: str, error: Exception) -> str:
        text = " ".join(self.scrub(str(error)).split())
        return f"{what}: {text[:_LONGEST_QUOTE]}" if text else what

    def scrub(self, text: str) -> str:
        """`text` without the key."""
        return text.replace(self._key, "***") if self._key else text

    def _failed(self, what: str) -> ServerFailed:
        server = self._config.base_url or "OpenAI"
        return ServerFailed(
            what=what,
            where=f"{self._where}: {self._config.model} at {server}",
            mend=f"check that the server answers, the model's name, and the key in {self._config.api_key_env}",
        )


def _seconds(header: str | None) -> float | None:
    """What the server asks to wait, within reason."""
    try:
        asked = float(header or "")
    except ValueError:
        return None
    return min(max(asked, 0.0), _LONGEST_WAIT) if math.isfinite(asked) else None
