"""What is said of a stage that was stopped: what is kept of the texts that were under way."""

from __future__ import annotations

import pytest

from app.batch.display import sentence as batch_sentence
from app.wording.stage_words import stage_words
from engine.events import StageStopped, decode
from engine.run.stage_state import StageState


@pytest.mark.parametrize(
    ("stop", "sentence", "words"),
    [
        (StageStopped(done=1200), "stopped; 1,200 finished are kept", "stopped, results kept"),
        (
            StageStopped(done=3, texts=16, tokens=1248, kept=True),
            "stopped; 3 finished are kept; a resume goes on with 16 texts (1,248 tokens)",
            "stopped, results kept; a resume goes on with 16 texts (1,248 tokens)",
        ),
        (
            StageStopped(done=0, texts=1, tokens=1),
            "stopped; 0 finished are kept; a resume writes 1 text (1 token) again",
            "stopped, results kept; a resume writes 1 text (1 token) again",
        ),
    ],
)
def test_a_stop_in_words(stop: StageStopped, sentence: str, words: str) -> None:
    assert batch_sentence(stop) == sentence
    assert stage_words(StageState("mine", status="stopped", stop=stop)) == words


def test_a_stop_of_an_older_log() -> None:
    stop = decode(b'{"type":"StageStopped","seq":9,"time":1.0,"stage":"mine","done":6}')
    assert isinstance(stop, StageStopped) and batch_sentence(stop) == "stopped; 6 finished are kept"
    assert stage_words(StageState("mine", status="stopped")) == "stopped, results kept"
