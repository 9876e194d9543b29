"""What an evolution's roles miss on this machine, and what does without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.config.config import Config
from engine.evolution.from_config import make_judge, make_reflector
from engine.evolution.services import check_services, missing_services
from engine.run.stage import StageContext

LOCAL = {"openai": {"base_url": "http://127.0.0.1:9/v1"}}
OFFLINE = {
    "judge": {"kind": "numeric"},
    "reflector": {"kind": "statistical"},
    "server": {"kind": "in_process"},
}


def missing(**evolution: Any) -> dict[str, str]:
    """What is expected at each place."""
    config = Config.model_validate({"evolution": {**OFFLINE, **evolution}})
    return {problem.where: problem.allowed for problem in missing_services(config)}


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_what_needs_no_server_misses_nothing() -> None:
    assert missing() == {} == missing(judge=LOCAL, reflector=LOCAL), (
        "a server on this machine is asked without key"
    )
    assert missing(judge={"openai": {"api_key_env": "none"}}) == {}
    check_services(Config.model_validate({"evolution": OFFLINE}))


def test_a_key_is_missed_only_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    place = "evolution.judge.openai.api_key_env"
    assert list(missing(judge={})) == [place]
    assert missing(judge={})[place].endswith("or, offline, `evolution.judge.kind: auto`")
    assert list(missing(reflector={})) == ["evolution.reflector.openai.api_key_env"]
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    assert missing(judge={}) == {}


def test_judge_and_reflector_are_made_as_the_configuration_says(tmp_path: Path) -> None:
    (tmp_path / "system.txt").write_text("Be strict.")
    judge = {"tolerance": 0.2, "openai": {**LOCAL["openai"], "model": "j"}}
    reflector = {"system_prompt": str(tmp_path / "system.txt"), "openai": {**LOCAL["openai"], "model": "r"}}
    config = Config.model_validate({"evolution": {**OFFLINE, "judge": judge, "reflector": reflector}})
    nobody: Any = None
    context = StageContext("evolve", config, tmp_path, lambda event: None, lambda: None, nobody)
    judges: Any = make_judge(context)
    assert judges.name == "j" and "at most 0.2 of" in judges.messages("?", ["1"], "1")[0]["content"]
    reflects: Any = make_reflector(context)
    assert (reflects.name, reflects._system) == ("r", "Be strict.")


@pytest.mark.parametrize(
    ("command", "lacks"),
    [
        ("{python} -m sglang.launch_server --port {port}", True),
        ("{python} server_of_my_own.py --port {port}", False),
        ("/no/such/python -m sglang.launch_server", True),
        ("/bin/sh -c true", False),
    ],
)
def test_a_server_s_program_is_looked_for(monkeypatch: pytest.MonkeyPatch, command: str, lacks: bool) -> None:
    monkeypatch.setattr("engine.lm.sglang.command.package_version", lambda name: None)
    found = missing(server={"kind": "sglang", "command": command})
    assert list(found) == ["evolution.server.command"] * lacks
    assert all("or `evolution.server.kind: in_process`" in allowed for allowed in found.values())
