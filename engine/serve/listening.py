"""uvicorn in a thread of its own: it listens until the stage ends."""

from __future__ import annotations

import errno
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from engine.errors import RunError
from engine.serve.connections import ThrottledWarnings, patient

BACKLOG = 1024
_LOGGERS = ("uvicorn.error", "asyncio")
GRACE = 2
"""Seconds that answers under way get to be sent when the server ends."""


def bound(host: str, port: int) -> socket.socket:
    """A socket on this address. Raises RunError where it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, UnicodeError) as error:
        listening.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        what = "the port is taken" if taken else f"nothing can listen there: {error}"
        hint = "port (`--port`, serve.port; 0: any free one)" if taken else "address"
        raise RunError(what=what, where=f"{host}:{port}", hint=f"choose another {hint}") from error
    return listening


def url_of(listening: socket.socket, host: str) -> str:
    """The base address of the interface."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listening.getsockname()[1]}/v1"


@contextmanager
def serving(app: ASGIApp, listening: socket.socket, patience: float) -> Iterator[None]:
    """Serve while inside; returns when the last connection is closed. `patience`: seconds for a request to begin."""
    # From now on a client is heard, if only by the kernel until the thread has begun.
    listening.listen(BACKLOG)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        loop="asyncio",
        http=patient(patience),
        ws="none",
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        backlog=BACKLOG,
    )
    throttled = ThrottledWarnings()
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(throttled)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), name="serve-http", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(GRACE + 10)
        listening.close()
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(throttled)
