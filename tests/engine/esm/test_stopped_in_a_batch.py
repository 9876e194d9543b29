"""A run stopped in the middle of the texts of a batch: they are kept as far as they are written, and mining goes on to
the files of a run that nobody stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from app.batch.display import sentence
from engine.events import Notice, RolloutEnded, StageStopped, decode
from engine.lm.kept_texts import KeptTexts
from engine.lm.protocol import Working
from engine.lm.reporting import Reporting
from engine.run.directory import RunDirectory
from engine.run.gate import StopRequested
from engine.run.worker import STOPPED, run_worker
from tests.kill_and_resume import SYSTEMS, artefacts, prepared

SMALL = (*SYSTEMS["esm"], "run.stages=[mine]", "task.train_size=4", "offline_mine.batch_size_examples=4")


def worked(run: RunDirectory, monkeypatch: pytest.MonkeyPatch, stop_at: int = 0) -> tuple[int, int]:
    """The exit code of a worker that is stopped before a pass, and the tokens that it wrote."""
    passes, written = 0, dict[object, int]()

    class Stopping(Reporting):
        def __call__(self, call: object, working: Callable[[], Working]) -> None:
            nonlocal passes
            passes += 1
            written[call] = working().tokens
            if passes == stop_at:
                raise StopRequested
            super().__call__(call, working)

    monkeypatch.setattr("engine.run.worker.Reporting", Stopping)
    return run_worker(run.path), sum(written.values())


def check_same_files(run: RunDirectory, whole: RunDirectory) -> None:
    """Byte by byte, but for the last bits of vectors whose texts were left in their middle."""
    ours, theirs = artefacts(run), artefacts(whole)
    assert ours.keys() == theirs.keys() and "esm/mine/rollouts.jsonl" in ours
    for name in [name for name in ours if ours[name] != theirs[name]]:
        assert name.endswith(".pt"), name
        vectors = [torch.load(one.path / name, weights_only=True) for one in (run, whole)]
        torch.testing.assert_close(*vectors, rtol=1e-5, atol=1e-5)


def noted(run: RunDirectory) -> list[str | None]:
    """What is said of texts at each stop and at the beginning of each attempt."""
    events = [decode(line) for line in run.events.read_bytes().splitlines()]
    starts = [
        event.text for event in events if isinstance(event, Notice) and event.text.startswith("texts of")
    ]
    return [*starts, *(sentence(event) for event in events if isinstance(event, StageStopped))]


def test_mining_goes_on_in_the_middle_of_its_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """4 examples, 4 draws each: stopped after 23 tokens of each of 16 texts, and after 26 more; no token is written
    twice."""
    monkeypatch.setattr("engine.lm.kept_texts.FIRST", 0.0)
    whole, run = prepared(tmp_path, "whole", SMALL), prepared(tmp_path, "stopped", SMALL)
    code, tokens = worked(whole, monkeypatch)
    assert code == 0
    assert worked(run, monkeypatch, 25) == (STOPPED, 16 * 23)
    assert worked(run, monkeypatch, 30) == (STOPPED, 16 * 26)
    assert worked(run, monkeypatch) == (0, tokens - 16 * (23 + 26))
    assert not (run.path / "kept_texts.jsonl").exists()
    check_same_files(run, whole)
    assert noted(run) == [
        "texts of the last attempt: 16 begun (368 tokens); only what is missing is written",
        "texts of the last attempt: 16 begun (784 tokens); only what is missing is written",
        "stopped; 0 finished are kept; a resume goes on with 16 texts (368 tokens)",
        "stopped; 0 finished are kept; a resume goes on with 16 texts (784 tokens)",
    ]


def test_a_stop_within_the_first_seconds_says_what_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the same bits: nothing of it is kept."""
    whole, run = prepared(tmp_path, "whole", SMALL), prepared(tmp_path, "stopped", SMALL)
    worked(whole, monkeypatch)
    worked(run, monkeypatch, 25)
    worked(run, monkeypatch)
    assert artefacts(run) == artefacts(whole)
    assert noted(run) == ["stopped; 0 finished are kept; a resume writes 16 texts (368 tokens) again"]


def test_a_kill_loses_nothing_that_was_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is killed writes no more: the texts that had ended are on disk, those under way are not."""
    monkeypatch.setattr("engine.lm.kept_texts.FIRST", 0.0)
    monkeypatch.setattr("engine.lm.kept_texts.EVERY", 0.0)
    whole, run = prepared(tmp_path, "whole", SMALL), prepared(tmp_path, "killed", SMALL)
    worked(whole, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(KeptTexts, "leave", lambda *args: None)
        worked(run, monkeypatch, 60)
    log = run.events.read_bytes()
    ended = sum(isinstance(decode(line), RolloutEnded) for line in log.splitlines())
    assert 0 < ended < 16
    assert worked(run, monkeypatch)[0] == 0
    assert noted(run)[0] == f"texts of the last attempt: {ended} finished; only what is missing is written"
    check_same_files(run, whole)
