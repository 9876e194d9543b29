"""What the client says of a server and writes down of its requests, word for word. Nothing is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.config.models.openai import OpenAISection
from engine.errors import ConfigError, RunError
from engine.events import ServerUsage
from engine.servers import client as client_module
from engine.servers import http as http_module
from engine.servers.address import (
    address_secrets,
    has_password,
    is_address,
    is_bare,
    is_local,
    numeric,
    shown_address,
    without_passwords,
)
from engine.servers.background import finish
from engine.servers.client import OpenAIClient, ServerFailed, Structured, ask_structured
from engine.servers.completion import (
    Reply,
    Unusable,
    json_object,
    problem_words,
    read_completion,
    without_fence,
)
from engine.servers.http import HttpAnswer, _cause
from engine.servers.key import fits_header, is_variable, lacks_key
from engine.servers.known_servers import KnownServers
from engine.servers.proxy import proxy_host, proxy_of
from engine.servers.refusal import is_about_content, refusal_text
from engine.servers.request_rate import RequestRate
from engine.servers.retry_after import retry_after
from engine.servers.secrets import Secrets
from engine.servers.side_by_side import DEAD_AFTER, ServerFailures
from engine.servers.slots import Slots, server_slots
from engine.servers.spent import Spent
from engine.servers.transport import BodyRefused
from engine.servers.usage import RequestRecord, UsageBook, added
from tests.exactly import exactly

HI = [{"role": "user", "content": "hi"}]
UNREADABLE = "an address that cannot be read"
URL = "http://127.0.0.1:9/v1"
Step = Reply | BaseException | str


def body(content: str = "hello", **usage: int) -> str:
    found: dict[str, Any] = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
    return json.dumps(found | ({"usage": usage} if usage else {}))


class Asked:
    """A client whose requests are answered by a script, with what it told and wrote down."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, script: Sequence[Any], **fields: Any) -> None:
        self.notices: list[str] = []
        self.records: list[RequestRecord] = []
        self.slept: list[float] = []
        monkeypatch.setenv("TEST_KEY", "sk-0123456789")
        book = UsageBook()
        monkeypatch.setattr(book, "take", self.records.append)
        config = OpenAISection(
            **{"base_url": URL, "api_key_env": "TEST_KEY", "retries": 2, "model": "m", **fields}
        )
        self.client = OpenAIClient(
            config, "slsm.judge", sleep=self.slept.append, notice=self.notices.append, stage="slsm", role="judge",
            servers=KnownServers(book),
        )  # fmt: skip
        steps = iter(script)
        monkeypatch.setattr(self.client, "_ask_slots", lambda: None)
        monkeypatch.setattr(self.client, "_send", lambda asked, form: None)
        monkeypatch.setattr(client_module, "finish", lambda sent, look: self._next(steps))

    @staticmethod
    def _next(steps: Any) -> str:
        step = next(steps)
        if isinstance(step, BaseException):
            raise step
        return step

    def block_lines(self) -> list[tuple[Any, ...]]:
        return [
            (r.outcome, r.attempt, r.why, r.prompt_tokens, r.completion_tokens, r.cost) for r in self.records
        ]


def refused(status: int, message: str = "", **headers: str) -> Exception:
    import openai

    from engine.servers.transport import httpx

    names = {name.replace("_", "-"): value for name, value in headers.items()}
    response = httpx.Response(status, text=message, headers=names, request=httpx.Request("POST", URL))
    return openai.APIStatusError("library's", response=response, body=None)  # type: ignore[arg-type]


def broken(cause: BaseException | None) -> Exception:
    """The library's error of a connection, and what it comes from."""
    import openai

    from engine.servers.transport import httpx

    error = openai.APIConnectionError(request=httpx.Request("POST", URL))  # type: ignore[arg-type]
    error.__cause__ = cause
    return error


