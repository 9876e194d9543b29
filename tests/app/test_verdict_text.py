"""Verdicts as lines and sentences: words, signs, roundings, and what is said where no difference is shown."""

from __future__ import annotations

import io
import json
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from rich.console import Console

from app.batch.display import Display, sentence
from app.batch.result_tables import print_results
from app.state.run import RunState
from app.wording.verdict_text import (
    VerdictCells,
    method_verdict,
    verdict_cells,
    verdict_line,
    verdict_sentence,
    verdict_sign,
    verdict_value,
    verdicts,
)
from engine import events as ev
from engine.run.directory import RunDirectory, StageRecord
from tests.made_run import create_run

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

HITS = ev.Verdict(
    method="gflownet", baseline="beam", metric="hits@1", items="questions", n=20, value=0.85, baseline_value=0.75,
    difference=0.1, low=0.01, high=0.2, fixed=3, broken=1,
)  # fmt: skip

NEAR = ev.Closest(method="no_probing", n=200, value=0.965, difference=0.0, low=-0.01, high=0.01, tokens=79.5)


@pytest.mark.parametrize(
    ("verdict", "line", "text"),
    [
        (ESM, "greedy 63.5% → 96.5%  ▲ +33.0 [27, 39]  91 tok +6%",
         "ESM answers 96.5% of 200 problems right; greedy 63.5%: +33.0 points [27, 39]; 66 turned right, none wrong."),
        (UNSURE, "greedy 63.5% → 64.0%  ≈ no difference is shown [−2.0, 3.0]",
         "ESM answers 64.0% of 200 problems right; greedy 63.5%: +0.5 points [−2.0, 3.0]; 3 turned right, 2 wrong. "
         "The interval includes zero: no difference is shown. Better than it: majority vote."),
        (TOKENS, "unchanged 1,088 → 42.1 tok  ▲ −1,046 [−1,050, −1,000]  −96% tok, right −0.7",
         "Evolution answers 150 test questions in 42.1 tokens on average; the unchanged model in 1,088: "
         "−1,046 tokens [−1,050, −1,000]. "
         "Correctness went from 86.0% to 85.3% (−0.7 points [−4.0, 2.7]): no difference is shown."),
        (GRADED, "beam 75.0% → 50.0%  ▼ −25.0 [−50, −1]",
         "20 paths of GFlowNet reach 50.0% of the answers to 1 question; 20 of beam search 75.0%: "
         "−25.0 points [−50, −1]; none better, 1 worse."),
        (HITS, "beam 75.0% → 85.0%  ▲ +10.0 [1, 20]",
         "GFlowNet names an answer to 85.0% of 20 questions (hits@1); beam search to 75.0%: "
         "+10.0 points [1, 20]; 3 turned right, 1 wrong."),
    ],
    ids=["esm", "unsure", "tokens", "graded", "hits"],
)  # fmt: skip
def test_a_verdict_in_words(verdict: ev.Verdict, line: str, text: str) -> None:
    assert (verdict_line(verdict), verdict_sentence(verdict)) == (line, text)


