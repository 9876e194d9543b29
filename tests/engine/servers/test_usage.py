"""What requests cost: every one of them, in a file that outlives kills, and as totals of each role."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.runs.client import prepare_run
from engine.config.models.openai import OpenAISection
from engine.errors import DataError
from engine.events import Event, ServerUsage
from engine.run.directory import RunDirectory
from engine.run.gate import StopRequested
from engine.servers import usage
from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.known_servers import KnownServers
from engine.servers.usage import RequestRecord, UsageBook
from tests.exactly import exactly
from tests.kill_and_resume import DEMO
from tests.misbehaving_server import MisbehavingServer, misbehaving_server

HI = [{"role": "user", "content": "hi there"}]
KEY = "sk-very-secret-0123456789"


def hello(body: dict[str, Any]) -> str:
    return "hello"


def client(server: MisbehavingServer, book: UsageBook, role: str = "judge", **changes: Any) -> OpenAIClient:
    section = OpenAISection(
        **{"base_url": server.url, "api_key_env": "none", "timeout": 5.0, "retries": 2, **changes}
    )
    servers = KnownServers(book)
    return OpenAIClient(
        section, "here", sleep=lambda seconds: None, stage="evolve", role=role, servers=servers
    )


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "usage.jsonl").read_text().splitlines()]


def test_every_request_is_counted_for_its_role(tmp_path: Path) -> None:
    """One that succeeds at the third attempt, one that fails for good, one of another role."""
    book = UsageBook(tmp_path)
    script = ["429 with Retry-After", "500", "", "401", ""]
    with misbehaving_server(hello, script) as server:
        judging = client(server, book, price_prompt=2.0, price_completion=10.0)
        judging.complete(HI)
        with pytest.raises(ServerFailed):
            judging.complete(HI)
        client(server, book, "reflector").complete(HI)
    judge, reflector = book.totals["evolve", "judge"], book.totals["evolve", "reflector"]
    assert (judge.requests, judge.answered, judge.retries, judge.failures) == (4, 1, 2, 1)
    assert (judge.prompt_tokens, judge.completion_tokens, judge.unreported) == (100, 20, 0)
    assert judge.cost == pytest.approx((100 * 2 + 20 * 10) / 1e6)
    assert judge.waited >= 0.05 + 2.0, "what the server asked for, and the second wait"
    assert (reflector.requests, reflector.failures, reflector.cost) == (1, 0, None)
    outcomes = [line["outcome"] for line in lines(tmp_path)]
    assert outcomes == ["tried again", "tried again", "answered", "failed", "answered"]
    assert [line.get("attempt", 1) for line in lines(tmp_path)] == [1, 2, 3, 1, 1]
    assert "(429)" in lines(tmp_path)[0]["why"]
    counted = lines(tmp_path)[2]
    assert counted.get("characters_sent", 0) == counted.get("characters_received", 0) == 0, "tokens are known"


def test_an_answer_of_no_use_costs_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there yet"
    with misbehaving_server(hello, ["no choices"]) as server:
        spent = client(server, book := UsageBook(folder), price_prompt=1.0).complete(HI).spent
    assert (spent.calls, spent.tokens, spent.cost) == (2, 240, pytest.approx(200 / 1e6))
    (total,) = book.totals.values()
    assert (total.requests, total.answered, total.prompt_tokens) == (2, 1, 200)
    assert total.cost == pytest.approx(200 / 1e6)
    assert len(lines(folder)) == 2


def test_the_last_attempt_that_fails_is_the_failure(tmp_path: Path) -> None:
    book = UsageBook(tmp_path)
    with misbehaving_server(hello, ["500"] * 3) as server, pytest.raises(ServerFailed):
        client(server, book).complete(HI)
    total = book.totals["evolve", "judge"]
    assert (total.requests, total.answered, total.retries, total.failures) == (3, 0, 2, 1)
    assert [line["outcome"] for line in lines(tmp_path)] == ["tried again", "tried again", "failed"]


def test_a_server_that_counts_no_tokens_is_told_of(tmp_path: Path) -> None:
    book, notices = UsageBook(tmp_path), list[str]()
    with misbehaving_server(hello, ["no usage"] * 2) as server:
        section = OpenAISection(base_url=server.url, api_key_env="none", price_prompt=2.0)
        asking = OpenAIClient(section, "here", notice=notices.append, servers=KnownServers(book))
        assert asking.complete(HI).spent.tokens == 0
        asking.complete(HI)
    total = book.totals["", ""]
    assert (total.unreported, total.prompt_tokens, total.cost) == (2, 0, None)
    assert len([text for text in notices if "does not say how many tokens it used" in text]) == 1


def test_a_request_that_a_stop_leaves_is_counted_too(tmp_path: Path) -> None:
    book = UsageBook(tmp_path)
    with misbehaving_server(hello, ["hang"]) as server:

        def checkpoint() -> None:
            if server.requests:
                raise StopRequested

        section = OpenAISection(base_url=server.url, api_key_env="none")
        asking = OpenAIClient(section, "here", checkpoint=checkpoint, servers=KnownServers(book))
        with pytest.raises(StopRequested):
            asking.complete(HI)
    assert lines(tmp_path)[0]["outcome"] == "stopped" and book.totals["", ""].requests == 1


def test_threads_lose_no_request(tmp_path: Path) -> None:
    events: list[Event] = []
    book = UsageBook(tmp_path, events.append)
    with misbehaving_server(hello) as server:
        asking = client(server, book, timeout=30.0)
        threads = [
            threading.Thread(target=lambda: [asking.complete(HI) for _ in range(5)]) for _ in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    total = book.totals["evolve", "judge"]
    assert total.answered == 80 and total.requests == len(lines(tmp_path))
    assert len(events) < 40, "told now and then, not for each request"
    book.settle()
    last = events[-1]
    assert isinstance(last, ServerUsage) and last.answered == 80 and last.stage == "evolve"
    assert last.prompt_tokens == 8000 and last.role == "judge"


def test_a_role_s_total_is_told_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now, told = [100.0], list[tuple[str, int]]()

    def tell(total: Any) -> None:
        told.append((total.role, total.requests))

    monkeypatch.setattr(usage, "time", SimpleNamespace(monotonic=lambda: now[0]))
    book = UsageBook(emit=tell)
    for now[0], role in (
        (100.0, "a"),
        (100.5, "a"),
        (100.75, "b"),
        (101.0, "a"),
        (101.5, "a"),
        (101.75, "b"),
    ):
        book.take(RequestRecord(time=1.0, stage="s", role=role, server="h", model="m", outcome="answered"))
    assert told == [("a", 1), ("b", 1), ("a", 3), ("b", 2)]


def test_settled_lines_are_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that loses power keeps what a finished stage has paid for."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_size))
    book = UsageBook(tmp_path)
    request = RequestRecord(time=1.0, stage="evolve", role="judge", server="s", model="m", outcome="answered")
    book.take(request)
    assert synced == []
    book.settle()
    assert synced == [(tmp_path / "usage.jsonl").stat().st_size] and synced[0] > 0


def test_counting_goes_on_after_a_kill(tmp_path: Path) -> None:
    """The torn end of a line is cut off; what was counted before it stands."""
    with misbehaving_server(hello) as server:
        client(server, UsageBook(tmp_path), price_prompt=1.0).complete(HI)
        with (tmp_path / "usage.jsonl").open("ab") as file:
            file.write(b'{"time": 1, "stage": "ev')
        events: list[Event] = []
        book = UsageBook(tmp_path, events.append)
        book.open()
        assert [event.requests for event in events if isinstance(event, ServerUsage)] == [1]
        client(server, book, price_prompt=1.0).complete(HI)
    total = book.totals["evolve", "judge"]
    assert (total.requests, total.prompt_tokens) == (2, 200)
    assert total.cost == pytest.approx(2 * 100 / 1e6)
    assert len(lines(tmp_path)) == 2


def test_a_line_that_is_no_request_is_an_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "usage.jsonl").write_text('{"role": "judge"}\n')
    with pytest.raises(
        DataError,
        match=exactly(
            "no field `time` (…/usage.jsonl:1): "
            "restore the file, or remove it: what was spent before is then no longer counted"
        ),
    ):
        UsageBook(tmp_path).open()


def test_the_key_is_in_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    with misbehaving_server(hello, ["401"]) as server, pytest.raises(ServerFailed):
        client(server, UsageBook(tmp_path), api_key_env="TEST_KEY").complete(HI)
    text = (tmp_path / "usage.jsonl").read_text()
    assert "***" in text and KEY not in text


def test_no_more_requests_under_way_than_the_server_may_have() -> None:
    """Two roles share the places of their server, however each of them ends its address."""
    under_way, most, guard = 0, 0, threading.Lock()

    def slow(body: dict[str, Any]) -> str:
        nonlocal under_way, most
        with guard:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.02)
        with guard:
            under_way -= 1
        return "hello"

    servers = KnownServers()
    with misbehaving_server(slow) as server:
        sections = [
            OpenAISection(base_url=server.url + end, api_key_env="none", concurrency=3) for end in ("", "/")
        ]
        roles = [
            OpenAIClient(section, "here", role=role, servers=servers)
            for section, role in zip(sections, ("judge", "controller"), strict=True)
        ]
        threads = [threading.Thread(target=roles[i % 2].complete, args=(HI,)) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.requests) == 16
    assert most == 3
    assert sum(total.waited for total in servers.usage.totals.values()) > 0


# ---------------------------------------------------------------- a run


def test_a_killed_run_counts_on(
    tmp_path: Path,
    worker: Callable[[RunDirectory], subprocess.Popen[bytes]],
    events_of: Callable[[RunDirectory], list[Event]],
    wait_until: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SIGKILL in the middle: the file knows all that the server saw, but for what was under way."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def slow(body: dict[str, Any]) -> str:
        time.sleep(0.05)
        return "Noted."

    with misbehaving_server(slow) as server:
        openai = f"{{base_url: '{server.url}', api_key_env: none, model: m, price_prompt: 1.0}}"
        changes = [
            f"run.outputs={tmp_path}", "slsm.data.conversations=40", "slsm.compare=[baseline]", "slsm.batch_size=4",
            f"slsm.answers={{kind: openai, openai: {openai}}}", "run.stages=[slsm]",
        ]  # fmt: skip
        run = prepare_run(DEMO, changes)
        process = worker(run)
        wait_until(lambda: len(server.requests) > 10, "some requests")
        os.kill(process.pid, signal.SIGKILL)
        process.wait(10)
        time.sleep(0.2)
        before = len(server.requests)
        assert before - 4 <= len(lines(run.path)) <= before
        again = worker(run)
        assert again.wait(60) == 0
        seen = len(server.requests)
    counted = [event for event in events_of(run) if isinstance(event, ServerUsage)]
    last = counted[-1]
    assert (last.stage, last.role, last.model) == ("slsm", "model", "m")
    assert seen - 4 <= last.requests == len(lines(run.path)) <= seen
    assert last.prompt_tokens == 100 * last.answered and last.answered >= 40
    assert [event.requests for event in counted] == sorted(event.requests for event in counted)
