"""One question with each lever on or off, as the console asks it."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest

from engine.esm import layout
from engine.events import LeversTried, decode
from engine.files import read_jsonl
from engine.levers.levers import Chosen, Levers
from engine.services import all_levers
from engine.services.what_if import serve


def test_each_lever_alone_then_all_and_what_does_not_fit(
    full_run: Path, levers: Levers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers are those that the levers give; the question is kept apart from the run's results."""
    run = tmp_path / "demo" / "run"
    run.mkdir(parents=True)
    shutil.copy(full_run / "config.yaml", run)
    monkeypatch.setattr(all_levers, "load_levers", lambda runs, section, load: levers)
    lines = read_jsonl(layout.evaluation(full_run, "esm") / "per_example.jsonl")
    question = next(line["question"] for line in lines if line["steered"])
    request = {"system": "levers", "question": question}
    replies = io.BytesIO()
    asked = [request, request | {"runs": ["../elsewhere"]}, request | {"model": "mine"}]
    serve(run, io.StringIO("".join(json.dumps(line) + "\n" for line in asked)), replies)
    first, *errors = replies.getvalue().splitlines(keepends=True)
    tried = decode(first)
    assert isinstance(tried, LeversTried)
    names = levers.names
    assert len(names) > 2 and [answer.levers for answer in tried.answers] == [
        [],
        *([n] for n in names),
        names,
    ]
    for answer in tried.answers:
        own = levers.prepare("question", [{"role": "user", "content": question}], Chosen(answer.levers))
        (alone,) = levers.answer([own])
        assert (answer.text, answer.tokens) == (alone.text, len(alone.tokens))
        assert [effect.lever for effect in answer.effects] == [did.lever for did in alone.did]
    assert any(effect.acted for answer in tried.answers for effect in answer.effects)
    assert {fit.lever for fit in tried.fits if not fit.fits} == {"demonstrations"}
    assert [next(iter(json.loads(error))) for error in errors] == ["error"] * 2
    assert (run / "levers" / "what_if.jsonl").read_bytes() == first
