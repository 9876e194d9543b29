"""Paths of the stage's files, below `RUN/slsm`."""

from __future__ import annotations

from pathlib import Path


def folder(run_dir: Path) -> Path:
    """`RUN/slsm`."""
    return run_dir / "slsm"


def dialogues(run_dir: Path) -> Path:
    """The generated dialogues, as MultiChallenge's JSONL."""
    return folder(run_dir) / "dialogues.jsonl"


def turns(run_dir: Path) -> Path:
    """The model's own answers in earlier turns, where the data leaves them open."""
    return folder(run_dir) / "turns.jsonl"


def states(run_dir: Path) -> Path:
    """State after each turn: a line for each conversation, memory mode and turn."""
    return folder(run_dir) / "states.jsonl"


def answers(run_dir: Path) -> Path:
    """The model's answers: a line for each conversation, attempt and note."""
    return folder(run_dir) / "answers.jsonl"


def detections(run_dir: Path) -> Path:
    """Conflicts of first answers: a line for each conversation, memory mode and attempt."""
    return folder(run_dir) / "detections.jsonl"


def verdicts(run_dir: Path) -> Path:
    """The judge's verdicts: a line for each answer."""
    return folder(run_dir) / "verdicts.jsonl"


def results(run_dir: Path) -> Path:
    """Results: a line for each conversation, mode, memory mode and attempt."""
    return folder(run_dir) / "results.jsonl"


def modes(run_dir: Path) -> Path:
    """Scores and cost: a line for each mode and memory mode."""
    return folder(run_dir) / "modes.csv"


def summary(run_dir: Path) -> Path:
    """JSON: data set and its hash, controller, model, judge, failures."""
    return folder(run_dir) / "summary.json"
