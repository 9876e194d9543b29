"""A loopback server with the manners of a product: its addresses, headers, errors, and what it honours or ignores.

The model behind it is a few lines that obey a field when the product does. It is for asking what a server can do; for
servers that fail there is `misbehaving_server`.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

_WORDS = ("apple", "river", "stone", "cloud", "piano", "tiger", "lemon", "chair", "ocean", "maple")
_EVERYTHING = frozenset(
    ["max_tokens", "max_completion_tokens", "seed", "stop", "n", "logprobs", "logit_bias", "json_schema", "json_object",
     "usage", "images"]
)  # fmt: skip


@dataclass(frozen=True)
class Product:
    """`pages`: GETs outside of the interface; `honours`: fields that change the answer, all others are ignored;
    `refuses`: field -> (status, message); `wrong`: the body of an error with that message."""

    owner: str
    pages: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    honours: frozenset[str] = _EVERYTHING
    refuses: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    flat_errors: bool = False
    key: str = ""

    def wrong(self, status: int, message: str) -> dict[str, Any]:
        if self.flat_errors:
            return {"object": "error", "message": message, "type": "BadRequestError", "code": status}
        return {"error": {"message": message, "type": "invalid_request_error", "code": status}}


PRODUCTS = {
    "vLLM": Product(
        "vllm", {"/version": {"version": "0.32.0"}}, {"server": "uvicorn"},
        refuses={"images": (400, "tiny is not a multimodal model")},
    ),
    "SGLang": Product(
        "sglang",
        {"/server_info": {"model_path": "tiny", "sglang_version": "0.5.23"}, "/version": {"version": "1"}},
        refuses={"images": (400, "the model takes no images")}, flat_errors=True,
    ),
    "llama.cpp": Product(
        "llamacpp", {"/props": {"default_generation_settings": {}, "build_info": "b7000-abc"}},
        {"server": "llama.cpp"}, _EVERYTHING - {"n"},
        {"n": (400, "Only one completion choice is allowed"), "images": (500, "image input is not supported")},
    ),
    "Ollama": Product(
        "library", {"/api/version": {"version": "0.13.0"}},
        honours=_EVERYTHING - {"n", "logprobs", "logit_bias", "images"},
    ),
    "OpenAI": Product(
        "system", {}, {"openai-processing-ms": "12", "openai-version": "2020-10-01"},
        _EVERYTHING - {"max_tokens", "stop", "logprobs"},
        {
            "max_tokens": (400, "Unsupported parameter: 'max_tokens' is not supported with this model. "
                                "Use 'max_completion_tokens' instead."),
            "temperature": (400, "Unsupported value: 'temperature' does not support 0 with this model. "
                                 "Only the default (1) value is supported."),
            "stop": (400, "Unsupported parameter: 'stop' is not supported with this model."),
            "logprobs": (403, "You are not allowed to request logprobs from this model"),
        },
    ),
    "bare": Product(
        "someone", honours=frozenset(["max_tokens"]),
        refuses={"json_schema": (400, "This response_format type is unavailable now"),
                 "system": (400, "System role not supported"),
                 "seed": (422, "body.seed: Extra inputs are not permitted")},
    ),
}  # fmt: skip
"""As they behave; `bare` is what a gateway may leave of one."""


class ProductServer(ThreadingHTTPServer):
    """`requests` keeps the bodies of completions, `asked` the paths and headers of everything."""

    daemon_threads = True
    request_queue_size = 128
    block_on_close = False

    def __init__(self, product: Product) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.product = product
        self.requests: list[dict[str, Any]] = []
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.guard = threading.Lock()
        self.draws = random.Random(0)

    @property
    def root(self) -> str:
        """Its address without a path."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Somebody left: fine."""


