"""What files of a run take from its events."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from engine import events
from engine.events import (
    Event,
    Notice,
    OracleTotal,
    PoolTotals,
    SelectorCompared,
    SelectorPick,
    SelectorPicked,
    StageProgress,
    added_fields,
    decode,
    decode_all,
    encode,
    logged_without_envelope,
    without_envelope,
)
from tests.exactly import exactly

PICK = SelectorPick(method="rices", pointer=[0, 1], pair=[7, 9], answer="2", score=None)
PICKED = SelectorPicked(
    seq=3, time=1.0, stage="selector", query_id="a", question="?", answers={"2": 10}, pool=[7, 9], picks=[PICK]
)  # fmt: skip


def test_a_line_is_what_the_log_writes_without_its_envelope() -> None:
    """Defaults are left out, in the event and inside it; names keep their order."""
    pick = {"method": "rices", "pointer": [0, 1], "pair": [7, 9], "answer": "2", "score": None}
    line = logged_without_envelope(PICKED)
    assert line == {"query_id": "a", "question": "?", "answers": {"2": 10}, "pool": [7, 9], "picks": [pick]}
    assert list(line) == ["query_id", "question", "answers", "pool", "picks"]


def test_a_failures_hint_has_the_name_that_logs_have_it_under() -> None:
    failed = events.StageFailed(stage="eval", what="no place", where="/data", hint="make room")
    logged = {
        "type": "StageFailed",
        "stage": "eval",
        "what": "no place",
        "where": "/data",
        "mend": "make room",
    }
    assert msgspec.to_builtins(failed) == logged


@pytest.mark.parametrize(
    ("number", "time", "told"),
    [
        (1, "100000000000000000000.0", "number 1 or time 1e+20 cannot be"),
        (1, "123456789012.25", "number 1 or time 1.23457e+11 cannot be"),
        (2, "-0.5", "number 2 or time -0.5 cannot be"),
        (-1, "0.0", "number -1 or time 0 cannot be"),
    ],
)
def test_a_time_that_cannot_be_is_told_in_few_digits(number: int, time: str, told: str) -> None:
    with pytest.raises(msgspec.DecodeError, match=exactly(told)):
        decode(f'{{"type":"StageProgress","seq":{number},"time":{time},"done":1,"total":3}}'.encode())


def test_the_first_number_and_the_latest_time_can_be() -> None:
    for time in ("0.0", "99999999999.0"):
        line = f'{{"type":"StageProgress","seq":0,"time":{time},"done":1,"total":3}}'.encode()
        assert decode(line) == StageProgress(seq=0, time=float(time), done=1, total=3)


def test_all_fields_include_the_defaults() -> None:
    total = OracleTotal(mean=0.5, positive=1, low=0.1, high=0.9)
    totals = PoolTotals(
        seq=4, stage="pools", queries=2, before=total, after=total, left_out={}, heldout=1,
        injected=0, warnings=0, dropped={}, rules={}, asked=0, failed=0, calls=0, tokens=0, cost=0.0,
    )  # fmt: skip
    fields = without_envelope(totals)
    assert list(fields) == added_fields(PoolTotals)
    assert fields["before"] == {"mean": 0.5, "positive": 1, "low": 0.1, "high": 0.9}
    assert fields["model"] == "" and not {"type", "seq", "time", "stage"} & set(fields)


def test_columns_are_the_fields_of_the_type_alone() -> None:
    assert added_fields(SelectorCompared)[:3] == ["method", "n", "accuracy"]
    assert not {"type", "seq", "time", "stage"} & set(added_fields(SelectorCompared))


@pytest.mark.parametrize("field", ["done", "more"])
@pytest.mark.parametrize(
    ("number", "kept"), [(2**63 - 1, True), (2**63, False), (-(2**63), True), (-(2**63) - 1, False)]
)
def test_a_whole_number_has_64_bits_with_its_sign(field: str, number: int, kept: bool) -> None:
    """Also one in a field that this version does not know; a larger one fits no table."""
    other = "more" if field == "done" else "done"
    line = f'{{"type":"StageProgress","seq":1,"time":1.0,"total":3,"{other}":1,"{field}":{number}}}'.encode()
    if kept:
        assert decode(line).__class__.__name__ == "StageProgress"
        return
    with pytest.raises(msgspec.DecodeError, match="64 bits"):
        decode(line)


def test_types_of_other_packages_are_those_that_their_modules_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what else stands there: `Event`, other classes, values."""

    class PaceTold(Event, frozen=True):
        pace: float

    module = SimpleNamespace(Event=Event, PaceTold=PaceTold, Path=Path, limit=3, Notice=Notice)
    monkeypatch.setattr(events, "plugins", lambda group: {"pace": module} if group == "events" else {})
    kinds = events.event_types.__wrapped__()
    assert kinds == (*events.EVENT_TYPES, PaceTold)


LINES = (Notice(seq=1, time=1.0, text="a"), Notice(seq=2, time=2.0, text="b"))


@pytest.mark.parametrize(
    "changes", [{}, {"time": -1.0}, {"time": 1e11}, {"seq": -1}, {"text": "1 [ 1234567890123456789"}], ids=str
)
def test_lines_are_decoded_together_where_each_is_what_decode_takes(changes: dict[str, Any]) -> None:
    """Else, or where a long number may stand in one, each is looked at alone."""
    lines = [LINES[0], msgspec.structs.replace(LINES[1], **changes)]
    whole = b"".join(map(encode, lines)).removesuffix(b"\n")
    assert decode_all(whole, 2) == (None if changes else lines)


def test_a_line_that_is_nested_without_end_is_none() -> None:
    """Lines that hold it are looked at one by one."""
    deep = encode(LINES[0]).rstrip(b"}\n") + b',"more":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with pytest.raises(msgspec.DecodeError, match=exactly("nested too deeply")):
        decode(deep)
    assert decode_all(deep, 1) is None


def test_what_all_events_have_in_common_is_no_event() -> None:
    assert Event not in events.EVENT_TYPES
    assert decode(b'{"type":"Event","seq":1,"time":1.0}') == events.Unknown("Event")