def test_what_an_answer_costs_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """7 prompt tokens at 2 and 3 completion tokens at 10 a million are 44 millionths."""
    one = Asked(
        monkeypatch, [body(prompt_tokens=7, completion_tokens=3)], price_prompt=2.0, price_completion=10.0
    )
    reply = one.client.complete(HI)
    assert (reply.text, reply.spent) == ("hello", Spent(1, 10, 44e-6))
    (record,) = one.records
    assert one.block_lines() == [("answered", 1, "", 7, 3, 44e-6)]
    who = (record.stage, record.role, record.server, record.model)
    assert who == ("slsm", "judge", "http://127.0.0.1:9/v1", "m") and record.time > 1e9
    assert 0 <= record.seconds < 30 and 0 <= record.waited < 30 and not one.notices
    assert repr(one.client) == "OpenAIClient(m at http://127.0.0.1:9/v1)"
    written = Asked(monkeypatch, [body(prompt_tokens=7, completion_tokens=3)], price_completion=10.0)
    assert written.client.complete(HI).spent == Spent(1, 10, 30e-6)
    free = Asked(monkeypatch, [body(), body()])
    for _ in range(2):
        free.client.complete(HI)
    assert free.notices == ["slsm.judge: http://127.0.0.1:9/v1 does not say how many tokens it used"]
    assert free.block_lines() == [("answered", 1, "", None, None, None)] * 2


@pytest.mark.parametrize(
    ("fault", "what", "kind"),
    [
        (lambda: refused(500), "the server failed (500)", "again"),
        (lambda: refused(503, '{"error": {"message": "starting  up"}}'), "the server failed (503): starting up",
         "again"),
        (lambda: refused(408), "the server waited too long for the request (408)", "again"),
        (lambda: refused(409), "the server is busy with another request (409)", "again"),
        (lambda: refused(429), "the server is overloaded or a limit is reached (429)", "again"),
        (lambda: refused(429, x_should_retry="false"), "the server is overloaded or a limit is reached (429)", "final"),
        (lambda: refused(401, "no"), "the server refused the request (401): no", "final"),
        (lambda: refused(400, "x" * 300), f"the server refused the request (400): {'x' * 200}", "refused"),
        (lambda: refused(422, "flagged"), "the server refused the request (422): flagged", "content"),
        (lambda: refused(413), "the server refused the request (413)", "content"),
        (lambda: refused(307, location="http://u:pass@there.org/v1?k=1"),
         "the server sends requests on to http://there.org/v1 (307)", "final"),
        (lambda: refused(302, location="/login"), "the server sends requests on to another path (302)", "final"),
        (lambda: BodyRefused("the answer is larger than 4 MiB"), "the answer is larger than 4 MiB", "final"),
        (lambda: broken(BodyRefused("the answer is larger than 4 MiB")), "the answer is larger than 4 MiB", "final"),
        (lambda: broken(OSError("reset")), "the connection failed: reset", "again"),
        (lambda: broken(None), "the connection failed: Connection error.", "again"),
        (lambda: Unusable("the answer is not a chat completion", tokens=(5, 2)), "the answer is not a chat completion",
         "again"),
        (lambda: ValueError("no JSON"), "the answer cannot be read: no JSON", "again"),
    ],
)  # fmt: skip
def test_what_went_wrong_and_whether_it_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, fault: Callable[[], Exception], what: str, kind: str
) -> None:
    one = Asked(monkeypatch, [fault(), fault(), fault()])
    tries = " (3 attempts)" if kind == "again" else ""
    with pytest.raises(
        ServerFailed,
        match=exactly(
            f"{what}{tries} (slsm.judge: m at http://127.0.0.1:9/v1): check that the server answers, the model's name, "
            "and the key in TEST_KEY; `steer-tui doctor --server` helps"
        ),
    ) as caught:
        one.client.complete(HI)
    failed = caught.value
    calls = 3 if kind == "again" else 1
    assert failed.spent == Spent(calls) and one.slept == [1.0, 2.0][: calls - 1]
    assert (failed.final, failed.refused, failed.content) == (
        kind != "again", kind in ("refused", "content"), kind == "content",
    )  # fmt: skip
    outcomes = ["tried again", "tried again", "failed"] if kind == "again" else ["failed"]
    tokens = (5, 2) if isinstance(fault(), Unusable) else (None, None)
    assert one.block_lines() == [(o, n, what, *tokens, None) for n, o in enumerate(outcomes, 1)]
    assert one.notices == [], "what was not answered says nothing of tokens"


def test_a_key_that_comes_back_is_in_no_part_of_a_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    """In its text, its JSON, why the model refused; a shorter word that is no key stays."""
    said = "the key sk-0123456789 is here"
    escaped = "sk-0123456789".replace("s", "\\u0073")
    message = {"content": f'```json\n{{"a": "{escaped}"}}\n```', "refusal": said}
    answer = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
    reply = Asked(monkeypatch, [answer]).client.complete(HI)
    assert (reply.text, reply.refusal) == ('```json\n{"a": "***"}\n```', "the key *** is here")
    assert Asked(monkeypatch, [body(said)]).client.complete(HI).text == "the key *** is here"


