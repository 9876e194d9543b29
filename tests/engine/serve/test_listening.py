"""Where the server listens, its key, and many connections at once."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from engine.config.config import Config
from engine.config.serve import ServeSection
from engine.errors import ConfigError, RunError
from engine.serve.key import server_key
from engine.serve.listening import bound, serving, url_of
from tests.exactly import exactly

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


def test_a_port_that_is_taken_and_an_address_that_is_not_of_this_machine() -> None:
    with bound("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(RunError) as refused:
            bound("127.0.0.1", port)
    assert (refused.value.what, refused.value.where) == ("the port is taken", f"127.0.0.1:{port}")
    assert refused.value.hint == "choose another port (`--port`, serve.port; 0: any free one)"
    with pytest.raises(RunError) as refused:
        bound("203.0.113.5", 0)
    assert refused.value.what.startswith("nothing can listen there: ")
    assert (refused.value.where, refused.value.hint) == ("203.0.113.5:0", "choose another address")


def test_an_address_of_version_6_stands_in_brackets() -> None:
    with bound("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        assert url_of(listening, "::1") == f"http://[::1]:{port}/v1"
        assert url_of(listening, "127.0.0.1") == f"http://127.0.0.1:{port}/v1"


def test_a_key_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As `$(cat file)` and other ways of setting it leave it: with a line end."""
    section = ServeSection(key_env="A_KEY")
    monkeypatch.setenv("A_KEY", " sk-mine\n")
    key = server_key(section, tmp_path)
    assert (key.secret, key.place, key.made) == ("sk-mine", "environment variable A_KEY", False)
    assert key.opens("sk-mine") and not key.opens("sk-mine\n")
    for wrong in ("", " ", "two words"):
        monkeypatch.setenv("A_KEY", wrong)
        with pytest.raises(
            ConfigError,
            match=exactly(
                "environment variable A_KEY: expected the key of the server, without spaces (configuration): correct "
                "this value"
            ),
        ):
            server_key(section, tmp_path)


def test_a_file_of_a_key(tmp_path: Path) -> None:
    """Made where there is none, readable by its owner alone; one that others can read, or an empty one, is refused."""
    section, path = ServeSection(), tmp_path / "serve" / "key"
    made, again = server_key(section, tmp_path), server_key(section, tmp_path)
    assert made.made and not again.made and made.secret == again.secret is not None
    assert str(made.secret).startswith("sk-steer-") and made.place == str(path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("sk-mine\n")
    assert server_key(section, tmp_path).secret == "sk-mine"
    path.write_text(" \n")
    with pytest.raises(
        ConfigError, match=exactly("…/key: expected a file with the key alone (configuration): …")
    ):
        server_key(section, tmp_path)
    for mode in (0o640, 0o604):
        path.chmod(mode)
        words = f"…/key: found a file that others can read, expected chmod 600 {path} (configuration): …"
        with pytest.raises(ConfigError, match=exactly(words)):
            server_key(section, tmp_path)
    nobody = server_key(ServeSection(key_env="none"), tmp_path)
    assert (nobody.secret, nobody.place) == (None, "no key is asked for")


def test_nobody_else_is_let_in_unless_that_is_asked_for() -> None:
    """The host that is not given is this machine alone, and so is that of a whole configuration."""
    assert ServeSection().host == Config().serve.host == "127.0.0.1"
    with bound(ServeSection().host, 0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
