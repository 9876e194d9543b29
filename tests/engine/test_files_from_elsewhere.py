"""Pipes, devices and links in the place of data, deltas, clusters, vectors and models: nobody waits for them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.config.file import load_config
from engine.config.kconfig import read_kconfig
from engine.errors import ConfigError, SteerError
from engine.evolution.clusters.cluster_map import ABOUT_FILE, load_cluster_map
from engine.evolution.clusters.descriptions import read_descriptions
from engine.evolution.deltas import read_deltas
from engine.gflownet.graphs.pathquestion.files import _lines
from engine.lm.loading.gguf_file import _check_magic
from engine.pool.data.embedding_table import _safetensors
from engine.pool.data.image_url import _read
from engine.pool.data.records import read_rl_data
from engine.pool.data.vqa_files import read_vqa
from engine.slsm.multichallenge import read_dialogues
from engine.tasks.records import read_records
from engine.torch_file import load_torch
from engine.vectors.formats import read_vectors

READERS: dict[str, Callable[[Path], object]] = {
    "a task's data": lambda path: list(read_records(path)),
    "conversations": lambda path: read_dialogues(path, None),
    "deltas": lambda path: read_deltas(path, ["0"]),
    "descriptions": lambda path: read_descriptions(path, ["0"]),
    "clusters": lambda path: load_cluster_map(path.rename(path.with_name(ABOUT_FILE)).parent),
    "paths": lambda path: list(_lines(path)),
    "RL data": read_rl_data,
    "questions": lambda path: read_vqa(path, path),
    "an image": _read,
    "embeddings": _safetensors,
    "a training state": lambda path: load_torch(path, "run it again"),
    "vectors": read_vectors,
    "weights": lambda path: _check_magic(path, str(path)),
    "a .config": read_kconfig,
}


def pipe(path: Path) -> None:
    """Whoever opens it waits for a writer."""
    os.mkfifo(path)


def endless(path: Path) -> None:
    """Whoever reads it never comes to an end."""
    path.symlink_to("/dev/zero")


def dangling(path: Path) -> None:
    """A link to nothing."""
    path.symlink_to(path.with_name("nothing"))


@pytest.mark.parametrize("put", [pipe, endless, dangling])
@pytest.mark.parametrize("name", READERS)
def test_what_is_no_file_is_one_error(tmp_path: Path, name: str, put: Callable[[Path], None]) -> None:
    put(tmp_path / "x")
    with pytest.raises(SteerError):
        READERS[name](tmp_path / "x")


def test_a_configuration_from_a_pipe_of_the_command_is_read_once_and_known_twice() -> None:
    """`--config <(sed …)`: several parts of the program ask for it."""
    end = given("run: {name: piped}")
    assert [load_config(Path(f"/dev/fd/{end}")).run.name for _ in range(2)] == ["piped", "piped"]


def test_an_endless_configuration_from_a_pipe_is_one_error() -> None:
    end = given("# " + "x" * (1 << 19))
    with pytest.raises(ConfigError, match="found more than 262,144 characters, too many for a configuration"):
        load_config(Path(f"/proc/self/fd/{end}"))


def given(text: str) -> int:
    """A descriptor to read the text from, as a shell gives it. It stays open: another pipe gets another number."""
    end, other = os.pipe()

    def write() -> None:
        with os.fdopen(other, "w") as file:
            file.write(text)

    threading.Thread(target=write, daemon=True).start()
    return end
