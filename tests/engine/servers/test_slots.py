"""How many requests a server is asked at once: its slots where it names them, fewer after timeouts elsewhere."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from engine.config.models.openai import OpenAISection
from engine.servers.background import POLL_SECONDS
from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.completion import Reply
from engine.servers.http import Http
from engine.servers.known_servers import KnownServers
from engine.servers.request_form import Asked, RequestForm
from engine.servers.slots import Slots, server_slots
from engine.servers.usage import RequestRecord, UsageBook
from tests.exactly import exactly
from tests.misbehaving_server import MisbehavingServer, misbehaving_server

HI = [{"role": "user", "content": "hi there"}]
WORK = 0.1


class Counting:
    """Says hello after its work. `most`: the most requests that were there at once."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work
        self.guard = threading.Lock()
        self.inside = self.most = 0

    def __call__(self, body: dict[str, Any]) -> str:
        with self.guard:
            self.inside += 1
            self.most = max(self.most, self.inside)
        try:
            self.work()
        finally:
            with self.guard:
                self.inside -= 1
        return "hello"


def working(slots: int) -> Counting:
    """Works on so many requests at once for `WORK` seconds each; others queue."""
    free = threading.Semaphore(slots)

    def work() -> None:
        with free:
            time.sleep(WORK)

    return Counting(work)


def in_pairs() -> Counting:
    """Answers when it has been asked twice."""
    return Counting(threading.Barrier(2, timeout=60).wait)


class Kept(UsageBook):
    """Keeps every request in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[RequestRecord] = []

    def take(self, request: RequestRecord) -> None:
        super().take(request)
        self.requests.append(request)


def asked_at_once(
    server: MisbehavingServer, book: UsageBook, count: int, notices: list[str], **changes: Any
) -> list[Reply]:
    """The replies to so many requests, all asked for at once by one role."""
    fields = {"base_url": server.url, "api_key_env": "none", "timeout": 10, "retries": 0, **changes}
    client = OpenAIClient(
        OpenAISection(**fields), "here", role="judge", notice=notices.append, servers=KnownServers(book)
    )
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda _: client.complete(HI), range(count)))


def test_a_server_that_names_its_slots_is_asked_no_more_at_once() -> None:
    """Ten requests of a tenth of a second at two slots: the last waits 0.4 s here, none in the server's queue."""
    work, book, notices = working(2), Kept(), list[str]()
    with misbehaving_server(work) as server:
        server.slots = 2
        replies = asked_at_once(server, book, 10, notices)
    assert [reply.text for reply in replies] == ["hello"] * 10 and work.most == 2
    assert [request.outcome for request in book.requests] == ["answered"] * 10
    assert max(request.waited for request in book.requests) >= 4 * WORK
    told = [text for text in notices if "slots" in text]
    assert told == [f"here: {server.url} has 2 slots: so many requests at once"]


@pytest.mark.parametrize(("concurrency", "most"), [(1, 1), (2, 2), (0, 3)])
def test_the_configured_concurrency_stays_the_upper_bound(concurrency: int, most: int) -> None:
    work = working(8)
    with misbehaving_server(work) as server:
        server.slots = 3
        asked_at_once(server, Kept(), 6, [], concurrency=concurrency)
    assert work.most == most


def time_out_together(monkeypatch: pytest.MonkeyPatch, *counts: int) -> None:
    """The first requests have no answer in time: so many of them at once, once all of these are under way, then so
    many, and so on. Later ones are sent."""
    groups = iter([group for count in counts for group in [threading.Barrier(count, timeout=60)] * count])
    send = OpenAIClient._send

    async def sent(client: OpenAIClient, asked: Asked, form: RequestForm) -> str:
        if (group := next(groups, None)) is None:
            return await send(client, asked, form)
        await asyncio.to_thread(group.wait)
        raise TimeoutError

    monkeypatch.setattr(OpenAIClient, "_send", sent)


