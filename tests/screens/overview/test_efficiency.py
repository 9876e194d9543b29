"""Where time, tokens and memory went, worked out by hand."""

from __future__ import annotations

import pytest

from app.blocks.block import Paragraph, Table, plain
from app.state.run import RunState
from engine import events as ev
from screens.overview.efficiency import efficiency_blocks

MINE = ev.StageProgress(stage="mine", done=1, total=1, elapsed=90.0, tokens=900, resident=500_000_000)
EVAL = ev.StageProgress(stage="eval", done=1, total=1, elapsed=30.0, tokens=600, resident=2_000_000_000)


def drawn(*events: ev.Event) -> tuple[list[str], list[list[str]]]:
    """Its lines, and the rows of its table."""
    state = RunState()
    state.apply(ev.Header(schema_version=1, name="x", run_id="1", seed=0, stages=["mine", "eval"]))
    for event in events:
        state.apply(event)
    blocks = efficiency_blocks(state, list(state.stages.values()), 80)
    lines = [plain(block.text) for block in blocks if isinstance(block, Paragraph)]
    tables = [block for block in blocks if isinstance(block, Table)]
    return lines, [[plain(cell) for cell in row] for table in tables for row in (table.header, *table.rows)]


def finished(stage: str, seconds: float) -> ev.Event:
    return ev.StageFinished(stage=stage, seconds=seconds)


def test_before_anything_worked() -> None:
    assert drawn() == (["No stage has worked yet."], [])


def test_shares_and_sums() -> None:
    """90 of 120 s are three quarters: six of eight signs."""
    lines, rows = drawn(MINE, finished("mine", 90.0), EVAL, finished("eval", 30.0))
    assert lines[0] == "2:00 of work, 1,500 tokens; no server was asked, nothing was paid"
    assert rows[0] == ["stage", "share of the time", "time", "tokens", "tokens/s", "memory"]
    assert rows[1][:4] == ["mine", "━━━━━━──  75%", "1:30", "900"] and rows[1][5] == "500 MB"
    assert rows[2][:4] == ["eval", "━━──────  25%", "0:30", "600"] and rows[2][5] == "2.0 GB"
    assert rows[3] == ["all", "", "2:00", "1,500", "", ""]


def test_only_what_a_new_attempt_counts_anew_is_added() -> None:
    """900 told of twice are 900; after 400, which begin anew, 1,300."""
    told = [
        ev.StageProgress(stage="mine", done=1, total=9, elapsed=s, tokens=t)
        for s, t in ((1, 900), (2, 900), (3, 400))
    ]
    for count, tokens in ((2, "900"), (3, "1,300")):
        _, rows = drawn(*told[:count], finished("mine", 9.0))
        assert rows[1][3] == tokens and rows[3][3] == tokens


def test_a_stage_that_has_not_worked_and_a_gpu() -> None:
    on_gpu = ev.StageProgress(stage="mine", done=1, total=1, elapsed=90.0, gpu=3_000_000_000)
    _, rows = drawn(on_gpu, finished("mine", 90.0))
    assert rows[0][-1] == "GPU" and rows[1][-1] == "3.0 GB"
    assert rows[2] == ["eval", "────────   0%", "·", "·", "·", "·", "·"]


def test_tokens_of_all_attempts_at_a_stage() -> None:
    """Each attempt counts from 0: 900 of the first, 300 of the second and 50 of the third are 1,250."""
    reports = [
        ev.StageProgress(stage="mine", done=1, total=1, elapsed=1.0, tokens=tokens)
        for tokens in (900, 300, 50)
    ]
    lines, rows = drawn(*reports)
    assert "1,250 tokens" in lines[0] and rows[1][3] == "1,250"


def test_memory_is_the_largest_of_a_stage() -> None:
    """It rose from 1 to 3 GB and fell to 2: the stage held 3."""
    reports = [
        ev.StageProgress(stage="mine", done=n, total=3, elapsed=2.0 * n, resident=size * 1_000_000_000,
                         gpu=size * 2_000_000_000, time=1_000.0 + 2 * n, seq=n)
        for n, size in ((1, 1), (2, 3), (3, 2))
    ]  # fmt: skip
    _, rows = drawn(*reports)
    assert rows[1][5:] == ["3.0 GB", "6.0 GB"]


def asked(cost: float | None) -> ev.Event:
    return ev.ServerUsage(
        stage="mine",
        role="judge",
        server="https://api.example/v1",
        model="judge-1",
        requests=2,
        answered=2,
        cost=cost,
    )


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([asked(1.25)], "2:00 of work, 900 tokens; servers cost 1.2500"),
        ([asked(0.0)], "2:00 of work, 900 tokens; servers cost 0.0000"),
        ([asked(None)], "2:00 of work, 900 tokens; servers were asked, no price is configured"),
        ([], "2:00 of work, 900 tokens; no server was asked, nothing was paid"),
    ],
)
def test_what_was_paid(events: list[ev.Event], words: str) -> None:
    lines, rows = drawn(
        MINE, *events, finished("mine", 90.0), ev.StageProgress(stage="eval", done=1, total=1, elapsed=30.0)
    )
    assert lines[0] == words
    assert [row[0] for row in rows[:4]] == ["stage", "mine", "eval", "all"]


@pytest.mark.parametrize(("width", "bar"), [(89, 8), (90, 16)])
def test_bars_are_twice_as_long_where_there_is_room(width: int, bar: int) -> None:
    state = RunState()
    for event in (ev.Header(schema_version=1, name="x", run_id="1", seed=0, stages=["mine"]), MINE):
        state.apply(event)
    (_, table, *_) = efficiency_blocks(state, list(state.stages.values()), width)
    assert isinstance(table, Table)
    assert [plain(cell) for cell in table.rows[0][:4]] == ["mine", f"{'━' * bar} 100%", "1:30", "900"]
