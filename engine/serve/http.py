"""The server's side of a request: its body is read, the scheduler has it answered, and its client gets the answer."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, cast

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from engine.config.serve import ServeSection
from engine.errors import SteerError
from engine.events import DecisionTaken
from engine.levers.lever import Message
from engine.levers.levers import Prepared, PromptTooLong, SteeredAnswer
from engine.seeds import derive_seed
from engine.serve.key import ServerKey
from engine.serve.parsed_request import Kind, ParsedRequest, Prompt, parse_request, question_in, unknown_model
from engine.serve.pending_request import Failed, PendingRequest, Update, Written
from engine.serve.refused import Refused
from engine.serve.replies import DONE, Reply, event_bytes
from engine.serve.scheduler import Busy, RequestScheduler

_TOO_LONG = "context_length_exceeded"
"""OpenAI's name for it, by which programs know a prompt that has to be shortened."""
PREPARED_AT_ONCE = 4
"""Requests that are tokenized, or read by a controller, at the same time: each holds many times its own length."""
Numbered = tuple[int, Update]
"""News of one of the answers to a request."""


class SteeredServer:
    """The application. `defaults`: levers of a request that does not choose; `seed`: of requests that name none."""

    def __init__(
        self,
        scheduler: RequestScheduler,
        section: ServeSection,
        key: ServerKey,
        defaults: list[str],
        seed: int,
    ) -> None:
        self._scheduler = scheduler
        self._levers = scheduler.levers
        self._section = section
        self._key = key
        self._defaults = defaults
        self._seed = seed
        self._began = int(time.time())
        self._numbers = itertools.count(1)
        self._preparing = asyncio.Semaphore(PREPARED_AT_ONCE)
        self.app = Starlette(
            routes=[
                Route("/health", self._health),
                Route("/v1/models", self._models),
                Route("/v1/models/{name:path}", self._model),
                Route("/v1/chat/completions", partial(self._answer, kind="chat"), methods=["POST"]),
                Route("/v1/completions", partial(self._answer, kind="completion"), methods=["POST"]),
            ],
            exception_handlers={Refused: _refused, HTTPException: _unknown},
        )

    # ------------------------------------------------------------ small answers

    async def _health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _models(self, request: Request) -> Response:
        self._check_key(request)
        return JSONResponse({"object": "list", "data": [self._described_model()]})

    async def _model(self, request: Request) -> Response:
        self._check_key(request)
        if request.path_params["name"] != self._levers.model_name:
            raise unknown_model(request.path_params["name"], self._levers.model_name)
        return JSONResponse(self._described_model())

    def _described_model(self) -> dict[str, Any]:
        levers = self._levers
        return {
            "id": levers.model_name, "object": "model", "created": self._began, "owned_by": "steer-tui",
            "max_model_len": levers.model.info.context or None,
            "steer": {"usual": self._defaults, "levers": [
                {"lever": fit.lever, "fits": fit.fits, "why": fit.why} for fit in levers.fits
            ]},
        }  # fmt: skip

    # ------------------------------------------------------------ answers

    async def _answer(self, request: Request, kind: Kind) -> Response:
        self._check_key(request)
        held = self._reserve(1)
        updates: asyncio.Queue[Numbered] = asyncio.Queue()
        try:
            parsed = parse_request(
                kind, await self._body(request), self._levers, self._defaults, self._section.max_tokens
            )
            self._refuse_hopeless(parsed)
            held += self._reserve(self._count(parsed) - held)
            pending = await self._pending(request, parsed, updates)
        except BaseException:
            self._scheduler.release(held)
            raise
        for one in pending:
            self._scheduler.submit(one)
        name, levers = pending[0].name, list(parsed.chosen.levers)
        reply = Reply(
            name, kind, self._levers.model_name, levers, parsed.n, parsed.limits.logprobs is not None
        )

        def cancel() -> None:
            for one in pending:
                self._scheduler.cancel(one)

        if parsed.stream:
            return EventStream(_pieces(reply, parsed, len(pending), updates), cancel)
        try:
            return await _whole(request, reply, len(pending), updates)
        finally:
            cancel()

    def _count(self, parsed: ParsedRequest) -> int:
        """Answers to a request. Raises Refused for more than are written together."""
        most, count = self._section.max_in_flight, len(parsed.prompts) * parsed.n
        if count > most:
            field = "n" if len(parsed.prompts) <= most else "prompt"
            raise Refused(400, f"{field}: a request has at most {most} answers", field)
        return count

    def _reserve(self, places: int) -> int:
        """Places in the queue. Raises Refused."""
        try:
            return self._scheduler.reserve(places)
        except Busy as busy:
            raise Refused(
                429, "all places are taken", kind="rate_limit_error", code="server_busy",
                headers={"Retry-After": str(busy.seconds)},
            ) from None  # fmt: skip

    async def _pending(
        self, request: Request, parsed: ParsedRequest, updates: asyncio.Queue[Numbered]
    ) -> list[PendingRequest]:
        """The answers to a request, ready to be written. Raises Refused."""
        name, arrived = self._new_name(), time.monotonic()
        pending: list[PendingRequest] = []
        async with self._preparing:
            if await request.is_disconnected():
                raise Refused(400, "the client has gone")
            for prompt in parsed.prompts:
                for choice in range(parsed.n):
                    number = len(pending)
                    prepared = await self._prepared(parsed, prompt, choice)
                    one = f"{name}.{number}" if number else name
                    send = _sender(updates, number)
                    pending.append(PendingRequest(one, parsed, question_in(prompt), send, prepared, arrived))
        return pending

    def _new_name(self) -> str:
        return f"{self._began:x}-{next(self._numbers)}"

    def _refuse_hopeless(self, parsed: ParsedRequest) -> None:
        """Refuse, before it is tokenized, what has more characters than the model's context can hold."""
        model = self._levers.model
        context, longest = model.info.context, model.tokenizer.longest_token
        field = "messages" if parsed.kind == "chat" else "prompt"
        for prompt in parsed.prompts:
            length, in_tokens = _length(prompt)
            if context and length > (context if in_tokens else context * longest):
                what = f"the prompt has {length} {'tokens' if in_tokens else 'characters'}"
                what += f", this model's maximum context length is {context} tokens"
                raise Refused(400, what, field, code=_TOO_LONG)

    async def _prepared(self, parsed: ParsedRequest, prompt: Prompt, choice: int) -> Prepared:
        limits, field = parsed.limits, "messages" if parsed.kind == "chat" else "prompt"
        if limits.seed is None and limits.temperature:
            limits = replace(limits, seed=derive_seed(self._seed, "serve", self._new_name()))
        elif choice:
            seed = self._seed if limits.seed is None else limits.seed
            limits = replace(limits, seed=derive_seed(seed, "serve", "choice", choice))
        prepare: Any = self._levers.prepare if parsed.kind == "chat" else self._levers.prepare_text
        try:
            return await run_in_threadpool(prepare, "serve", prompt, parsed.chosen, limits)
        except SteerError as error:
            code = _TOO_LONG if isinstance(error, PromptTooLong) else None
            raise Refused(400, f"{error.what}: {error.hint}", error.where or field, code=code) from None

    async def _body(self, request: Request) -> object:
        """The JSON of the body. Raises Refused for what is too large, too slow, or no JSON."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refused(415, "send JSON, with the header `Content-Type: application/json`")
        close = {"Connection": "close"}
        try:
            async with asyncio.timeout(self._section.client_timeout):
                data = bytearray()
                async for piece in request.stream():
                    data += piece
                    if len(data) > self._section.max_body:
                        what = f"a request has at most {self._section.max_body} bytes"
                        raise Refused(413, what, headers=close)
            # Unlike `json.loads` it refuses NaN, and half of a surrogate pair, which no text may hold.
            return msgspec.json.decode(data)
        except TimeoutError:
            raise Refused(408, "the request did not come in time", headers=close) from None
        except ClientDisconnect:
            raise Refused(400, "the client has gone") from None
        except (ValueError, RecursionError):
            raise Refused(400, "the request is no JSON") from None

    def _check_key(self, request: Request) -> None:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if not self._key.opens(given.strip() if scheme.lower() == "bearer" else ""):
            raise Refused(
                401, "the key is missing or wrong: send `Authorization: Bearer KEY`", kind="authentication_error",
                code="invalid_api_key", headers={"WWW-Authenticate": "Bearer"},
            )  # fmt: skip


def _length(prompt: Prompt) -> tuple[int, bool]:
    """Of a prompt, in characters or, where it is given so, in tokens."""
    if isinstance(prompt, str) or isinstance(prompt[0], int):
        return len(prompt), not isinstance(prompt, str)
    return sum(len(cast("Message", message)["content"]) for message in prompt), False


def _sender(updates: asyncio.Queue[Numbered], number: int) -> Callable[[Update], None]:
    """Puts updates of the answer `number` into the queue, from any thread."""
    loop = asyncio.get_running_loop()

    def send(update: Update) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(updates.put_nowait, (number, update))

    return send


async def _whole(request: Request, reply: Reply, count: int, updates: asyncio.Queue[Numbered]) -> Response:
    """The `count` answers at once; whoever leaves before gets none. Raises Refused."""
    ending = asyncio.create_task(_answers(count, updates))
    leaving = asyncio.create_task(_disconnected(request.receive))
    try:
        await asyncio.wait({ending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not ending.done():
            return Response(status_code=499)
        return JSONResponse(reply.whole(ending.result()))
    finally:
        ending.cancel()
        leaving.cancel()


async def _answers(count: int, updates: asyncio.Queue[Numbered]) -> list[SteeredAnswer]:
    """All answers, in order. Raises Refused for the first failure."""
    answers: dict[int, SteeredAnswer] = {}
    while len(answers) < count:
        number, update = await updates.get()
        if isinstance(update, Failed):
            raise _failure(update)
        if isinstance(update, SteeredAnswer):
            answers[number] = update
    return [answers[number] for number in range(count)]


async def _disconnected(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _pieces(
    reply: Reply, parsed: ParsedRequest, count: int, updates: asyncio.Queue[Numbered]
) -> AsyncIterator[bytes]:
    """The answers as server-sent events."""
    more = {"usage": None} if parsed.report_usage else {}
    answers: dict[int, SteeredAnswer] = {}
    for number in range(count if parsed.kind == "chat" else 0):
        yield event_bytes(reply.opening(number) | more)
    while len(answers) < count:
        match await updates.get():
            case number, Written() as written:
                yield event_bytes(reply.text(number, written) | more)
            case number, DecisionTaken() as decision:
                yield event_bytes(reply.decided(number, decision) | more)
            case number, SteeredAnswer() as answer:
                answers[number] = answer
                yield event_bytes(reply.end(number, answer) | more)
            case _, Failed() as failed:
                yield event_bytes(_failure(failed).body)
                yield DONE
                return
    if parsed.report_usage:
        yield event_bytes(reply.usage_piece([answers[number] for number in range(count)]))
    yield DONE


class EventStream(StreamingResponse):
    """A stream to a client that may leave, or stop reading, at any time; `cancel` is called at its end."""

    def __init__(self, pieces: AsyncIterator[bytes], cancel: Callable[[], None]) -> None:
        super().__init__(pieces, media_type="text/event-stream", headers={"Cache-Control": "no-cache"})
        self._cancel = cancel

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._cancel()


def _failure(failed: Failed) -> Refused:
    status, code = (503, "stopping") if failed.stopping else (500, None)
    return Refused(status, failed.why, kind="server_error", code=code)


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return error.response


def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        what = "nothing is here: /v1/chat/completions, /v1/completions and /v1/models are"
    else:
        what = f"{request.method} does not go with {request.url.path}"
    return Refused(error.status_code, what).response
