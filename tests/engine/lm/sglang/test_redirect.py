"""A server that sends questions on to another one: nobody has said that they may go there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from engine.lm.sglang.generate import Broken, GenerateClient, Refused
from engine.lm.tokenizer import HfTokenizer
from engine.servers.http import Http, HttpAnswer
from tests.exactly import exactly
from tests.tiny_models import tiny_tokenizer


class _Handler(BaseHTTPRequestHandler):
    """Answers with `status`, and to a redirect with the address of `server.next`."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.send_header("Location", self.server.next)  # type: ignore[attr-defined]
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def server(status: int, beyond: str = "") -> Iterator[tuple[str, list[str]]]:
    """Its address, and the paths that it was asked for."""
    found = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    found.status, found.next, found.asked = status, beyond, []  # type: ignore[attr-defined]
    thread = threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{found.server_port}", found.asked  # type: ignore[attr-defined]
    finally:
        found.shutdown()
        found.server_close()
        thread.join()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_refused_and_the_other_server_hears_nothing(status: int) -> None:
    with server(200) as (other, heard), server(status, f"{other}/generate") as (address, asked):
        client = GenerateClient(address, HfTokenizer(tiny_tokenizer()), 20)
        with pytest.raises(Refused, match=f"status {status}"):
            client.send({"input_ids": [1]})
        assert not client.healthy(20)
    assert asked == ["/generate", "/health"] and heard == []


def test_a_server_that_fails_or_is_not_there_may_be_asked_again() -> None:
    with server(500) as (address, _), pytest.raises(Broken, match=exactly("status 500: {}")):
        GenerateClient(address, HfTokenizer(tiny_tokenizer()), 20).send({"input_ids": [1]})
    with pytest.raises(Broken, match=exactly("no answer ([Errno 111] Connection refused)")):
        GenerateClient(address, HfTokenizer(tiny_tokenizer()), 20).send({"input_ids": [1]})


def test_a_refusal_is_no_reason_to_ask_again() -> None:
    with server(422) as (address, asked), pytest.raises(Refused, match=exactly("status 422: {}")):
        GenerateClient(address, HfTokenizer(tiny_tokenizer()), 20).send({"input_ids": [1]})
    assert asked == ["/generate"]


def test_an_answer_that_broke_off_may_be_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Http, "post", lambda http, path, fields: HttpAnswer(200, '{"output_ids": [1'))
    with pytest.raises(Broken, match=exactly('status 200: {"output_ids": [1')):
        GenerateClient("http://127.0.0.1:9", HfTokenizer(tiny_tokenizer()), 20).send({"input_ids": [1]})
