"""What a process beside a run's worker works with."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config.models.model import ModelSection
from engine.config.models.openai import OpenAISection
from engine.services import run_context as module
from engine.services.run_context import run_context, shared_model
from tests.misbehaving_server import misbehaving_server


def test_what_its_servers_are_asked_is_counted_with_the_run(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("run: {stages: [slsm]}\n")
    context = run_context(tmp_path, "slsm")
    with misbehaving_server(lambda body: "hello") as server:
        section = OpenAISection(base_url=server.url, api_key_env="none")
        context.client(section, "model", "slsm.answers.openai").complete([{"role": "user", "content": "hi"}])
    (line,) = (tmp_path / "usage.jsonl").read_text().splitlines()
    assert '"stage":"slsm","role":"model"' in line


def test_a_model_is_loaded_once_for_equal_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str | None] = []
    monkeypatch.setattr(module, "load_model", lambda section: loaded.append(section.path) or object())
    module._loaded.cache_clear()
    try:
        first, again = (shared_model(ModelSection(path="statements")) for _ in range(2))
        other = shared_model(ModelSection(path="arithmetic"))
    finally:
        module._loaded.cache_clear()
    assert first is again is not other and loaded == ["statements", "arithmetic"]
