"""How the client waits, stops, asks again, and what it never says: against a real loopback server."""

from __future__ import annotations

import json
import logging
import threading
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from engine.config.file import load_config
from engine.config.models.openai import OpenAISection
from engine.errors import ConfigError
from engine.run.gate import StopRequested
from engine.servers.address import address_secrets, is_local, shown_address
from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.retry_after import retry_after
from tests.exactly import exactly
from tests.misbehaving_server import MisbehavingServer, misbehaving_server

KEY = "sk-very-secret-0123456789"
HI = [{"role": "user", "content": "hi"}]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)


def section(url: str | None, **changes: Any) -> OpenAISection:
    fields = {"base_url": url, "api_key_env": "TEST_KEY", "timeout": 10.0, "retries": 2}
    if url is not None and "@" in url:  # refused in a configuration; here is what is behind that
        return OpenAISection.model_construct(**{**fields, **changes})
    return OpenAISection(**{**fields, **changes})


def reply(body: dict[str, Any]) -> str:
    return "hello"


class Counting:
    """A checkpoint that knows how many threads were in it at once."""

    def __init__(self) -> None:
        self.inside, self.most = 0, 0

    def __call__(self) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(0.002)
        self.inside -= 1


# ---------------------------------------------------------------- waiting


@pytest.mark.parametrize("script", [["429"], ["hang"], ["drip"]], ids=["between attempts", "silence", "drip"])
def test_a_stop_ends_every_kind_of_waiting(script: list[str]) -> None:
    """Left alone, each of these would wait for a second at least before the next attempt succeeds."""
    with misbehaving_server(reply, script) as server:
        sent: list[float] = []

        def checkpoint() -> None:
            """Stop a moment after the request went out."""
            if server.requests:
                sent.append(time.monotonic())
                if sent[-1] - sent[0] > 0.2:
                    raise StopRequested

        waiting = OpenAIClient(section(server.url, timeout=60), "here", checkpoint=checkpoint)
        with pytest.raises(StopRequested):
            waiting.complete(HI)
        assert len(server.requests) == 1


def test_a_pause_holds_the_next_attempt_back() -> None:
    """While the checkpoint blocks, nothing is sent."""
    going, entered = threading.Event(), threading.Event()
    with misbehaving_server(reply, ["429 with Retry-After"]) as server:

        def checkpoint() -> None:
            if len(server.requests) == 1:
                entered.set()
                assert going.wait(20)

        asking = OpenAIClient(section(server.url), "here", checkpoint=checkpoint)
        found: list[str] = []
        thread = threading.Thread(target=lambda: found.append(asking.complete(HI).text))
        thread.start()
        assert entered.wait(20)
        time.sleep(0.3)  # six times what the server asked to wait
        assert len(server.requests) == 1 and not found
        going.set()
        thread.join(20)
        assert found == ["hello"] and len(server.requests) == 2


def test_checkpoints_of_many_threads_come_one_at_a_time() -> None:
    counting = Counting()
    with misbehaving_server(reply) as server:
        asking = OpenAIClient(section(server.url, timeout=20), "here", checkpoint=counting)
        threads = [threading.Thread(target=asking.complete, args=(HI,)) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.requests) == 12
    assert counting.most == 1


def test_a_server_that_drips_has_no_longer_than_one_that_is_silent() -> None:
    with misbehaving_server(reply, ["drip"]) as server:
        asking = OpenAIClient(section(server.url, timeout=0.4, retries=0), "here")
        with pytest.raises(
            ServerFailed,
            match=exactly(
                "no answer within 0.4 s (1 attempt) (here: gpt-4o at http://127.0.0.1:…/v1): check that the server "
                "answers, the model's name, and the key in TEST_KEY; `steer-tui doctor --server` helps"
            ),
        ):
            asking.complete(HI)


# ---------------------------------------------------------------- what the server asks for


@pytest.mark.parametrize("status", ["408", "409", "429", "500", "503"])
def test_retry_after_is_honoured_whatever_the_status(status: str) -> None:
    waits: list[float] = []
    with misbehaving_server(reply, [f"{status} Retry"]) as server:
        OpenAIClient(section(server.url), "here", sleep=waits.append).complete(HI)
    assert waits == [0.05]


def test_a_server_that_wants_no_pause_is_not_asked_at_once_until_no_attempt_is_left() -> None:
    """A clock that is ahead says so, too: its date is in the past."""
    waits: list[float] = []
    with misbehaving_server(reply, ["429 at once", "429 at once"]) as server:
        OpenAIClient(section(server.url), "here", sleep=waits.append).complete(HI)
    assert waits == [1.0, 2.0]


