"""Lines of JSON that are answered one by one."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import IO

import pytest
import torch

from engine.errors import DataError, DiskError
from engine.services.line_service import Reply, error_line, kept_line, serve_console, serve_lines
from engine.torch_file import torch_threads


class Replies(io.BytesIO):
    """What the console has read so far: what was flushed."""

    def __init__(self) -> None:
        super().__init__()
        self.read_lines: list[bytes] = []

    def flush(self) -> None:
        self.read_lines = self.getvalue().splitlines()


def test_each_request_is_answered_before_the_next_is_read() -> None:
    """Beginning may fail: it is tried again at the next request, and once done it is not done again. Where a reply
    fails, the next is asked for as if nothing had been."""
    replies, begun, seen = Replies(), list[int](), list[int]()

    def requests() -> io.StringIO:
        class Watched(io.StringIO):
            def __next__(self) -> str:
                seen.append(len(replies.read_lines))
                return super().__next__()

        return Watched("one\ntwo\nwrong\nthree\n")

    def answer(line: str) -> bytes:
        if line == "wrong\n":
            raise DataError(what="this is wrong", where="line", hint="say another")
        return line.upper().encode()

    def begin() -> Reply:
        begun.append(1)
        if len(begun) == 1:
            raise DataError(what="not yet", where="run", hint="wait")
        return answer

    serve_lines(begin, requests(), replies)
    assert replies.read_lines == [
        b'{"error": "not yet (run): wait"}',
        b"TWO",
        b'{"error": "this is wrong (line): say another"}',
        b"THREE",
    ]
    assert len(begun) == 2 and seen == [0, 1, 2, 3, 4]


def test_a_reply_is_appended_to_a_file_of_the_run(tmp_path: Path) -> None:
    file = tmp_path / "esm" / "what_if.jsonl"
    assert [kept_line(file, line) for line in (b"1\n", b"2\n")] == [b"1\n", b"2\n"]
    assert file.read_bytes() == b"1\n2\n"
    with pytest.raises(DiskError):
        kept_line(file / "below a file", b"3\n")


def test_an_error_is_one_line_whatever_it_says() -> None:
    assert error_line('no "such"\nthing') == b'{"error": "no \\"such\\"\\nthing"}\n'


def test_the_console_is_served_with_one_thread_and_the_run_s_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[tuple[object, ...]] = []

    def serve(run_dir: Path, requests: IO[str], replies: IO[bytes]) -> None:
        served.append((run_dir, requests, replies, torch.get_num_threads()))

    monkeypatch.chdir(tmp_path)
    with torch_threads(2):
        serve_console(serve, Path("run"))
        assert torch.get_num_threads() == 2, "as before"
    assert served == [(tmp_path / "run", sys.stdin, sys.stdout.buffer, 1)]
