"""Client, reflector and judge against a real loopback server that misbehaves."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from engine.config.models.openai import OpenAISection
from engine.errors import ConfigError
from engine.evolution.history import History
from engine.evolution.judges.judge import JudgeFailed
from engine.evolution.judges.openai_judge import OpenAIJudge
from engine.evolution.reflectors.openai_reflector import OpenAIReflector, read_reply
from engine.evolution.reflectors.reflector import ReflectorFailed, ReflectorInput, ReflectorReply
from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.completion import Reply, Unusable
from engine.servers.spent import AskFailed
from tests.exactly import exactly
from tests.misbehaving_server import FAULTS, PASSING, misbehaving_server

KEY = "sk-very-secret-0123456789"
NAMES = ["0", "1", "2"]
GIVEN = ReflectorInput(0, dict.fromkeys(NAMES, 0.0), {}, [], History(iterations=[]))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)


def section(url: str, **changes: Any) -> OpenAISection:
    fields = {"base_url": url, "api_key_env": "TEST_KEY", "timeout": 0.5, "retries": 2, "price_prompt": 10.0}
    return OpenAISection(**{**fields, **changes})


def client(url: str, waits: list[float] | None = None, **changes: Any) -> OpenAIClient:
    sleep = (waits if waits is not None else []).append
    return OpenAIClient(section(url, **changes), "evolution.reflector.openai", sleep=sleep)


def deltas(body: dict[str, Any]) -> str:
    """A valid reply of the reflector."""
    return json.dumps({"deltas": {"0": 0.5, "1": 0, "2": -1.5}, "summary": "Cluster 2 pads."})


def verdict(body: dict[str, Any]) -> str:
    return json.dumps({"reasoning": "41 is 41", "correct": True})


@pytest.mark.parametrize("fault", sorted(PASSING))
def test_what_may_pass_is_tried_again(fault: str) -> None:
    with misbehaving_server(deltas, [fault, fault]) as server:
        reply = client(server.url).complete([{"role": "user", "content": "hi"}])
        assert json.loads(reply.text)["summary"] == "Cluster 2 pads."
        assert len(server.requests) == 3
        assert (reply.spent.calls, reply.spent.tokens) == (3, 120)
        assert reply.spent.cost == pytest.approx(100 * 10.0 / 1e6)


@pytest.mark.parametrize("fault", sorted(PASSING))
def test_what_does_not_pass_is_told_without_the_key(fault: str) -> None:
    with misbehaving_server(deltas, [fault] * 3) as server, pytest.raises(ServerFailed) as caught:
        client(server.url).complete([{"role": "user", "content": "hi"}])
    assert "3 attempts" in str(caught.value)
    assert KEY not in str(caught.value) and KEY not in repr(caught.value)
    assert caught.value.where and caught.value.hint


def test_retry_after_is_honoured_else_waits_double() -> None:
    waits: list[float] = []
    with misbehaving_server(deltas, ["429 with Retry-After", "429", "500"]) as server:
        client(server.url, waits, retries=3).complete([{"role": "user", "content": "hi"}])
    assert waits == [0.05, 2.0, 4.0]


def test_a_refused_request_is_not_tried_again() -> None:
    with misbehaving_server(deltas, ["401"]) as server, pytest.raises(ServerFailed) as caught:
        client(server.url).complete([{"role": "user", "content": "hi"}])
    assert len(server.requests) == 1
    assert "401" in str(caught.value) and KEY not in str(caught.value) and "***" in str(caught.value)


def test_nobody_there() -> None:
    with pytest.raises(
        ServerFailed,
        match=exactly(
            "the connection failed: … (1 attempt) (evolution.reflector.openai: "
            "gpt-4o at http://127.0.0.1:9/v1): check that the server answers, the model's name, and the key in "
            "TEST_KEY; `steer-tui doctor --server` helps"
        ),
    ):
        client("http://127.0.0.1:9/v1", retries=0).complete([{"role": "user", "content": "hi"}])


def test_a_key_that_is_not_set_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY")
    with pytest.raises(
        ConfigError,
        match=exactly(
            "evolution.judge.openai.api_key_env: found TEST_KEY, expected the environment variable TEST_KEY set "
            "to a key (configuration): correct this value"
        ),
    ):
        OpenAIClient(OpenAISection(api_key_env="TEST_KEY"), "evolution.judge.openai")
    with misbehaving_server(deltas) as server:
        assert client(server.url).complete([{"role": "user", "content": "hi"}]).text
    assert KEY not in repr(client("http://127.0.0.1:9/v1"))


def test_the_schema_names_exactly_the_clusters() -> None:
    with misbehaving_server(deltas) as server:
        reply = OpenAIReflector(client(server.url), "m", "be brief").reflect(GIVEN, "what to do")
        sent = server.requests[0]
    assert reply.deltas == {"0": 0.5, "1": 0.0, "2": -1.5} and reply.attempts == 1 and not reply.refused
    form = sent["response_format"]["json_schema"]
    assert form["strict"] is True and form["name"] == "reflector_output"
    wanted = form["schema"]["properties"]["deltas"]
    assert wanted["required"] == NAMES and wanted["additionalProperties"] is False
    assert sent["messages"] == [
        {"role": "system", "content": "be brief"}, {"role": "user", "content": "what to do"},
    ]  # fmt: skip
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ('{"deltas": {"0": 0, "1": 0, "2": 0}, "summary": " "}', {"the summary is empty": ""}),
        ('{"deltas": {"0": 0, "1": 0, "2": 0}, "summary": 7}', {"the summary is not a text": ""}),
        ('{"deltas": {"0": 500, "1": 0, "2": null, "9": 1}, "summary": ""}',
         {"unknown clusters": "9", "not a finite number": "2 (null)", "beyond ±100": "0", "the summary is empty": ""}),
        ('{"deltas": {"0": 0}}', {'it is not an object with exactly "deltas" and "summary"': ""}),
        ('{"deltas": [0, 0, 0], "summary": "x"}', {"deltas are no object of cluster ids and numbers": "list"}),
        ("[0]", {"it is not a JSON object": ""}),
        ("{", {"it is not JSON": "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"}),
    ],
)  # fmt: skip
def test_every_rule_that_a_reply_breaks_is_named(text: str, problems: dict[str, str]) -> None:
    with pytest.raises(Unusable) as caught:
        read_reply(Reply(text, "stop"), NAMES)
    assert caught.value.problems == problems


def test_of_a_reply_its_numbers_and_its_summary_without_space_around_are_taken() -> None:
    text = '{"deltas": {"2": -1, "0": 0, "1": 0.5}, "summary": "\\n Less padding. "}'
    assert read_reply(Reply(text, "stop"), NAMES) == ({"0": 0.0, "1": 0.5, "2": -1.0}, "Less padding.")


def test_what_was_wrong_with_earlier_replies_is_kept() -> None:
    """Of the reply that is used, of an iteration without one, and of one whose server fails in between."""

    def reflected(script: list[str]) -> ReflectorReply:
        with misbehaving_server(deltas, script) as server:
            return OpenAIReflector(client(server.url, retries=0), "m", "be brief").reflect(
                GIVEN, "what to do"
            )

    used = reflected(["missing cluster"])
    assert (used.refused, used.attempts) == ([{"missing clusters": "0"}], 2)
    assert ReflectorReply({}, "", aborted="no valid reply", refused=list(used.refused) * 2).attempts == 2
    assert ReflectorReply({}, "", aborted="no answer").attempts == 1
    for script, refused in (
        (["truncated", "refusal"],
         [{"the reply was cut off at the token limit": ""}, {"the model refused": "I cannot help with that."}]),
        (["truncated", "500"], [{"the reply was cut off at the token limit": ""}]),
    ):  # fmt: skip
        with pytest.raises(ReflectorFailed) as caught:
            reflected(script)
        assert caught.value.refused == refused


ENDS = " (evolution.reflector: m): the iteration ends without new deltas; the next iteration asks again"


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in PASSING and fault != "401"])
def test_an_invalid_reply_is_answered_with_what_is_wrong(fault: str) -> None:
    """Once; the second attempt may be valid, or the iteration ends."""
    with misbehaving_server(deltas, [fault]) as server:
        reply = OpenAIReflector(client(server.url), "m", "be brief").reflect(GIVEN, "what to do")
        assert reply.attempts == 2 and all(map(math.isfinite, reply.deltas.values()))
        first, second = (request["messages"] for request in server.requests)
        assert [one["role"] for one in second] == ["system", "user"]
        assert second[1]["content"].startswith(
            f"{first[1]['content']}\n\nYour last reply could not be used: "
        )
        assert reply.usage.calls == 2
    with misbehaving_server(deltas, [fault, fault]) as server:
        with pytest.raises(ReflectorFailed, match=exactly(f"no valid reply in 2 attempts: …{ENDS}")):
            OpenAIReflector(client(server.url), "m", "be brief").reflect(GIVEN, "what to do")
        assert len(server.requests) == 2


def test_the_judge_is_told_tolerance_and_all_gold_answers() -> None:
    with misbehaving_server(verdict) as server:
        found = OpenAIJudge(client(server.url), "m", 0.025).judge("What?", ["41", "41 million"], "It is 41.")
        sent = json.dumps(server.requests[0]["messages"])
    assert found.correct and found.reasoning == "41 is 41" and found.usage.tokens == 120
    for word in ("0.025", "2.5%", "41 million", "It is 41."):
        assert word in sent


@pytest.mark.parametrize("fault", ["text is no JSON", "refusal", "truncated"])
def test_a_verdict_that_is_none_is_a_failure_and_no_wrong_answer(fault: str) -> None:
    with misbehaving_server(verdict, [fault]) as server, pytest.raises(JudgeFailed) as caught:
        OpenAIJudge(client(server.url), "m", 0.01).judge("What?", ["41"], "It is 41.")
    assert (caught.value.spent.calls, caught.value.spent.tokens) == (1, 120)


def test_verdicts_that_never_came_count_as_calls() -> None:
    with misbehaving_server(verdict, ["500"] * 3) as server, pytest.raises(AskFailed) as caught:
        OpenAIJudge(client(server.url), "m", 0.01).judge("What?", ["41"], "It is 41.")
    assert (caught.value.spent.calls, caught.value.spent.tokens) == (3, 0)


@pytest.mark.parametrize(
    "text",
    [
        '{"correct": "yes"}',
        '{"correct": "yes", "reasoning": "41 is 41"}',
        '{"correct": 1, "reasoning": "41 is 41"}',
        '{"correct": true, "reasoning": 41}',
        '{"correct": true}',
    ],
)
def test_a_verdict_of_another_shape(text: str) -> None:
    told = exactly(
        "no verdict: it is not an object with `reasoning` and `correct` (evolution.judge: m): the answer is judged "
        "again, and left out if that fails three times"
    )
    with misbehaving_server(lambda body: text) as server, pytest.raises(JudgeFailed, match=told):
        OpenAIJudge(client(server.url), "m", 0.01).judge("What?", ["41"], "It is 41.")


def test_openai_is_imported_only_by_those_who_ask(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = "import sys, engine.evolution.from_config; print('openai' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


def test_a_reply_that_repeats_the_key_is_kept_without_it() -> None:
    def echo(body: dict[str, Any]) -> str:
        return json.dumps({"deltas": dict.fromkeys(NAMES, 0), "summary": f"My key is {KEY}."})

    with misbehaving_server(echo) as server:
        reply = OpenAIReflector(client(server.url), "m", "be brief").reflect(GIVEN, "what to do")
    assert KEY not in reply.summary and KEY not in reply.raw and "***" in reply.summary


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '{"deltas": {"0": 1e300, "1": 0, "2": 0}, "summary": "Much."}',
            f"no valid reply in 2 attempts: beyond ±100: 0{ENDS}",
        ),
        ("[" * 50_000, f"no valid reply in 2 attempts: it is nested too deeply{ENDS}"),
    ],
    ids=["far too large", "nested without end"],
)
def test_replies_that_would_break_what_comes_after(text: str, told: str) -> None:
    with (
        misbehaving_server(lambda body: text) as server,
        pytest.raises(ReflectorFailed, match=exactly(told)) as caught,
    ):
        OpenAIReflector(client(server.url), "m", "be brief").reflect(GIVEN, "what to do")
    assert (caught.value.spent.calls, caught.value.spent.tokens) == (2, 240)


def test_calls_that_failed_count() -> None:
    with misbehaving_server(deltas, ["500"] * 3) as server, pytest.raises(ReflectorFailed) as caught:
        OpenAIReflector(client(server.url), "m", "be brief").reflect(GIVEN, "what to do")
    assert caught.value.spent.calls == 3
