"""The end of what a process wrote before it ended."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.runs.error_output import ErrorOutput, redactor


async def last_of(text: bytes, run: Path) -> str:
    stream = asyncio.StreamReader()
    stream.feed_data(text)
    stream.feed_eof()
    return await ErrorOutput(stream, run).last_lines()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"one\ntwo\n\n three \nfour\n", "two / three / four"), (b"", ""), (b"\n\n", ""), (b"\xff", "\ufffd"),
        (b"x" * 500, "x" * 400), (b"a\n" + b"y" * 9000, "y" * 400),
        (b"z" * 390 + b"the end is told", "z" * 385 + "the end is told"),
    ],
)  # fmt: skip
async def test_three_lines_and_four_hundred_letters_are_kept(text: bytes, said: str, tmp_path: Path) -> None:
    assert await last_of(text, tmp_path) == said


async def test_a_stream_that_stays_open_is_not_waited_for(tmp_path: Path) -> None:
    """A process's children may hold it open."""
    stream = asyncio.StreamReader()
    stream.feed_data(b"last\n")
    output = ErrorOutput(stream, tmp_path)
    await asyncio.sleep(0)
    assert await output.last_lines(patience=0.01) == "last"


@pytest.mark.parametrize(
    "config", ["judge:\n  api_key_env: MINE\n", '{"api_key_env": "MINE"}', "{api_key_env: 'MINE'}"]
)
def test_keys_that_the_configuration_names_are_struck(
    config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "plain-words-of-mine")
    assert redactor(tmp_path)("a plain-words-of-mine b") == "a plain-words-of-mine b"
    (tmp_path / "config.yaml").write_text(config)
    assert redactor(tmp_path)("a plain-words-of-mine b plain-words-of-mine") == "a *** b ***"


def test_users_and_passwords_in_addresses_are_struck(tmp_path: Path) -> None:
    redact = redactor(tmp_path)
    assert (
        redact("http://me:pw@host/a@b https://x/y@z ann@host") == "http://***@host/a@b https://x/y@z ann@host"
    )
