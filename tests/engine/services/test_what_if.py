"""The process that answers "what if", one line in and one line out, whatever the method."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.config.section import Section
from engine.events import LeversTried
from engine.services import what_if
from tests.two_runs import make_run


class Form(Section):
    """What can be asked."""

    say: str = ""


class Echo:
    """Answers with what was said."""

    stage, form = "eval", Form

    def __init__(self, context: object) -> None:
        pass

    def tried(self, asked: Form) -> LeversTried:
        return LeversTried(question=asked.say, model="m", fits=[], answers=[])


def test_a_reply_is_an_event_of_its_methods_stage_and_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_if, "kind_of", lambda system: Echo)
    monkeypatch.setattr(what_if, "run_context", lambda run_dir, stage: None)
    monkeypatch.setattr(what_if, "time", SimpleNamespace(time=lambda: 12.5))
    (tmp_path / "esm").mkdir()
    reply = what_if.WhatIfs(tmp_path).reply('{"say": "why?"}')
    told: dict[str, Any] = json.loads(reply)
    assert (told["stage"], told["time"], told["question"]) == ("eval", 12.5, "why?")
    assert [json.loads(line) for line in (tmp_path / "esm/what_if.jsonl").read_text().splitlines()] == [told]


def test_an_answer_that_differs_says_which_programs_are_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert what_if.WhatIfs(tmp_path)._versions() == "", "a folder without record"
    run = make_run(tmp_path, "run", [], versions={"python": "3.11", "torch": "2.9"})
    monkeypatch.setattr(what_if, "versions", lambda: {"python": "3.11", "torch": "2.13", "vllm": "0.32"})
    assert what_if.WhatIfs(run)._versions() == "; torch was 2.9, is 2.13"
