"""Which repository of the hub holds each data set, and which of its files hold which split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.errors import DataError
from engine.tasks.hub import PREFIX, cached_files, fetch, hub_name
from engine.tasks.split_files import SUFFIXES, split_files


@dataclass(frozen=True)
class HubFiles:
    """Files of the hub's data set `name` that match `pattern` (as in fnmatch)."""

    name: str
    pattern: str

    @property
    def shown(self) -> str:
        """The data set as a configuration names it."""
        return f"{PREFIX}{self.name}"


HUB: Mapping[str, Mapping[str, HubFiles]] = {
    "gsm8k": {split: HubFiles("openai/gsm8k", f"main/{split}-*.parquet") for split in ("train", "test")},
    # MATH-500 itself has only a test split; MATH's own training split shares no problem with it.
    "math500": {
        "train": HubFiles("DigitalLearningGmbH/MATH-lighteval", "data/train-*.parquet"),
        "test": HubFiles("HuggingFaceH4/MATH-500", "test.jsonl"),
    },
    "arc-c": {
        split: HubFiles("allenai/ai2_arc", f"ARC-Challenge/{split}-*.parquet")
        for split in ("train", "validation", "test")
    },
    # Mining uses 2022 to 2024, evaluation 2025.
    "aime": {
        "train": HubFiles("AI-MO/aimo-validation-aime", "data/train-*.parquet"),
        "test": HubFiles("math-ai/aime25", "test.jsonl"),
        "2024": HubFiles("HuggingFaceH4/aime_2024", "data/train-*.parquet"),
    },
}
"""The files of each task by data set and split."""
_PREFERRED = ("main", "ARC-Challenge", "data", "default")
"""Folders with a data set's default form, preferred to others: GSM8K also has `socratic`, ARC also ARC-Easy."""
_SUFFIXES = {"arc-c": tuple(suffix for suffix in SUFFIXES if suffix != ".csv")}
"""ARC's archive has each split as JSONL, and as CSV whose questions include the choices."""
_SETTING = "task.path"


def task_files(dataset: str, path: str | None, split: str) -> list[Path]:
    """The files of a task's split: from `path` (a file, a folder or `hub:owner/name`), else from the hub.
    Raises DataError."""
    hub, suffixes = hub_name(path), _SUFFIXES.get(dataset, SUFFIXES)
    if hub is not None:
        return split_files(fetch(hub, [f"*{split}*"], _SETTING), split, _SETTING, suffixes, _PREFERRED)
    if path is not None:
        local = Path(path).expanduser()
        return [local] if local.is_file() else split_files(local, split, _SETTING, suffixes, _PREFERRED)
    source = _source(dataset, split)
    folder = fetch(source.name, [source.pattern], _SETTING)
    return sorted(folder.glob(source.pattern))


def is_here(dataset: str, path: str | None, split: str) -> bool:
    """Whether `task_files` would fetch nothing; the content of a local path is not checked. Raises DataError."""
    hub = hub_name(path)
    if hub is not None:
        return cached_files(hub, [f"*{split}*"]) is not None
    if path is not None:
        return Path(path).expanduser().exists()
    source = _source(dataset, split)
    return cached_files(source.name, [source.pattern]) is not None


def _source(dataset: str, split: str) -> HubFiles:
    if split not in HUB[dataset]:
        raise DataError(
            what=f"{dataset} has no split `{split}` on the hub",
            where="task.train_split, task.eval_split",
            hint=f"choose one of {', '.join(HUB[dataset])}, or name your own files in {_SETTING}",
        )
    return HUB[dataset][split]