@pytest.mark.parametrize(
    ("closest", "cell", "text"),
    [
        (NEAR, "no probing", " No probing does as well (96.5%), with 79.5 tokens in place of 90.5."),
        (replace(NEAR, tokens=90.5), "no probing", " No probing does as well (96.5%)."),
        (replace(NEAR, tokens=90.52), "no probing", " No probing does as well (96.5%)."),
        (replace(NEAR, tokens=None), "no probing", " No probing does as well (96.5%)."),
        (replace(NEAR, value=0.96, difference=-0.005, low=-0.02, high=0.01, tokens=None), "≈ no probing",
         " No probing is not shown to be worse (96.0%, −0.5 points [−2.0, 1.0])."),
        (replace(NEAR, method="rices", value=0.99, difference=0.025, low=0.005, high=0.04, tokens=240.0),
         "▲ similarity",
         " Similarity (RICES) does better (99.0%, +2.5 points [0.5, 4.0]), with 240.0 tokens in place of 90.5."),
        (replace(NEAR, method="brief_prompt", metric="composite", value=0.9306, difference=-0.0028, low=-0.01, high=0.0,
                 tokens=None), "(≈ brief prompt)",
         " A request for short answers is not shown to be worse (composite 0.931, −0.003 [−0.010, 0.000])."),
        (replace(NEAR, method="flat", calls=2.0), "flat memory",
         " The flat memory does as well (96.5%), with 79.5 tokens in place of 90.5."),
    ],
)  # fmt: skip
def test_what_comes_closest(closest: ev.Closest, cell: str, text: str) -> None:
    """With the same figure, with an interval that holds zero, or better; and what it costs instead."""
    verdict = replace(ESM, closest=closest)
    assert verdict_cells(verdict).as_good == cell
    assert verdict_sentence(verdict) == verdict_sentence(ESM) + text
    assert verdict_line(verdict) == f"{verdict_line(ESM)}  as good: {cell}"


def test_what_comes_closest_saves_probes_or_calls() -> None:
    probing = replace(ESM, probe_tokens=12.06, closest=NEAR)
    assert verdict_sentence(probing).endswith(
        " No probing does as well (96.5%), without the 12.1 tokens of probes."
    )
    both = replace(probing, closest=replace(NEAR, probe_tokens=3.0))
    assert verdict_sentence(both).endswith(" (96.5%), with 79.5 tokens in place of 90.5.")
    calls = replace(ESM, calls=8.25, closest=replace(NEAR, calls=1.0))
    assert verdict_sentence(calls).endswith(" (96.5%), with 1.0 calls in place of 8.2.")
    free = replace(ESM, calls=8.25, closest=replace(NEAR, calls=0.0))
    assert verdict_sentence(free).endswith(" (96.5%), with 0.0 calls in place of 8.2.")
    many = replace(ESM, tokens=2345.0, closest=replace(NEAR, tokens=1234.5))
    assert verdict_sentence(many).endswith(" (96.5%), with 1,234.5 tokens in place of 2,345.0.")


def test_what_comes_closest_of_tokens_is_said_in_tokens() -> None:
    near = replace(
        NEAR, method="length_cap", value=43.0, difference=0.88, low=-0.5, high=2.0, lower_is_better=True
    )
    assert verdict_sentence(replace(TOKENS, closest=near)).endswith(
        " A cap at the same length is not shown to be worse (43.0, +0.9 tokens [−0.5, 2.0])."
    )


def test_what_comes_closest_is_not_named_twice() -> None:
    ahead = replace(ESM, ahead=["majority_vote", "prompted"], closest=replace(NEAR, method="majority_vote"))
    assert verdict_sentence(ahead).endswith(" in place of 90.5. Better than it: prompted.")


@pytest.mark.parametrize(
    ("difference", "low", "high", "text"),
    [
        (
            -0.02,
            -0.03,
            -0.01,
            " Correctness went from 86.0% to 84.0% (−2.0 points [−3.0, −1.0]): it is lower.",
        ),
        (0.02, 0.01, 0.03, " Correctness went from 86.0% to 88.0% (+2.0 points [1.0, 3.0]): it is higher."),
        (0.0, 0.0, 0.0, " Correctness stayed at 86.0%."),
        (-0.02, -0.04, 0.0, " (−2.0 points [−4.0, 0.0]): no difference is shown."),
        (0.02, 0.0, 0.04, " (+2.0 points [0.0, 4.0]): no difference is shown."),
        (0.0, 0.0, 0.01, " (0.0 points [0.0, 1.0]): no difference is shown."),
        (0.0, -0.01, 0.01, " (0.0 points [−1.0, 1.0]): no difference is shown."),
    ],
)
def test_what_should_not_suffer(difference: float, low: float, high: float, text: str) -> None:
    assert TOKENS.kept is not None
    kept = replace(
        TOKENS.kept, baseline_value=0.86, value=0.86 + difference, difference=difference, low=low, high=high
    )
    assert verdict_sentence(replace(TOKENS, kept=kept)).endswith(text)


