"""Verdicts as lines and sentences: words, signs, roundings, and what is said where no difference is shown."""

from __future__ import annotations

import io
import json
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from app.batch.display import PlainDisplay, sentence
from app.batch.result_tables import print_results
from app.state.run import RunState
from app.verdict_text import verdict_line, verdict_sentence, verdicts
from engine import events as ev
from engine.run.directory import RunDirectory, StageRecord, create_run

ESM = ev.Verdict(
    method="esm", baseline="greedy", metric="accuracy", items="problems", n=200, value=0.965, baseline_value=0.635,
    difference=0.33, low=0.27, high=0.39, fixed=66, broken=0, tokens=90.5, baseline_tokens=85.0,
)  # fmt: skip
UNSURE = ev.Verdict(
    method="esm", baseline="greedy", metric="accuracy", items="problems", n=200, value=0.64, baseline_value=0.635,
    difference=0.005, low=-0.02, high=0.03, fixed=3, broken=2, ahead=["majority_vote"],
)  # fmt: skip
TOKENS = ev.Verdict(
    method="evolution", baseline="unchanged", metric="mean_tokens", unit="tokens", lower_is_better=True,
    items="test questions", n=150, value=42.12, baseline_value=1088.0, difference=-1045.88, low=-1050.04, high=-999.96,
    kept=ev.Kept(
        metric="correctness", n=149, value=0.853, baseline_value=0.86, difference=-0.007, low=-0.04, high=0.027
    ),
)  # fmt: skip
GRADED = ev.Verdict(
    method="gflownet", baseline="beam", metric="answer_recall", items="questions", graded=True, k=20, n=1,
    value=0.5, baseline_value=0.75, difference=-0.25, low=-0.5, high=-0.01, fixed=0, broken=1,
)  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "line", "text"),
    [
        (ESM, "0.635 → 0.965 ▲66 ▼0",
         "ESM answers 96.5% of 200 problems right; greedy 63.5%: +33 points [27, 39]; 66 turned right, none wrong."),
        (UNSURE, "0.635 → 0.640 ▲3 ▼2 (no difference shown)",
         "ESM answers 64.0% of 200 problems right; greedy 63.5%: +0.5 points [−2.0, 3.0]; 3 turned right, 2 wrong. "
         "The interval includes zero: no difference is shown. Better than it: majority vote."),
        (TOKENS, "1,088 → 42.1 tokens",
         "Evolution answers 150 test questions in 42.1 tokens on average; the unchanged model in 1,088: "
         "−1,045.9 tokens [−1,050.0, −1,000.0]. "
         "Correctness went from 86.0% to 85.3% (−0.7 points [−4.0, 2.7]): no difference is shown."),
        (GRADED, "0.750 → 0.500 ▲0 ▼1",
         "20 paths of GFlowNet reach 50.0% of the answers to 1 question; 20 of beam search 75.0%: "
         "−25 points [−50, −1]; none better, 1 worse."),
    ],
    ids=["esm", "unsure", "tokens", "graded"],
)  # fmt: skip
def test_a_verdict_in_words(verdict: ev.Verdict, line: str, text: str) -> None:
    assert (verdict_line(verdict), verdict_sentence(verdict)) == (line, text)


def test_what_did_not_suffer_at_all_is_said_shortly() -> None:
    kept = ev.Kept(
        metric="correctness", n=149, value=1.0, baseline_value=1.0, difference=0.0, low=0.0, high=0.0
    )
    assert verdict_sentence(msgspec.structs.replace(TOKENS, kept=kept)).endswith(
        " Correctness stayed at 100.0%."
    )


def test_which_is_better() -> None:
    assert (ESM.better, TOKENS.better, GRADED.better) == (True, True, False)


def test_a_metric_of_another_package_is_said_by_its_name() -> None:
    other = ev.Verdict(
        method="their_way", baseline="plain", metric="mean_rank", unit="ranks", n=4, value=1.5, baseline_value=2.0,
        difference=-0.5, low=-0.5, high=-0.5,
    )  # fmt: skip
    assert verdict_sentence(other) == (
        "Their way has mean rank 1.5 over 4 examples; plain 2.0: −0.5 ranks [−0.5, −0.5]."
    )


def finished(verdict: ev.Verdict | None) -> ev.StageFinished:
    return ev.StageFinished(stage="eval", seconds=6.0, summary={"accuracy_esm": 0.965}, verdict=verdict)


def test_the_log_brings_it_to_the_state_and_batch_prints_it() -> None:
    """The event survives its line in the log; without a verdict all is as before."""
    told = ev.decode(ev.encode(finished(ESM)))
    assert isinstance(told, ev.StageFinished) and told.verdict == ESM
    state, out = RunState(), io.StringIO()
    state.apply(told)
    assert verdicts(state.stages) == [ESM] == verdicts(state.stages, ["mine", "eval"])
    assert sentence(told) == f"finished in 0:06 (accuracy esm 0.965). {verdict_sentence(ESM)}"
    assert sentence(finished(None)) == "finished in 0:06 (accuracy esm 0.965)"
    PlainDisplay(Console(file=out, width=500)).show(told, state.stages)
    print_results(state, Console(file=out, width=500), RunDirectory(Path("outputs/demo/1")))
    assert out.getvalue().count(verdict_sentence(ESM)) == 2


def test_the_record_keeps_it_and_records_without_one_are_read(tmp_path: Path) -> None:
    run = create_run(tmp_path, "demo", seed=0, stages=["eval"], config={}, config_text="", versions={})
    record = run.read()
    assert record.stages["eval"].verdict is None
    record.stages["eval"] = StageRecord(status="finished", verdict=ESM)
    run.write(record)
    assert verdicts(run.read().stages) == [ESM]
    plain = json.loads(run.record.read_bytes())
    del plain["stages"]["eval"]["verdict"]
    run.record.write_text(json.dumps(plain))
    assert run.read().stages["eval"].verdict is None
