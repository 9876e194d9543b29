"""Where data sets live on the hub: whose copy, and which of its files hold which split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.errors import DataError
from engine.tasks.hub import PREFIX, cached_files, fetch, hub_name
from engine.tasks.split_files import SUFFIXES, split_files


@dataclass(frozen=True)
class HubFiles:
    """`pattern`: of the files in the data set `name`, as fnmatch reads it."""

    name: str
    pattern: str

    @property
    def shown(self) -> str:
        """As a configuration may name it."""
        return f"{PREFIX}{self.name}"


HUB: Mapping[str, Mapping[str, HubFiles]] = {
    "gsm8k": {split: HubFiles("openai/gsm8k", f"main/{split}-*.parquet") for split in ("train", "test")},
    # MATH-500 itself has a test alone; MATH's own training split shares no problem with it.
    "math500": {
        "train": HubFiles("DigitalLearningGmbH/MATH-lighteval", "data/train-*.parquet"),
        "test": HubFiles("HuggingFaceH4/MATH-500", "test.jsonl"),
    },
    "arc-c": {
        split: HubFiles("allenai/ai2_arc", f"ARC-Challenge/{split}-*.parquet")
        for split in ("train", "validation", "test")
    },
    # Mined are 2022 to 2024, evaluated is 2025.
    "aime": {
        "train": HubFiles("AI-MO/aimo-validation-aime", "data/train-*.parquet"),
        "test": HubFiles("math-ai/aime25", "test.jsonl"),
        "2024": HubFiles("HuggingFaceH4/aime_2024", "data/train-*.parquet"),
    },
}
"""Of the tasks: by data set and split."""
_PREFERRED = ("main", "ARC-Challenge", "data", "default")
"""Folders that hold a data set's usual form, beside others: GSM8K also has `socratic`, ARC also ARC-Easy."""
_SUFFIXES = {"arc-c": tuple(suffix for suffix in SUFFIXES if suffix != ".csv")}
"""ARC's archive has each split as JSONL, and as a CSV whose choices stand within the question."""
_SETTING = "task.path"


def task_files(dataset: str, path: str | None, split: str) -> list[Path]:
    """The files of a task's split: of `path` (a file, a folder or `hub:owner/name`), else of the hub. Raises
    DataError."""
    named, suffixes = hub_name(path), _SUFFIXES.get(dataset, SUFFIXES)
    if named is not None:
        return split_files(fetch(named, [f"*{split}*"], _SETTING), split, _SETTING, suffixes, _PREFERRED)
    if path is not None:
        local = Path(path).expanduser()
        return [local] if local.is_file() else split_files(local, split, _SETTING, suffixes, _PREFERRED)
    source = _source(dataset, split)
    folder = fetch(source.name, [source.pattern], _SETTING)
    return sorted(folder.glob(source.pattern))


def is_here(dataset: str, path: str | None, split: str) -> bool:
    """Whether `task_files` would fetch nothing; what a local path holds is another question. Raises DataError."""
    named = hub_name(path)
    if named is not None:
        return cached_files(named, [f"*{split}*"]) is not None
    if path is not None:
        return Path(path).expanduser().exists()
    source = _source(dataset, split)
    return cached_files(source.name, [source.pattern]) is not None


def _source(dataset: str, split: str) -> HubFiles:
    if split not in HUB[dataset]:
        raise DataError(
            what=f"{dataset} has no split `{split}` on the hub",
            where="task.train_split, task.eval_split",
            mend=f"choose one of {', '.join(HUB[dataset])}, or name files of your own in {_SETTING}",
        )
    return HUB[dataset][split]
