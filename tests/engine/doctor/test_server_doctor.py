"""What is found out about servers: against a real loopback server with each product's manners."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from app.cli import main
from app.doctor.server import run_server_doctor
from engine.config.yaml_text import parse
from engine.doctor.capabilities import Capability
from engine.doctor.chat_probe import ChatProbe
from engine.doctor.server import _BASE, ServerReport, _models, _reachable, _with_models, examine
from engine.servers.http import Http, HttpAnswer
from tests.misbehaving_server import misbehaving_server
from tests.server_products import PRODUCTS, Product, product_server

KEY = "sk-very-secret-0123456789"


def looked(
    url: str, key: str = "", model: str | None = None, timeout: float = 20.0
) -> tuple[dict[str, Capability], ServerReport]:
    """Findings by name, and the end."""
    *found, end = examine(url, key, "TEST_KEY", model, timeout)
    assert isinstance(end, ServerReport)
    return {one.name: one for one in found if isinstance(one, Capability)}, end


GOOD = {"system messages", "usage", "token limit", "json_schema", "json_object", "seed", "images"}
BAD = {
    "vLLM": {"images"},
    "SGLang": {"images"},
    "llama.cpp": {"images"},
    "Ollama": set(),
    "OpenAI": set(),
    "bare": {"system messages", "usage", "json_schema", "json_object", "seed"},
}
UNKNOWN = {"Ollama": {"images"}, "bare": {"images"}}


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_gaps_of_each_product_are_found(product: str) -> None:
    with product_server(product) as server:
        found, end = looked(server.root + "/v1")
    assert end.usable and end.model == "tiny" and end.base_url == server.root + "/v1"
    states = {name: found[name].state for name in GOOD}
    bad, unknown = BAD[product], UNKNOWN.get(product, set())
    assert {name for name, state in states.items() if state == "no"} == bad
    assert {name for name, state in states.items() if state == "unknown"} == unknown
    assert all(found[name].text for name in bad), "what was seen is told"
    assert all(found[name].meaning for name in bad), "and what it means"
    assert end.images is (product == "OpenAI")


def test_the_form_a_server_takes_is_found_as_the_client_finds_it() -> None:
    with product_server("OpenAI") as server:
        found, _ = looked(server.root + "/v1")
        later = [body for body in server.requests[3:] if "stop" not in body]
    assert "max_completion_tokens" in found["chat completions"].meaning
    assert "no temperature" in found["chat completions"].meaning
    assert found["token limit"].text == "max_tokens is not, max_completion_tokens is obeyed"
    assert all("temperature" not in body for body in later)


def test_a_field_that_is_accepted_and_ignored_is_no_capability() -> None:
    nothing = Product("someone", honours=frozenset())
    with product_server(nothing) as server:
        found, end = looked(server.root + "/v1")
    assert end.usable
    assert {name for name in GOOD if found[name].state == "ok"} == {"system messages"}
    assert "not enforced" in found["json_schema"].text and "checked here" in found["json_schema"].meaning
    assert found["seed"].text == "the same seed gave 4 answers"
    assert found["token limit"].state == "unknown", "no limit is obeyed, nor are tokens counted"


def test_a_report_in_full() -> None:
    """Of a server that answers in 1.26 s, and of a model that it does not have."""
    seconds = [0.0124, 1.26]

    class Timed(Http):
        def _ask(self, method: str, url: str, timeout: float, fields: Any = None) -> HttpAnswer:
            answer = super()._ask(method, url, timeout, fields)
            return replace(answer, seconds=seconds[method == "POST"])

    with product_server("bare") as server:
        url = server.root + "/v1"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("engine.doctor.server.Http", Timed)
            found = [one for one in examine(url, "", "TEST_KEY") if isinstance(one, Capability)]
            asked = examine(url, "", "TEST_KEY", "other")
            told = {one.name: one for one in asked if isinstance(one, Capability)}
    assert found[:3] == [
        Capability("reachable", "ok", f"{url}, 12 ms"),
        Capability("models", "ok", "tiny"),
        Capability(
            "chat completions",
            "ok",
            "in 1.3 s",
            "the model takes no system message: it goes before the user's first",
        ),
    ]
    assert told["reachable"].text == f"{url}, 12 ms"
    assert told["models"] == Capability(
        "models", "unknown", "other is not listed: tiny", "the examination uses it anyway"
    )
    assert told["chat completions"] == Capability(
        "chat completions", "no", "404: model 'other' not found", "other cannot be used for any role"
    )


@pytest.mark.parametrize(
    ("said", "state"), [("It is **Red**.", "ok"), ("I see nothing: no image was shared.", "unknown")]
)
def test_red_is_a_word(said: str, state: str) -> None:
    with misbehaving_server(lambda body: said, lists_models=True) as server:
        found, end = looked(server.url)
    assert found["images"].state == state and end.images == (state == "ok")


def test_an_address_without_its_path_is_completed() -> None:
    with product_server("vLLM") as server:
        found, end = looked(server.root)
    assert end.usable and end.base_url == server.root + "/v1"
    assert f"set base_url to {server.root}/v1" in found["reachable"].text


def test_a_model_that_is_not_there() -> None:
    with product_server("Ollama") as server:
        found, end = looked(server.root + "/v1", model="llama9")
    assert not end.usable and "llama9 is not listed: tiny" in found["models"].text
    assert "model 'llama9' not found" in found["chat completions"].text


@pytest.mark.parametrize(
    ("listed", "requested", "told"),
    [
        (7, None, ("ok", "m0, m1, m2, m3, m4 and 2 more; examining m0", "", "m0")),
        (5, None, ("ok", "m0, m1, m2, m3, m4; examining m0", "", "m0")),
        (2, "m1", ("ok", "m0, m1; examining m1", "", "m1")),
        (1, "m0", ("ok", "m0", "", "m0")),
        (0, None, ("no", "the server lists none", "name a model with --model", "")),
        (0, "m9", ("ok", "the server lists none", "", "m9")),
        (6, "m9", ("unknown", "m9 is not listed: m0, m1, m2, m3, m4 and 1 more", "the examination uses it anyway",
                   "m9")),
    ],
)  # fmt: skip
def test_the_models_of_a_server(listed: int, requested: str | None, told: tuple[Any, str, str, str]) -> None:
    answer = HttpAnswer(200, body={"data": [{"id": f"m{number}"} for number in range(listed)] + ["no id"]})
    state, text, meaning, name = told
    assert _models(answer, requested) == (Capability("models", state, text, meaning), name)


# ---------------------------------------------------------------- keys and addresses


def test_a_key_that_is_missing_or_wrong_names_its_variable_alone() -> None:
    with product_server("vLLM", key=KEY) as server:
        without, end = looked(server.root + "/v1")
        assert not end.usable and without["reachable"].meaning == "set TEST_KEY to a key"
        wrong, _ = looked(server.root + "/v1", key="sk-another-key-1")
        assert wrong["reachable"].meaning == "the key in TEST_KEY is not accepted"
        assert "sk-another" not in str(wrong)
        right, end = looked(server.root + "/v1", key=KEY)
        assert end.usable and KEY not in str(right)


def test_a_server_that_repeats_the_key_does_not_make_it_known() -> None:
    with misbehaving_server(lambda body: f"the key is {KEY}", fault_of=lambda body: "401") as server:
        found, _ = looked(server.url, key=KEY)
    assert KEY not in str(found)


def test_a_redirect_does_not_take_the_key_along() -> None:
    """`urllib` would send all headers to wherever it is sent."""

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(307)
            self.send_header("Location", f"{other.root}/v1/models")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with product_server("vLLM") as other:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        found, end = looked(f"http://127.0.0.1:{server.server_address[1]}/v1", key=KEY)
        server.shutdown()
        server.server_close()
        assert not other.asked
    assert not end.usable and "307" in found["reachable"].text


@pytest.mark.parametrize("key", ["sk-s3cret\nsk-two", "sk-s3cret sk-two", "sk-s3crét", "sk-s3cret\x7f"])
def test_a_key_that_no_header_can_hold_is_not_shown(key: str) -> None:
    """The transport's own error would repeat it, with its line end written out."""
    with product_server("vLLM") as server:
        found, end = looked(server.root + "/v1", key=key)
        assert not server.asked
    said = "the key in TEST_KEY holds spaces, line ends or characters beyond ASCII"
    assert not end.usable and found == {"reachable": Capability("reachable", "no", said, "copy it again")}


