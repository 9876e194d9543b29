"""A language model behind an OpenAI-compatible server: requests, retries, and what they cost.

The key is read from the environment when the client is made, is handed to the library, and is struck out of every
text that leaves this file.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from engine.errors import ConfigError, Problem, SteerError
from engine.lm.background import LOOK_EVERY, finish
from engine.lm.request_rate import RequestRate
from engine.lm.retry_after import LONGEST_WAIT, retry_after
from engine.lm.server_address import address_secrets, is_local, shown_address

Message = dict[str, Any]
"""`role` and `content`: a text, or a list of parts (text, image_url) as vision models take them."""
Schema = dict[str, Any]
"""`name` and `schema`, as `response_format` takes them."""

NO_KEY = "none"
"""As `api_key_env`: the server wants no key."""
_FIRST_WAIT = 1.0
_LONGEST_QUOTE = 200
_PASSING = {408: "the server waited too long for the request", 409: "the server is busy with another request",
            429: "the server is overloaded or a limit is reached"}  # fmt: skip


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
class _Failure:
    """What went wrong. `wait`: seconds the server asks for; `final`: asking again is of no use; `adapted`: the
    request was refused for its form, which is another now."""

    what: str
    wait: float | None = None
    final: bool = False
    adapted: bool = False


@dataclass(frozen=True)
class _Form:
    """How the limit is called, and whether a temperature is sent: newer models of OpenAI refuse what older servers
    want."""

    limit: str = "max_tokens"
    temperature: bool = True


class OpenAIClient:
    """Safe to be used from several threads."""

    def __init__(
        self,
        config: OpenAIConfig,
        where: str,
        sleep: Callable[[float], None] | None = None,
        checkpoint: Callable[[], None] = lambda: None,
        notice: Callable[[str], None] = lambda text: None,
        requests_per_minute: float = 0,
    ) -> None:
        """`where` names the configuration's section in errors; 0 `requests_per_minute` are as many as there are.

        `checkpoint` may block or raise and is called all the while a reply or the next attempt is waited for, by
        one thread at a time. `notice` is told of a server on this machine that is asked without a key. Raises
        ConfigError without a key for any other server.
        """
        key = _key(config, where, notice)
        from openai import AsyncOpenAI  # a second: only who speaks to a server waits for it

        for name in ("httpx", "httpx2"):  # they log whole addresses
            logging.getLogger(name).setLevel(logging.WARNING)
        self._config = config
        self._where = where
        self._sleep = sleep or self._sleep_looking
        self._checkpoint = checkpoint
        self._one_at_a_time = threading.Lock()
        self._secrets = [key] * bool(key) + address_secrets(config.base_url or "")
        self._form = _Form()
        self._rate = RequestRate(requests_per_minute)
        self._client = AsyncOpenAI(
            api_key=key or "none", base_url=config.base_url, timeout=config.timeout, max_retries=0
        )

    def __repr__(self) -> str:
        return f"OpenAIClient({self._config.model} at {self._server})"

    @property
    def _server(self) -> str:
        return shown_address(self._config.base_url) if self._config.base_url else "OpenAI"

    def complete(self, messages: Sequence[Message], schema: Schema | None = None) -> Reply:
        """One completion; 408, 409, 429, 5xx, broken connections and answers that are no completion are tried
        again. Raises ServerFailed, and whatever `checkpoint` raises.
        """
        calls, tries, wait = 0, 0, _FIRST_WAIT
        while True:
            self._look()
            if ahead := self._rate.next_wait(time.monotonic()):
                self._sleep(ahead)
            found = self._once(messages, schema)
            calls += 1
            if isinstance(found, Reply):
                return replace(found, spent=replace(found.spent, calls=calls))
            if found.adapted:
                continue
            tries += 1
            if found.final or tries > self._config.retries:
                attempts = "" if found.final else f" ({tries} attempts)"
                raise self._failed(found.what + attempts, calls)
            self._sleep(wait if found.wait is None else found.wait)
            wait = min(2 * wait, LONGEST_WAIT)

    def _look(self) -> None:
        with self._one_at_a_time:
            self._checkpoint()

    def _sleep_looking(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._look()
            time.sleep(min(left, LOOK_EVERY))

    def _once(self, messages: Sequence[Message], schema: Schema | None) -> Reply | _Failure:
        """A reply, or what went wrong."""
        import openai

        form = self._form
        try:
            return self._reply(finish(self._send(messages, schema, form), self._look))
        except openai.APIStatusError as error:
            return self._refused(error.status_code, error, form)
        except (openai.APITimeoutError, TimeoutError):
            return _Failure(f"no answer within {self._config.timeout:g} s")
        except openai.APIConnectionError as error:
            return _Failure(self._told("the connection failed", error))
        except (openai.APIError, ValueError, RecursionError) as error:
            return _Failure(self._told("the answer cannot be read", error))
        except Exception as error:  # a body that breaks off surfaces as an error of the transport library
            if type(error).__module__.partition(".")[0] not in ("httpx", "httpx2", "httpcore", "httpcore2"):
                raise
            return _Failure(self._told("the connection broke", error))

    async def _send(self, messages: Sequence[Message], schema: Schema | None, form: _Form) -> str:
        """The reply's body. The whole of it has `timeout` seconds: the library's own limit begins anew with
        every byte."""
        extra: dict[str, Any] = {form.limit: self._config.max_tokens}
        if form.temperature:
            extra["temperature"] = self._config.temperature
        if schema is not None:
            extra["response_format"] = {"type": "json_schema", "json_schema": {**schema, "strict": True}}
        async with asyncio.timeout(self._config.timeout):
            raw = await self._client.chat.completions.with_raw_response.create(
                model=self._config.model,
                messages=list(messages),  # type: ignore[arg-type]
                **extra,
            )
            return raw.text

    def _refused(self, status: int, error: Any, form: _Form) -> _Failure:
        """What a status other than 2xx means."""
        if status in _PASSING or status >= 500:
            what = self._told(f"{_PASSING.get(status, 'the server failed')} ({status})", error)
            return _Failure(what, retry_after(error.response.headers, time.time()))
        if status == 400:
            text = str(error)
            if form.limit == "max_tokens" and "max_completion_tokens" in text:
                self._form = replace(self._form, limit="max_completion_tokens")
                return _Failure("", adapted=True)
            if form.temperature and "temperature" in text and "support" in text:
                self._form = replace(self._form, temperature=False)
                return _Failure("", adapted=True)
        return _Failure(self._told(f"the server refused the request ({status})", error), final=True)

    def _reply(self, body: str) -> Reply | _Failure:
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
            return _Failure("the answer is no chat completion")
        if not isinstance(text, str) or not isinstance(refusal, str):
            return _Failure("the answer is no chat completion")
        cost = (prompt * self._config.price_prompt + completion * self._config.price_completion) / 1e6
        # A server may repeat what it was sent, and JSON may hold halves of letters, which no file can.
        text, refusal = (self.scrub(told.encode(errors="replace").decode()) for told in (text, refusal))
        return Reply(text, str(choice.get("finish_reason")), refusal, Spent(1, prompt + completion, cost))

    def _told(self, what: str, error: Exception) -> str:
        text = " ".join(self.scrub(str(error)).split())
        return f"{what}: {text[:_LONGEST_QUOTE]}" if text else what

    def scrub(self, text: str) -> str:
        """`text` without the key and what is secret of the address."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def _failed(self, what: str, calls: int) -> ServerFailed:
        failed = ServerFailed(
            what=what,
            where=f"{self._where}: {self._config.model} at {self._server}",
            mend=f"check that the server answers, the model's name, and the key in {self._config.api_key_env}",
        )
        failed.calls = calls
        return failed


def _key(config: OpenAIConfig, where: str, notice: Callable[[str], None]) -> str:
    """The key; empty where none is wanted. Raises ConfigError."""
    if config.api_key_env == NO_KEY:
        return ""
    key = os.environ.get(config.api_key_env, "").strip()
    if key:
        return key
    if config.base_url is not None and is_local(config.base_url):
        notice(
            f"{where}: {config.api_key_env} is not set; {shown_address(config.base_url)} is asked without key"
        )
        return ""
    allowed = f"the environment variable {config.api_key_env} set to a key"
    if config.base_url is not None:
        allowed += f", or `api_key_env: {NO_KEY}` for a server that wants none"
    raise ConfigError([Problem(f"{where}.api_key_env", config.api_key_env, allowed)])