def test_one_attempt_without_a_key_and_waits_that_the_server_asks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = Asked(monkeypatch, [refused(500)], retries=0, api_key_env="none")
    with pytest.raises(
        ServerFailed,
        match=exactly(
            "the server failed (500) (1 attempt) (slsm.judge: m at http://127.0.0.1:9/v1): check that the server "
            "answers, the model's name; `steer-tui doctor --server` helps"
        ),
    ):
        alone.client.complete(HI)
    faults = [refused(429, retry_after="7"), refused(500), refused(429, retry_after_ms="250"), refused(500)]
    asked = Asked(monkeypatch, [*faults, body()], retries=4)
    assert asked.client.complete(HI).spent.calls == 5 and asked.slept == [7.0, 2.0, 0.25, 8.0]


def test_what_a_request_waited_for_is_no_part_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six a minute. Each takes 2 s. The second waits the 7 s that the server asks for and 1 s for its turn; the third
    the 2 s between attempts, and 6 s."""
    now = [100.0]
    one = Asked(monkeypatch, [refused(429, retry_after="7"), refused(500), body()])

    def passes(seconds: float) -> None:
        now[0] += seconds

    def answered_later(sent: object, look: object, finish: Any = client_module.finish) -> str:
        passes(2)
        return finish(sent, look)

    clock = SimpleNamespace(monotonic=lambda: now[0], time=lambda: 1e9)
    monkeypatch.setattr(client_module, "time", clock)
    monkeypatch.setattr(client_module, "finish", answered_later)
    one.client._sleep, one.client._rate = passes, RequestRate(6)
    one.client.complete(HI)
    assert [(record.waited, record.seconds) for record in one.records] == [(0.0, 2.0), (8.0, 2.0), (8.0, 2.0)]


def test_another_form_is_no_attempt_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Asked(monkeypatch, [refused(400, "use max_completion_tokens"), body()], retries=0)
    assert one.client.complete(HI).spent.calls == 2 and not one.slept
    assert (
        one.notices[0] == "slsm.judge: m at http://127.0.0.1:9/v1 takes max_completion_tokens, not max_tokens"
    )
    why = "the form was refused (400): use max_completion_tokens"
    assert [told[:3] for told in one.block_lines()] == [("refused form", 1, why), ("answered", 2, "")]
    schema = {"name": "s", "schema": {"type": "object"}}
    loose = Asked(monkeypatch, [body("no JSON")])
    loose.client.complete(HI, schema)
    assert loose.notices[0] == (
        "slsm.judge: m at http://127.0.0.1:9/v1 does not always reply in JSON: the schema is now in the prompt, too"
    )


def test_a_timeout_among_others_halves_what_is_asked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Asked(monkeypatch, [], timeout=7.5)
    failure = client_module._Failure("no answer within 7.5 s", timed_out=True)
    assert one.client._fewer(failure, 1) is failure and not one.notices
    assert one.client._fewer(failure, 5).retry == "queued"
    assert one.notices == [
        "slsm.judge: no answer within 7.5 s of http://127.0.0.1:9/v1 while 5 requests were under way: 2 at once from "
        "now on"
    ]
    one.client._fewer(failure, 5)
    assert len(one.notices) == 1 and one.client._slots.limit == 2
    for timeout, seconds in ((7.5, "7.5"), (30.0, "30")):
        silent = Asked(monkeypatch, [TimeoutError()] * 1, timeout=timeout, retries=0)
        with pytest.raises(ServerFailed) as caught:
            silent.client.complete(HI)
        assert caught.value.what == f"no answer within {seconds} s (1 attempt)"


def test_slots_are_asked_for_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    slots_told = ["slsm.judge: http://127.0.0.1:9/v1 has 3 slots: so many requests at once"]
    for concurrency, limit, url, told in (
        (4, 3, URL, slots_told), (0, 3, URL, slots_told), (4, 0, URL, []), (1, 3, URL, []), (4, 3, None, []),
    ):  # fmt: skip
        one = Asked(monkeypatch, [], concurrency=concurrency, base_url=url)
        monkeypatch.undo()
        monkeypatch.setattr(client_module, "server_slots", lambda http, limit=limit: limit)
        one.client._ask_slots()
        one.client._ask_slots()
        assert one.notices == told
    answers = [({"total_slots": 2}, 2), ({"total_slots": True}, 0), ({"total_slots": 0}, 0), ({}, 0)]
    asked: list[Any] = []
    for fields, slots in answers:
        http: Any = SimpleNamespace(
            get_root=lambda *of, f=fields: (asked.append(of), SimpleNamespace(fields=f))[1]
        )
        assert server_slots(http) == slots
    assert asked == [("/props", 5.0)] * 4
    held = Slots()
    assert held.lower(3) and not held.lower(3) and not held.lower(4) and held.lower(2) and held.limit == 2


def test_an_answer_longer_than_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 characters a token and 4,000 beside: 4,400 for ten tokens."""
    fits = Asked(monkeypatch, [body("x" * 4400)], max_tokens=10)
    assert len(fits.client.complete(HI).text) == 4400
    long = Asked(monkeypatch, [body("x" * 4401)], max_tokens=10, retries=0)
    with pytest.raises(ServerFailed) as caught:
        long.client.complete(HI)
    assert caught.value.what == "the reply has 4,401 characters, more than 10 tokens can hold (1 attempt)"
    message = {"content": "no", "refusal": "x" * 4402}
    refuses = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
    with pytest.raises(ServerFailed) as caught:
        Asked(monkeypatch, [refuses], max_tokens=10, retries=0).client.complete(HI)
    assert caught.value.what == "the reply has 4,402 characters, more than 10 tokens can hold (1 attempt)"


