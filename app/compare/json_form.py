"""A comparison as JSON; its form is described in app/README.md. Fields may be added; one that changes its meaning
raises `VERSION`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from app.compared.words import run_words
from engine.comparison.comparison import ArmPair, Comparison
from engine.comparison.fields import ChangedField
from engine.comparison.items import Item
from engine.comparison.run_items import RunItems
from engine.comparison.trace import Parting, Step

VERSION = 1


def json_form(comparison: Comparison) -> dict[str, Any]:
    """The whole comparison, with every pair of items and where its traces part."""
    a, b = (words.name for words in run_words((comparison.a, comparison.b)))
    return {
        "form": "steer-tui comparison",
        "version": VERSION,
        "a": _run(comparison.a, a),
        "b": _run(comparison.b, b),
        "changed": [_changed(field) for field in comparison.changed],
        "remarks": comparison.remarks,
        "methods": [_method(comparison, arm) for arm in comparison.arms],
    }


def _run(run: RunItems, shown_as: str) -> dict[str, Any]:
    record = run.status.record
    return {
        "path": str(run.path),
        "name": record.name,
        "shown_as": shown_as,
        "run_id": record.run_id,
        "state": run.status.state,
        "seed": record.seeds.get("run"),
    }


def _changed(field: ChangedField) -> dict[str, Any]:
    """Values as they are in the configuration; a run without the field has no key for it."""
    sides = {name: json.loads(text) for name, text in (("a", field.a), ("b", field.b)) if text}
    return {"field": field.name, **sides}


def _method(comparison: Comparison, arm: ArmPair) -> dict[str, Any]:
    figures, paired = asdict(arm.figures), arm.paired
    cells = figures.pop("cells") or (None,) * 4
    names = ("both_right", "only_a_right", "only_b_right", "neither_right")
    return {
        "system": arm.a.system,
        "method": arm.a.name,
        "stage": arm.a.stage,
        "right_means": arm.a.right_means,
        **figures,
        **dict(zip(names, cells, strict=True)),
        "only_in_a": paired.only_a,
        "only_in_b": paired.only_b,
        "other_question": paired.other_question,
        "unjudged": paired.unjudged,
        "items": [_item(a, b, comparison.parting(arm, a, b)) for a, b in paired.pairs],
    }


def _item(a: Item, b: Item, parting: Parting) -> dict[str, Any]:
    first = None if parting.first is None else parting.steps[parting.first]
    return {
        "id": a.id,
        "score_a": a.score,
        "score_b": b.score,
        "right_a": a.right,
        "right_b": b.right,
        "tokens_a": a.tokens,
        "tokens_b": b.tokens,
        "parts_at": first
        and {
            "step": first.step.key,
            "differs": list(first.differs),
            "a": _step(first.a),
            "b": _step(first.b),
        },
    }


def _step(step: Step | None) -> dict[str, Any] | None:
    return step and {**step.decided, "text": step.text}