def test_cells() -> None:
    cells = VerdictCells("greedy", "63.5%", "96.5%", "▲ +33.0 [27, 39]", "91 tok +6%", "")
    assert verdict_cells(ESM) == cells
    assert verdict_cells(ESM, brief=True) == cells._replace(difference="▲+33.0 [27, 39]", cost="+6% tok")
    assert verdict_cells(TOKENS, brief=True).value == "42.1"
    values = [(999.9, "999.9"), (1000.0, "1,000"), (1000.6, "1,001")]
    assert [(value, verdict_value(TOKENS, value)) for value, _ in values] == values
    ranks = replace(ESM, unit="ranks", value=1.5, baseline_value=2.0, difference=-0.5, low=-1, high=-0.1)
    assert (verdict_cells(ranks).value, verdict_cells(ranks, brief=True).value) == ("1.5 ranks", "1.5")
    assert verdict_cells(ranks).difference == "▼ −0.5 [−1.0, −0.1]"


@pytest.mark.parametrize(
    ("changes", "cost", "brief"),
    [
        ({"tokens": 99.5, "baseline_tokens": 85.0}, "100 tok +17%", "+17% tok"),
        ({"tokens": 76.5, "baseline_tokens": 85.0}, "77 tok −10%", "−10% tok"),
        ({"tokens": 170.0, "baseline_tokens": 85.0}, "170 tok ×2.0", "×2.0 tok"),
        ({"tokens": 169.0, "baseline_tokens": 85.0}, "169 tok +99%", "+99% tok"),
        ({"tokens": 85.2, "baseline_tokens": 85.0}, "85 tok ±0%", "±0% tok"),
        ({"tokens": 84.8, "baseline_tokens": 85.0}, "85 tok ±0%", "±0% tok"),
        ({"tokens": 1234.0, "baseline_tokens": None}, "1,234 tok", "1,234 tok"),
        ({"calls": 8.2, "baseline_calls": 1.0}, "8.2 calls ×8.2", "×8.2 calls"),
        ({"calls": 1.7, "baseline_calls": None}, "1.7 calls", "1.7 calls"),
        ({"calls": 0.0, "baseline_calls": 2.0}, "0.0 calls −100%", "−100% calls"),
        ({"tokens": 0.0, "baseline_tokens": 50.0}, "0 tok −100%", "−100% tok"),
        ({"tokens": None}, "", ""),
        ({"unit": "tokens", "value": 25.2, "baseline_value": 44.2}, "−43% tok", "−43% tok"),
    ],
)
def test_cost(changes: dict[str, object], cost: str, brief: str) -> None:
    verdict = replace(ESM, **changes)
    assert (verdict_cells(verdict).cost, verdict_cells(verdict, brief=True).cost) == (cost, brief)


@pytest.mark.parametrize(
    ("difference", "right"),
    [(0.0, ""), (0.0004, ""), (-0.0004, ""), (0.02, ", right +2.0"), (-0.007, ", right −0.7")],
)
def test_what_a_shorter_answer_costs(difference: float, right: str) -> None:
    """25.2 of 44.2 tokens are 57%; as many right answers as before are no cost. Briefly, a change of those
    stands in place of the change in tokens."""
    kept = replace(TOKENS.kept, difference=difference)  # type: ignore[type-var]
    verdict = replace(TOKENS, value=25.2, baseline_value=44.2, kept=kept)
    assert verdict_cells(verdict).cost == f"−43% tok{right}"
    assert verdict_cells(verdict, brief=True)[2:5:2] == ("25.2", right[2:] or "−43% tok")