def test_each_pause_is_twice_the_one_before_up_to_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.servers.client.LONGEST_WAIT", 6.0)
    waits: list[float] = []
    with misbehaving_server(reply, ["429 at once"] * 5) as server:
        config = section(server.url).model_copy(update={"retries": 5})
        OpenAIClient(config, "here", sleep=waits.append).complete(HI)
    assert waits == [1.0, 2.0, 4.0, 6.0, 6.0]


def test_a_server_that_says_not_to_ask_again_is_not_asked_again() -> None:
    with misbehaving_server(reply, ["429 for good"] * 3) as server:
        with pytest.raises(
            ServerFailed,
            match=exactly(
                "the server is overloaded or a limit is reached (429): 429 for good for Bearer *** at "
                "/v1/chat/completions (here: gpt-4o at http://127.0.0.1:…/v1): check that the server answers, the "
                "model's name, and the key in TEST_KEY; `steer-tui doctor --server` helps"
            ),
        ):
            OpenAIClient(section(server.url), "here").complete(HI)
        assert len(server.requests) == 1


def test_retry_after_may_be_a_date() -> None:
    waits: list[float] = []
    with misbehaving_server(reply, ["503 with a date"]) as server:
        OpenAIClient(section(server.url), "here", sleep=waits.append).complete(HI)
    assert 3 < waits[0] <= 7


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": formatdate(1_000_020, usegmt=True)}, 20.0),
        ({"retry-after": formatdate(999_000, usegmt=True)}, 0.0),
        ({"retry-after": "9999"}, 60.0),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Mon, 99 Foo 2026 00:00:00 GMT"}, None),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({}, None),
    ],
)
def test_what_retry_after_may_hold(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=1_000_000.0) == seconds


def test_a_date_without_a_zone_is_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever this machine stands; 1,000,000 seconds after 1970 it is 13:46:40."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert retry_after({"retry-after": "Mon, 12 Jan 1970 13:47:00 -0000"}, now=1_000_000.0) == 20.0
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_model_that_wants_another_form_gets_it_from_then_on() -> None:
    waits: list[float] = []
    with misbehaving_server(reply, ["400 max_tokens", "400 temperature"]) as server:
        asking = OpenAIClient(section(server.url, max_tokens=77), "here", sleep=waits.append)
        assert asking.complete(HI).spent.calls == 3
        assert asking.complete(HI).spent.calls == 1
        sent = server.requests
    assert sent[0]["max_tokens"] == 77 and "temperature" in sent[0]
    assert [body.get("max_completion_tokens") for body in sent[1:]] == [77, 77, 77]
    assert all("max_tokens" not in body for body in sent[1:])
    assert ["temperature" in body for body in sent] == [True, True, False, False]
    assert not waits


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"error": {"message": "no seed here"}}, "no seed here"),
        ({"object": "error", "message": "no seed here"}, "no seed here"),
        ({"error": "no seed here"}, "no seed here"),
        ({"detail": "no seed here"}, "no seed here"),
        (
            {
                "detail": [
                    {
                        "loc": ["body", "seed"],
                        "msg": "Extra inputs are not permitted",
                        "input": "the system role",
                    }
                ]
            },
            "body.seed: Extra inputs are not permitted",
        ),
        ("no seed here", "no seed here"),
    ],
    ids=str,
)
def test_what_is_refused_is_read_whatever_its_shape(body: Any, told: str) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    with misbehaving_server(reply, ["422", "", "422"]) as server:
        server.refusal = text
        asking = OpenAIClient(section(server.url), "here")
        assert asking.complete(HI, seed=1).spent.calls == 2
        assert ["seed" in sent for sent in server.requests] == [True, False]
        with pytest.raises(
            ServerFailed,
            match=exactly(
                f"the server refused the request (422): {told} (here: gpt-4o at http://127.0.0.1:…/v1): check "
                "that the server "
                "answers, the model's name, and the key in TEST_KEY; `steer-tui doctor --server` helps"
            ),
        ):
            asking.complete(HI, seed=1)


def test_a_server_that_refuses_both_forms_is_given_up() -> None:
    with misbehaving_server(reply, ["400 max_tokens"] * 9) as server:
        with pytest.raises(
            ServerFailed,
            match=exactly(
                "the server refused the request (400): Unsupported parameter: 'max_tokens'. Use "
                "'max_completion_tokens' instead. (here: gpt-4o at http://127.0.0.1:…/v1): check that the server "
                "answers, the model's name, and the key in TEST_KEY; `steer-tui doctor --server` helps"
            ),
        ) as caught:
            OpenAIClient(section(server.url, timeout=10.0), "here").complete(HI)
        assert len(server.requests) == caught.value.spent.calls == 2


