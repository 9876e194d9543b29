"""Many connections at once."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import Any

from engine.serve.listening import bound, serving

AT_ONCE = 200


async def app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


def test_two_hundred_connections_at_once_are_all_answered() -> None:
    with ExitStack() as stack:
        listening = bound("127.0.0.1", 0)
        stack.enter_context(serving(app, listening, 20))
        waiting = [stack.enter_context(socket.socket()) for _ in range(AT_ONCE)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(listening.getsockname())
        for one in waiting:
            one.settimeout(20)
            one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert all(one.recv(1000).startswith(b"HTTP/1.1 200") for one in waiting)
