"""The processes that answer the screens: started from this copy whatever lies about, and heard when they die."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.runs.queries import line_process
from app.runs.queries.line_process import LineProcess
from engine.errors import SteerError

KEY = "sk-very-secret-12345"
DYING = f"""\
import sys
sys.stdin.readline()
sys.stderr.write("." * 100_000 + "\\nfirst\\n\\nhttp://me:hunter2@host said {KEY} and {KEY[::-1]}\\n")
sys.exit("no such thing: " + "x" * 100)
"""


@pytest.mark.parametrize("command", ["chat", "what-if"])
async def test_a_package_named_engine_in_the_working_folder_is_none_of_ours(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "engine").mkdir()
    for name in ("__init__.py", "__main__.py"):
        (tmp_path / "engine" / name).write_text("raise SystemExit('this is another engine')\n")
    monkeypatch.chdir(tmp_path)
    process = LineProcess(command, tmp_path / "no-run")
    with pytest.raises(SteerError) as failure:
        await process.request({})
    assert "config.yaml" in str(failure.value) and "another engine" not in str(failure.value)
    await process.close()


async def test_the_last_words_of_a_process_are_told_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.yaml").write_text("slsm:\n  controller: {api_key_env: MINE}\n")
    monkeypatch.setenv("MINE", KEY)
    monkeypatch.setenv("OTHER_TOKEN", KEY[::-1])
    monkeypatch.setattr(line_process, "engine_command", lambda *_: [sys.executable, "-c", DYING])
    process = LineProcess("chat", tmp_path)
    for _ in range(2):  # the second time in a process of its own
        with pytest.raises(SteerError) as failure:
            await asyncio.wait_for(process.request({}), 20)
        text = str(failure.value)
        assert "(exit code 1): first / http://***@host said *** and *** / no such thing: xxx" in text
        assert len(text) < 1_000
    await process.close()


SLOW = """\
import sys, time
for line in sys.stdin:
    time.sleep(0.3)
    sys.stdout.write(line)
    sys.stdout.flush()
"""


async def test_a_process_that_has_ended_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that works is kept."""
    begun: list[Any] = []

    async def begin(*command: str, **options: Any) -> Any:
        begun.append(SimpleNamespace(returncode=None, stderr=asyncio.StreamReader()))
        return begun[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", begin)
    process = LineProcess("chat", tmp_path)
    assert await process._running() is await process._running() is begun[0]
    begun[0].returncode = 0
    assert await process._running() is await process._running() is begun[1] and len(begun) == 2


async def test_a_reply_that_nobody_waits_for_any_more_goes_to_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A screen was closed before its answer came; the next question gets its own."""
    monkeypatch.setattr(line_process, "engine_command", lambda *_: [sys.executable, "-c", SLOW])
    process = LineProcess("what-if", tmp_path)
    first = asyncio.create_task(process.request({"question": 1}))
    while process._process is None:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    first.cancel()
    assert await asyncio.wait_for(process.request({"question": 2}), 60) == b'{"question": 2}\n'
    await process.close()
