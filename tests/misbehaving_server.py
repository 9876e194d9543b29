"""A real loopback server that speaks OpenAI's chat completions and misbehaves on purpose, request by request."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

Answer = Callable[[dict[str, Any]], str]
"""(request body) -> text of the reply."""
FaultOf = Callable[[dict[str, Any]], str]
"""(request body) -> what goes wrong with it, "" for nothing."""

FAULTS = (
    "408", "409", "429", "429 with Retry-After", "500", "503 with a date", "hang", "drip", "torn body",
    "connection cut", "no JSON", "no completion", "401", "text is no JSON", "missing cluster", "extra cluster", "NaN",
    "wrong types", "refusal", "truncated",
)  # fmt: skip
PASSING = frozenset(FAULTS[: FAULTS.index("401")])
"""Faults of the transport, which are tried again; the others are the reply's."""


class MisbehavingServer(ThreadingHTTPServer):
    """Does what `script` says, one entry a request ("" is to behave), then what `fault_of` says. `requests` keeps the
    bodies, `headers` what was sent with them; `location`: where a fault 3xx sends on to; `refusal`: the
    body of a fault 422; `slots`: how many it says it has, as llama.cpp does."""

    daemon_threads = True
    request_queue_size = 128  # many may come at once
    block_on_close = False

    def __init__(
        self, answer: Answer, script: Sequence[str], fault_of: FaultOf, lists_models: bool = False
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lists_models = lists_models
        self.location = ""
        self.slots = 0
        self.refusal = ""
        self.answer = answer
        self.script = list(script)
        self.fault_of = fault_of
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        self.guard = threading.Lock()

    @property
    def url(self) -> str:
        """What goes into `base_url`."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up waiting is what some of these faults are about."""


@contextmanager
def misbehaving_server(
    answer: Answer,
    script: Sequence[str] = (),
    fault_of: FaultOf = lambda body: "",
    lists_models: bool = False,
) -> Iterator[MisbehavingServer]:
    """Serve until the block ends."""
    server = MisbehavingServer(answer, script, fault_of, lists_models)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    @property
    def mine(self) -> MisbehavingServer:
        """The server as what it is."""
        return cast("MisbehavingServer", self.server)

    def do_GET(self) -> None:
        if self.mine.lists_models and self.path == "/v1/models":
            self._send(b'{"object": "list", "data": [{"id": "m", "object": "model"}]}')
        elif self.mine.slots and self.path == "/props":
            self._send(json.dumps({"total_slots": self.mine.slots}).encode())
        else:
            self._refuse(404, "Not Found")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.mine.guard:
            self.mine.requests.append(body)
            self.mine.headers.append({name.lower(): value for name, value in self.headers.items()})
            fault = self.mine.script.pop(0) if self.mine.script else self.mine.fault_of(body)
        match fault:
            case "400 max_tokens":
                self._refuse(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
            case "400 temperature":
                self._refuse(400, "Unsupported value: 'temperature' does not support 0 with this model.")
            case _ if fault[:3].isdigit():
                key = self.headers.get("Authorization", "")
                headers = {"Retry-After": "0.05"} if "Retry" in fault else {}
                if fault[0] == "3":
                    headers["Location"] = self.mine.location
                if "at once" in fault:
                    headers["Retry-After"] = "0"
                if "for good" in fault:
                    headers["x-should-retry"] = "false"
                if "date" in fault:
                    headers["Retry-After"] = formatdate(time.time() + 7, usegmt=True)
                self._refuse(int(fault[:3]), f"{fault} for {key} at {self.path}", headers)
            case "hang":
                self.mine.released.wait(30)
            case "drip":
                self._drip(self._completion(self.mine.answer(body)))
            case "torn body":
                whole = self._completion(self.mine.answer(body))
                self._send(whole, declared=len(whole) + 500)
            case "connection cut":
                self.connection.shutdown(socket.SHUT_RDWR)
            case "no JSON":
                self._send(b"<html>busy</html>")
            case "no completion":
                self._send(b'{"object": "list", "data": []}')
            case "no choices":
                self._send(self._completion("").replace(b'"choices": [', b'"choices": [], "others": ['))
            case _:
                self._send(self._misreply(fault, self.mine.answer(body)))

    def _misreply(self, fault: str, text: str) -> bytes:
        """A well-formed completion whose content is wrong."""
        match fault:
            case "text is no JSON":
                return self._completion("Sure! Here are the deltas: " + text)
            case "no usage":
                return self._completion(text, counted=False)
            case "refusal":
                return self._completion("", refusal="I cannot help with that.")
            case "truncated":
                return self._completion(text[: len(text) // 2], finish="length")
        if fault and text.startswith("{"):
            found = json.loads(text)
            deltas = found.get("deltas", {})
            match fault:
                case "missing cluster":
                    deltas.pop(next(iter(deltas), ""), None)
                case "extra cluster":
                    deltas["99"] = 1.0
                case "NaN":
                    deltas[next(iter(deltas))] = float("nan")
                case "wrong types":
                    deltas[next(iter(deltas))] = "a lot"
            text = json.dumps(found)
        return self._completion(text)

    def _completion(
        self, text: str, finish: str = "stop", refusal: str | None = None, counted: bool = True
    ) -> bytes:
        message = {"role": "assistant", "content": text or None, "refusal": refusal}
        choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        found = {"id": "x", "object": "chat.completion", "choices": [choice]}
        return json.dumps(found | ({"usage": usage} if counted else {})).encode()

    def _refuse(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        error = {"error": {"message": message, "type": "on purpose"}}
        body = self.mine.refusal if status == 422 else json.dumps(error)
        self._send(body.encode(), status, headers)

    def _drip(self, body: bytes) -> None:
        """A byte every tenth of a second: no single read waits long, the whole takes half a minute."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for byte in body:
            if self.mine.released.wait(0.1):
                return
            self.wfile.write(bytes([byte]))

    def _send(
        self,
        body: bytes,
        status: int = 200,
        headers: dict[str, str] | None = None,
        declared: int | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if declared is None else declared))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the terminal."""