def test_the_key_and_where_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(key: str, **fields: Any) -> list[str]:
        monkeypatch.setenv("TEST_KEY", key)
        notices: list[str] = []
        OpenAIClient(OpenAISection(api_key_env="TEST_KEY", **fields), "judge", notice=notices.append)
        return notices

    plain = "judge: the key in TEST_KEY goes to http://far.org/v1 without encryption"
    assert made("sk-01234567", base_url="http://far.org/v1") == [plain]
    assert made("sk-01234567", base_url="https://far.org/v1") == made("sk-01234567", base_url=URL) == []
    assert made("", base_url=URL) == [
        "judge: TEST_KEY is not set; http://127.0.0.1:9/v1 is asked without key"
    ]
    needs = "judge.api_key_env: found TEST_KEY, expected the environment variable TEST_KEY set to a key"
    end = " (configuration): correct this value"
    with pytest.raises(ConfigError, match=exactly(needs + end)):
        made("", base_url=None)
    none = ", or `api_key_env: none` for a server that needs none"
    with pytest.raises(ConfigError, match=exactly(needs + none + end)):
        made("", base_url="https://far.org/v1")
    spaces = "judge.api_key_env: found TEST_KEY, expected a key in the environment variable TEST_KEY, of ASCII, " \
             "without spaces or line ends"  # fmt: skip
    with pytest.raises(ConfigError, match=exactly(spaces + end)):
        made("a b", base_url=URL)
    monkeypatch.setenv("HTTPS_PROXY", "http://me:secret@proxy.org:3128")
    told = "judge: requests to https://far.org/v1 go through the proxy proxy.org:3128 of the environment"
    assert made("sk-01234567", base_url="https://far.org/v1") == [told]
    assert made("sk-01234567", base_url=None) == [told.replace("https://far.org/v1", "OpenAI")]
    monkeypatch.setenv("HTTPS_PROXY", "gopher://me:secret@proxy.org:3128")
    with pytest.raises(ConfigError) as caught:
        made("sk-01234567", base_url="https://far.org/v1")
    (problem,) = caught.value.problems
    assert problem.where == "judge" and problem.allowed == "a proxy like http://host:3128"
    assert (
        problem.value.startswith("the environment's proxy proxy.org:3128 (") and "secret" not in problem.value
    )


