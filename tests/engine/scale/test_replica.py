"""What a replica gives back, seen in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from engine.config.models.model import ModelSection
from engine.events import Event, ModelLoaded, Notice
from engine.scale.model_identity import ModelIdentity
from engine.scale.replica import Replica
from engine.scale.work import WorkContext


@dataclass(frozen=True)
class Doubles:
    """`n` -> 2n, of which it tells."""

    def open(self, context: WorkContext) -> Callable[[int], int]:
        context.notice("opened")

        def double(n: int) -> int:
            context.notice(f"item {n}")
            return 2 * n

        return double


def test_an_event_is_told_at_once_and_a_result_comes_back() -> None:
    events: list[Event] = []
    replica = Replica(events.append)
    opened = replica.open(Doubles(), ["2"])
    assert [event.text for event in events if isinstance(event, Notice)] == ["opened"]
    assert opened.gpus == ["2"] and "python" in opened.versions
    for n in (3, 4):
        assert replica.do(n) == 2 * n
        assert isinstance(events[-1], Notice) and events[-1].text == f"item {n}"


def test_opening_takes_the_seconds_from_its_begin_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((100.0, 102.34567))
    monkeypatch.setattr("engine.scale.replica.time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert Replica(lambda event: None).open(Doubles(), []).seconds == 2.346


def test_a_model_s_identity_is_read_by_loading_it_once() -> None:
    loaded: list[object] = []
    model: Any = SimpleNamespace(info="its identity")
    section = ModelSection(path="statements")
    context = WorkContext(lambda one: loaded.append(one) or model, lambda: None, lambda event: None)
    read = ModelIdentity(section).open(context)
    assert loaded == [section]
    assert [read(None), read(None)] == ["its identity"] * 2 and len(loaded) == 1


@pytest.mark.parametrize(("asked", "policy"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_a_replica_waits_as_the_user_says(
    monkeypatch: pytest.MonkeyPatch, asked: str | None, policy: str
) -> None:
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    monkeypatch.setenv("OMP_WAIT_POLICY", asked or "")
    if asked is None:
        monkeypatch.delenv("OMP_WAIT_POLICY")
    Replica(lambda event: None)
    assert (os.environ["OMP_WAIT_POLICY"], os.environ["TOKENIZERS_PARALLELISM"]) == (policy, "false")


def test_models_that_are_loaded_stay_in_what_it_tells() -> None:
    """Also those of an earlier stage; other events are told by themselves."""
    replica = Replica(lambda event: None)
    model = ModelLoaded(name="m", backend="b", device="cpu", dtype="float32", num_layers=1, hidden_size=2)
    replica._note_loaded(model)
    replica._note_loaded(Notice(text="well"))
    for _ in range(2):
        assert replica.open(Doubles(), []).models == [model]
    other = msgspec.structs.replace(model, name="n")
    replica._note_loaded(other)
    assert replica.open(Doubles(), []).models == [model, other]