@pytest.mark.parametrize("address", ["nonsense", "ftp://host/v1", "http://", "http://[::1"])
def test_what_is_no_address(address: str) -> None:
    found, end = looked(address)
    told = Capability("reachable", "no", "this is not an address", "give it as http://host:port/v1")
    assert not end.usable and found == {"reachable": told}


def test_nobody_there() -> None:
    found, end = looked("http://ada:secret-word@127.0.0.1:9/v1?token=query-secret")
    assert not end.usable and "refused" in found["reachable"].text
    assert "secret" not in str(found)


def test_a_name_and_password_in_the_address_are_sent_and_not_shown() -> None:
    with product_server("vLLM") as server:
        url = server.root.replace("http://", "http://ada:secret-word@") + "/v1"
        found, end = looked(url, key=KEY)
        assert server.asked[0][1]["authorization"].startswith("Basic "), "as the client does"
    assert end.usable and "secret-word" not in str(found) + end.base_url


# ---------------------------------------------------------------- servers in trouble


def test_between_attempts_it_waits_as_the_server_says_and_ten_seconds_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a word of the server a second longer each time; after the third refusal it is the answer."""
    waits: list[float] = []
    monkeypatch.setattr("engine.doctor.chat_probe.time.sleep", waits.append)

    def turned_away(*said: str) -> None:
        headers = [{"retry-after": seconds} if seconds else {} for seconds in said]
        answers = [HttpAnswer(429, headers=one) for one in headers]
        http: Any = SimpleNamespace(post=lambda path, fields: answers.pop(0))
        probe = ChatProbe(http, "tiny")
        assert probe.ask("Hello").completion is None and not answers

    turned_away("", "", "")
    turned_away("60", "3", "")
    assert waits == [1, 2, 10, 3]


@pytest.mark.parametrize("status", [200, 400, 500])
def test_only_a_server_that_turns_requests_away_is_asked_again(status: int) -> None:
    answers = [HttpAnswer(status)]
    http: Any = SimpleNamespace(post=lambda path, fields: answers.pop())
    assert ChatProbe(http, "tiny").ask("Hello").answer.status == status


def test_a_server_that_lists_no_models_is_asked_for_the_one_that_is_named() -> None:
    with misbehaving_server(lambda body: "hello") as server:
        found, end = looked(server.url)
        assert not end.usable and "/v1" in found["reachable"].meaning
        found, end = looked(server.url, model="m")
        assert end.usable and end.model == "m" and "without a list" in found["reachable"].text
    with misbehaving_server(lambda body: "hello", fault_of=lambda body: "404") as server:
        found, end = looked(server.url, model="m")
        assert not end.usable and "often ends in /v1" in found["chat completions"].meaning


@pytest.mark.parametrize(
    "fault", ["hang", "drip", "torn body", "connection cut", "no JSON", "no completion", "500"]
)
def test_whatever_goes_wrong_is_told_in_time(fault: str) -> None:
    with misbehaving_server(lambda body: "hello", fault_of=lambda body: fault, lists_models=True) as server:
        began = time.monotonic()
        found, end = looked(server.url, timeout=0.5)
        assert time.monotonic() - began < 30
    assert not end.usable and found["chat completions"].state == "no" and found["chat completions"].text


def test_ctrl_c_ends_it_at_once() -> None:
    """With questions under way to a server that never answers them."""

    def hangs(body: dict[str, object]) -> str:
        return "hang" if "seed" in body or "response_format" in body else ""

    with misbehaving_server(lambda body: "1 2 3 4 5 6", fault_of=hangs, lists_models=True) as server:
        command = [sys.executable, "-m", "app.cli", "doctor", "--server", server.url]
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Who runs the tests in the background has it ignored, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process:
            end = time.monotonic() + 60
            while not any("response_format" in body for body in server.requests):
                assert time.monotonic() < end and process.poll() is None
                time.sleep(0.05)
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130


@pytest.mark.parametrize("fault", ["429 with Retry-After", "429 with a date", "429"])
def test_a_server_that_turns_requests_away_is_waited_for(fault: str) -> None:
    with misbehaving_server(lambda body: "hello", [fault], lists_models=True) as server:
        assert looked(server.url)[1].usable


# ---------------------------------------------------------------- what is printed


def printed(url: str, key_env: str = "TEST_KEY", **environment: str) -> tuple[int, str]:
    console = Console(file=io.StringIO(), width=200)
    code = run_server_doctor(url, None, key_env, console, environment)
    assert isinstance(console.file, io.StringIO)
    return code, console.file.getvalue()


def test_the_end_says_what_to_write_into_a_configuration() -> None:
    with product_server("OpenAI", key=KEY) as server:
        code, text = printed(server.root, TEST_KEY=KEY)
    assert code == 0 and KEY not in text
    assert "can be: reflector, judge, controller, model, vision" in text
    assert f"openai: {{model: tiny, base_url: {server.root}/v1, api_key_env: TEST_KEY}}" in text
    with product_server("vLLM") as server:
        code, text = printed(server.root + "/v1", "none", TEST_KEY=KEY)
        assert all("authorization" not in headers for _, headers in server.asked)
    assert code == 0 and "api_key_env: none" in text and ", vision" not in text


@pytest.mark.parametrize(
    ("model", "base_url"), [("qwen2.5:7b", "http://[::1]:8000/v1"), ("@cf/meta/llama", "http://h:80/v1")]
)
def test_what_is_to_be_written_can_be_read(
    model: str, base_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(*arguments: object) -> list[ServerReport]:
        return [ServerReport(True, base_url, model)]

    monkeypatch.setattr("app.doctor.server.examine", found)
    _, text = printed("http://ada:s3cret@h/v1", "none")
    line = next(line for line in text.splitlines() if line.startswith("openai:"))
    assert parse(line).value["openai"] == {"model": model, "base_url": base_url, "api_key_env": "none"}
    assert "s3cret" not in text and "no user, password or query" in text


def test_a_key_in_the_place_of_its_name_is_not_repeated() -> None:
    code, text = printed("http://127.0.0.1:9/v1", "sk-s3cret")
    assert code == 1 and "s3cret" not in text and "the name of the variable" in text
    code, text = printed("ada:s3cret@127.0.0.1:9/v1")
    assert code == 1 and "s3cret" not in text and "not an address" in text


def test_a_server_of_no_use_is_exit_code_1() -> None:
    code, text = printed("http://127.0.0.1:9/v1")
    assert code == 1 and "no role can use this server yet" in text


def test_the_command_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    with product_server("Ollama", key=KEY) as server:
        assert main(["doctor", "--server", server.root, "--model", "tiny", "--key-env", "TEST_KEY"]) == 0
    told = capsys.readouterr().out
    assert "ok  models: tiny" in told and KEY not in told
    assert main(["doctor", "--model", "x"]) == main(["doctor", "--key-env", "TEST_KEY"]) == 2
    assert "--model and --key-env are for a server: add --server URL" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("here", "below", "moved"),
    [(200, 200, False), (401, 200, False), (403, 200, False), (0, 200, False), (404, 200, True), (404, 401, True),
     (404, 403, True), (404, 404, False)],
)  # fmt: skip
def test_the_path_is_completed_where_something_answers_there(here: int, below: int, moved: bool) -> None:
    """A server that wants a key has its models there, too."""

    def server(status: int) -> Any:
        answer = SimpleNamespace(status=status, good=status == 200)
        return SimpleNamespace(get=lambda path: answer, below=lambda path: other)

    other = server(below)
    given = server(here)
    found, answer = _with_models(given)
    assert found is (other if moved else given) and answer.status == (below if moved else here)


@pytest.mark.parametrize(
    ("answer", "given", "key", "model", "state", "text", "meaning"),
    [
        (HttpAnswer(401), "http://h:1/v1", False, None, "no", "{} needs a key (401)", "set MY_KEY to a key"),
        (
            HttpAnswer(403), "http://h:1/v1", True, None, "no", "{} needs a key (403)",
            "the key in MY_KEY is not accepted",
        ),
        (
            HttpAnswer(problem="no answer in 5 s"), "http://h:1/v1", False, "m", "no", "{}: no answer in 5 s",
            "start the server, or correct the address",
        ),
        (HttpAnswer(404, "lost"), "http://h:1/v1", False, None, "no", "{}/models: 404: lost", _BASE),
        (
            HttpAnswer(404, "lost", seconds=0.0126), "http://h:1/v1", False, "m", "ok",
            "{}, 13 ms, through the proxy p:2 of the environment, without a list of models", "",
        ),
        (HttpAnswer(500, "oops"), "http://h:1/v1", False, "m", "no", "{}/models: 500: oops", _BASE),
        (
            HttpAnswer(200, "{}", {}, seconds=1.0), "http://h:1/v1/", True, "m", "ok",
            "{}, 1000 ms, through the proxy p:2 of the environment", "",
        ),
        (
            HttpAnswer(200, "{}", {}), "http://h:1", True, "m", "ok",
            "{}, 0 ms, through the proxy p:2 of the environment (set base_url to http://h:1/v1)", "",
        ),
    ],
)  # fmt: skip
def test_whether_a_server_is_reached_is_told_by_its_first_answer(
    answer: HttpAnswer, given: str, key: bool, model: str | None, state: Any, text: str, meaning: str
) -> None:
    http: Any = SimpleNamespace(address="http://h:1/v1", proxy="p:2")
    found = _reachable(http, answer, given, key, "MY_KEY", model)
    assert found == Capability("reachable", state, text.format(http.address), meaning)
