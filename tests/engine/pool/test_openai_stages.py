"""Both stages with a vision model behind a real loopback server: what is paid for, kept, and never said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.config.config import Config
from engine.errors import ConfigError
from engine.events import Notice, PoolTotals, SelectorCompared, encode
from engine.pool import layout
from engine.pool.pool_stage import BuildPools
from engine.pool.selector.selector_stage import TrainSelector
from engine.run.gate import StopRequested
from engine.run.stage import Stage, StageContext
from tests.engine.pool.vqa.test_openai_vqa import KEY, nearest_neighbour
from tests.exactly import exactly
from tests.misbehaving_server import MisbehavingServer, misbehaving_server
from tests.run_stage import name_of, run_stage

STAGES: tuple[Stage, ...] = (BuildPools(), TrainSelector())


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)


def config(server: MisbehavingServer) -> Config:
    vision = {
        "model": "sees-digits", "base_url": server.url, "api_key_env": "TEST_KEY", "timeout": 20.0, "retries": 2,
        "price_prompt": 2.0, "price_completion": 10.0,
    }  # fmt: skip
    pool = {
        "train_queries": 5, "heldout_queries": 3, "search_top_k": 20, "max_eval_pairs": 6,
        "vqa": {"kind": "openai", "openai": vision},
    }  # fmt: skip
    selector = {"supervised_steps": 2, "policy_steps": 3, "rollouts": 2}
    return Config.model_validate({"pool": pool, "selector": selector})


def evaluated(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in layout.evaluated(folder).read_text().splitlines()]


def test_it_is_asked_for_each_pair_once_and_what_it_costs_is_kept(tmp_path: Path) -> None:
    with misbehaving_server(nearest_neighbour, ["429 with Retry-After", "", "refusal"]) as server:
        events = [event for stage in STAGES for event in run_stage(stage, config(server), tmp_path)]
        sent = len(server.requests)
    lines = evaluated(tmp_path)
    asked = [(line["query_id"], tuple(line["pair"])) for line in lines]
    assert len(asked) == len(set(asked))
    assert {line["model"] for line in lines} == {"sees-digits"}
    initial = len(layout.initial_evaluated(tmp_path).read_text().splitlines())
    assert 50 < initial <= 12 * 5
    assert sent == initial + 1 + len(lines), "one was asked again after 429"
    assert sum(line["calls"] for line in lines) == len(lines)
    assert sum(line["cost"] for line in lines) == pytest.approx(len(lines) * (100 * 2 + 20 * 10) / 1e6)
    (totals,) = [event for event in events if isinstance(event, PoolTotals)]
    assert totals.asked == totals.calls == 5 * 6 and totals.cost > 0 and totals.model == "sees-digits"
    rows = {event.method: event for event in events if isinstance(event, SelectorCompared)}
    assert set(rows) == {"random", "rices", "selector"} and rows["rices"].n == 3
    notices = [event.text for event in events if isinstance(event, Notice)]
    # 3 steps with 32 queries and 2 rollouts; of 3 held-out queries 4 random pairs, RICES' and the last step's.
    assert f"the selector may ask sees-digits with up to {3 * 32 * 2 + 3 * (4 + 1 + 1)} pairs" in notices


def test_the_key_is_in_no_file_and_no_event(tmp_path: Path) -> None:
    """The server repeats it in what it refuses with, and that is kept as the pair's error."""
    with misbehaving_server(nearest_neighbour, [""] * 60 + ["401"] * 3) as server:
        events = [event for stage in STAGES for event in run_stage(stage, config(server), tmp_path)]
    log = b"".join(map(encode, events))
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    errors = [line["error"] for line in evaluated(tmp_path) if line["error"]]
    assert len(errors) == 3 and all("401 for Bearer ***" in error for error in errors)
    assert len(files) > 8 and all(KEY.encode() not in content for content in [log, *files])


def test_stopped_and_gone_on_with_nothing_is_paid_twice(tmp_path: Path) -> None:
    """Only what was under way when it stopped may be asked again."""
    with misbehaving_server(nearest_neighbour) as server:
        stops = sum(stops_of(stage, tmp_path, server) for stage in STAGES)
        sent = len(server.requests)
    kept = len(evaluated(tmp_path)) + len(layout.initial_evaluated(tmp_path).read_text().splitlines())
    workers = config(server).pool.vqa.openai.workers
    assert stops >= 3 and kept <= sent <= kept + stops * 2 * workers


def stops_of(stage: Stage, folder: Path, server: MisbehavingServer) -> int:
    """Run it with a stop after every 30 requests; how many there were."""
    stops = 0
    while stops < 100:
        limit = len(server.requests) + 30

        def checkpoint(limit: int = limit) -> None:
            if len(server.requests) >= limit:
                raise StopRequested

        context = StageContext(name_of(stage), config(server), folder, lambda event: None, checkpoint, None)  # type: ignore[arg-type]
        try:
            stage.run(context)
        except StopRequested:
            stops += 1
        else:
            break
    return stops


def test_without_a_key_it_says_which_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY")
    settings = {
        "vqa": {"kind": "openai", "openai": {"base_url": "https://llm.example/v1", "api_key_env": "TEST_KEY"}}
    }
    with pytest.raises(
        ConfigError,
        match=exactly(
            "pool.vqa.openai.api_key_env: found TEST_KEY, expected the environment variable TEST_KEY set to a "
            "key, or `api_key_env: none` for a server that needs none (configuration): correct this value"
        ),
    ):
        run_stage(STAGES[0], Config.model_validate({"pool": settings}), tmp_path)
