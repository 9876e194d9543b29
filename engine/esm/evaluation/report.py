"""Tables and cases of an evaluation (spec ESM 7.2)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from engine.config.config import Config
from engine.config.esm_methods import METHODS
from engine.esm import layout
from engine.esm.evaluation.answer_lines import AnswerLine
from engine.esm.evaluation.compare import Comparison, compared
from engine.esm.evaluation.verdict import esm_verdict
from engine.files import csv_text, write_atomic
from engine.run.stage import StageResult

Row = dict[str, Any]
_COLUMNS = {"p": "mcnemar_p"}
Summary = dict[str, float | int | str]


def write_report(
    run_dir: Path,
    config: Config,
    lines: Mapping[str, Sequence[AnswerLine]],
    names: Mapping[str, str] = MappingProxyType({}),
) -> StageResult:
    """Everything under tables/ and cases/. Returns the stage's summary, files and verdict. `names`: of entries,
    by id."""
    rows = {name: _row(name, answers, lines.get("greedy"), config) for name, answers in lines.items()}
    main = [row for name, row in rows.items() if METHODS[name].asked_by == "methods"]
    ablations = [row for name, row in rows.items() if name == "esm" or row not in main]
    t_max = config.decode.max_new_tokens
    diagnostics = [_diagnostics(name, answers) for name, answers in lines.items() if METHODS[name].steers]
    compare = [row for name, row in rows.items() if row["difference"] is not None]
    tables = {"main_results_single": main, "ablation": ablations}
    tables |= {f"diagnostics_T{t_max}": diagnostics, f"compare_T{t_max}": compare}
    written: list[Path] = []
    for name, table in tables.items():
        written.append(layout.tables(run_dir) / f"{name}.csv")
        write_atomic(written[-1], csv_text(table))
        if name.startswith(("diagnostics", "compare")):
            written.append(layout.tables(run_dir) / f"{name}.json")
            write_atomic(written[-1], json.dumps(table, indent=2, ensure_ascii=False) + "\n")
    if "greedy" in lines and "esm" in lines:
        written.append(layout.cases(run_dir) / f"cases_T{t_max}.md")
        write_atomic(written[-1], _cases(lines["esm"], lines["greedy"], config.eval.cases, names))
    summary: Summary = {f"accuracy_{name}": row["accuracy"] for name, row in rows.items()}
    written += [layout.evaluation(run_dir, name) / "per_example.jsonl" for name in lines]
    return StageResult(
        summary, [str(path.relative_to(run_dir)) for path in written], esm_verdict(rows, lines, config)
    )


def _row(
    method: str, answers: Sequence[AnswerLine], greedy: Sequence[AnswerLine] | None, config: Config
) -> Row:
    n = len(answers)
    comparison = compared(answers, greedy, config) if greedy is not None and method != "greedy" else None
    return {
        "dataset": config.task.dataset,
        "method": method,
        "T_max": config.decode.max_new_tokens,
        "n": n,
        "accuracy": sum(line.correct for line in answers) / n,
        "accuracy_strict": _strict(answers),
        "mean_committed_tokens": sum(line.tokens_used for line in answers) / n,
        "mean_probe_tokens": sum(line.probe_tokens_used for line in answers) / n,
        "mean_total_tokens": sum(line.budget_used for line in answers) / n,
        **{_COLUMNS.get(f.name, f.name): getattr(comparison, f.name, None) for f in fields(Comparison)},
    }


def _strict(answers: Sequence[AnswerLine]) -> float | None:
    known = [line.correct_strict for line in answers if line.correct_strict is not None]
    return sum(known) / len(known) if len(known) == len(answers) else None


def _diagnostics(method: str, answers: Sequence[AnswerLine]) -> Row:
    """How often memory was asked, what the gates said, and how hard it steered."""
    steps = [step for line in answers for step in line.steps]
    steered = [step for step in steps if step.chosen is not None]
    sims = [step.top_similarity for step in steps if step.top_similarity is not None]
    gates = Counter(step.gate for step in steps)
    return {
        "method": method,
        "decisions": len(steps),
        "steered": len(steered),
        "steered_share": len(steered) / len(steps) if steps else 0.0,
        "mean_alpha": sum(step.alpha for step in steered) / len(steered) if steered else 0.0,
        "mean_score": sum(step.score or 0.0 for step in steered) / len(steered) if steered else 0.0,
        "mean_top_similarity": sum(sims) / len(sims) if sims else 0.0,
        "gates": " ".join(f"{gate}:{count}" for gate, count in sorted(gates.items())),
    }


def _cases(
    esm: Sequence[AnswerLine], greedy: Sequence[AnswerLine], most: int, names: Mapping[str, str]
) -> str:
    """The first improved and worsened examples, both answers whole."""
    pairs = list(zip(esm, greedy, strict=True))
    improved = [(a, b) for a, b in pairs if a.correct and not b.correct]
    worsened = [(a, b) for a, b in pairs if b.correct and not a.correct]
    parts = [f"# Cases\n\n{len(improved)} improved, {len(worsened)} worsened by esm against greedy.\n"]
    for title, chosen in (("Improved", improved), ("Worsened", worsened)):
        parts.append(f"## {title}\n")
        parts.extend(_case(a, b, names) for a, b in chosen[:most])
    return "\n".join(parts)


def _case(esm: AnswerLine, greedy: AnswerLine, names: Mapping[str, str]) -> str:
    steered = [step for step in esm.steps if step.chosen]
    taken = "; ".join(f"m={s.m} {names.get(s.chosen or '', s.chosen)} α={s.alpha:.3f}" for s in steered)
    return (
        f"### {esm.example_id}\n\n{esm.question}\n\nGold: {esm.gold}\n\n"
        f"Greedy ({greedy.pred or 'no answer'}):\n\n{_quoted(greedy.text)}\n\n"
        f"ESM ({esm.pred or 'no answer'}), steered at {taken or 'no control point'}:\n\n{_quoted(esm.text)}\n"
    )


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" if line else ">" for line in text.splitlines())
