"""What a stage is given: seeds of its draws, and what it reports of its progress."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.config.config import Config
from engine.config.models.openai import OpenAISection
from engine.config.run import RunSection
from engine.errors import ConfigError
from engine.events import Event, StageProgress, StageStarted
from engine.lm.loading.load import load_model
from engine.run.stage import StageContext
from engine.scale.model_identity import ModelIdentity
from engine.seeds import derive_seed
from engine.servers import client


def context(tmp_path: Path, events: list[Event], stage: str = "mine") -> StageContext:
    config = Config(run=RunSection(seed=7))
    return StageContext(stage, config, tmp_path, events.append, lambda: None, load_model)


def test_every_draw_of_every_item_has_its_own_seed(tmp_path: Path) -> None:
    mine, other = context(tmp_path, []), context(tmp_path, [], "eval")
    seeds = [mine.seed("a"), mine.seed("a", 1), mine.seed("b"), other.seed("a")]
    assert seeds == [derive_seed(7, "mine", "a", 0), derive_seed(7, "mine", "a", 1),
                     derive_seed(7, "mine", "b", 0), derive_seed(7, "eval", "a", 0)]  # fmt: skip
    assert len(set(seeds)) == 4


def test_work_gets_what_the_stage_has(tmp_path: Path) -> None:
    """Its models, its checkpoint, its events, and a clock that no pause moves; the result is ready to be used."""
    events: list[Event] = []
    one = context(tmp_path, events)
    one.clock, given = lambda: 7.0, list[Any]()
    one.spread = lambda work, inside: given.append((work, inside)) or (lambda items: iter(["info"]))  # type: ignore[assignment,func-returns-value]
    assert one.model_info() == "info"
    ((work, inside),) = given
    assert work == ModelIdentity(one.config.model)
    assert (inside.load_model, inside.checkpoint, inside.emit, inside.clock) == (
        one.load_model, one.checkpoint, one.emit, one.clock,
    )  # fmt: skip


def test_tokens_of_a_stage_are_summed_up_from_its_beginning(tmp_path: Path) -> None:
    events: list[Event] = []
    one = context(tmp_path, events)
    one.start(5, done=2, unit="examples")
    assert one.done == 2  # a stop before the first item leaves what an earlier attempt did
    one.progress(3, 5, tokens=10)
    one.progress(4, 5, tokens=7)
    assert one.done == 4
    one.start(5, done=4)
    one.progress(5, 5, tokens=1)
    started = next(event for event in events if isinstance(event, StageStarted))
    assert (started.total, started.done, started.unit) == (5, 2, "examples")
    assert [event.tokens for event in events if isinstance(event, StageProgress)] == [10, 17, 1]


def test_a_client_goes_on_from_what_was_counted_and_holds_at_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[Any, ...]] = []
    monkeypatch.setattr(client, "OpenAIClient", lambda *given, **named: made.append((*given, named)))
    one, opened = context(tmp_path, []), list[bool]()
    monkeypatch.setattr(one.servers.usage, "open", lambda: opened.append(not made))
    section = OpenAISection()
    one.client(section, "judge", "slsm.judge.openai", 30)
    assert opened == [True] and made == [
        (
            section,
            "slsm.judge.openai",
            {
                "checkpoint": one.checkpoint, "notice": one.notice, "requests_per_minute": 30, "stage": "mine",
                "role": "judge", "servers": one.servers, "emit": one.emit,
            },
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("where", "base_url", "ways"),
    [
        ("slsm.controller.openai", None, "`slsm.controller.kind: rules`"),
        ("answer.openai", None, "`answer.reader: paths`"),
        ("slsm.judge.openai", None, ""),
        ("answer.openai", "https://api.example/v1", "`answer.reader: paths`"),
    ],
)
def test_where_a_key_is_missing_all_ways_out_are_named(
    where: str, base_url: str | None, ways: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError) as caught:
        context(tmp_path, []).client(OpenAISection(base_url=base_url), "model", where)
    (problem,) = caught.value.problems
    server = "`api_key_env: none` for a server that needs none" if base_url else (
        f"`{where}.base_url` of a server of your own"
    )  # fmt: skip
    assert (problem.where, problem.value) == (f"{where}.api_key_env", "OPENAI_API_KEY")
    assert problem.allowed.split(", or ") == [
        "the environment variable OPENAI_API_KEY set to a key", server, *([ways] if ways else []),
    ]  # fmt: skip
