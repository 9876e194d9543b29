"""What a reader of a comparison has to know besides the changed fields, a line each."""

from __future__ import annotations

from collections.abc import Sequence

from engine.comparison.figures import cell
from engine.comparison.items import Arm
from engine.comparison.pairing import Paired
from engine.comparison.run_items import RunItems

_FEW = 20
"""Items below which an interval says little."""


def remarks(a: RunItems, b: RunItems, paired: Sequence[tuple[Arm, Paired]]) -> list[str]:
    """The remarks, the weightiest first."""
    return [
        *_state("A", a),
        *_state("B", b),
        *_nothing(a, b, paired),
        *_seeds(a, b),
        *_versions(a, b),
        *_models(a, b),
        *_alone("A", a, b),
        *_alone("B", b, a),
        *_items(paired),
        *_many(paired),
    ]


def _state(name: str, run: RunItems) -> list[str]:
    lines: list[str] = []
    if run.status.state != "finished":
        lines.append(
            f"{name} is not finished ({run.status.state}): its figures are those of what it has done so far."
        )
    if stale := [name for name, stage in run.status.record.stages.items() if stage.stale]:
        lines.append(f"{name} has stale results, of an earlier attempt: those of {', '.join(stale)}.")
    if run.missing:
        lines.append(f"{name} has no log (events.jsonl): it has not started, or the file is gone.")
    if run.broken:
        lines.append(f"{name}: damaged lines of the log, passed over: {run.broken}.")
    return lines


def _nothing(a: RunItems, b: RunItems, paired: Sequence[tuple[Arm, Paired]]) -> list[str]:
    if not (a.arms and b.arms):
        empty = " and ".join(name for name, run in (("A", a), ("B", b)) if not run.arms)
        return [f"{empty} {'have' if ' ' in empty else 'has'} no results yet: there is nothing to compare."]
    if not paired:
        return ["No method has results in both runs: there is nothing to compare."]
    return []


def _seeds(a: RunItems, b: RunItems) -> list[str]:
    first, second = (run.status.record.seeds.get("run") for run in (a, b))
    if first == second:
        return []
    return [f"The seeds differ ({first} in A, {second} in B): part of each difference is another draw."]


def _versions(a: RunItems, b: RunItems) -> list[str]:
    first, second = a.status.record.versions, b.status.record.versions
    differ = [name for name in dict.fromkeys((*first, *second)) if first.get(name) != second.get(name)]
    words = [f"{name} {first.get(name, 'none')} | {second.get(name, 'none')}" for name in differ]
    return [f"The runs were made with other versions (A | B): {'; '.join(words)}."] if words else []


def _models(a: RunItems, b: RunItems) -> list[str]:
    shared = [name for name in a.models if name in b.models and a.models[name] != b.models[name]]
    return [f"The model {name} has other weights in B than in A." for name in shared]


def _alone(name: str, run: RunItems, other: RunItems) -> list[str]:
    if not (run.arms and other.arms):
        return []
    alone = [arm for key, arm in run.arms.items() if key not in other.arms]
    there = {system for system, _ in other.arms}
    words = dict.fromkeys(f"{arm.system} {arm.name}" if arm.system in there else arm.system for arm in alone)
    return [f"Only {name} has results of {', '.join(words)}."] if words else []


def _items(paired: Sequence[tuple[Arm, Paired]]) -> list[str]:
    """Items that could not be paired: one line for all arms of a method of which the same is true."""
    arms: dict[tuple[str, str], list[str]] = {}
    for arm, pairs in paired:
        for text in _unpaired(pairs):
            arms.setdefault((arm.system, text), []).append(arm.name)
    all_names = {system: [arm.name for arm, _ in paired if arm.system == system] for system, _ in arms}
    return [
        f"{system}{'' if names == all_names[system] else ' ' + ', '.join(names)}: {text}"
        for (system, text), names in arms.items()
    ]


def _unpaired(pairs: Paired) -> list[str]:
    lines: list[str] = []
    if pairs.only_a or pairs.only_b:
        alone = [f"{n} only in {run}" for n, run in ((pairs.only_a, "A"), (pairs.only_b, "B")) if n]
        lines.append(f"both runs have {_items_of(len(pairs.pairs))}, {' and '.join(alone)}.")
    if pairs.other_question:
        count = _items_of(pairs.other_question)
        lines.append(f"left out: {count} with the same id and another question (other data sets).")
    if pairs.unjudged:
        lines.append(f"left out: {_items_of(pairs.unjudged)} that one of the runs has not judged.")
    if 0 < len(pairs.pairs) - pairs.unjudged < _FEW:
        lines.append(f"fewer than {_FEW} items: an interval from so few says little.")
    return lines


def _many(paired: Sequence[tuple[Arm, Paired]]) -> list[str]:
    rows = sum(any(cell(*pair) is not None for pair in pairs.pairs) for _, pairs in paired)
    text = f"There are {rows} rows with a p and no correction for that: a p below 0.05 may be chance in one of 20."
    return [text] if rows > 1 else []


def _items_of(count: int) -> str:
    return "1 item" if count == 1 else f"{count:,} items"