def test_a_structured_reply_is_asked_for_twice() -> None:
    asked: list[Any] = []
    replies = iter([Reply("x", "stop", spent=Spent(1, 5)), Reply("y", "stop", spent=Spent(2, 7))])
    client: Any = SimpleNamespace(
        complete=lambda messages, schema: (asked.append(messages), next(replies))[1]
    )

    def read(reply: Reply) -> str:
        if reply.text == "x":
            raise Unusable("it is not JSON", "at 3")
        return reply.text.upper()

    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    result = ask_structured(client, messages, {}, read)
    assert (result.value, result.text, result.spent, result.failure) == ("Y", "y", Spent(3, 12), "")
    again = "q\n\nYour last reply could not be used: it is not JSON: at 3\nReply again, with the JSON object alone."
    assert asked == [messages, [messages[0], {"role": "user", "content": again}]]
    replies = iter([Reply("x", "stop"), Reply("x", "stop")])
    result = ask_structured(client, messages, {}, read)
    assert (result.value, result.failure, len(result.refused)) == (None, "it is not JSON: at 3", 2)

    def fails(messages: object, schema: object) -> Reply:
        error = ServerFailed(what="gone", where="w", hint="h")
        error.spent = Spent(4)
        raise error

    result = ask_structured(SimpleNamespace(complete=fails), messages, {}, read)  # type: ignore[arg-type]
    assert (result.failure, result.spent, result.refused) == ("gone", Spent(4), [])
    assert Structured[int](value=0).failure == ""


# ------------------------------------------------------------ replies and refusals


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("maximum context length is 8192", True), ("context window exceeded", True), ("context size", True),
        ("This maximum of 100 output tokens", True), ("too long", True), ("too many tokens", True),
        ("longer than", True), ("exceeds the limit of 5 tokens", True), ("exceed tokens", True),
        ("Content Filter", True), ("content management policy", True), ("content policy", True), ("moderation", True),
        ("safety", True), ("flagged", True), ("context " + "x" * 41 + "length", False), ("unknown field", False),
        ("content x" + "x" * 10 + "filter", False), ("maximum " + "x" * 41 + " tokens", False),
    ],
)  # fmt: skip
def test_refusals_for_length_or_content(text: str, content: bool) -> None:
    assert is_about_content(text) is content


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("plain", "plain"), ("[1]", "[1]"), ('{"error": {"message": "a"}}', "a"), ('{"message": "b"}', "b"),
        ('{"error": "c"}', "c"), ('{"detail": "d"}', "d"), ('{"error": {"detail": "e"}}', "e"),
        ('{"error": ""}', '{"error": ""}'),
        ('{"detail": [{"loc": ["body", "seed"], "msg": "no"}, {"msg": "x"}, 3]}', "body.seed: no; : x; 3"),
        ('{"error": {"message": "", "detail": "f"}}', "f"), ('{"error": 3}', '{"error": 3}'),
    ],
)  # fmt: skip
def test_the_message_of_a_refusal(given: str, message: str) -> None:
    assert refusal_text(given) == message


def test_what_ends_a_reply_and_what_it_is_made_of() -> None:
    def ended(reason: Any) -> str:
        return read_completion(
            json.dumps({"choices": [{"message": {}, "finish_reason": reason}]})
        ).finish_reason

    known = ["stop", "length", "content_filter", "tool_calls", "function_call"]
    assert [ended(reason) for reason in known] == known
    assert ended("other") == ended(None) == "no known reason"
    with pytest.raises(Unusable, match=exactly("the answer is not a chat completion")):
        read_completion('{"choices": []}')
    large = {"prompt_tokens": (1 << 53) - 1, "completion_tokens": 1 << 53}
    reply = read_completion(json.dumps({"choices": [{"message": {"content": "a"}}], "usage": large}))
    assert (reply.prompt_tokens, reply.completion_tokens) == ((1 << 53) - 1, 0)
    assert problem_words({"missing": "1, 2", "alone": ""}) == "missing: 1, 2; alone"
    assert Unusable({"a": "b"}).problems == {"a": "b"} and str(Unusable("a", "b")) == "a: b"
    with pytest.raises(Unusable) as caught:
        json_object(Reply("x", "stop", "no" * 200))
    assert str(caught.value) == f"the model refused: {'no' * 100}"
    cut = json_object(Reply(json.dumps({"a": "x" * 4000, "b": "x" * 5001}), "stop"))
    assert cut == {"a": "x" * 4000, "b": "x" * 4000 + " [cut: 1,001 more characters]"}
    with pytest.raises(Unusable) as caught:
        json_object(Reply(json.dumps({"k" * 120: 1})[:-1] + ', "' + "k" * 120 + '": 2}', "stop"))
    assert str(caught.value) == f"it is not JSON: the key '{'k' * 100}' twice in an object"
    for text, inner in (("```\n{}\n```", "{}"), ("a ```js\n{}``` b", "a ```js\n{}``` b"), ("```{}", "```{}"),
                        ("[1] ```\n2\n```", "[1] ```\n2\n```"), ("````", "````"), ("``````", "``````"),
                        ('\n{"a": "```\n1\n```"}', '\n{"a": "```\n1\n```"}'), ("Sure!\n```JSON \n[1]\n```", "[1]"),
                        ('["```\n1\n```"]', '["```\n1\n```"]')):  # fmt: skip
        assert without_fence(text) == inner


