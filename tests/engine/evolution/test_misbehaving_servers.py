"""An evolution whose judge and reflector are a server that misbehaves: it ends, and the key is nowhere."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from engine.config.file import load_config
from engine.events import encode
from engine.evolution import layout
from engine.evolution.clusters.clusters_stage import BuildClusters
from engine.evolution.evolve_stage import Evolve
from engine.evolution.history import read_history
from engine.lm.loading.load import load_model
from engine.run.stage import StageContext
from tests.kill_and_resume import DEMO, SMALL_EVOLUTION
from tests.misbehaving_server import misbehaving_server
from tests.run_stage import name_of

KEY = "sk-very-secret-0123456789"
FAULTS = (
    "429",
    "torn body",
    "",
    "text is no JSON",
    "no completion",
    "",
    "refusal",
    "500",
    "truncated",
    "",
    "NaN",
)


def answer(body: dict[str, Any]) -> str:
    """What judge and reflector are asked for."""
    schema = body["response_format"]["json_schema"]["schema"]["properties"]
    if "correct" in schema:
        return json.dumps({"reasoning": f"compared by {KEY}", "correct": True})
    names = schema["deltas"]["required"]
    return json.dumps({"deltas": dict.fromkeys(names, 0.0) | {"0": 0.3}, "summary": f"Ends sooner, {KEY}."})


@pytest.mark.usefixtures("unchecked_processors")
def test_faults_of_both_servers_end_no_run_and_leave_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    with misbehaving_server(answer, FAULTS * 4) as server:
        openai = f"{{base_url: '{server.url}', api_key_env: TEST_KEY, timeout: 2.0, retries: 1}}"
        changes = [f"evolution.{part}={{kind: openai, openai: {openai}}}" for part in ("judge", "reflector")]
        config = load_config(
            DEMO, [*SMALL_EVOLUTION, "evolution.validation_size=4", "evolution.test_size=4", *changes]
        )
        model = load_model(config.evolution_model)
        events: list[bytes] = []
        for stage in (BuildClusters(), Evolve()):
            stage.run(
                StageContext(
                    name_of(stage), config, tmp_path, lambda event: events.append(encode(event)), lambda: None,
                    lambda section: model,
                )
            )  # fmt: skip
        assert len(server.requests) > len(FAULTS), "the servers were asked"
        assert all(f"Bearer {KEY}" in sent.values() for sent in server.headers)
    history = read_history(layout.history(tmp_path))
    assert [item.iteration for item in history.iterations] == [0, 1, 2]
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 10
    assert not [str(path) for path in written if KEY.encode() in path.read_bytes()]
    assert not [line for line in events if KEY.encode() in line]
    assert KEY not in caplog.text
