"""Where the stage keeps its files, below `RUN/slsm`."""

from __future__ import annotations

from pathlib import Path


def folder(run_dir: Path) -> Path:
    """`RUN/slsm`."""
    return run_dir / "slsm"


def dialogues(run_dir: Path) -> Path:
    """The generated dialogues, as MultiChallenge's JSONL."""
    return folder(run_dir) / "dialogues.jsonl"


def states(run_dir: Path) -> Path:
    """A line a conversation, memory mode and turn: the state after it."""
    return folder(run_dir) / "states.jsonl"


def answers(run_dir: Path) -> Path:
    """A line a prompt: conversation, attempt, note and the model's answer."""
    return folder(run_dir) / "answers.jsonl"


def detections(run_dir: Path) -> Path:
    """A line a conversation, memory mode and attempt: conflicts of the first answer."""
    return folder(run_dir) / "detections.jsonl"


def verdicts(run_dir: Path) -> Path:
    """A line an answer: whether it passes."""
    return folder(run_dir) / "verdicts.jsonl"


def results(run_dir: Path) -> Path:
    """A line a conversation, mode, memory mode and attempt."""
    return folder(run_dir) / "results.jsonl"


def modes(run_dir: Path) -> Path:
    """A line a mode and memory mode: scores and cost."""
    return folder(run_dir) / "modes.csv"


def summary(run_dir: Path) -> Path:
    """What was compared: data set and its hash, controller, model, judge; failures."""
    return folder(run_dir) / "summary.json"