def test_an_http_answer_in_a_few_words() -> None:
    assert HttpAnswer(404, '{"error": {"message": "not  here"}}').why() == "404: not here"
    assert HttpAnswer(500, "x" * 200).why() == f"500: {'x' * 160}" and HttpAnswer(500).why() == "500"
    assert HttpAnswer(problem="no answer within 3 s").why() == "no answer within 3 s"
    assert HttpAnswer(200, "[]", []).fields == {} and HttpAnswer(200, "", {"a": 1}).fields == {"a": 1}
    assert [HttpAnswer(status, "", {}).good for status in (199, 200, 299, 300)] == [False, True, True, False]
    inner, outer = ConnectionRefusedError(111, "library's words"), ValueError("outer")
    outer.__cause__ = inner
    assert _cause(outer) == "[Errno 111] Connection refused"
    assert (_cause(ValueError()), _cause(OSError(-2, "name not known"))) == (
        "ValueError",
        "[Errno -2] name not known",
    )


# ------------------------------------------------------------ addresses, keys, proxies, times


@pytest.mark.parametrize(
    ("url", "address", "bare", "shown", "local"),
    [
        ("http://h:1/v1", True, True, "http://h:1/v1", False),
        ("https://u:pw@h/v1?a=b#c", True, False, "https://h/v1", False),
        ("h:1/v1", False, False, UNREADABLE, False),
        ("http://h:0/", False, False, "http://h:0/", False),
        ("http://h:99999/", False, False, UNREADABLE, False),
        ("ftp://h/", False, False, UNREADABLE, False),
        ("http://h/a b", False, False, "http://h/a b", False),
        ("http://hä/", False, False, "http://hä/", False),
        ("http://me:12/3@h/", True, False, UNREADABLE, False),
        ("http://h/?", True, False, "http://h/", False),
        ("http://localhost./", True, True, "http://localhost./", True),
        ("http://a.localhost/", True, True, "http://a.localhost/", True),
        ("http://127.1/", True, True, "http://127.1/", True),
        ("http://[::1]:8/", True, True, "http://[::1]:8/", True),
        ("http://0.0.0.0/", True, True, "http://0.0.0.0/", True),
        ("http://[::ffff:127.0.0.1]/", True, True, "http://[::ffff:127.0.0.1]/", True),
        ("http://10.0.0.1/", True, True, "http://10.0.0.1/", False),
    ],
)  # fmt: skip
def test_addresses_as_they_are_read(url: str, address: bool, bare: bool, shown: str, local: bool) -> None:
    assert (is_address(url), is_bare(url), shown_address(url), is_local(url)) == (address, bare, shown, local)


def test_what_of_an_address_is_secret() -> None:
    found = address_secrets("http://user:p%40ssword@h/?token=abcdef&x=abc")
    assert set(found) == {
        "token=abcdef&x=abc", "dXNlcjpwQHNzd29yZA==", "user:p%40ssword", "user:p@ssword", "p%40ssword", "p@ssword",
        "abcdef",
    }  # fmt: skip
    assert found == sorted(found, key=len, reverse=True)
    assert (address_secrets("key"), address_secrets(""), address_secrets("http://h/")) == (["key"], [], [])
    assert address_secrets("http://h/?a=bcd&e=fghi") == ["a=bcd&e=fghi", "fghi"], "four letters at least"
    text = "see http://me:pw@h/ and http://h:1/a"
    assert has_password(text) and without_passwords(text) == "see http://h/ and http://h:1/a"
    assert not has_password("http://h:1/a") and numeric("name") is numeric("1x") is None
    assert [is_variable(name) for name in ("A_KEY1", "a_key", "_X", "1A", "Ab", "A-B", "")] == [
        True,
        True,
        True,
        *[False] * 4,
    ]
    assert [fits_header(key) for key in ("sk-1", "s k", "sé", "a\n")] == [True, False, False, False]