@pytest.mark.parametrize(
    ("changes", "sign", "words"),
    [
        ({}, "▲", "+33.0"),
        ({"stale": True}, "◌", "+33.0"),
        ({"difference": -0.2, "low": -0.3, "high": -0.1}, "▼", "−20.0"),
        ({"difference": 0.01, "low": 0.0, "high": 0.1}, "≈", "+1.0"),
        ({"difference": -0.05, "low": -0.1, "high": 0.0}, "≈", "−5.0"),
        ({"difference": 0.0, "low": 0.0, "high": 0.0}, "≈", "0.0"),
        ({"lower_is_better": True}, "▼", "+33.0"),
        ({"lower_is_better": True, "difference": -0.0999, "low": -0.2, "high": -0.05}, "▲", "−10.0"),
        ({"unit": "tokens", "difference": -9.96, "low": -11.0, "high": -8.0}, "▼", "−10.0"),
        ({"unit": "tokens", "difference": -1045.88, "low": -1050.0, "high": -999.0}, "▼", "−1,046"),
    ],
)
def test_sign_and_difference(changes: dict[str, object], sign: str, words: str) -> None:
    verdict = replace(ESM, **changes)
    assert verdict_sign(verdict) == sign
    difference = verdict_cells(verdict).difference
    assert difference.startswith(f"{sign} {words} [" if verdict.shown else f"{sign} no difference is shown [")


def test_a_stale_line_says_so() -> None:
    assert verdict_line(replace(ESM, stale=True)).endswith("◌ +33.0 [27, 39]  91 tok +6% (stale)")


def test_a_log_without_what_comes_closest_is_read() -> None:
    plain = json.loads(msgspec.json.encode(replace(ESM, probe_tokens=12.0, closest=NEAR)))
    assert msgspec.convert(plain, ev.Verdict) == replace(ESM, probe_tokens=12.0, closest=NEAR)
    del plain["closest"], plain["probe_tokens"]
    assert msgspec.convert(plain, ev.Verdict) == ESM


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
    Display(Console(file=out, width=500)).show(told, state.stages)
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


ANSWERS = replace(HITS, baseline="triples", metric="answer_hit", difference=0.2, low=0.1, high=0.3)


def test_a_methods_last_verdict_names_the_baseline_that_an_earlier_one_does_not_beat() -> None:
    """Beam search reaches 0.05 more answers, between 0.02 less and 0.12 more: no difference is shown."""

    def as_good(first: ev.Verdict, last: ev.Verdict = ANSWERS, stale: bool = False) -> str:
        status = {"gflownet": "stale" if stale else "finished", "answer": "finished"}
        stages = {
            name: StageRecord(status=status[name], verdict=verdict)
            for name, verdict in (("gflownet", first), ("answer", last))
        }
        verdict = method_verdict(stages, ["graphs", "gflownet", "answer"])
        assert verdict is not None and replace(verdict, closest=None) == replace(last, closest=None)
        return verdict_cells(verdict).as_good

    unsure = replace(GRADED, difference=-0.05, low=-0.12, high=0.02)
    assert as_good(unsure) == "(≈ beam)", "by another figure than the line's"
    assert as_good(GRADED) == "(▲ beam)", "which is shown to be better"
    assert as_good(HITS) == "", "which is shown to be worse"
    assert as_good(unsure, stale=True) == "", "of an earlier attempt"
    assert as_good(replace(unsure, method="pool")) == "", "of another method"
    assert as_good(unsure, replace(ANSWERS, closest=NEAR)) == "no probing", (
        "which is nearer: by the same figure"
    )
    beam = method_verdict(
        {name: StageRecord(status="finished", verdict=v) for name, v in (("gflownet", unsure), ("answer", ANSWERS))},
        ["gflownet", "answer"],
    )  # fmt: skip
    assert beam is not None and beam.closest is not None
    assert (beam.closest.difference, beam.closest.low, beam.closest.high) == (0.05, -0.02, 0.12), (
        "turned round"
    )
    shorter = replace(TOKENS, method="gflownet", baseline="beam")
    assert as_good(shorter) == "", "fewer tokens are better"
    assert method_verdict({"answer": StageRecord()}, ["answer"]) is None
