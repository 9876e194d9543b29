"""The first decision in which two runs of ESM differ: `compare` against a literal reading of their files.

    python -m tests.bench.bench_first_difference RUN RUN

Prints how many problems both have, in how many the runs decided otherwise somewhere, and on how many both readings name
the same control point, or none.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from engine.comparison.comparison import compare_runs
from engine.comparison.trace import AlignedTraces

Answer = dict[str, Any]


def answers(run: Path) -> dict[str, Answer]:
    """ESM's answers by problem."""
    with (run / "esm" / "eval" / "esm" / "per_example.jsonl").open() as file:
        return {line["example_id"]: line for line in map(json.loads, file)}


def decided(step: dict[str, Any]) -> tuple[object, ...]:
    """What counts: rule, entry, strength to three digits, what was written."""
    return step["gate"], step["chosen"], round(step["alpha"] or 0.0, 3), step["committed_tokens"]


def first_difference(one: Answer, other: Answer) -> int | None:
    """The control point of the first step that differs."""
    steps, others = one["steps"], other["steps"]
    for at in range(max(len(steps), len(others))):
        if at >= min(len(steps), len(others)) or decided(steps[at]) != decided(others[at]):
            return (steps if at < len(steps) else others)[at]["m"]
    return None


def parting_at(traces: AlignedTraces) -> str | None:
    """The key of the first step that differs."""
    return None if traces.first is None else traces.steps[traces.first].step.key


def main(first: Path, second: Path) -> None:
    """Compare, and print."""
    told = compare_runs(first, second)
    esm = next(arm for arm in told.arms if arm.a.name == "esm")
    parts = {a.id: told.traces(esm, a, b) for a, b in esm.paired.pairs}
    ours, theirs = answers(first), answers(second)
    both = sorted(ours.keys() & theirs.keys())
    expected = {example: first_difference(ours[example], theirs[example]) for example in both}
    named = {example: parting_at(parts[example]) for example in both}
    agree = [
        example
        for example in both
        if named[example] == (f"segment {expected[example]}" if expected[example] else None)
    ]
    differ = sum(point is not None for point in expected.values())
    print(f"{len(both)} problems, {differ} decided otherwise, {len(agree)} named alike")
    for example in sorted(set(both) - set(agree)):
        print(example, expected[example], parts[example])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
