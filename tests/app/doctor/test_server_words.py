"""What the doctor prints of a server, over capabilities that are made by hand."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pytest
from rich.console import Console

from app.doctor import server
from app.doctor.server import run_server_doctor
from engine.doctor.capabilities import Capability
from engine.doctor.server import ServerReport

LOCAL, FAR = "http://127.0.0.1:8000/v1", "https://api.example/v1"
USABLE = ServerReport(True, LOCAL, "tiny")


def printed(
    results: Sequence[Any],
    monkeypatch: pytest.MonkeyPatch,
    url: str = LOCAL,
    key_env: str = "KEY",
    **environment: str,
) -> tuple[int, list[str]]:
    monkeypatch.setattr(server, "examine", lambda *given: iter(results))
    console = Console(file=io.StringIO(), width=60)
    code = run_server_doctor(url, None, key_env, console, environment)
    return code, console.file.getvalue().splitlines()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("capability", "line", "style"),
    [
        (Capability("reachable", "ok", "answers"), "ok  reachable: answers", "green"),
        (Capability("models", "no", "none", "name one"), "no  models: none - name one", "red"),
        (Capability("seed", "no", "ignored", "draws differ"), "no  seed: ignored - draws differ", "yellow"),
        (Capability("images", "unknown", "not tried"), "?   images: not tried", "dim"),
        (Capability("models", "unknown", "not listed"), "?   models: not listed", "dim"),
        (Capability("reachable", "no", "refused"), "no  reachable: refused", "red"),
        (Capability("chat completions", "no", "404"), "no  chat completions: 404", "red"),
    ],
)
def test_a_capability_has_its_mark_and_red_is_what_every_role_needs(
    capability: Capability, line: str, style: str
) -> None:
    drawn = server._line(capability)
    assert (drawn.plain, str(drawn.style)) == (line, style)


def test_no_line_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    long = Capability("seed", "no", "text " * 20 + "end", "so " * 20 + "it is")
    code, lines = printed([long, ServerReport(True, LOCAL, "m" * 80)], monkeypatch, KEY="secret")
    assert code == 0 and lines == [
        f"looking at {LOCAL} with the key in KEY", server._line(long).plain,
        "can be: reflector, judge, controller, model",
        f"openai: {{model: {'m' * 80}, base_url: {LOCAL}, api_key_env: KEY}}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("url", "environment", "head", "named"),
    [
        (LOCAL, {}, f"looking at {LOCAL} without a key", "none"),
        (LOCAL, {"KEY": " x "}, f"looking at {LOCAL} with the key in KEY", "KEY"),
        (FAR, {}, f"looking at {FAR} without a key", "KEY"),
        (FAR, {"KEY": " "}, f"looking at {FAR} without a key", "KEY"),
    ],
)
def test_which_key_the_configuration_is_to_name(
    url: str, environment: dict[str, str], head: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server of this machine needs none; one elsewhere will."""
    _, lines = printed([USABLE], monkeypatch, url, **environment)
    assert lines[0] == head and lines[-1].endswith(f"api_key_env: {named}}}")


def test_a_server_that_no_role_can_use(monkeypatch: pytest.MonkeyPatch) -> None:
    code, lines = printed([ServerReport(False, LOCAL, "")], monkeypatch)
    assert code == 1 and lines[1:] == ["no role can use this server yet: see the red lines above"]
    assert printed([Capability("reachable", "no", "refused")], monkeypatch)[0] == 1


def test_what_is_no_name_of_a_variable_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    code, lines = printed([], monkeypatch, key_env="sk-abc")
    assert (code, lines) == (1, ["--key-env takes the name of the variable that holds the key, not the key"])


def test_an_address_with_a_password_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    code, lines = printed([USABLE], monkeypatch, "http://ann:pw@127.0.0.1:8000/v1")
    assert code == 0 and "pw" not in " ".join(lines).replace("password", "")
    assert lines[-1] == "addresses in configurations have no user, password or query: only the key is sent"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [("tiny", "tiny"), ("org/m-1.0", "org/m-1.0"), ("a b", '"a b"'), ("7b", '"7b"'), ("m:", '"m:"')],
)
def test_what_needs_quotes_in_a_configuration_has_them(text: str, quoted: str) -> None:
    assert server._quoted(text) == quoted


@pytest.mark.parametrize("usable", [True, False])
def test_the_verdict_is_bold_on_a_terminal(usable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        server, "examine", lambda *given: iter([ServerReport(usable, LOCAL, "tiny", images=True)])
    )
    console = Console(
        file=io.StringIO(), width=90, force_terminal=True, color_system="standard", no_color=False
    )
    run_server_doctor(LOCAL, None, "KEY", console, {})
    verdict = console.file.getvalue().splitlines()[1]  # type: ignore[attr-defined]
    words = (
        "can be: reflector, judge, controller, model, vision" if usable else "no role can use this server yet"
    )
    assert verdict.startswith(f"\x1b[1m{words}")


def test_the_server_is_asked_for_the_model_that_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the key of the variable, without blanks around it."""
    asked: list[tuple[Any, ...]] = []

    def examine(*given: Any) -> list[Any]:
        asked.append(given)
        return [USABLE]

    monkeypatch.setattr(server, "examine", examine)
    run_server_doctor(FAR, "tiny", "KEY", Console(file=io.StringIO()), {"KEY": " secret\n"})
    assert asked == [(FAR, "secret", "KEY", "tiny")]


def test_of_a_server_that_no_role_can_use_nothing_is_said_of_configurations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for usable, hinted in ((True, True), (False, False)):
        _, lines = printed(
            [ServerReport(usable, LOCAL, "tiny")], monkeypatch, "http://me:pass@127.0.0.1:8000/v1"
        )
        assert any(line.startswith("addresses in configurations") for line in lines) == hinted