def test_after_a_timeout_half_as_many_are_asked_and_nothing_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four at once have no answer in time. With no attempt to lose they are asked again, two at once, beside none."""
    time_out_together(monkeypatch, 4)
    work, book, notices = in_pairs(), Kept(), list[str]()
    with misbehaving_server(work) as server:
        replies = asked_at_once(server, book, 4, notices)
    assert [reply.text for reply in replies] == ["hello"] * 4 and work.most == 2
    outcomes = sorted((request.outcome, request.attempt) for request in book.requests)
    assert outcomes == [("answered", 2)] * 4 + [("queued", 1)] * 4
    (total,) = book.totals.values()
    assert (total.requests, total.answered, total.retries, total.failures) == (8, 4, 4, 0)
    assert [reply.spent.calls for reply in replies] == [2] * 4, "each request counts"
    assert total.completion_tokens == 4 * 20, "tokens of answers alone: nobody knows the others'"
    assert [text for text in notices if "at once" in text] == [
        f"here: no answer within 10 s of {server.url} while 4 requests were under way: 2 at once from now on"
    ]


def test_a_server_that_is_silent_to_one_request_alone_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four at once, then two, then each alone: then a timeout is the server's, and the item has failed."""
    time_out_together(monkeypatch, 4, 2)
    book = Kept()
    with misbehaving_server(lambda body: "hello", fault_of=lambda body: "hang") as server, ExitStack() as end:
        end.callback(server.released.set)
        with pytest.raises(
            ServerFailed,
            match=exactly(
                "no answer within 0.1 s (1 attempt) (here: gpt-4o at http://127.0.0.1:…/v1): check that the server "
                "answers, the model's name; `steer-tui doctor --server` helps"
            ),
        ):
            asked_at_once(server, book, 4, [], timeout=0.1)
    assert [request.attempt for request in book.requests if request.outcome == "queued"].count(1) == 4
    failed = [request.attempt for request in book.requests if request.outcome == "failed"]
    assert len(failed) == 4 and max(failed) == 3, "four at once, two, one: never for ever"


def test_other_failures_of_many_at_once_are_attempts() -> None:
    book = Kept()
    with (
        misbehaving_server(lambda body: "hello", fault_of=lambda body: "500") as server,
        pytest.raises(ServerFailed),
    ):
        asked_at_once(server, book, 4, [])
    assert {request.outcome for request in book.requests} == {"failed"}


@pytest.mark.parametrize("said", [0, -2, True, 2.0, "2", None, [2]])
def test_what_is_no_number_of_slots_is_unknown(said: object) -> None:
    with misbehaving_server(lambda body: "") as server:
        server.slots = said or 0  # type: ignore[assignment]
        assert server_slots(Http(server.url, "", 5)) == 0


# ---------------------------------------------------------------- slots by themselves


def test_the_slots_are_asked_for_once() -> None:
    slots, asked = Slots(), list[int]()

    def ask() -> int:
        asked.append(1)
        return 2

    assert [slots.ask_once(ask), slots.ask_once(ask)] == [True, False]
    assert slots.limit == 2 and len(asked) == 1
    assert not Slots().ask_once(lambda: 0)


@pytest.mark.parametrize(
    ("limit", "lower", "then", "lowered"),
    [(0, 1, 1, True), (0, 4, 4, True), (4, 2, 2, True), (2, 2, 2, False), (2, 3, 2, False), (1, 1, 1, False),
     (1, 2, 1, False)],
)  # fmt: skip
def test_a_limit_is_only_ever_lowered(limit: int, lower: int, then: int, lowered: bool) -> None:
    """0 is none."""
    slots = Slots()
    assert slots.ask_once(lambda: limit) is (limit > 0)
    assert slots.lower(lower) is lowered and slots.limit == then
    assert slots.ask_once(lambda: 9) is False and slots.limit == then, "asked once"


def never() -> None:
    raise AssertionError("a slot was free")


def held_by(slots: Slots, count: int, most: int = 0, look: Callable[[], None] = never) -> list[int]:
    """Take slots one inside the other; what each then knows of the most that were held together."""
    with ExitStack() as stack:
        held = [stack.enter_context(slots.slot(most, look)) for _ in range(count)]
        return [one.together for one in held]


def test_a_request_knows_how_many_were_under_way_since_it_began() -> None:
    slots = Slots()
    with slots.slot(0, never) as first:
        assert held_by(slots, 2) == [3, 3]
        with slots.slot(0, never) as late:
            assert (first.together, late.together) == (3, 2)
    assert held_by(slots, 1) == [1]


def test_a_full_server_is_waited_for() -> None:
    class Looked(Exception):
        pass

    def look() -> None:
        raise Looked

    slots = Slots()
    slots.lower(2)
    assert held_by(slots, 2, look=look) == [2, 2]
    for count, most in ((3, 0), (2, 1), (3, 5)):
        with pytest.raises(Looked):
            held_by(slots, count, most, look)
    assert held_by(slots, 2) == [2, 2], "what was held is free again"


def test_who_finds_no_slot_free_waits_a_moment_before_it_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    slots, waits = Slots(), list[float]()
    monkeypatch.setattr(slots._free, "wait", waits.append)
    with slots.slot(1, lambda: None):
        assert not waits and slots._take(1) is None and waits == [POLL_SECONDS]
        with slots.slot(0, lambda: None) as second:
            assert second.together == 2
    assert slots._take(1) is not None and waits == [POLL_SECONDS]
