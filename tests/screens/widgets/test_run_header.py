"""The first line of a run's screen: what is being loaded, then the model; its number type where that was chosen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from rich.style import Style
from rich.text import Text
from textual.geometry import Size

from app.state.run import RunState
from engine import events as ev
from screens.widgets.run_header import RunHeader
from tests.named_tones import Parts, name_tones, parts


class HandMade(SimpleNamespace):
    """A session of which each test says what the header asks for."""

    log_is_cut = False


def test_the_model_once_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    state = RunState()
    session: Any = HandMade(state=state, status=None)
    header = RunHeader(session, "ESM")
    monkeypatch.setattr("screens.widgets.run_header.tone", lambda widget, name: Style())
    state.apply(ev.Header(schema_version=1, name="demo", run_id="1", seed=1, stages=[], versions={}))
    state.apply(ev.ModelLoading(name="smollm2", size=98_362_432, doing="unpacking", share=0.45))
    assert header._run().plain.endswith("demo/1"), "the line below says what is loaded"
    state.apply(ev.StageStarted(stage="mine", unit="problems", total=1))
    loaded: dict[str, Any] = {"name": "smollm2", "backend": "transformers", "device": "cpu", "num_layers": 30}
    loaded |= {"hidden_size": 576, "stage": "mine"}
    state.apply(ev.ModelLoaded(**loaded, dtype="bfloat16", dtype_reason="faster"))
    assert header._run().plain.endswith("demo/1  smollm2 on cpu, bfloat16")
    state.apply(ev.ModelLoaded(**loaded, dtype="float32"))
    assert header._run().plain.endswith("demo/1  smollm2 on cpu")


def test_the_model_is_that_of_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the overview that of the method at work, and none where none works."""
    state = RunState()
    session: Any = HandMade(state=state, status=None)

    def named(title: str) -> str:
        header = RunHeader(session, title)
        monkeypatch.setattr("screens.widgets.run_header.tone", lambda widget, name: Style())
        return header._run().plain.partition("demo/1")[2].strip()

    stages = ["mine", "eval", "graphs", "slsm"]
    state.apply(ev.Header(schema_version=1, name="demo", run_id="1", seed=1, stages=stages, versions={}))
    state.apply(ev.StageStarted(stage="mine", total=3))
    for stage, name in (("mine", "small"), ("eval", "embedded"), ("mine", "again"), ("slsm", "dialogues")):
        state.apply(
            ev.ModelLoaded(
                stage=stage,
                name=name,
                backend="x",
                device="cpu",
                dtype="float32",
                num_layers=1,
                hidden_size=1,
            )
        )
    assert [named(title) for title in ("ESM", "GFlowNet", "SLSM")] == [
        "embedded on cpu",
        "",
        "dialogues on cpu",
    ]
    assert named("Overview") == "embedded on cpu", "mine is at work"
    state.apply(ev.StageFinished(stage="mine", seconds=1.0))
    assert named("Overview") == ""
    state.apply(ev.StageStarted(stage="graphs", total=3))
    assert named("Overview") == ""


def test_a_vanished_worker_is_at_work_on_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """After kill -9 the log ends within a stage: the tab says that it stopped; in the past it was at work."""
    state = RunState()
    status = SimpleNamespace(state="interrupted")
    session: Any = HandMade(state=state, status=status, cursor=None, frozen=False)
    header = RunHeader(session, "ESM")
    monkeypatch.setattr("screens.widgets.run_header.tone", lambda widget, name: Style())
    state.apply(ev.Header(schema_version=1, name="demo", run_id="1", seed=1, stages=["mine"], versions={}))
    state.apply(ev.StageStarted(stage="mine", unit="problems", total=4))
    state.apply(ev.StageProgress(stage="mine", done=1, total=4))
    assert "ESM ■" in header._run().plain
    session.cursor = 2
    assert "ESM ▶" in header._run().plain