@pytest.mark.parametrize(
    ("environment", "url", "proxy"),
    [
        ({"http_proxy": "p:1"}, "http://far.org/v1", "http://p:1"), ({"http_proxy": "p:1"}, "https://far.org/v1", ""),
        ({"all_proxy": "http://p:2"}, "https://far.org/v1", "http://p:2"),
        ({"http_proxy": "p:1"}, "http://127.0.0.1/", ""),
        ({"http_proxy": "p", "no_proxy": "far.org"}, "http://far.org/", ""),
        ({"http_proxy": "p", "no_proxy": "far.org:80"}, "http://far.org/", ""),
        ({"https_proxy": "p", "no_proxy": "far.org:443"}, "https://far.org/", ""),
        ({"http_proxy": "p", "no_proxy": "far.org:81"}, "http://far.org/", "http://p"),
        ({"http_proxy": "p", "no_proxy": "x, 10.0.0.0/8"}, "http://10.1.2.3/", ""),
        ({"http_proxy": "p", "no_proxy": "10.0.0.0/8"}, "http://11.1.2.3/", "http://p"),
    ],
)  # fmt: skip
def test_proxies_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], url: str, proxy: str
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert proxy_of(url) == proxy


def test_places_in_time_and_waits_that_a_server_asks_for() -> None:
    rate = RequestRate(30)
    assert [rate.next_wait(now) for now in (10.0, 10.5, 13.0, 20.0)] == [0.0, 1.5, 1.0, 0.0]
    assert [RequestRate(0).next_wait(5.0)] * 2 == [0.0, 0.0]
    assert proxy_host("http://u:p/w@h:3128/x") == proxy_host("h:3128?x") == "h:3128"
    assert proxy_host("http://u:p@w@h:3128/x") == "h:3128", "a password may hold @ as well"
    for headers, seconds in (
        ({"retry-after": "61"}, 60.0), ({"retry-after": "-1"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "nan"}, None), ({"retry-after": "Thu, 01 Jan 1970 00:00:20 GMT"}, 13.0), ({}, None),
        ({"retry-after": "inf"}, None),
    ):  # fmt: skip
        assert retry_after(headers, 7.0) == seconds


def test_a_server_that_fails_at_everything_ends_the_stage() -> None:
    written: list[int] = []
    failures = ServerFailures[int](written.append)
    errors = [RunError(what=f"e{n}") for n in range(20)]
    for n in range(DEAD_AFTER - 1):
        failures.take(n, errors[n])
    assert written == [] and DEAD_AFTER == 8
    failures.take(50)
    assert written == [*range(7), 50], "it answers again"
    for n in range(DEAD_AFTER - 1):
        failures.take(n, errors[n])
    with pytest.raises(RunError, match=exactly("e9")):
        failures.take(9, errors[9])
    one, two = ServerFailures[int](written.append), ServerFailures[int](written.append)
    one.take(60, errors[0])
    one.end(asked=1)
    two.take(61, errors[1])
    two.take(62, errors[2])
    with pytest.raises(RunError, match=exactly("e2")):
        two.end(asked=2)
    two.end(asked=3)
    assert written[8:] == [60, 61, 62]


def test_what_roles_know_of_a_server() -> None:
    known = KnownServers()
    assert known.server("http://h/v1/", "m") is known.server("http://h/v1", "m")
    assert known.server("http://h/v1", "other") is not known.server("http://h/v1", "m")
    assert known.slots("http://h/v1/") is known.slots("http://h/v1") is not known.slots("http://g/v1")
    assert [known.first_time("a"), known.first_time("a"), known.first_time("b")] == [True, False, True]


def test_a_role_s_total_with_one_more_request() -> None:
    """Every figure is a sum: no two are equal. Server and model are those of the last request."""

    def request(server: str = "h", model: str = "m", **more: Any) -> RequestRecord:
        return RequestRecord(time=1.0, stage="s", role="r", server=server, model=model, **more)

    total = None
    for one in (
        request(outcome="tried again", seconds=1.0005, waited=0.25, why="x"),
        request(
            outcome="answered",
            attempt=2,
            prompt_tokens=7,
            completion_tokens=3,
            seconds=2.0,
            waited=0.5,
            cost=0.1,
        ),
        request(outcome="answered", seconds=4.0),
        request("g", "n", outcome="failed", attempt=3, prompt_tokens=5, seconds=8.0, waited=1.0, cost=0.2),
    ):
        total = added(total, one)
    assert total == ServerUsage(
        stage="s", role="r", server="g", model="n", requests=4, answered=2, retries=2, failures=1, prompt_tokens=12,
        completion_tokens=3, unreported=1, seconds=15.0, waited=1.75, cost=0.3,
    )  # fmt: skip
    assert added(None, request(outcome="answered")).cost is None
    free = added(None, request(outcome="answered", cost=0.0))
    assert free.cost == 0.0, "what costs nothing is known to cost nothing"


