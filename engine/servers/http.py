"""Plain requests to a server, over the transport of the client: no retries, no redirects (a key must not travel), one
deadline each."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from engine.servers.address import address_secrets, shown_address
from engine.servers.background import finish
from engine.servers.proxy import proxy_host, proxy_of
from engine.servers.refusal import refusal_text
from engine.servers.secrets import Secrets

if TYPE_CHECKING:
    from engine.servers.transport import httpx

_LONGEST_QUOTE = 160


@dataclass(frozen=True)
class HttpAnswer:
    """A server's answer. `status` 0: no answer, `problem` says why. `body`: the text as JSON, None if it is not JSON;
    names of `headers` in lower case."""

    status: int = 0
    text: str = ""
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether the status is 2xx and the body is JSON."""
        return 200 <= self.status < 300 and self.body is not None

    @property
    def fields(self) -> dict[str, Any]:
        """The body of a good answer; empty where it is no object."""
        return self.body if self.good and isinstance(self.body, dict) else {}

    def why(self) -> str:
        """The problem in a few words: the status with the server's own message."""
        if self.problem:
            return self.problem
        words = " ".join(refusal_text(self.text).split())[:_LONGEST_QUOTE]
        return f"{self.status}: {words}" if words else str(self.status)


class Http:
    """Requests to a server by its base URL (`http://127.0.0.1:8000/v1`). Safe to use from several threads."""

    def __init__(self, base_url: str, key: str, timeout: float) -> None:
        """`timeout`: seconds for a whole answer. A user in the address takes precedence over the key."""
        self._parts, self._key, self._timeout = urlsplit(base_url), key, timeout
        self.address = shown_address(base_url)
        """The base URL as it may be shown, without user, password and query."""
        self._proxy = proxy_of(base_url)
        self.proxy = proxy_host(self._proxy)
        """Host of the environment's proxy that requests go through; empty without one."""
        self._secrets = Secrets([key, *address_secrets(base_url), *address_secrets(self._proxy)])

    def below(self, path: str) -> Http:
        """The same server with `path` added to the base."""
        return Http(self._url(path), self._key, self._timeout)

    def get(self, path: str, timeout: float | None = None) -> HttpAnswer:
        """GET `path` below the base. `timeout`: another one for this answer."""
        return self._ask("GET", self._url(path), timeout or self._timeout)

    def get_root(self, path: str, timeout: float) -> HttpAnswer:
        """GET `path` from the server's root instead of the base."""
        return self._ask("GET", urlunsplit((*self._parts[:2], path, "", "")), timeout)

    def post(self, path: str, fields: Mapping[str, Any]) -> HttpAnswer:
        """POST JSON to `path` below the base."""
        return self._ask("POST", self._url(path), self._timeout, fields)

    def _url(self, path: str) -> str:
        return urlunsplit(self._parts._replace(path=self._parts.path.rstrip("/") + path, fragment=""))

    def _ask(
        self, method: str, url: str, timeout: float, fields: Mapping[str, Any] | None = None
    ) -> HttpAnswer:
        from engine.servers.transport import BodyRefused, httpx

        began = time.monotonic()
        try:
            answer = self._read(finish(self._send(method, url, timeout, fields), lambda: None))
        except TimeoutError:
            answer = HttpAnswer(problem=f"no answer within {timeout:g} s")
        except (httpx.HTTPError, httpx.InvalidURL, BodyRefused, ImportError, ValueError) as error:
            answer = HttpAnswer(problem=self._secrets.redact(f"no answer ({_cause(error)})"))
        return replace(answer, seconds=time.monotonic() - began)

    async def _send(
        self, method: str, url: str, timeout: float, fields: Mapping[str, Any] | None
    ) -> httpx.Response:
        async with asyncio.timeout(timeout):  # the library's own limits are for single reads
            return await self._client.request(method, url, json=fields)

    @cached_property
    def _client(self) -> httpx.AsyncClient:
        from engine.servers.transport import ENCODING, BoundedTransport, httpx

        return httpx.AsyncClient(
            transport=BoundedTransport(self._proxy), trust_env=False, default_encoding=ENCODING, timeout=None,
            headers={"User-Agent": "steer-tui"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {}),
        )  # fmt: skip

    def _read(self, response: httpx.Response) -> HttpAnswer:
        text = self._secrets.redact(response.text)
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        return HttpAnswer(response.status_code, text, body, response.headers)


def _cause(error: BaseException) -> str:
    """Why a request failed: what the library's error comes from, in the system's words where it has some."""
    while below := error.__cause__ or error.__context__:
        error = below
    if isinstance(error, OSError) and (error.errno or 0) > 0:
        return f"[Errno {error.errno}] {os.strerror(error.errno or 0)}"
    return str(error) or type(error).__name__
