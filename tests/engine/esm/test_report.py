"""The tables of an evaluation, from lines written by hand: no two figures of a row are equal."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from engine.config.esm import EvalSection
from engine.config.file import load_config
from engine.esm.evaluation.answer_lines import AnswerLine
from engine.esm.evaluation.report import _diagnostics, _strict, write_report
from tests.kill_and_resume import DEMO
from tests.small_esm import answer_line


def step(gate: str, top: float | None = None, chosen: str | None = None, **more: float) -> dict[str, Any]:
    given: dict[str, Any] = {"m": 1, "phase": "segment", "committed_tokens": 0, "probe_tokens": 0}
    return given | {"gate": gate, "chosen": chosen, "top_similarity": top, "alpha": 0.0, "score": 0.0} | more


def line(key: str, right: str, used: int, probed: int, steps: list[dict[str, Any]]) -> AnswerLine:
    """`right`: of the answer as a whole, and as it is marked, 1 or 0 each."""
    return answer_line(
        example_id=key, question=f"Q {key}", text=f"T {key}\n\nend", pred="7" if right[0] == "1" else "", gold="7",
        correct=right[0] == "1", correct_strict=right[1] == "1", tokens_used=used, probe_tokens_used=probed,
        budget_used=used + probed, steps=steps,
    )  # fmt: skip


GREEDY = [
    line(key, right, 10, 0, [])
    for key, right in zip("abcdef", ("00", "00", "01", "11", "00", "11"), strict=True)
]
ESM = [
    line("a", "11", 20, 6, [step("chosen", 0.9, "w1", alpha=3.0, score=2.0), step("null_best", 0.4)]),
    line("b", "10", 10, 0, [step("first_segment")]),
    line("c", "10", 10, 3, [step("chosen", 0.8, "w2", alpha=1.0, score=0.5), step("tail")]),
    line("d", "00", 10, 0, [step("min_sim", 0.1)]),
    line("e", "00", 10, 0, []),
    line("f", "11", 12, 0, [step("min_sim", 0.3)]),
]  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    config = load_config(DEMO, ["decode.max_new_tokens=50"])
    lines = {"greedy": GREEDY, "esm": ESM, "no_probing": ESM[:2] + GREEDY[2:]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EvalSection, "cases", 1)
        result = write_report(
            folder,
            config,
            lines,
            {"w1": "+ → -, step 1"},
        )
    assert result.summary["accuracy_esm"] == pytest.approx(4 / 6)
    assert result.verdict is not None and (result.verdict.fixed, result.verdict.broken) == (3, 1)
    return folder


def rows(path: Path) -> dict[str, dict[str, str]]:
    with path.open(newline="") as file:
        return {row["method"]: row for row in csv.DictReader(file)}


def test_a_row_has_shares_tokens_and_the_pairs_with_greedy(written: Path) -> None:
    main, ablation = (
        rows(next(written.rglob(f"{name}.csv"))) for name in ("main_results_single", "ablation")
    )
    assert list(main) == ["greedy", "esm"] and list(ablation) == ["esm", "no_probing"]
    row = {name: float(value) for name, value in main["esm"].items() if name not in ("dataset", "method")}
    wanted = {
        "T_max": 50, "n": 6, "accuracy": 4 / 6, "accuracy_strict": 2 / 6, "mean_committed_tokens": 12,
        "mean_probe_tokens": 1.5, "mean_total_tokens": 13.5, "difference": 2 / 6, "mcnemar_p": 2 * (1 + 4) / 2**4,
        "fixed": 3, "broken": 1,
    }  # fmt: skip
    assert {name: row[name] for name in wanted} == pytest.approx(wanted)
    assert row["low"] == pytest.approx(-2 / 6) and row["high"] == pytest.approx(5 / 6)
    assert main["greedy"]["difference"] == main["greedy"]["fixed"] == ""
    assert (ablation["no_probing"]["fixed"], ablation["no_probing"]["broken"]) == ("2", "0")


def test_diagnostics_count_gates_and_the_means_of_what_was_steered(written: Path) -> None:
    (path,) = written.rglob("diagnostics_T50.json")
    table = json.loads(path.read_text())
    assert path.read_text() == json.dumps(table, indent=2, ensure_ascii=False) + "\n"
    found = {row["method"]: row for row in table}
    assert list(found) == ["esm", "no_probing"]
    assert found["esm"] == {
        "method": "esm", "decisions": 7, "steered": 2, "steered_share": pytest.approx(2 / 7),
        "mean_alpha": pytest.approx(2.0), "mean_score": pytest.approx(1.25),
        "mean_top_similarity": pytest.approx((0.9 + 0.4 + 0.8 + 0.1 + 0.3) / 5),
        "gates": "chosen:2 first_segment:1 min_sim:2 null_best:1 tail:1",
    }  # fmt: skip


def test_cases_count_all_and_show_the_first(written: Path) -> None:
    (path,) = written.rglob("cases_T50.md")
    text = path.read_text()
    assert text.startswith("# Cases\n\n3 improved, 1 worsened by esm against greedy.\n")
    improved, worsened = text.split("## Improved")[1].split("## Worsened")
    assert improved.strip() == (
        "### a\n\nQ a\n\nGold: 7\n\nGreedy (no answer):\n\n> T a\n>\n> end\n\n"
        "ESM (7), steered at m=1 + → -, step 1 α=3.000:\n\n> T a\n>\n> end"
    )
    assert worsened.strip() == (
        "### d\n\nQ d\n\nGold: 7\n\nGreedy (7):\n\n> T d\n>\n> end\n\n"
        "ESM (no answer), steered at no control point:\n\n> T d\n>\n> end"
    )


@pytest.mark.parametrize(
    ("known", "share"),
    [([True, False, False], 1 / 3), ([True, None, False], None), ([None, None], None)],
)
def test_marked_answers_are_counted_where_all_are_known(
    known: list[bool | None], share: float | None
) -> None:
    """Lines of earlier versions do not say it: a share of the others would be another figure."""
    assert _strict([answer_line(correct_strict=one) for one in known]) == share


def test_a_vector_of_no_strength_was_chosen_all_the_same() -> None:
    steps = [step("chosen", 0.9, "w1", alpha=0.0, score=2.0), step("chosen", 0.5, "w2", alpha=3.0, score=1.0)]
    found = _diagnostics("esm", [line("a", "11", 20, 6, [*steps, step("null_best", 0.1)])])
    assert (found["steered"], found["steered_share"]) == (2, pytest.approx(2 / 3))
    assert (found["mean_alpha"], found["mean_score"]) == (1.5, 1.5)