@pytest.mark.parametrize(
    ("changes", "moment"),
    [
        ({"cursor": 0}, " AS OF EVENT 0 of 1,233 "),
        ({"cursor": 1_233}, " AS OF EVENT 1,233 of 1,233 "),
        ({"frozen": True, "cursor": 7, "behind": 1}, " FROZEN 1 event behind "),
        ({"frozen": True, "behind": 1_050}, " FROZEN 1,050 events behind "),
        ({"cursor": 7, "stop_requested": True}, " AS OF EVENT 7 of 1,233   STOPPING "),
        ({}, "✓ finished"),
    ],
)
def test_the_moment_on_the_right(
    changes: dict[str, Any], moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 1,234 events the first has the number 0 and the last 1,233."""
    monkeypatch.setattr("screens.widgets.run_header.tone", lambda widget, name: Style())
    session: Any = HandMade(
        cursor=None, frozen=False, behind=0, total_events=1_234, stop_requested=False, status=None,
        state=SimpleNamespace(status="finished"),
    )  # fmt: skip
    vars(session).update(changes)
    assert RunHeader(session, "ESM")._moment().plain == moment


def test_what_each_word_of_the_header_leads_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the numbers of the methods, which count those of this run; events that nobody knows are counted."""
    monkeypatch.setattr("screens.widgets.run_header.tone", lambda widget, name: Style())
    for width, gap in ((99, " "), (100, "  ")):
        monkeypatch.setattr(RunHeader, "content_size", Size(width, 1))
        state = RunState()
        session: Any = HandMade(state=state, status=None, reading=None)
        header = RunHeader(session, "ESM")
        assert header._run().plain == f"Overview{gap}ESM{gap}waiting for the first event of the run"
        session.reading = 0.5
        assert header._run().plain == f"Overview{gap}ESM{gap}reading the log"
        for event in (
            ev.Header(schema_version=1, name="demo", run_id="1", seed=1, stages=["mine", "graphs"]),
            ev.WorkerStarted(pid=1, attempt=1, stages=["mine", "graphs"]),
            ev.StageStarted(stage="mine", total=4), ev.StageProgress(stage="mine", done=1, total=4),
            ev.ClusterJoined(stage="mine", engine="ray", address="a", replicas=1),
        ):  # fmt: skip
            state.apply(event)
        state.unknown = 1
        text = header._run()
        assert text.plain == (
            f"Overview{gap}1 ESM ▶ 25%{gap}2 GFlowNet ○{gap}demo/1  1 replica  1 unknown event ignored"
        )
        leads = [
            (text.plain[span.start : span.end], span.style.meta["@click"])
            for span in text.spans
            if isinstance(span.style, Style) and "@click" in span.style.meta
        ]
        assert leads == [
            ("Overview", "screen.overview"), ("1 ESM", "screen.method(1)"), (" ▶ 25%", "screen.method(1)"),
            ("2 GFlowNet", "screen.method(2)"), (" ○", "screen.method(2)"),
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("logged", "worker", "moment"),
    [
        ("running", "running", "● running"),
        ("running", "hung", "? hung"),
        ("running", "interrupted", "✗ interrupted"),
        ("paused", "paused", "  ENGINE PAUSED "),
        ("stopped", "stopped", "■ stopped"),
        ("failed", "failed", "✗ failed"),
        ("prepared", "prepared", "○ prepared"),
    ],
)
def test_what_the_run_does(logged: str, worker: str, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("screens.widgets.run_header.tone", lambda widget, name: Style())
    session: Any = HandMade(
        cursor=None, frozen=False, stop_requested=False, status=SimpleNamespace(state=worker),
        state=SimpleNamespace(status=logged),
    )  # fmt: skip
    assert RunHeader(session, "ESM")._moment().plain == moment
    session.cursor, session.total_events = 3, 9
    past = RunHeader(session, "ESM")._moment().plain
    assert past.startswith(" AS OF EVENT 3 of 8 ")
    assert past.endswith(" ENGINE PAUSED ") == (logged == "paused")


@pytest.mark.parametrize("logged", ["new", "running"])
def test_where_the_log_is_cut_the_record_says_what_the_run_does(
    logged: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finished run was `○ new`, and waited for its first event; a stage in the middle of which its log ends is not at
    work."""
    monkeypatch.setattr("screens.widgets.run_header.tone", lambda widget, name: Style())
    state = RunState()
    session: Any = HandMade(
        state=state, status=SimpleNamespace(state="finished"), reading=None, cursor=None, frozen=False,
        stop_requested=False, log_is_cut=True,
    )  # fmt: skip
    header = RunHeader(session, "ESM")
    if logged == "running":
        state.apply(ev.Header(schema_version=1, name="demo", run_id="1", seed=1, stages=["mine"]))
        state.apply(ev.WorkerStarted(pid=1, attempt=1, stages=["mine"]))
        state.apply(ev.StageStarted(stage="mine", total=4))
    assert state.status == logged and header._moment().plain == "✓ finished"
    assert "log has no events" in header._run().plain if logged == "new" else "ESM ■" in header._run().plain


def test_in_the_past_a_pause_is_that_of_the_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker has vanished since."""
    monkeypatch.setattr("screens.widgets.run_header.tone", lambda widget, name: Style())
    session: Any = HandMade(
        cursor=3, total_events=9, frozen=False, stop_requested=False, status=SimpleNamespace(state="interrupted"),
        state=SimpleNamespace(status="paused"),
    )  # fmt: skip
    assert RunHeader(session, "ESM")._moment().plain.endswith(" ENGINE PAUSED ")
    session.cursor = None
    assert RunHeader(session, "ESM")._moment().plain == "✗ interrupted"


def test_the_tones_of_the_header(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shown method is strong, others are dim; signs have the tone of what they say."""
    name_tones(monkeypatch, "widgets.run_header")
    monkeypatch.setattr(RunHeader, "content_size", Size(100, 1))
    monkeypatch.setattr(RunHeader, "_following", True)
    state = RunState()
    session: Any = HandMade(state=state, status=None, reading=None)
    assert parts(RunHeader(session, "ESM")._run()) == [
        ("F→ ", "good"), ("Overview", "dim"), ("  ", ""), ("ESM", "strong"), ("  ", ""),
        ("waiting for the first event of the run", "dim"),
    ]  # fmt: skip
    stages = ["mine", "graphs", "slsm", "pool", "evolve"]
    for event in (
        ev.Header(schema_version=1, name="demo", run_id="1", seed=1, stages=stages),
        ev.WorkerStarted(pid=1, attempt=1, stages=stages),
        ev.StageStarted(stage="mine", total=4), ev.StageFinished(stage="mine", seconds=1.0),
        ev.StageStarted(stage="pool", total=4), ev.StageFailed(stage="pool", what="no disk"),
        ev.StageStarted(stage="graphs", total=4), ev.StageProgress(stage="graphs", done=1, total=4),
        ev.StageStarted(stage="slsm", total=4), ev.StagePaused(stage="slsm"),
        ev.ClusterJoined(stage="mine", engine="ray", address="a", replicas=2),
        ev.ModelLoaded(stage="graphs", name="smollm2", backend="x", device="cpu", dtype="float32", num_layers=1,
                       hidden_size=1),
    ):  # fmt: skip
        state.apply(event)
    state.unknown = 2
    assert parts(RunHeader(session, "GFlowNet")._run()) == [
        ("F→ ", "good"), ("Overview", "dim"), ("  ", ""), ("1 ESM", "dim"), (" ✓", "good"), ("  ", ""),
        ("2 GFlowNet", "strong"), (" ▶ 25%", "good"), ("  ", ""), ("3 SLSM", "dim"), (" ‖ 0%", "alert"), ("  ", ""),
        ("4 Pool", "dim"), (" ✗", "alert"), ("  ", ""), ("5 Evolution ○", "dim"), ("  demo/1", ""),
        ("  smollm2 on cpu", "dim"), ("  2 replicas", "strong"), ("  2 unknown events ignored", "dim"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "logged", "tones"),
    [
        ({"cursor": 3}, "finished", [(" AS OF EVENT 3 of 8 ", "badge")]),
        ({"cursor": 3, "total_events": 0}, "finished", [(" AS OF EVENT 3 of 0 ", "badge")]),
        ({"frozen": True}, "finished", [(" FROZEN 5 events behind ", "badge")]),
        ({"stop_requested": True}, "running", [(" STOPPING ", "badge")]),
        ({"stop_requested": True}, "paused", [(" STOPPING ", "badge")]),
        ({}, "paused", [(" ", ""), (" ENGINE PAUSED ", "badge")]),
        ({}, "running", [("● running", "good")]),
        ({}, "finished", [("✓ finished", "good")]),
        ({}, "failed", [("✗ failed", "dim")]),
    ],
)
def test_the_tones_of_the_moment(
    changes: dict[str, Any], logged: str, tones: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_tones(monkeypatch, "widgets.run_header")
    session: Any = HandMade(
        cursor=None, frozen=False, behind=5, total_events=9, stop_requested=False, status=None,
        state=SimpleNamespace(status=logged),
    )  # fmt: skip
    vars(session).update(changes)
    assert parts(RunHeader(session, "ESM")._moment()) == tones


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (58, "Overview 1 ESM ▶ 40% demo/20261129-090139-a0a8  ✓ finished"),
        (43, "Overview 1 ESM ▶ 40% demo/2026…  ✓ finished"),
        (42, "Overview 1 ESM ▶ 40%            ✓ finished"),
    ],
)
def test_of_a_name_that_has_no_room_nothing_is_left(
    width: int, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`dem…` names no run; ten cells of it do."""
    monkeypatch.setattr("screens.widgets.run_header.tone", lambda widget, name: Style())
    monkeypatch.setattr(RunHeader, "content_size", Size(width, 1))
    monkeypatch.setattr(RunHeader, "_methods", lambda header: Text("Overview 1 ESM ▶ 40% "))
    monkeypatch.setattr(
        RunHeader, "_run", lambda header: Text("Overview 1 ESM ▶ 40% demo/20261129-090139-a0a8")
    )
    monkeypatch.setattr(RunHeader, "_moment", lambda header: Text("✓ finished"))
    monkeypatch.setattr("screens.widgets.run_header.engine_state", lambda session: "finished")
    assert RunHeader(SimpleNamespace(), "ESM").render().plain == line  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (40, "Overview ESM waiting for the …  ✗ failed"),
        (60, "Overview ESM waiting for the first event of the r…  ✗ failed"),
        (61, "Overview ESM waiting for the first event of the run  ✗ failed"),
        (64, "Overview ESM waiting for the first event of the run     ✗ failed"),
    ],
)
def test_the_moment_stands_at_the_right_and_the_rest_gives_way(
    width: int, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two cells at least part them: of 40, 8 and 2 are taken. A click on a failure leads to its error."""
    monkeypatch.setattr("screens.widgets.run_header.tone", lambda widget, name: Style())
    monkeypatch.setattr(RunHeader, "content_size", Size(width, 1))
    state = RunState()
    status = SimpleNamespace(state="failed")
    state.status = "failed"
    session: Any = HandMade(
        state=state, status=status, reading=None, cursor=None, frozen=False, stop_requested=False
    )
    text = RunHeader(session, "ESM").render()
    assert text.plain == line
    status.state = "stopped"
    leads = [
        [
            text.plain[s.start : s.end]
            for s in text.spans
            if isinstance(s.style, Style) and "show_error" in str(s.style.meta)
        ]
        for text in (text, RunHeader(session, "ESM").render())
    ]
    assert leads == [["✗ failed"], []]


@pytest.mark.parametrize("title", ["Overview", "ESM"])
def test_before_a_stage_is_listed_the_screen_is_named_once(
    title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("screens.widgets.run_header.tone", lambda widget, name: Style())
    session: Any = HandMade(state=RunState(), status=None)
    words = RunHeader(session, title)._methods().plain.split()
    assert words == list(dict.fromkeys(["Overview", title]))
