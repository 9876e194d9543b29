"""What a server's log says."""

from __future__ import annotations

from pathlib import Path

from engine.processes.server_process import ServerProcess


def test_before_a_start_the_last_lines_are_those_of_an_earlier_process(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    process = ServerProcess(log, grace=1.0)
    assert process.tail() == [] and not process.running and process.exit_code is None
    log.write_text("one\ntwo\nthree\n")
    assert process.tail() == ["one", "two", "three"] and process.tail(2) == ["two", "three"]
