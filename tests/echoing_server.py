"""A real loopback server that repeats the key it is sent, in every way and at every place a server can.

It speaks chat completions: where a schema is asked for it fills the schema, else it says a word. Every text that it
says holds the key in the next of the `WAYS`. Every other thing that it is asked for fails the first time, each time
otherwise; asked once more it answers, so that nothing depends on the order of requests.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from tests.engine.servers.test_secrets import WAYS

_MARK = "MARK"
_IN_JSON = ("a letter escaped", "all escaped", "slashes escaped")
"""Ways that JSON itself undoes: the key comes out of them when a reply is read."""
FAULTS = (
    "500",
    "429",
    "503 headers",
    "page",
    "torn",
    "length",
    "refusal",
    "reason",
    "stream",
    "no choices",
    "scalar",
)


class EchoingServer(ThreadingHTTPServer):
    """`asked`: requests by the name of their schema, "text" without one."""

    daemon_threads = True
    request_queue_size = 128
    block_on_close = False

    def __init__(self, key: str, always: str | None, says: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.key, self.always, self.says = key, always, says
        self.asked: Counter[str] = Counter()
        self.seen: set[str] = set()
        self.guard = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients leave when they have seen enough."""


@contextmanager
def echoing_server(key: str, always: str | None = None, says: str = "") -> Iterator[EchoingServer]:
    """Serve until the block ends. `always`: the fault of every request ("" for none); `says`: the key as it is written
    in what is no completion."""
    server = EchoingServer(key, always, says or key)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def filled(schema: dict[str, Any], text: str) -> Any:
    """The least value of a JSON schema, with `text` in each of its texts."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: filled(schema["properties"][name], text) for name in schema.get("required", ())}
        case "array":
            return [filled(schema["items"], text)]
        case "boolean":
            return True
        case "number" | "integer":
            return 0
    return text


class _Handler(BaseHTTPRequestHandler):
    @property
    def mine(self) -> EchoingServer:
        return cast("EchoingServer", self.server)

    def do_GET(self) -> None:
        written = self.mine.says
        models = {"object": written, "data": [{"id": f"m {written}", "owned_by": written}]}
        self._send(200, json.dumps(models | {"version": written, "detail": written}), written)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        schema = body.get("response_format", {}).get("json_schema", {})
        with self.mine.guard:
            role = schema.get("name", "text")
            number = self.mine.asked[role]
            self.mine.asked[role] += 1
            new = str(body["messages"]) not in self.mine.seen
            self.mine.seen.add(str(body["messages"]))
        way = list(WAYS)[number % len(WAYS)]
        written = WAYS[way](self.mine.key)
        fault = FAULTS[number // 2 % len(FAULTS)] if new and number % 2 == 0 else ""
        if self.mine.always is not None:
            fault = self.mine.always
        said = f"12 by {_MARK} today"
        content = json.dumps(filled(schema["schema"], said)) if schema else said
        self._reply(fault, content, written, way in _IN_JSON)

    def _reply(self, fault: str, content: str, written: str, undone: bool) -> None:
        literal = json.dumps(written)[1:-1]
        error = json.dumps({"error": {"message": f"for {_MARK} no", "code": _MARK, "param": _MARK}})
        error = error.replace(_MARK, written if undone else literal)
        match fault:
            case "401" | "429" | "500":
                self._send(int(fault), error, written)
            case "503 headers":
                self._send(503, written, written)
            case "page":
                self._send(200, f"<html>{written}</html>", written)
            case "stream":
                self._send(200, f"data: {written}\n\n", written)
            case "scalar":
                self._send(200, json.dumps(written), written)
            case "torn":
                self._send(200, written, written, missing=500)
            case _:
                # In a structured reply the key may stand as it is in the inner text.
                inner = content.replace(
                    _MARK, written if undone else literal if content[:1] == "{" else written
                )
                self._send(200, self._completion(fault, inner, written), written)

    def _completion(self, fault: str, content: str, written: str) -> str:
        finish = {"length": "length", "reason": written}.get(fault, "stop")
        message = {"role": written, "content": content, "refusal": None}
        if fault == "refusal":
            message |= {"content": None, "refusal": f"not for {written}"}
        if fault == "reason":
            message["content"] = ""
        choice = {"index": 0, "message": message, "finish_reason": finish}
        found = {"id": written, "model": written, "system_fingerprint": written, "choices": [choice]}
        if fault == "no choices":
            found["choices"] = []
        return json.dumps(found | {"usage": {"prompt_tokens": 10, "completion_tokens": 5}})

    def _send(self, status: int, body: str, written: str, missing: int = 0) -> None:
        line = written.encode("latin-1", "replace").decode("latin-1").replace("\n", " ").replace("\r", " ")
        data = body.encode()
        self.send_response(status, line)
        for name, value in {
            "Content-Type": "application/json", "Content-Length": str(len(data) + missing), "X-Request-Id": line,
            "Server": line, "Retry-After": "0.01" if status == 429 else line, "Set-Cookie": f"k={line}",
        }.items():  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the terminal."""
