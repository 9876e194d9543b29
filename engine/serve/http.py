"""The server's side of a request: its body is read, a desk has it answered, and its client is told."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Literal

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from engine.config.serve import ServeSection
from engine.errors import SteerError
from engine.events import DecisionTaken
from engine.levers.levers import Answered, Limits, Prepared
from engine.seeds import derive_seed
from engine.serve.desk import Busy, Desk
from engine.serve.key import ServerKey
from engine.serve.replies import DONE, Reply, error_body, event_bytes
from engine.serve.ticket import Failed, News, Ticket, Written
from engine.serve.wanted import BadRequest, Wanted, read_wanted

Kind = Literal["chat", "completion"]

PREPARED_AT_ONCE = 4
"""Requests that are tokenized, or read by a controller, at the same time: each holds many times its own length."""


class Refused(Exception):
    """A request that gets an error: its status, and the error in OpenAI's form."""

    def __init__(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        super().__init__(status)
        self.response = JSONResponse(body, status, headers)


class SteeredServer:
    """The application. `usual`: levers of a request that does not choose; `seed`: of requests that name none."""

    def __init__(
        self, desk: Desk, section: ServeSection, key: ServerKey, usual: list[str], seed: int
    ) -> None:
        self._desk = desk
        self._section = section
        self._key = key
        self._usual = usual
        self._seed = seed
        self._session = f"{int(time.time()):x}"
        self._numbers = itertools.count(1)
        self._began = int(time.time())
        self._preparing = asyncio.Semaphore(PREPARED_AT_ONCE)
        self.app = Starlette(
            routes=[
                Route("/health", self._health),
                Route("/v1/models", self._models),
                Route("/v1/models/{name:path}", self._model),
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/completions", self._completion, methods=["POST"]),
            ],
            exception_handlers={Refused: _refused, HTTPException: _unknown},
        )

    # ------------------------------------------------------------ small answers

    async def _health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _models(self, request: Request) -> Response:
        self._check_key(request)
        return JSONResponse({"object": "list", "data": [self._told_model()]})

    async def _model(self, request: Request) -> Response:
        self._check_key(request)
        if request.path_params["name"] != self._desk.levers.model_name:
            raise Refused(404, error_body("there is no such model", "invalid_request_error", "model"))
        return JSONResponse(self._told_model())

    def _told_model(self) -> dict[str, Any]:
        info, levers = self._desk.levers.model.info, self._desk.levers
        return {
            "id": levers.model_name, "object": "model", "created": self._began, "owned_by": "steer-tui",
            "max_model_len": info.context or None,
            "steer": {"usual": self._usual, "levers": [
                {"lever": fit.lever, "fits": fit.fits, "why": fit.why} for fit in levers.fits
            ]},
        }  # fmt: skip

    # ------------------------------------------------------------ answers

    async def _chat(self, request: Request) -> Response:
        return await self._answer(request, "chat")

    async def _completion(self, request: Request) -> Response:
        return await self._answer(request, "completion")

    async def _answer(self, request: Request, kind: Kind) -> Response:
        self._check_key(request)
        try:
            self._desk.hold()
        except Busy as busy:
            body = error_body("all places are taken", "rate_limit_error", code="server_busy")
            raise Refused(429, body, {"Retry-After": str(busy.seconds)}) from None
        entered = False
        try:
            wanted = self._read(kind, await self._body(request))
            self._refuse_hopeless(wanted)
            news: asyncio.Queue[News] = asyncio.Queue()
            ticket = Ticket(f"{self._session}-{next(self._numbers)}", wanted, _teller(news))
            async with self._preparing:
                if await request.is_disconnected():
                    raise Refused(400, error_body("the client has gone", "invalid_request_error"))
                ticket.prepared = await self._prepared(wanted)
            entered = True
            self._desk.enter(ticket)
        finally:
            if not entered:
                self._desk.release()
        reply = Reply(ticket.request, kind, self._desk.levers.model_name, list(wanted.chosen.levers))
        gone = lambda: self._desk.leave(ticket)  # noqa: E731
        if wanted.stream:
            return Pieces(_pieces(reply, wanted, news), gone, self._section.client_timeout)
        return await _whole(request, reply, news, gone)

    def _read(self, kind: Kind, body: object) -> Wanted:
        try:
            return read_wanted(kind, body, self._desk.levers, self._usual, self._section.max_tokens)
        except BadRequest as error:
            status = 404 if error.field == "model" else 400
            raise Refused(status, error_body(error.message, "invalid_request_error", error.field)) from None

    def _refuse_hopeless(self, wanted: Wanted) -> None:
        """Refuse, before it is tokenized, what has more characters than the model's context can hold."""
        model = self._desk.levers.model
        most = model.info.context * model.tokenizer.longest_token
        length = sum(len(message["content"]) for message in wanted.messages) + len(wanted.prompt)
        if most and length > most:
            what = f"the prompt has {length} characters, more than the model's context of {model.info.context} tokens"
            raise Refused(400, error_body(what, "invalid_request_error"))

    async def _prepared(self, wanted: Wanted) -> Prepared:
        levers, limits = self._desk.levers, wanted.limits
        if limits.seed is None and limits.temperature:
            draw = derive_seed(self._seed, "serve", f"{self._session}-{next(self._numbers)}")
            limits = Limits(limits.max_tokens, limits.temperature, draw, limits.stops)
        try:
            if wanted.kind == "completion":
                return await run_in_threadpool(
                    levers.prepare_text, "serve", wanted.prompt, wanted.chosen, limits
                )
            return await run_in_threadpool(levers.prepare, "serve", wanted.messages, wanted.chosen, limits)
        except SteerError as error:
            body = error_body(f"{error.what}: {error.mend}", "invalid_request_error", error.where or None)
            raise Refused(400, body) from None

    async def _body(self, request: Request) -> object:
        """The JSON of the body. Raises Refused for what is too large, too slow, or no JSON."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            what = "send JSON, with the header `Content-Type: application/json`"
            raise Refused(415, error_body(what, "invalid_request_error"))
        try:
            async with asyncio.timeout(self._section.client_timeout):
                data = bytearray()
                async for piece in request.stream():
                    data += piece
                    if len(data) > self._section.max_body:
                        what = f"a request has at most {self._section.max_body} bytes"
                        raise Refused(413, error_body(what, "invalid_request_error"), {"Connection": "close"})
            # Unlike `json.loads` it refuses NaN, and half of a surrogate pair, which no text may hold.
            return msgspec.json.decode(data)
        except TimeoutError:
            body = error_body("the request did not come in time", "invalid_request_error")
            raise Refused(408, body, {"Connection": "close"}) from None
        except ClientDisconnect:
            raise Refused(400, error_body("the client has gone", "invalid_request_error")) from None
        except (ValueError, RecursionError):
            raise Refused(400, error_body("the request is no JSON", "invalid_request_error")) from None

    def _check_key(self, request: Request) -> None:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if self._key.secret is not None and not (
            scheme.lower() == "bearer" and self._key.opens(given.strip())
        ):
            body = error_body(
                "the key is missing or wrong: send `Authorization: Bearer KEY`",
                "authentication_error",
                code="invalid_api_key",
            )
            raise Refused(401, body, {"WWW-Authenticate": "Bearer"})


def _teller(news: asyncio.Queue[News]) -> Callable[[News], None]:
    """Puts news into the queue, from any thread."""
    loop = asyncio.get_running_loop()

    def tell(one: News) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(news.put_nowait, one)

    return tell


async def _whole(
    request: Request, reply: Reply, news: asyncio.Queue[News], gone: Callable[[], None]
) -> Response:
    """The answer at once; whoever leaves before gets none."""
    leaving = asyncio.create_task(_left(request.receive))
    try:
        while True:
            coming = asyncio.create_task(news.get())
            await asyncio.wait({coming, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                gone()
                return Response(status_code=499)
            match coming.result():
                case Answered() as answer:
                    return JSONResponse(reply.whole(answer))
                case Failed() as failed:
                    return JSONResponse(_failure(failed), 503 if failed.stopping else 500)
                case _:
                    pass
    finally:
        leaving.cancel()


async def _pieces(reply: Reply, wanted: Wanted, news: asyncio.Queue[News]) -> AsyncIterator[bytes]:
    """The answer as server-sent events."""
    if wanted.kind == "chat":
        yield event_bytes(reply.opening())
    while True:
        match await news.get():
            case Written(text):
                yield event_bytes(reply.text(text))
            case DecisionTaken() as decision:
                yield event_bytes(reply.decided(decision))
            case Failed() as failed:
                yield event_bytes(_failure(failed))
                yield DONE
                return
            case Answered() as answer:
                for piece in _last(reply, wanted, answer):
                    yield event_bytes(piece)
                yield DONE
                return


def _last(reply: Reply, wanted: Wanted, answer: Answered) -> list[dict[str, Any]]:
    return [reply.end(answer), *([reply.usage_piece(answer)] if wanted.tell_usage else [])]


async def _left(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


class Pieces(Response):
    """A stream to a client that may leave, or stop reading, at any time: `gone` is called if it does."""

    def __init__(self, pieces: AsyncIterator[bytes], gone: Callable[[], None], patience: float) -> None:
        super().__init__(media_type="text/event-stream", headers={"Cache-Control": "no-cache"})
        del self.headers["content-length"]
        self._pieces = pieces
        self._gone = gone
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        leaving = asyncio.create_task(_left(receive))
        telling = asyncio.create_task(self._tell(send))
        try:
            await asyncio.wait({leaving, telling}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            whole = telling.done() and not telling.cancelled() and telling.exception() is None
            for task in (leaving, telling):
                task.cancel()
            if not whole:
                self._gone()

    async def _tell(self, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await self._send(send, start)
        async for piece in self._pieces:
            await self._send(send, {"type": "http.response.body", "body": piece, "more_body": True})
        await self._send(send, {"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, send: Send, message: dict[str, Any]) -> None:
        """Raises TimeoutError where the client takes nothing for too long."""
        async with asyncio.timeout(self._patience):
            await send(message)


def _failure(failed: Failed) -> dict[str, Any]:
    return error_body(failed.why, "server_error", code="stopping" if failed.stopping else None)


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return error.response


def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        what = "nothing is here: /v1/chat/completions, /v1/completions and /v1/models are"
    else:
        what = f"{request.method} does not go with {request.url.path}"
    return JSONResponse(error_body(what, "invalid_request_error"), error.status_code)
