"""A language model behind an OpenAI-compatible server: requests, retries, and what they cost.

The one client of every role (reflector, judge, controller, model, vision). The key is read from the environment when
the client is made, is handed to the library, and is redacted from every text that leaves this file.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, Protocol, TypeVar

from engine.errors import wrong_value
from engine.events import Event
from engine.servers.address import address_secrets, is_address, is_local, shown_address
from engine.servers.answer_pace import AnswerPace
from engine.servers.background import POLL_SECONDS, finish
from engine.servers.completion import Reply, Unusable, read_completion, usable_json, without_fence
from engine.servers.http import Http
from engine.servers.key import NO_KEY, fits_header, lacks_key
from engine.servers.known_servers import KnownServers
from engine.servers.proxy import proxy_host, proxy_of
from engine.servers.refusal import is_about_content, refusal_text
from engine.servers.request_form import Asked, Message, RequestForm, Schema, other_form
from engine.servers.request_rate import RequestRate
from engine.servers.retry_after import LONGEST_WAIT, retry_after
from engine.servers.secrets import Secrets
from engine.servers.slots import server_slots
from engine.servers.spent import AskFailed, Spent
from engine.servers.usage import Outcome, RequestRecord

_OPENAI = "https://api.openai.com/v1"
"""Given, as the library would look for another address in the environment."""
_SHORTEST_KEY = 8
"""What stands for a key where none is needed (`EMPTY`, `x`) is shorter, and part of other words."""
_CHARACTERS_A_TOKEN, _CHARACTERS_BESIDE = 40, 4000
"""What a reply of so many tokens may at most have: a larger one is no answer to what was asked."""
_FIRST_WAIT = 1.0
_LONGEST_QUOTE = 200
_PASSING = {408: "the server waited too long for the request", 409: "the server is busy with another request",
            429: "the server is overloaded or a limit is reached"}  # fmt: skip

_REFUSED = (400, 413, 422)


class ServerFailed(AskFailed):
    """No usable answer could be had, however often it was asked. `spent`: requests alone. `refused`: the server refuses
    this request (400, 413, 422), where it may answer others; `content`: for its length, or for what it says."""

    spent = Spent(1)
    refused = False
    content = False


class OpenAIConfig(Protocol):
    """What is read of a configuration."""

    model: str
    base_url: str | None
    api_key_env: str
    timeout: float
    retries: int
    concurrency: int
    max_tokens: int
    temperature: float
    price_prompt: float
    price_completion: float


@dataclass(frozen=True)
class _Failure:
    """What went wrong. `wait`: seconds the server asks for; `final`: asking again is of no use; `timed_out`: no
    answer in time; `retry`: why it is sent again at once, which is no attempt; `refused`, `content`: as in
    `ServerFailed`. Tokens as in `Reply`: an answer of no use costs, too."""

    what: str
    wait: float | None = None
    final: bool = False
    timed_out: bool = False
    retry: Literal["refused form", "queued"] | None = None
    refused: bool = False
    content: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass
class _Waiting:
    """Seconds before the request under way, and with it."""

    before: float = 0.0
    began: float = 0.0


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
        *,
        stage: str = "",
        role: str = "",
        servers: KnownServers | None = None,
        emit: Callable[[Event], None] = lambda event: None,
    ) -> None:
        """`where` names the configuration's section in errors; `requests_per_minute` 0: no limit.

        `checkpoint` may block or raise and is called all the while a reply or the next attempt is waited for, by
        one thread at a time. `notice` gets what a user should know of the server. `servers`: what other roles
        know of it, too; `stage` and `role` say for whom its requests are counted; `emit` takes how far its answers
        are, now and then. Raises ConfigError without a key for any server but one on this machine.
        """
        key = _key(config, where, notice)
        # imported here: it takes a second
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        from engine.servers.transport import ENCODING, BoundedTransport

        self._config, self._where, self._stage, self._role = config, where, stage, role
        self._sleep = sleep or self._sleep_polling
        self._checkpoint, self._notice = checkpoint, notice
        self._checkpoint_lock = threading.Lock()
        servers = servers or KnownServers()
        proxy = proxy_of(config.base_url or _OPENAI)
        self._secrets = Secrets([key, *address_secrets(config.base_url or ""), *address_secrets(proxy)])
        if proxy and servers.first_time(f"proxy {proxy}"):
            notice(
                f"{where}: requests to {self._server} go through the proxy {proxy_host(proxy)} of the environment"
            )
        self._usage = servers.usage
        self._known = servers.server(config.base_url or "", config.model)
        self._slots = servers.slots(config.base_url or "")
        self._http = Http(config.base_url or _OPENAI, key, config.timeout)
        self._pace = AnswerPace(role, emit)
        self._uncounted_reported = False
        self._rate = RequestRate(requests_per_minute)
        self._client = AsyncOpenAI(
            api_key=key or "none",
            base_url=config.base_url or _OPENAI,
            timeout=config.timeout,
            max_retries=0,
            # No redirects: the user allowed this address alone.
            http_client=DefaultAsyncHttpxClient(
                follow_redirects=False,
                trust_env=False,
                default_encoding=ENCODING,
                transport=_transport(BoundedTransport, proxy, where),
            ),
        )

    def __repr__(self) -> str:
        return f"OpenAIClient({self._config.model} at {self._server})"

    @property
    def _server(self) -> str:
        return shown_address(self._config.base_url) if self._config.base_url else "OpenAI"

    def complete(
        self, messages: Sequence[Message], schema: Schema | None = None, seed: int | None = None
    ) -> Reply:
        """One completion; 408, 409, 429, 5xx, broken connections and answers that are no completion are tried
        again. With a `schema` the server is held to it as far as it can be; the reader checks. Raises ServerFailed,
        DiskError where requests cannot be counted, and whatever `checkpoint` raises.
        """
        with self._pace.waiting():
            reply = self._complete(
                Asked(messages, self._config.max_tokens, self._config.temperature, schema, seed)
            )
            self._pace.answered(reply.completion_tokens or 0)
            return reply

    def _complete(self, asked: Asked) -> Reply:
        spent, tries, wait, waiting = Spent(), 0, _FIRST_WAIT, _Waiting()
        while True:
            result = self._attempt(asked, spent.calls + 1, tries, waiting)
            tokens = (result.prompt_tokens or 0) + (result.completion_tokens or 0)
            spent += Spent(1, tokens, self._cost(result) or 0.0)
            if isinstance(result, Reply):
                return replace(result, spent=spent)
            waiting = _Waiting()
            if result.retry is not None:
                continue
            tries += 1
            if self._hopeless(result, tries):
                attempts = "" if result.final else f" ({tries} attempt{'s' if tries > 1 else ''})"
                raise self._failed(result, attempts, spent.calls)
            pause = result.wait or wait  # `Retry-After: 0` would use up all attempts at once
            self._sleep(pause)
            waiting.before += pause
            wait = min(2 * wait, LONGEST_WAIT)

    def _hopeless(self, failure: _Failure, tries: int) -> bool:
        return failure.final or tries > self._config.retries

    # ------------------------------------------------------------ waiting

    def _poll(self) -> None:
        with self._checkpoint_lock:
            self._checkpoint()
        self._pace.report()

    def _sleep_polling(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._poll()
            time.sleep(min(left, POLL_SECONDS))

    # ------------------------------------------------------------ one request

    def _attempt(self, asked: Asked, attempt: int, tries: int, waiting: _Waiting) -> Reply | _Failure:
        """Send a request when its turn comes, and write it down. `tries` failed before it."""
        self._poll()
        turn = time.monotonic()
        if ahead := self._rate.next_wait(turn):
            self._sleep(ahead)
        self._ask_slots()
        with self._slots.slot(self._config.concurrency, self._poll) as held, self._pace.under_way():
            waiting.began = time.monotonic()
            waiting.before += waiting.began - turn
            try:
                result = self._once(asked)
            except BaseException:
                self._count(_Failure("left while under way"), "stopped", attempt, waiting)
                raise
        if isinstance(result, Reply):
            outcome: Outcome = "answered"
        else:
            result = self._fewer(result, held.together)
            outcome = result.retry or ("failed" if self._hopeless(result, tries + 1) else "tried again")
        self._count(result, outcome, attempt, waiting)
        return result

    def _ask_slots(self) -> None:
        """Before the first request to a server."""
        asks_one = self._config.concurrency == 1
        if self._config.base_url and not asks_one and self._slots.ask_once(lambda: server_slots(self._http)):
            self._notice(
                f"{self._where}: {self._server} has {self._slots.limit} slots: so many requests at once"
            )

    def _fewer(self, failure: _Failure, together: int) -> _Failure:
        """After a timeout of a request that was under way `together` with others, it may have waited in the server's
        queue: half as many are sent at once from then on, and it is sent again without counting as an attempt."""
        if not failure.timed_out or together == 1:
            return failure
        if self._slots.lower(together // 2):
            self._notice(
                f"{self._where}: {failure.what} of {self._server} while {together} requests were under way: "
                f"{together // 2} at once from now on"
            )
        return replace(failure, retry="queued")

    def _once(self, asked: Asked) -> Reply | _Failure:
        """A reply, or what went wrong."""
        import openai

        from engine.servers.transport import BodyRefused

        form = self._known.form
        try:
            reply = read_completion(finish(self._send(asked, form), self._poll))
            return self._cleaned(reply, asked, form)
        except openai.APIStatusError as error:
            return self._refused(error.status_code, error, asked, form)
        except (openai.APITimeoutError, TimeoutError):
            return _Failure(f"no answer within {self._config.timeout:g} s", timed_out=True)
        except BodyRefused as error:
            return _Failure(str(error), final=True)
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, BodyRefused):
                return _Failure(str(error.__cause__), final=True)
            # The library's own words are "Connection error."; why it failed is in what it comes from.
            return _Failure(self._problem("the connection failed", error.__cause__ or error))
        except Unusable as error:
            return _Failure(
                str(error), prompt_tokens=error.prompt_tokens, completion_tokens=error.completion_tokens
            )
        except (openai.APIError, ValueError, RecursionError) as error:
            return _Failure(self._problem("the answer cannot be read", error))
        except Exception as error:  # a body that breaks off surfaces as an error of the transport library
            if type(error).__module__.partition(".")[0] not in ("httpx", "httpx2", "httpcore", "httpcore2"):
                raise
            return _Failure(self._problem("the connection broke", error))

    async def _send(self, asked: Asked, form: RequestForm) -> str:
        """The reply's body. The whole of it has `timeout` seconds: the library's own limit begins anew with
        every byte."""
        fields = form.body(asked)
        async with asyncio.timeout(self._config.timeout):
            raw = await self._client.chat.completions.with_raw_response.create(
                model=self._config.model, **fields
            )
            return raw.text

    def _refused(self, status: int, error: Any, asked: Asked, form: RequestForm) -> _Failure:
        """What a status other than 2xx means."""
        message = refusal_text(error.response.text)  # the library's own words leave most of it out
        other = other_form(form, asked, status, message)
        if other is not None:
            self._learn(form, *other)
            return _Failure(self._problem(f"the form was refused ({status})", message), retry="refused form")
        if 300 <= status < 400:
            there = error.response.headers.get("location", "")
            to = shown_address(there) if is_address(there) else "another path"
            return _Failure(self.scrub(f"the server sends requests on to {to} ({status})"), final=True)
        if status in _PASSING or status >= 500:
            what = self._problem(f"{_PASSING.get(status, 'the server failed')} ({status})", message)
            headers = error.response.headers
            hopeless = headers.get("x-should-retry") == "false"
            return _Failure(what, retry_after(headers, time.time()), final=hopeless)
        return _Failure(
            self._problem(f"the server refused the request ({status})", message),
            final=True,
            refused=status in _REFUSED,
            content=status == 413 or (status in _REFUSED and is_about_content(message)),
        )

    def _learn(self, old: RequestForm, new: RequestForm, what: str) -> None:
        if self._known.learn(old, new):
            self._notice(f"{self._where}: {self._config.model} at {self._server} {what}")

    def _cleaned(self, reply: Reply, asked: Asked, form: RequestForm) -> Reply:
        """The reply without secrets: a server may repeat what it was sent."""
        most = _CHARACTERS_A_TOKEN * asked.max_tokens + _CHARACTERS_BESIDE
        if len(reply.text) > most or len(reply.refusal) > most:
            raise Unusable(
                f"the reply has {max(len(reply.text), len(reply.refusal)):,} characters, more than "
                f"{asked.max_tokens} tokens can hold",
                tokens=(reply.prompt_tokens, reply.completion_tokens),
            )
        text = self.scrub(reply.text, _SHORTEST_KEY)
        inner = without_fence(text)
        redacted = self._secrets.redact_json(inner, _SHORTEST_KEY)
        reply = replace(
            reply,
            text=text if redacted == inner else redacted,
            refusal=self.scrub(reply.refusal, _SHORTEST_KEY),
        )
        if asked.schema is not None and not form.schema_in_prompt and not _is_json(reply):
            reason = "does not always reply in JSON: the schema is now in the prompt, too"
            self._learn(form, replace(form, tell_schema=True), reason)
        return reply

    def _cost(self, reply: Reply | _Failure) -> float | None:
        """None where prices or tokens are not known."""
        prompt, completion = self._config.price_prompt, self._config.price_completion
        if reply.prompt_tokens is None or not (prompt or completion):
            return None
        return (reply.prompt_tokens * prompt + (reply.completion_tokens or 0) * completion) / 1e6

    # ------------------------------------------------------------ notices

    def _count(self, result: Reply | _Failure, outcome: Outcome, attempt: int, waiting: _Waiting) -> None:
        """Write the request down for its stage and role."""
        uncounted = isinstance(result, Reply) and result.prompt_tokens is None
        if uncounted and not self._uncounted_reported:
            self._uncounted_reported = True
            self._notice(f"{self._where}: {self._server} does not say how many tokens it used")
        self._usage.take(
            RequestRecord(
                time=round(time.time(), 3), stage=self._stage, role=self._role,
                server=self._server, model=self._config.model, outcome=outcome, attempt=attempt,
                why=result.what if isinstance(result, _Failure) else "",
                prompt_tokens=result.prompt_tokens,
                completion_tokens=result.completion_tokens,
                seconds=round(time.monotonic() - waiting.began, 3), waited=round(waiting.before, 3),
                cost=self._cost(result),
            )
        )  # fmt: skip

    def _problem(self, what: str, error: BaseException | str) -> str:
        text = " ".join(self.scrub(str(error)).split())
        return f"{what}: {text[:_LONGEST_QUOTE]}" if text else what

    def scrub(self, text: str, shortest: int = 1) -> str:
        """`text` without the key and what is secret of the address, as far as these are not shorter."""
        return self._secrets.redact(text, shortest)

    def _failed(self, failure: _Failure, attempts: str, calls: int) -> ServerFailed:
        name = self._config.api_key_env
        key = "" if name == NO_KEY else f", and the key in {name}"
        failed = ServerFailed(
            what=failure.what + attempts,
            where=f"{self._where}: {self._config.model} at {self._server}",
            hint=f"check that the server answers, the model's name{key}; `steer-tui doctor --server` helps",
        )
        failed.spent = Spent(calls)
        failed.refused, failed.content, failed.final = failure.refused, failure.content, failure.final
        return failed


Value = TypeVar("Value")


@dataclass
class Structured(Generic[Value]):
    """What came of a structured request. `value`: what the reply was read as, and its `text`; None without a usable
    one; `refused`: the replies that were not; `failed`: the server's failure, after which nothing more is asked."""

    value: Value | None = None
    text: str = ""
    spent: Spent = Spent()
    refused: list[Unusable] = field(default_factory=list)
    failed: ServerFailed | None = None

    @property
    def failure(self) -> str:
        """Why there is no value; empty where there is one."""
        if self.value is not None:
            return ""
        return str(self.refused[-1]) if self.failed is None else self.failed.what


