"""What a process beside a run's worker works with."""

from __future__ import annotations

from pathlib import Path

from engine.config.models.openai import OpenAISection
from engine.services.run_context import run_context
from tests.misbehaving_server import misbehaving_server


def test_what_its_servers_are_asked_is_counted_with_the_run(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("run: {stages: [slsm]}\n")
    context = run_context(tmp_path, "slsm")
    with misbehaving_server(lambda body: "hello") as server:
        section = OpenAISection(base_url=server.url, api_key_env="none")
        context.client(section, "model", "slsm.answers.openai").complete([{"role": "user", "content": "hi"}])
    (line,) = (tmp_path / "usage.jsonl").read_text().splitlines()
    assert '"stage":"slsm","role":"model"' in line
