"""What of the hub's cache is taken, and what is fetched: the hub's library is invented here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from engine.errors import DataError
from engine.tasks.hub import cached_files, fetch
from engine.tasks.sources import is_here, task_files
from engine.tasks.split_files import missing_shards
from tests.exactly import exactly

PATTERN = "main/test-*.parquet"


class Hub:
    """`snapshot_download`: what was asked for; `online`: what puts the files into the folder, or raises."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[dict[str, Any]] = []
        self.online: Callable[[], object] = lambda: None

    def download(self, name: str, **more: Any) -> str:
        self.asked.append({"name": name, **more})
        if not more.get("local_files_only"):
            self.online()
        elif not self.folder.is_dir():
            raise FileNotFoundError
        return str(self.folder)

    def put(self, *names: str) -> None:
        for name in names:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).touch()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    made = Hub(tmp_path / "snapshot")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", made.download)
    return made


def test_what_is_cached_is_not_asked_for(hub: Hub) -> None:
    hub.put("main/test-00000-of-00001.parquet", "README.md")
    assert fetch("o/n", [PATTERN], "task.path") == hub.folder
    assert [one.get("local_files_only") for one in hub.asked] == [True]
    assert hub.asked[0] == {"name": "o/n", "repo_type": "dataset", "local_files_only": True}


@pytest.mark.parametrize(
    ("names", "patterns"),
    [
        ([], [PATTERN]),
        (["main/train-00000-of-00001.parquet"], [PATTERN]),
        (["main/test-00000-of-00002.parquet"], [PATTERN]),
        (["a.json"], ["a.json", "b.json"]),
    ],
    ids=["nothing", "another split", "a shard of two", "one of two files"],
)
def test_what_is_not_whole_in_the_cache_is_fetched(hub: Hub, names: list[str], patterns: list[str]) -> None:
    hub.put("README.md", *names)
    assert cached_files("o/n", patterns) is None
    hub.online = lambda: hub.put("main/test-00000-of-00001.parquet", "a.json", "b.json")
    assert fetch("o/n", patterns, "task.path") == hub.folder
    assert hub.asked[-1] == {
        "name": "o/n", "repo_type": "dataset", "allow_patterns": patterns, "etag_timeout": 10.0,
    }  # fmt: skip


def test_several_files_that_are_all_in_the_cache_are_not_fetched(hub: Hub) -> None:
    hub.put("README.md", "a.json", "b.json")
    assert fetch("o/n", ["a.json", "b.json"], "task.path") == hub.folder
    assert hub.asked == [{"name": "o/n", "repo_type": "dataset", "local_files_only": True}]


def test_a_data_set_without_the_file_says_which_it_would_be(hub: Hub) -> None:
    hub.put("README.md")
    words = (
        f"the data set has no such file (hub:o/n): go online, or copy {PATTERN}, b.json of "
        "https://huggingface.co/datasets/o/n to a folder and name it in task.path"
    )
    with pytest.raises(DataError, match=exactly(words)):
        fetch("o/n", [PATTERN, "b.json"], "task.path")


def test_a_hub_out_of_reach_says_why_in_a_line(hub: Hub) -> None:
    def fails() -> None:
        raise ConnectionError("\n  no way to the hub\nmore")

    hub.online = fails
    with pytest.raises(DataError) as caught:
        fetch("o/n", [PATTERN], "task.path")
    assert caught.value.what == "the data set cannot be fetched: no way to the hub"
    assert cached_files("o/n", [PATTERN]) is None, "there is no folder yet"


def test_of_a_long_reason_200_letters_are_told(hub: Hub) -> None:
    def fails() -> None:
        raise ConnectionError("no" * 300)

    hub.online = fails
    with pytest.raises(DataError) as caught:
        fetch("o/n", [PATTERN], "task.path")
    assert caught.value.what == f"the data set cannot be fetched: {'no' * 100}"


def test_shards_that_lie_in_two_folders_are_two_sets_of_shards() -> None:
    shards = [
        "a/x-00001-of-00002.parquet",
        "b/x-00000-of-00002.parquet",
        "b/x-00000-of-00003.parquet",
        "y.parquet",
    ]
    assert missing_shards(shards) == [
        "x-00000-of-00002", "x-00001-of-00002", "x-00001-of-00003", "x-00002-of-00003",
    ]  # fmt: skip


def test_the_files_of_a_task(hub: Hub) -> None:
    assert not is_here("gsm8k", None, "test") and not is_here("gsm8k", "hub:me/mine", "test")
    hub.put("main/train-00000-of-00001.parquet")
    assert not is_here("gsm8k", None, "test") and is_here("gsm8k", None, "train")
    hub.put("main/test-00000-of-00001.parquet", "socratic/test-00000-of-00001.parquet")
    assert is_here("gsm8k", None, "test") and is_here("gsm8k", "hub:me/mine", "test")
    assert task_files("gsm8k", None, "test") == [hub.folder / "main/test-00000-of-00001.parquet"]
    assert task_files("gsm8k", "hub:me/mine", "test") == [hub.folder / "main/test-00000-of-00001.parquet"]
    assert [one["name"] for one in hub.asked[-2:]] == ["openai/gsm8k", "me/mine"]
    assert is_here("gsm8k", str(hub.folder), "test") and not is_here("gsm8k", "/nowhere", "test")


def test_the_shards_of_a_task_come_in_order(hub: Hub) -> None:
    names = [f"test-{number:05d}-of-00009.parquet" for number in range(9)]
    hub.put(*(f"main/{name}" for name in (*names[4:], *reversed(names[:4]))))
    assert [path.name for path in task_files("gsm8k", None, "test")] == names


def test_a_path_below_the_user_s_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is taken as it is, whatever its name; in a folder the split is looked for. Nothing is asked of the hub."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "data").mkdir()
    file, other = tmp_path / "data/test.jsonl", tmp_path / "data/mine.txt"
    for path in (file, other):
        path.touch()
    assert task_files("gsm8k", "~/data/mine.txt", "test") == [other]
    assert task_files("gsm8k", "~/data", "test") == [file]
    assert is_here("gsm8k", "~/data", "test") and not is_here("gsm8k", "~/none", "test")