@pytest.mark.parametrize(
    ("fault", "said", "content"),
    [
        ("413", "", True),
        ("422", "the prompt is too long", True),
        ("422", "unknown field `n`", False),
        ("401", "content filter", False),
    ],
)
def test_whether_the_server_may_answer_other_requests(fault: str, said: str, content: bool) -> None:
    """A stage goes on after what is refused for its content alone."""
    with misbehaving_server(reply, [fault]) as server:
        server.refusal = said
        with pytest.raises(ServerFailed) as caught:
            OpenAIClient(section(server.url), "here").complete(HI)
    assert caught.value.content is content and caught.value.final
    assert caught.value.refused is (fault != "401")


# ---------------------------------------------------------------- what is never said


def with_user(server: MisbehavingServer) -> str:
    return server.url.replace("http://", "http://ada:p%40ssw0rd-x@") + "?token=query-secret-1"


@pytest.mark.parametrize("fault", ["401", "500", "hang", "connection cut"])
def test_errors_name_the_server_without_what_is_secret(fault: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with misbehaving_server(reply, [fault] * 9) as server:
        asking = OpenAIClient(section(with_user(server), retries=0, timeout=0.5), "here")
        with pytest.raises(ServerFailed) as caught:
            asking.complete(HI)
        host = server.url.removeprefix("http://").removesuffix("/v1")
    told = str(caught.value) + repr(caught.value) + repr(asking) + caplog.text
    assert host in str(caught.value)
    for secret in (KEY, "p%40ssw0rd-x", "p@ssw0rd-x", "query-secret-1", "ada:"):
        assert secret not in told


def test_addresses() -> None:
    url = "https://ada:p%40ss@host.example:8443/v1?api=key-value#x"
    assert shown_address(url) == "https://host.example:8443/v1"
    assert {"p%40ss", "p@ss", "api=key-value", "key-value"} <= set(address_secrets(url))
    assert shown_address("http://[::1") == shown_address("http://h:port/v1")
    assert "h:port" not in shown_address("http://u:p@h:port/v1")
    assert "p4ss" not in shown_address("ada:p4ss@host:80/v1")
    assert "ada:p4ss@host:80/v1" in address_secrets("ada:p4ss@host:80/v1")
    assert address_secrets("http://127.0.0.1:8000/v1") == []
    local = (
        "http://127.0.0.1:1/v1",
        "http://localhost/v1",
        "http://[::1]:8/v1",
        "http://127.9.9.9",
        "http://a.localhost",
    )
    assert all(map(is_local, local))
    others = (
        "http://10.0.0.1/v1",
        "https://localhost.example/v1",
        "http://[::1",
        "host",
        "http://127.0.0.1@evil.example",
    )
    assert not any(map(is_local, others))


@pytest.mark.parametrize(
    "address",
    ["", "host:80/v1", "ada:s3cret@host/v1", "http://ada:s3cret@host/v1", "http://host/v1?key=s3cret",
     "http://host/v1#s3cret", "http://[::1/v1", "http://host:s3cret/v1", "http://host:99999/v1", "http://ho st/v1",
     "ftp://host/v1", "http:///v1", "http://\u201clocalhost\u201d:8000/v1"],
)  # fmt: skip
def test_a_configuration_takes_addresses_that_can_be_asked_and_shown(tmp_path: Path, address: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"slsm: {{judge: {{kind: openai, openai: {{base_url: '{address}'}}}}}}")
    with pytest.raises(ConfigError, match=r"slsm\.judge\.openai\.base_url.*without user") as caught:
        load_config(path)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "told"),
    [("http://llm.example/v1", 1), ("https://llm.example/v1", 0), ("http://127.0.0.1:8000/v1", 0), (None, 0)],
)
def test_a_key_that_others_can_read_on_the_way_is_told(address: str | None, told: int) -> None:
    notices: list[str] = []
    OpenAIClient(section(address), "here", notice=notices.append)
    assert len(notices) == told
    assert all("TEST_KEY goes to http://llm.example/v1 without encryption" in one for one in notices)


@pytest.mark.parametrize("field", ["api_key_env", "api_key"])
@pytest.mark.parametrize("key", ["sk-s3cret", "gsk_S3cret", "hf_s3CRET"])
def test_a_key_in_a_configuration_is_an_error_that_does_not_repeat_it(
    tmp_path: Path, field: str, key: str
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"slsm: {{judge: {{kind: openai, openai: {{{field}: {key}}}}}}}")
    with pytest.raises(ConfigError, match=f"slsm.judge.openai.{field}") as caught:
        load_config(path)
    assert "s3cret" not in str(caught.value).lower()


def test_addresses_that_are_taken() -> None:
    for address in ("http://[::1]:8000/v1", "https://api.example/v1/accounts/@x/ai", "http://localhost"):
        assert section(None, base_url=address).base_url == address
    with pytest.raises(ValidationError):
        section(None, base_url="http://host/v1?")