def test_a_request_is_timed_and_a_stop_cancels_it(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100.0, 102.5, 200.0, 207.0])
    monkeypatch.setattr(http_module, "time", SimpleNamespace(monotonic=lambda: next(times)))
    monkeypatch.setattr(http_module, "finish", lambda sent, look: (_ for _ in ()).throw(TimeoutError()))
    asked = http_module.Http("http://127.0.0.1:9/v1?k=secret", "", 7.0)
    monkeypatch.setattr(asked, "_send", lambda *_: None)
    assert asked.get("/models", 1.5) == HttpAnswer(problem="no answer within 1.5 s", seconds=2.5)
    assert asked.get("/models", 7.0).problem == "no answer within 7 s"
    assert (
        asked.address == "http://127.0.0.1:9/v1"
        and asked._url("/models") == "http://127.0.0.1:9/v1/models?k=secret"
    )
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    def stop() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        finish(waits(), stop)
    finish(asyncio.sleep(0), lambda: None)
    assert ended == ["cancelled"]


def test_secrets_in_what_json_holds() -> None:
    secrets = Secrets(["sk-0123456789", "abcd"])
    assert secrets.redact("a sk-0123456789 b abcd") == "a *** b ***"
    assert secrets.redact("sk-0123456789 abcd", 8) == "*** abcd"
    plain = '{"b":  1, "a": "x"}'
    assert secrets.redact_json(plain) == plain and secrets.redact_json("no { json") == "no { json"
    hidden = json.dumps({"a": ["".join(f"\\u{ord(letter):04x}" for letter in "abcd"), "é"]}).replace(
        "\\\\", "\\"
    )
    assert secrets.redact_json(hidden) == '{"a": ["***", "é"]}'


def test_totals_are_told_and_kept(tmp_path: Path) -> None:
    """At once for the first request of a role, then when the stage ends; a later book goes on from the file."""
    told: list[Any] = []
    book = UsageBook(tmp_path, told.append)
    one = RequestRecord(
        time=1.0, stage="s", role="r", server="h", model="m", outcome="answered", prompt_tokens=2
    )
    for _ in range(3):
        book.take(one)
    assert [total.requests for total in told] == [1]
    book.settle()
    book.take(one)
    book.settle()
    assert [total.requests for total in told] == [1, 3, 4]
    later: list[Any] = []
    again = UsageBook(tmp_path, later.append)
    again.open()
    again.open()
    assert [(total.requests, total.prompt_tokens) for total in later] == [(4, 8)]
    assert list(again.totals) == [("s", "r")]


async def test_who_asks_says_so() -> None:
    plain, keyed = (http_module.Http("http://127.0.0.1:9", key, 1.0)._client.headers for key in ("", "sk"))
    assert (plain["user-agent"], "authorization" in plain, keyed["authorization"]) == (
        "steer-tui",
        False,
        "Bearer sk",
    )


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        (Reply('{"a": 1}', "stop"), True), (Reply("```json\n[1]\n```", "stop"), True), (Reply("a", "stop"), False),
        (Reply('{"a": 1', "stop"), False), (Reply("[" * 100_000, "stop"), False), (Reply('{"a": 1', "length"), True),
        (Reply("a", "content_filter"), True), (Reply("", "stop", "I will not."), True), (Reply("", "stop"), True),
    ],
)  # fmt: skip
def test_a_reply_that_breaks_off_says_nothing_of_a_server_s_json(reply: Reply, right: bool) -> None:
    assert client_module._is_json(reply) is right


@pytest.mark.parametrize(
    ("name", "address", "lacking"),
    [
        ("A_KEY", None, True), ("A_KEY", "https://api.example.org/v1", True), ("A_KEY", "http://127.0.0.1:8000", False),
        ("BLANK_KEY", None, True), ("SET_KEY", None, False), ("none", None, False),
    ],
)  # fmt: skip
def test_a_key_is_needed_but_for_a_server_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, name: str, address: str | None, lacking: bool
) -> None:
    """No address is that of the service itself."""
    for variable, value in (("BLANK_KEY", " "), ("SET_KEY", "sk-1")):
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("A_KEY", raising=False)
    assert lacks_key(name, address) is lacking
