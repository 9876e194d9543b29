"""The digest: what each line says by hand-made events, and that all five lie within 80 columns."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from rich.style import Style
from rich.text import Text

from app.state.run import RunState
from engine import events as ev
from screens.method_progress import progress_of
from screens.overview.digest import DigestLine, DigestTable, digest_lines

STYLES = {"good": Style(color="green"), "bad": Style(color="red"), "dim": Style(dim=True)}
STAGES = ["eval", "evolve", "answer", "slsm", "selector"]
ESM = ev.Verdict(
    method="esm", baseline="greedy", metric="accuracy", items="problems", n=200, value=0.965, baseline_value=0.635,
    difference=0.33, low=0.26, high=0.4, tokens=89.0, baseline_tokens=83.2, probe_tokens=12.1,
    closest=ev.Closest(method="no_probing", n=200, value=0.965, difference=0.0, low=-0.01, high=0.01),
)  # fmt: skip
VERDICTS = {
    "eval": ESM,
    "evolve": ev.Verdict(
        method="evolution", baseline="unchanged", metric="mean_tokens", unit="tokens", lower_is_better=True, n=150,
        value=25.2, baseline_value=44.2, difference=-19.0, low=-19.4, high=-18.6,
        kept=ev.Kept(metric="correctness", n=150, value=1.0, baseline_value=1.0, difference=0.0, low=0.0, high=0.0),
    ),
    "answer": ev.Verdict(
        method="gflownet", baseline="triples", metric="answer_hit", n=99, value=0.697, baseline_value=0.535,
        difference=0.162, low=0.04, high=0.28, tokens=56.2, baseline_tokens=56.0,
    ),
    "slsm": ev.Verdict(
        method="on_detection", baseline="baseline", metric="pass_score", n=240, value=0.9, baseline_value=0.292,
        difference=0.608, low=0.55, high=0.66, calls=8.2, baseline_calls=1.0,
        closest=ev.Closest(method="flat", n=240, value=0.908, difference=0.008, low=0.0, high=0.021),
    ),
    "selector": ev.Verdict(
        method="selector", baseline="rices", metric="vqa_accuracy", n=300, value=0.926, baseline_value=0.846,
        difference=0.08, low=0.041, high=0.121,
    ),
}  # fmt: skip


def state_of(*events: ev.Event, stages: list[str] | None = None) -> RunState:
    state = RunState()
    state.apply(ev.Header(schema_version=1, name="demo", run_id="1", seed=0, stages=stages or STAGES))
    for event in events:
        state.apply(event)
    return state


def ended(stage: str, verdict: ev.Verdict | None = None) -> ev.Event:
    return ev.StageFinished(stage=stage, seconds=7.0, verdict=verdict)


def drawn(state: RunState, width: int = 80) -> list[str]:
    lines = digest_lines(progress_of(list(state.stages.values())), state, width)
    table = DigestTable(lines, width, STYLES)
    return [table.heading().plain, *(table.line(line).plain for line in lines)]


def test_a_finished_run_in_eighty_columns() -> None:
    state = state_of(*(ended(stage, verdict) for stage, verdict in VERDICTS.items()))
    lines = drawn(state)
    assert lines == [
        "              baseline          with difference        cost       as good",
        "1 ESM ✓       greedy     63.5% 96.5% ▲+33.0 [26, 40]   +7% tok    no probing",
        "2 Evolution ✓ unchanged   44.2  25.2 ▲−19 [−19, −19]   −43% tok",
        "3 GFlowNet ✓  triples    53.5% 69.7% ▲+16.2 [4, 28]    ±0% tok",
        "4 SLSM ✓      no note    29.2% 90.0% ▲+60.8 [55, 66]   ×8.2 calls ≈ flat memory",
        "5 Pool ✓      similarity 84.6% 92.6% ▲+8.0 [4.1, 12.1]",
    ]
    assert max(map(len, lines)) <= 80 - 2 + len("memory") - len("memor…") + 1


def test_a_wide_terminal_has_units_and_whole_costs() -> None:
    lines = drawn(state_of(*(ended(stage, verdict) for stage, verdict in VERDICTS.items())), 120)
    assert lines[1:3] == [
        "1 ESM ✓         greedy       63.5%      96.5%   ▲ +33.0 [26, 40]     89 tok +7%       no probing",
        "2 Evolution ✓   unchanged     44.2   25.2 tok   ▲ −19 [−19, −19]     −43% tok",
    ]
    assert max(map(len, lines)) <= 118


def test_a_method_without_an_effect_says_so() -> None:
    unsure = replace(ESM, value=0.64, difference=0.005, low=-0.01, high=0.02, closest=None)
    lines = drawn(
        state_of(ended("eval", unsure), ended("selector", VERDICTS["selector"]), stages=["eval", "selector"])
    )
    assert lines[1] == "1 ESM ✓  greedy     63.5% 64.0% ≈ no difference is shown [−1.0, 2.0]  +7% tok"
    assert lines[2] == "2 Pool ✓ similarity 84.6% 92.6% ▲+8.0 [4.1, 12.1]"


@pytest.mark.parametrize(
    ("verdict", "sign", "style"),
    [
        (ESM, "▲", "good"),
        (replace(ESM, difference=-0.2, low=-0.3, high=-0.1), "▼", "bad"),
        (replace(ESM, low=-0.1), "≈", "dim"),
        (VERDICTS["evolve"], "▲", "good"),
        (replace(VERDICTS["evolve"], difference=19.0, low=18.0, high=20.0), "▼", "bad"),
    ],
)
def test_the_sign_and_its_colour(verdict: ev.Verdict, sign: str, style: str) -> None:
    """Fewer tokens are better."""
    lines = digest_lines(
        progress_of(list((state := state_of(ended("eval", verdict), stages=["eval"])).stages.values())),
        state,
        80,
    )
    text = DigestTable(lines, 80, STYLES).line(lines[0])
    (span,) = text.spans
    assert (text.plain[span.start : span.end], span.style) == (sign, STYLES[style])


def begun(stage: str, total: int, done: int, seconds: float) -> list[ev.Event]:
    return [
        ev.StageStarted(stage=stage, total=total, unit="problems"),
        ev.StageProgress(stage=stage, done=done, total=total, elapsed=seconds),
    ]


def evaluated(**more: Any) -> ev.Event:
    row: dict[str, Any] = {"n": 80, "accuracy": 0.95, "mean_tokens": 80.0, "final": False}
    return ev.MethodEvaluated(method="esm", **(row | more))


def answered(n: int, right: bool) -> ev.Event:
    return ev.ExampleEvaluated(
        method="esm", index=n, example=f"e{n}", question="", gold="", pred="", correct=right, tokens_used=1
    )


def said(state: RunState, line: int = 1) -> str:
    return " ".join(drawn(state)[line].split())


def test_a_method_at_work_says_stage_share_time_left_and_the_figure_so_far() -> None:
    """80 of 200 in 40 s: 0.5 s each, 60 s left. 5 of 10 in 20 s: 20 s left."""
    so_far = evaluated(difference=0.32, low=0.2, high=0.45, fixed=26, broken=0)
    state = state_of(*begun("eval", 200, 80, 40.0), so_far)
    assert (
        said(state, 1) == "1 ESM ▶ 40% eval 80/200, 1:00 left; so far greedy 63.0% → 95.0% ▲ +32.0 [20, 45]"
    )
    assert said(state, 2) == "2 Evolution ○ has not started"
    early = state_of(*begun("eval", 200, 80, 40.0), *(answered(n, right=n > 0) for n in range(20)))
    assert said(early, 1) == "1 ESM ▶ 40% eval 80/200, 1:00 left; accuracy so far 0.950"
    assert said(state_of(*begun("evolve", 10, 5, 20.0)), 2) == "2 Evolution ▶ 50% evolve 5/10, 0:20 left"


def test_a_paused_method_says_so() -> None:
    state = state_of(*begun("eval", 200, 80, 40.0), ev.StagePaused(stage="eval"))
    assert said(state, 1) == "1 ESM ‖ 40% eval 80/200, paused"


def test_a_method_that_broke_off_or_has_nothing_to_compare() -> None:
    failed = ev.StageFailed(stage="eval", what="no memory", where="esm", hint="", traceback="")
    assert (
        said(state_of(ended("eval", ESM), failed))
        == "1 ESM ✗ eval: answers the test problems: failed: no memory"
    )
    stopped = said(state_of(ended("eval", ESM), ev.StageStopped(stage="eval", done=7)))
    assert stopped.startswith("1 ESM ■ eval") and "96.5%" not in stopped, (
        "the verdict is an earlier attempt's"
    )
    finished = said(state_of(ended("eval")))
    assert finished == "1 ESM ✓ finished in 0:07, not compared with a baseline"


def test_the_last_verdict_of_a_method_is_its_line() -> None:
    pool = replace(VERDICTS["selector"], method="pool", baseline="given", metric="oracle")
    both = state_of(ended("pool", pool), ended("selector", VERDICTS["selector"]), stages=["pool", "selector"])
    assert "similarity" in drawn(both)[1]


def test_a_run_before_verdicts_were_stated_is_read_from_its_figures() -> None:
    row = evaluated(n=200, final=True, difference=0.32, low=0.2, high=0.45, fixed=64, broken=0)
    assert drawn(state_of(row, ended("eval")))[1].startswith("1 ESM ✓ greedy   63.0% 95.0% ▲+32.0 [20, 45]")


def test_no_line_without_a_verdict_is_cut_to_the_titles_of_others() -> None:
    table = DigestTable([DigestLine("1 A ✓", words="has not started")], 80, STYLES)
    assert table.line(DigestLine("1 A ✓", words="has not started")) == Text("1 A ✓ has not started")


@pytest.mark.parametrize(("width", "line"), [
    (99, "1 ESM ✓ greedy   63.5% 96.5% ▲+33.0 [26, 40] +7% tok no probing"),
    (100, "1 ESM ✓   greedy     63.5%   96.5%   ▲ +33.0 [26, 40]   89 tok +7%   no probing"),
])  # fmt: skip
def test_from_a_hundred_columns_on_there_is_room(width: int, line: str) -> None:
    """For three cells between the columns, and for the whole cost."""
    assert drawn(state_of(ended("eval", ESM), stages=["eval"]), width)[1] == line