@contextmanager
def product_server(product: str | Product, **changes: Any) -> Iterator[ProductServer]:
    """Serve until the block ends."""
    found = PRODUCTS[product] if isinstance(product, str) else product
    server = ProductServer(replace(found, **changes))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    @property
    def mine(self) -> ProductServer:
        return cast("ProductServer", self.server)

    def do_GET(self) -> None:
        if not self._known():
            return
        product = self.mine.product
        if self.path == "/v1/models":
            self._send(
                200,
                {"object": "list", "data": [{"id": "tiny", "object": "model", "owned_by": product.owner}]},
            )
        elif self.path in product.pages:
            self._send(200, product.pages[self.path])
        else:
            self._send(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self._known():
            return
        with self.mine.guard:
            self.mine.requests.append(body)
        self._send(*self._answer(body))

    def _answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        product = self.mine.product
        if self.path != "/v1/chat/completions":
            return 404, {"detail": "Not Found"}
        if body["model"] != "tiny":
            return 404, product.wrong(404, f"model '{body['model']}' not found")
        for name, (status, message) in product.refuses.items():
            if name in _fields(body):
                return status, product.wrong(status, message)
        with self.mine.guard:
            return 200, completion(body, product.honours, self.mine.draws)

    def _known(self) -> bool:
        with self.mine.guard:
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.mine.asked.append((self.path, headers))
        key, sent = self.mine.product.key, self.headers.get("Authorization", "")
        if not key or sent == f"Bearer {key}":
            return True
        self._send(401, self.mine.product.wrong(401, f"Incorrect API key provided: {sent}"))
        return False

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **self.mine.product.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def version_string(self) -> str:
        return "loopback"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def _fields(body: dict[str, Any]) -> set[str]:
    """What of a request a product may honour or refuse."""
    found = set(body) | {body.get("response_format", {}).get("type", "")}
    if body.get("n", 1) == 1:
        found.discard("n")
    found |= {"system"} if any(message["role"] == "system" for message in body["messages"]) else set()
    content = [message["content"] for message in body["messages"]]
    has_images = any(
        part["type"] == "image_url" for parts in content if isinstance(parts, list) for part in parts
    )
    return found | ({"images"} if has_images else set())


def completion(body: dict[str, Any], honours: frozenset[str], draws: random.Random) -> dict[str, Any]:
    """A model of words: it counts, says hello, sees red, and draws words where it is sampled."""
    kept = {name: value for name, value in body.items() if name in honours}
    fields = _fields(body) & honours
    limit = kept.get("max_tokens", kept.get("max_completion_tokens", 1000))
    choices = []
    for index in range(kept.get("n", 1)):
        seed = kept.get("seed")
        words = _words(body, fields, draws if seed is None else random.Random(seed * 100 + index))
        text, finish = " ".join(words[:limit]), "length" if len(words) > limit else "stop"
        for stop in kept.get("stop", []):
            text = text.partition(stop)[0]
        choice: dict[str, Any] = {"index": index, "finish_reason": finish}
        choice["message"] = {"role": "assistant", "content": text}
        if kept.get("logprobs"):
            top = [{"token": "a", "logprob": -0.1}, {"token": "b", "logprob": -3.0}]
            choice["logprobs"] = {"content": [{"token": "a", "logprob": -0.1, "top_logprobs": top}]}
        choices.append(choice)
    found: dict[str, Any] = {"id": "x", "object": "chat.completion", "choices": choices}
    if "usage" in honours:
        used = sum(len(choice["message"]["content"].split()) for choice in choices)
        found["usage"] = {"prompt_tokens": 9, "completion_tokens": used, "total_tokens": 9 + used}
    return found


def _words(body: dict[str, Any], fields: set[str], draws: random.Random) -> list[str]:
    asked = json.dumps(body["messages"])
    if "logit_bias" in fields:
        return ["zz"] * 50
    if "json_schema" in fields:
        return _obeying(body["response_format"]["json_schema"]["schema"])
    if "json_object" in fields:
        return ['{"word":', '"hello"}']
    if "Count from 1" in asked:
        return list(map(str, range(1, int(re.findall(r"to (\d+)", asked)[0]) + 1)))
    if "colour is this" in asked:
        return ["Red."] if "images" in fields else ["Blue?"]
    return [draws.choice(_WORDS) for _ in range(10)] if body.get("temperature", 1) else ["hello"]


def _obeying(schema: dict[str, Any]) -> list[str]:
    """JSON of a schema of objects, enumerated words, numbers and truth values."""

    def value(part: dict[str, Any]) -> Any:
        if part["type"] == "object":
            return {name: value(inner) for name, inner in part["properties"].items()}
        return {"boolean": True, "number": 0, "array": []}.get(part["type"], part.get("enum", ["text"])[0])

    return json.dumps(value(schema)).split(" ")
