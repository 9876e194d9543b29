"""Files of tensors and plain values: what is said of those that are none."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from engine.errors import DataError
from engine.torch_file import check_packed, load_torch, torch_threads
from tests.exactly import exactly

UNREADABLE = "the file cannot be read as tensors and plain values"


class Own:
    """What is saved whole, by pickled code."""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([1, 2], "the file holds no dictionary"),
        (Own(), f"{UNREADABLE}: it is not a tensor"),
        (None, f"{UNREADABLE}: No such file or directory"),
    ],
)
def test_what_holds_no_training_is_told(tmp_path: Path, content: object, said: str) -> None:
    path = tmp_path / "s.pt"
    if content is not None:
        torch.save(content, path)
    with pytest.raises(DataError, match=exactly(f"{said} ({path}): begin anew")):
        load_torch(path, "begin anew")


def test_an_archive_is_looked_at_only_where_it_is_a_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        check_packed(tmp_path)


def test_threads_are_as_before_where_the_work_fails() -> None:
    with torch_threads(3):
        with pytest.raises(KeyError), torch_threads(2):
            assert torch.get_num_threads() == 2
            raise KeyError
        assert torch.get_num_threads() == 3