def ask_structured(
    client: OpenAIClient, messages: Sequence[Message], schema: Schema, read: Callable[[Reply], Value]
) -> Structured[Value]:
    """Ask; where `read` raises Unusable, once more, with what is wrong in the last message: some chat templates require
    alternating roles."""
    result = Structured[Value]()
    *before, last = messages
    content = last["content"]
    for _ in range(2):
        try:
            reply = client.complete([*before, {**last, "content": content}], schema)
        except ServerFailed as error:
            result.spent, result.failed = result.spent + error.spent, error
            break
        result.spent += reply.spent
        try:
            result.value, result.text = read(reply), reply.text
            break
        except Unusable as error:
            result.refused.append(error)
            again = f"Your last reply could not be used: {error}\nReply again, with the JSON object alone."
            content = f"{last['content']}\n\n{again}"
    return result


def _transport(kind: Any, proxy: str, where: str) -> Any:
    try:
        return kind(proxy)
    except (ValueError, ImportError) as error:
        proxy = f"the environment's proxy {proxy_host(proxy)} ({error})"
        raise wrong_value(where, proxy, "a proxy like http://host:3128") from None


def _is_json(reply: Reply) -> bool:
    """Whether a structured reply is JSON, or breaks off for a reason that has nothing to do with it."""
    try:
        json.loads(usable_json(reply))
    except Unusable:
        return True
    except (ValueError, RecursionError):
        return False
    return True


def _key(config: OpenAIConfig, where: str, notice: Callable[[str], None]) -> str:
    """The key; empty where none is needed. Raises ConfigError."""
    if config.api_key_env == NO_KEY:
        return ""
    key = os.environ.get(config.api_key_env, "").strip()
    if key and not fits_header(key):
        allowed = (
            f"a key in the environment variable {config.api_key_env}, of ASCII, without spaces or line ends"
        )
        raise wrong_value(f"{where}.api_key_env", config.api_key_env, allowed)
    if key:
        url = config.base_url or ""
        if url.startswith("http:") and not is_local(url):
            notice(
                f"{where}: the key in {config.api_key_env} goes to {shown_address(url)} without encryption"
            )
        return key
    if not lacks_key(config.api_key_env, config.base_url):
        notice(
            f"{where}: {config.api_key_env} is not set; {shown_address(config.base_url or '')} is asked without key"
        )
        return ""
    allowed = f"the environment variable {config.api_key_env} set to a key"
    if config.base_url is not None:
        allowed += f", or `api_key_env: {NO_KEY}` for a server that needs none"
    raise wrong_value(f"{where}.api_key_env", config.api_key_env, allowed)