# ---------------------------------------------------------------- who is asked


def test_nobody_is_asked_but_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither whom it sends requests on to, nor one named in the environment."""
    with misbehaving_server(reply) as other:
        with misbehaving_server(reply, ["307"] * 3) as server:
            server.location = other.url + "/chat/completions?key=s3cret"
            with pytest.raises(
                ServerFailed,
                match=exactly(
                    "the server sends requests on to http://127.0.0.1:…/v1/chat/completions (307) (here: gpt-4o at "
                    "http://127.0.0.1:…/v1): check that the server answers, the model's name, and the key in TEST_KEY; "
                    "`steer-tui doctor --server` helps"
                ),
            ) as caught:
                OpenAIClient(section(server.url), "here").complete(HI)
            assert len(server.requests) == caught.value.spent.calls == 1
            assert "s3cret" not in str(caught.value)
        assert not other.requests
        monkeypatch.setenv("OPENAI_BASE_URL", other.url)
        monkeypatch.setattr("engine.servers.client._OPENAI", "http://127.0.0.1:9/v1")
        with pytest.raises(
            ServerFailed,
            match=exactly(
                "the connection failed: … (1 attempt) (here: gpt-4o at OpenAI): check "
                "that the server answers, the model's name, and the key in TEST_KEY; `steer-tui doctor --server` "
                "helps"
            ),
        ):
            OpenAIClient(section(None, retries=0), "here").complete(HI)
        assert not other.requests


# ---------------------------------------------------------------- the key


@pytest.mark.parametrize(
    "broken", ["sk-s3cret\nsk-two", "sk-s3crét", "sk-\u201cs3cret\u201d", "sk-s3cret two"]
)
def test_a_key_that_no_header_can_hold_is_not_sent_and_not_shown(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transport's own error would repeat it, with its line end written out."""
    monkeypatch.setenv("TEST_KEY", broken)
    with pytest.raises(
        ConfigError,
        match=exactly(
            "here.api_key_env: found TEST_KEY, expected a key in the environment variable TEST_KEY, of ASCII, "
            "without spaces or line ends (configuration): correct this value"
        ),
    ) as caught:
        OpenAIClient(section("http://127.0.0.1:9/v1"), "here")
    assert "s3cr" not in str(caught.value)


def test_what_stands_for_a_key_is_not_struck_out_of_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "test")
    with misbehaving_server(lambda body: "the latest test", ["", "401"]) as server:
        asking = OpenAIClient(section(server.url), "here")
        assert asking.complete(HI).text == "the latest test"
        with pytest.raises(ServerFailed) as caught:
            asking.complete(HI)
        assert "Bearer ***" in str(caught.value)


def test_another_machine_without_a_key_is_an_error_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TEST_KEY")
    with pytest.raises(
        ConfigError,
        match=exactly(
            "here.api_key_env: found TEST_KEY, expected the environment variable TEST_KEY set to a key, or "
            "`api_key_env: none` for a server that needs none (configuration): correct this value"
        ),
    ):
        OpenAIClient(section("https://ada:secret@llm.example/v1"), "here")
    monkeypatch.setenv("TEST_KEY", "  ")
    with pytest.raises(
        ConfigError,
        match=exactly(
            "here.api_key_env: found TEST_KEY, expected the environment variable TEST_KEY set to a key, or "
            "`api_key_env: none` for a server that needs none (configuration): correct this value"
        ),
    ):
        OpenAIClient(section("https://llm.example/v1"), "here")
    OpenAIClient(section("https://llm.example/v1", api_key_env="none"), "here")


def test_this_machine_without_a_key_is_asked_with_a_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY")
    told: list[str] = []
    with misbehaving_server(reply) as server:
        assert OpenAIClient(section(server.url), "here", notice=told.append).complete(HI).text == "hello"
        assert KEY not in json.dumps(server.headers)
    assert len(told) == 1 and "TEST_KEY is not set" in told[0]
    with misbehaving_server(reply) as server:
        OpenAIClient(section(server.url, api_key_env="none"), "here", notice=told.append)
    assert len(told) == 1


def test_a_key_with_a_line_end_is_still_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `export KEY=$(cat file)` with a carriage return leaves it."""
    monkeypatch.setenv("TEST_KEY", KEY + "\r\n")
    with misbehaving_server(reply) as server:
        OpenAIClient(section(server.url), "here").complete(HI)
        assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_halves_of_letters_become_what_a_file_can_hold() -> None:
    with misbehaving_server(lambda body: "a \ud83d b \U0001f642") as server:
        assert OpenAIClient(section(server.url), "here").complete(HI).text == "a ? b \U0001f642"
