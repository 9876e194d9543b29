"""What is refused before a request is read: forms that a proxy may read otherwise, and pages of a browser.

Without a key, a web page in the browser of whoever runs the server could reach it under a name of its own that leads to
this machine. So a server without a key answers only under names that no page can have.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.serve.refused import Refused


class Guard:
    """The application behind it sees only requests that may be read. `host`: as the server listens; `open`: it asks for
    no key; `largest`: bytes of a body; `patience`: seconds in which a client has to take a piece of its answer."""

    def __init__(self, app: ASGIApp, host: str, open: bool, largest: int, patience: float) -> None:
        self._app = app
        self._names = {"localhost", host.lower(), socket.gethostname().lower()}
        self._open = open
        self._largest = largest
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or hand on."""
        headers = Headers(scope=scope)
        refused = self._refused(headers)
        if refused is None:
            has_body = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
            body_is_read = not has_body

            async def received() -> Message:
                nonlocal body_is_read
                message = await receive()
                body_is_read = body_is_read or not message.get("more_body", False)
                return message

            async def sent(message: Message) -> None:
                if message["type"] == "http.response.start" and not body_is_read:
                    # An answer before the end of the request: nobody has to take in the rest of it.
                    message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
                async with asyncio.timeout(self._patience):
                    await send(message)

            with suppress(TimeoutError):  # its connection is closed
                await self._app(scope, received, sent)
            return
        status, why = refused
        await Refused(status, why, headers={"Connection": "close"}).response(scope, receive, send)

    def _refused(self, headers: Headers) -> tuple[int, str] | None:
        if "content-length" in headers and "transfer-encoding" in headers:
            return 400, "a request has either Content-Length or Transfer-Encoding"
        if int(headers.get("content-length", "0")) > self._largest:
            return 413, f"a request has at most {self._largest} bytes"
        if self._open and not self._is_this_server(headers.get("host", "")):
            return 403, "without a key this server answers only under its own address: start it with a key"
        if (
            self._open
            and "origin" in headers
            and not self._is_this_server(headers["origin"].partition("://")[2], page=True)
        ):
            return 403, "without a key this server does not answer pages of a browser: start it with a key"
        return None

    def _is_this_server(self, host: str, page: bool = False) -> bool:
        """Whether a name with or without port is this server's. To ask an address, a page needs no name of its own: so
        any is. A `page` may itself come from any address: then only one of this machine is."""
        name = host.lower()
        name = name[1:].partition("]")[0] if name.startswith("[") else name.rpartition(":")[0] or name
        if name in self._names or name.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(name).is_loopback or not page
        except ValueError:
            return False
