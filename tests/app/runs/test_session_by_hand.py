"""What a session says and asks, without its thread: each step by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.runs import session as module
from app.runs.orders import UserMessage
from app.runs.session import RunSession
from app.state.run import RunState
from engine.errors import RunError
from engine.events import Notice, StageFailed, encode
from engine.run.directory import StageRecord
from engine.run.lock import RunLock
from tests.two_runs import make_run


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunSession:
    """Of a run with three events; its thread does nothing, and commands are sent at once."""
    path = make_run(tmp_path, "a", [Notice(text=str(n)) for n in range(3)], status="stopped")
    monkeypatch.setattr(RunSession, "_work", lambda self: None)
    session = RunSession(path, keep_every=2)
    monkeypatch.setattr(
        module.threading, "Thread", lambda target, args, **more: SimpleNamespace(start=lambda: target(*args))
    )
    return session


def folded(upto: int) -> RunState:
    state = RunState()
    for n in range(upto + 1):
        state.apply(Notice(text=str(n), seq=n, time=1.0 + n))
    return state


def test_what_is_new_is_shown_once(session: RunSession) -> None:
    assert session.update() and not session.update() and session.revision == 1
    assert session._fold_some() and not session._fold_some()
    assert (session.state.seq, session.behind, session.total_events, session.unread_bytes) == (-1, 3, 3, 0)
    assert session.update() and (session.state.seq, session.behind, session.revision) == (2, 0, 2)
    assert [point.seq for point in session._kept] == [-1, 2], "three events are at least two behind the first"


def test_events_that_this_version_does_not_know_are_counted_one_by_one(session: RunSession) -> None:
    """Two of one type and one of another are three, between the first events and a last one."""
    with session._directory.events.open("ab") as log:
        for seq, name in enumerate(("Sung", "Danced", "Sung"), start=3):
            log.write(b'{"type": "%s", "seq": %d, "time": 5.0}\n' % (name.encode(), seq))
        log.write(encode(Notice(text="last", seq=6, time=6.0)))
    session._fold_some()
    session.update()
    assert (session.state.unknown, session.state.seq) == (3, 6)


def test_while_it_is_frozen_only_the_number_of_events_behind_changes(session: RunSession) -> None:
    session.update()
    session.freeze()
    session._fold_some()
    before = session.revision
    assert session.update() and (session.state.seq, session.behind, session.revision) == (-1, 3, before + 1)
    session.seek(None)
    assert not session.frozen and session.state.seq == 2


def test_a_moment_that_is_sought_is_shown_when_it_is_folded(session: RunSession) -> None:
    session._fold_some()
    session.update()
    session.seek(1)
    assert session.cursor == 1 and session.update() is False and session.state.seq == 2
    session._follow_cursor()
    kept = session._at_cursor
    assert session.update() and (session.state.seq, session.behind) == (1, 1)
    session._follow_cursor()
    assert session._at_cursor is kept, "it is folded once"
    session.seek(None)
    assert session.cursor is None and session.state.seq == 2


def test_a_problem_is_told_once(session: RunSession) -> None:
    for text in ("torn", "torn", "gone"):
        session._note(text)
    session._note(RunError(what="gone"))
    assert session.take_messages() == [UserMessage("torn", "error"), UserMessage("gone", "error")]
    assert session.take_messages() == []


@pytest.mark.parametrize(
    ("command", "severity", "asked_before", "asked_after"),
    [
        ("stop", "information", False, True), ("stop", "error", False, False), ("pause", "error", True, True),
        ("pause", "information", False, False),
    ],
)  # fmt: skip
def test_a_stop_that_was_asked_for_is_remembered_unless_it_was_refused(
    command: str, severity: Any, asked_before: bool, asked_after: bool, session: RunSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    sent: list[str] = []

    def send_command(directory: Any, command: str) -> UserMessage:
        sent.append(command)
        return UserMessage("well", severity)

    monkeypatch.setattr(module, "send_command", send_command)
    session.stop_requested, session._looked_at = asked_before, 99.0
    session.send(command)
    assert (sent, session.stop_requested, session._looked_at) == ([command], asked_after, 0.0)
    assert session.take_messages() == [UserMessage("well", severity)]


def test_a_worker_that_has_stopped_takes_the_request_with_it(session: RunSession) -> None:
    session.stop_requested = True
    session.update()
    assert session.stop_requested, "nothing is known of the worker yet"
    lock = RunLock(session._directory.lock)
    session._looked_at = 0.0
    session._look_at_worker()
    session.update()
    assert session.stop_requested and session.status is not None and session.status.alive
    lock.release()
    session._looked_at += 60.0
    session._look_at_worker()
    session.update()
    assert session.stop_requested, "it is looked at once a second"
    session.poll_now()
    session._look_at_worker()
    assert session.update() and not session.stop_requested
    assert session.status is not None and session.status.state == "stopped"


def test_whether_all_of_the_log_is_read_and_whether_it_ends_with_a_failure(session: RunSession) -> None:
    assert not session.caught_up and not session.failed
    session._fold_some()
    assert session.caught_up
    failed = folded(2)
    failed.apply(StageFailed(stage="eval", what="no room", seq=3))
    session._latest = failed
    assert session.failed and session.state.failure is None
    session._directory.events.unlink()
    session._folded = -1
    assert session.caught_up, "there is nothing to read"


def test_a_log_that_ends_before_its_run_is_told_once_all_of_it_is_read(session: RunSession) -> None:
    """The record has a stage that is finished, of which the log of three events knows nothing."""
    record = session._directory.read()
    record.stages["eval"] = StageRecord(status="finished")
    session._directory.write(record)
    session._look_at_worker()
    assert session._fold_some() and session.update() and not session.log_is_cut
    for _ in range(2):
        assert not session._fold_some()
    told = UserMessage("The log ends before the run did: figures and rows may be missing.", "error")
    assert session.take_messages() == [told]
    assert session.update() and session.log_is_cut and not session.update()
    session.seek(1)
    session._follow_cursor()
    assert session.update() and not session.log_is_cut, "of a moment of the past nothing is missing"


def test_a_log_of_which_only_damaged_lines_are_left_is_read_to_its_end(session: RunSession) -> None:
    session._directory.events.write_bytes(b"?\n?\n")
    assert not session._fold_some() and session.caught_up and not session.log_is_cut
    with session._directory.events.open("ab") as log:
        log.write(b"?\n")
    assert not session._fold_some(), "more of them are not reported again"
    assert [message.text[:47] for message in session.take_messages()] == [
        "damaged lines of the log, passed over: 2; the f"
    ]


def test_a_session_ends_its_thread(tmp_path: Path) -> None:
    session = RunSession(make_run(tmp_path, "a", []))
    assert session._thread.name.startswith("tail ") and session._thread.daemon
    session.close()
    assert not session._thread.is_alive()
