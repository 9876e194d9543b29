"""Requests evenly spaced in time, however many threads send them."""

from __future__ import annotations

import threading

import pytest

from engine.config.models.openai import OpenAISection
from engine.servers.client import OpenAIClient
from engine.servers.request_rate import RequestRate
from tests.misbehaving_server import misbehaving_server


def test_places_are_a_gap_apart_and_idle_time_is_not_saved_up() -> None:
    rate = RequestRate(30)
    assert [rate.next_wait(10.0) for _ in range(3)] == [0, 2, 4]
    assert rate.next_wait(13.0) == 3
    assert [rate.next_wait(100.0) for _ in range(2)] == [0, 2]


def test_no_limit() -> None:
    rate = RequestRate(0)
    assert [rate.next_wait(10.0) for _ in range(3)] == [0, 0, 0]


def test_threads_never_share_a_place() -> None:
    rate, waits = RequestRate(60), []

    def take() -> None:
        waits.extend(rate.next_wait(0.0) for _ in range(50))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(waits) == list(range(400))


def test_further_attempts_wait_for_their_place_too() -> None:
    waits: list[float] = []
    with misbehaving_server(lambda body: "hello", ["429 with Retry-After", "500"]) as server:
        section = OpenAISection(base_url=server.url, api_key_env="none", timeout=5)
        asking = OpenAIClient(section, "here", sleep=waits.append, requests_per_minute=1)
        assert asking.complete([{"role": "user", "content": "hi"}]).spent.calls == 3
    assert waits[0] == 0.05 and waits[2] == 2.0
    assert [waits[1], waits[3]] == pytest.approx([60, 120], abs=5)
