"""Plain requests to a server under examination: no retries, no redirects (a key must not travel), one deadline each.

Why not httpx2, which comes with openai: its time limits are for single reads, a body has no limit, and it logs whole
addresses; only the refusal of redirects and of torn answers would become its work.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import Request

from engine.servers.address import address_secrets
from engine.servers.proxy import direct_opener, proxy_host, proxy_of
from engine.servers.refusal import refusal_text
from engine.servers.secrets import Secrets

_CHUNK = 1 << 16
_LARGEST = 1 << 23
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

    def why(self) -> str:
        """The problem in a few words: the status with the server's own message."""
        if self.problem:
            return self.problem
        words = " ".join(refusal_text(self.text).split())[:_LONGEST_QUOTE]
        return f"{self.status}: {words}" if words else str(self.status)


class Http:
    """Requests to a server by its base URL (`http://127.0.0.1:8000/v1`). Safe to use from several threads."""

    def __init__(self, base_url: str, key: str, timeout: float) -> None:
        """`timeout`: seconds for a whole answer."""
        parts = urlsplit(base_url)
        self._parts = parts._replace(netloc=parts.netloc.rpartition("@")[2])
        self._timeout = timeout
        self._headers = {"Content-Type": "application/json", "User-Agent": "steer-tui"}
        if "@" in parts.netloc:  # a user in the address takes precedence over the key
            user = unquote(parts.netloc.rpartition("@")[0]).encode()
            self._headers["Authorization"] = f"Basic {base64.b64encode(user).decode()}"
        elif key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._opener = direct_opener(base_url)
        proxy = proxy_of(base_url)
        self.proxy = proxy_host(proxy)
        """Host of the environment's proxy that requests go through; empty without one."""
        self._secrets = Secrets([key, *address_secrets(base_url), *address_secrets(proxy)])

    def below(self, path: str) -> Http:
        """The same server with `path` added to the base."""
        other = object.__new__(Http)
        other.__dict__ = self.__dict__ | {
            "_parts": self._parts._replace(path=self._parts.path.rstrip("/") + path)
        }
        return other

    @property
    def address(self) -> str:
        """The base URL as it may be shown, without user, password and query."""
        return urlunsplit((*self._parts[:3], "", ""))

    def get(self, path: str, timeout: float | None = None) -> HttpAnswer:
        """GET `path` below the base."""
        return self._ask(Request(self._url(path), headers=self._headers), timeout)

    def get_root(self, path: str, timeout: float | None = None) -> HttpAnswer:
        """GET `path` from the server's root instead of the base."""
        root = urlunsplit((self._parts.scheme, self._parts.netloc, path, "", ""))
        return self._ask(Request(root, headers=self._headers), timeout)

    def post(self, path: str, fields: Mapping[str, Any]) -> HttpAnswer:
        """POST JSON to `path` below the base."""
        data = json.dumps(fields).encode()
        return self._ask(Request(self._url(path), data, self._headers, method="POST"), None)

    def _url(self, path: str) -> str:
        return urlunsplit(self._parts._replace(path=self._parts.path.rstrip("/") + path, fragment=""))

    def _ask(self, request: Request, timeout: float | None) -> HttpAnswer:
        began = time.monotonic()
        end = began + (self._timeout if timeout is None else timeout)
        try:
            with self._opener.open(request, timeout=end - began) as response:
                answer = _read(response, response.status, end)
        except HTTPError as error:
            with error:
                answer = _read(error, error.code, end)
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            late = isinstance(reason, TimeoutError)
            problem = f"no answer within {end - began:g} s" if late else f"no answer ({reason})"
            answer = HttpAnswer(problem=problem)
        return self._scrubbed(answer, time.monotonic() - began)

    def _scrubbed(self, answer: HttpAnswer, seconds: float) -> HttpAnswer:
        text, problem = self._secrets.strike(answer.text), self._secrets.strike(answer.problem)
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        return HttpAnswer(answer.status, text, body, answer.headers, problem, seconds)


def _read(response: HTTPResponse | HTTPError, status: int, end: float) -> HttpAnswer:
    """The answer with its whole body, read before `end`; the socket's own limit is for a single read."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    pieces: list[bytes] = []
    while sum(map(len, pieces)) < _LARGEST:
        if time.monotonic() > end:
            raise TimeoutError
        piece = response.read1(_CHUNK) if isinstance(response, HTTPResponse) else response.read(_CHUNK)
        if not piece:
            break
        pieces.append(piece)
    data = b"".join(pieces)
    declared = headers.get("content-length", "")
    if declared.isdecimal() and len(data) < min(
        int(declared), _LARGEST
    ):  # `read1` takes a broken connection for the end
        return HttpAnswer(problem="the answer is cut off")
    return HttpAnswer(status, data.decode("utf-8-sig", errors="replace"), headers=headers)
