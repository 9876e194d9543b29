"""The hints of a comparison name the keys that do it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from app.compared.words import RunWords
from app.keys.commands import COMPARE
from engine.comparison.fields import ChangedField
from screens.compare.words import about_items, about_methods, changed_words, title
from tests.named_tones import parts


def test_the_hint_names_the_key_of_other_items() -> None:
    arm: Any = SimpleNamespace(a=SimpleNamespace(system="ESM", name="greedy"))
    text = about_items(arm, None, 12).plain
    assert text == "ESM, greedy: 12 items. v shows others."
    assert any(command.key == "v" for command in COMPARE)


@pytest.mark.parametrize(
    ("cell", "kind"),
    [(None, ""), (0, "both right, "), (1, "only A right, "), (2, "only B right, "), (3, "neither right, ")],
)
def test_which_items_are_listed(cell: int | None, kind: str) -> None:
    arm: Any = SimpleNamespace(a=SimpleNamespace(system="ESM", name="greedy"))
    assert about_items(arm, cell, 1).plain == f"ESM, greedy: {kind}1 item. v shows others."


def test_means_of_slsm_are_over_conversations() -> None:
    """Of it alone the run's own score is another mean."""
    figures, paired = SimpleNamespace(cells=(1, 2, 3, 1_004), n=4), SimpleNamespace(pairs=[0])
    for system, more in (
        ("ESM", ""),
        ("SLSM", " Means here are over conversations; a run's own score is the mean over its axes."),
    ):
        a = SimpleNamespace(system=system, name="m", right_means="it is right")
        arm: Any = SimpleNamespace(a=a, figures=figures, paired=paired)
        comparison: Any = SimpleNamespace(remarks=["one", "two"])
        assert about_methods(comparison, arm).plain == (
            f"{system}, m. Right means: it is right. Both right 1, only A 2, only B 3, neither 1,004.{more}\none\ntwo"
        )


def test_changed_fields_in_a_line() -> None:
    fields = [
        ChangedField("online.L", "3", "5"),
        ChangedField("task.name", "", "x"),
        ChangedField("a", "y", ""),
    ]
    comparison: Any = SimpleNamespace(changed=fields)
    assert changed_words(comparison).plain == (
        "3 changed fields, A → B:   online.L 3 → 5   task.name not there → x   a y → not there"
    )
    comparison.changed = fields[:1]
    assert changed_words(comparison).plain == "1 changed field, A → B:   online.L 3 → 5"


def test_the_title_has_names_then_folders() -> None:
    runs = [RunWords("L=3", "demo/1, running"), RunWords("L=5", "demo/2")]
    assert title(runs).plain == " compare   A L=3  B L=5   A demo/1, running   B demo/2"


def test_the_tones_of_the_lines() -> None:
    """What is named is bold; what stands around it is dim in title and fields."""
    runs = [RunWords("L=3", "demo/1"), RunWords("L=5", "demo/2")]
    assert parts(title(runs)) == [
        (" compare ", "bold reverse"), ("  A ", "bold"), ("L=3", ""), ("  B ", "bold"), ("L=5", ""),
        ("   A demo/1   B demo/2", "dim"),
    ]  # fmt: skip
    comparison: Any = SimpleNamespace(changed=[ChangedField("online.L", "3", "5")], remarks=["one"])
    changed = changed_words(comparison)
    assert changed.style == "dim" and parts(changed) == [
        ("1 changed field, A → B:   ", "dim"), ("online.L ", "bold"), ("3 → 5", "dim"),
    ]  # fmt: skip
    arm: Any = SimpleNamespace(a=SimpleNamespace(system="ESM", name="greedy"))
    assert parts(about_items(arm, 1, 2)) == [
        ("ESM, greedy: only A right, 2 items", "bold"), (". v shows others.", ""),
    ]  # fmt: skip
    assert about_methods(comparison, None).plain == "one", "the first remark has no line before it"
