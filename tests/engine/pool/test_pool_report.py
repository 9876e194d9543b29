"""The totals over all training queries, from decisions written by hand: no two figures are equal."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from engine.config.config import Config
from engine.events import Event, Notice, OracleTotal, PoolTotals, Verdict
from engine.pool import layout, pool_report
from engine.pool.pool_report import write_report
from engine.pool.pool_work import DecisionLine
from engine.pool.vqa.evaluated_pairs import EvaluatedPair
from engine.run.stage import StageContext, StageResult

FEW = "too few pairs are right"


def trajectory(verdict: str, rule: str = "", kept: int = 0) -> dict[str, Any]:
    return {"verdict": verdict, "rule": rule, "kept": kept}


def line(name: str, before: float, after: float, **more: Any) -> DecisionLine:
    decision = {
        "query_id": name, "given_pool": 60, "oracle_before": before, "oracle_after": after,
        "injected": [], "asked": 4, "failed": 1, "warning": "", "dropped": {}, "trajectories": [],
    }  # fmt: skip
    return DecisionLine(query_id=name, decision=decision | more)


LINES = [
    line(
        "a", 0.3, 1.0, injected=[3, 9], dropped={"unknown row": 2}, warning=FEW,
        trajectories=[
            trajectory("given", "", 3), trajectory("committed", "positive", 2), trajectory("refused", "partial", 2),
        ],
    ),
    line(
        "b", 1.0, 1.0, injected=[4], dropped={"unknown row": 1, "the same row": 5},
        trajectories=[trajectory("committed", "positive", 1), trajectory("refused", "partial"), {"verdict": "given"}],
    ),
    line("c", 0.0, 0.6, warning=FEW),
    DecisionLine(query_id="d", left_out="no answers"),
    DecisionLine(query_id="e", left_out="no answers"),
]  # fmt: skip
PAIRS = [
    EvaluatedPair(
        query_id="a", pair=(1, 2), model="m", answer="x", score=score, calls=calls, tokens=10 * calls, cost=0.25
    )
    for calls, score in ((1, 1.0), (2, 0.3), (4, None))
]  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StageResult, list[Event]]:
    folder, events = tmp_path_factory.mktemp("pool"), list[Event]()
    layout.folder(folder).mkdir()
    nobody: Any = None
    context = StageContext("pool", Config(), folder, events.append, lambda: None, nobody)
    return folder, write_report(context, LINES, 7, PAIRS, "the model"), events


def test_the_totals(written: tuple[Path, StageResult, list[Event]]) -> None:
    """Intervals of 1 and 2 of 3 by Wilson; of the kept ones each but the first is a repetition."""
    folder, _, events = written
    one, two = (0.0614919447, 0.7923403992), (0.2076596008, 0.9385080553)
    (totals,) = (event for event in events if isinstance(event, PoolTotals))

    def oracle(mean: float, positive: int, interval: tuple[float, float]) -> OracleTotal:
        low, high = (pytest.approx(end) for end in interval)
        return OracleTotal(mean=pytest.approx(mean), positive=positive, low=low, high=high)  # type: ignore[arg-type]

    assert totals == PoolTotals(
        queries=3, before=oracle(1.3 / 3, 1, one), after=oracle(2.6 / 3, 2, two),
        left_out={"no answers": 2}, heldout=7, injected=3, warnings=2, dropped={"unknown row": 3, "the same row": 5},
        rules={"committed: positive": 2, "refused: partial": 2}, reserve=2, repeated=4, asked=3, failed=1, calls=7,
        tokens=70, cost=0.75, model="the model",
    )  # fmt: skip
    report = json.loads(layout.report(folder).read_text())
    assert (report["queries"], report["repeated"], report["model"]) == (3, 4, "the model")
    assert [event.text for event in events if isinstance(event, Notice)] == [
        "2 of 5 queries were left out: no answers",
        f"2 of 3 queries: {FEW} (see pool/oracle.csv)",
    ]


def test_a_line_for_each_query(written: tuple[Path, StageResult, list[Event]]) -> None:
    with layout.oracle(written[0]).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0] == {
        "query_id": "a", "given_pool": "60", "oracle_before": "0.3", "oracle_after": "1.0",
        "injected": "2", "asked": "4", "failed": "1", "committed": "1", "warning": FEW,
    }  # fmt: skip
    assert [row["committed"] for row in rows] == ["1", "1", "0"]


def test_the_summary_and_the_verdict(written: tuple[Path, StageResult, list[Event]]) -> None:
    """Two queries are better off, none is worse."""
    _, result, _ = written
    assert result.summary == {
        "queries": 3, "oracle_before": 0.4333, "oracle_after": 0.8667, "positive_before": 1, "positive_after": 2,
        "injected": 3, "asked": 3, "left_out": 2,
    }  # fmt: skip
    assert result.files == ["pool/oracle.csv", "pool/report.json"]
    verdict = result.verdict
    assert isinstance(verdict, Verdict)
    assert (verdict.method, verdict.baseline, verdict.metric, verdict.items) == (
        "pool",
        "given",
        "oracle",
        "queries",
    )
    assert (verdict.n, verdict.fixed, verdict.broken, verdict.cost, verdict.graded) == (3, 2, 0, 0.75, True)
    figures = (verdict.value, verdict.baseline_value, verdict.difference)
    assert figures == pytest.approx((2.6 / 3, 1.3 / 3, 1.3 / 3))


def test_letters_of_any_language_are_written_as_they_are(tmp_path: Path) -> None:
    layout.folder(tmp_path).mkdir()
    nobody: Any = None
    context = StageContext("pool", Config(), tmp_path, lambda event: None, lambda: None, nobody)
    write_report(context, LINES, 7, PAIRS, "modèle 模型")
    text = layout.report(tmp_path).read_text(encoding="utf-8")
    assert '\n  "model": "modèle 模型"' in text and text.startswith("{\n") and text.endswith("}\n")


def test_the_verdict_is_drawn_by_the_run_s_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the oracles before and after, with what the pairs cost."""
    layout.folder(tmp_path).mkdir()
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(pool_report, "pool_verdict", lambda *given: asked.append(given))
    config, nobody = Config.model_validate({"run": {"seed": 5}}), None
    context = StageContext("pool", config, tmp_path, lambda event: None, lambda: None, nobody)  # type: ignore[arg-type]
    write_report(context, LINES, 7, PAIRS, "the model")
    assert asked == [([0.3, 1.0, 0.0], [1.0, 1.0, 0.6], 5, 0.75)]
