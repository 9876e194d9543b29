"""Which fields two configurations have otherwise."""

from __future__ import annotations

from engine.comparison.fields import ChangedField, changed_fields
from engine.config.changes import differing_fields


def test_fields_of_either_configuration_are_told_and_where_a_run_is_kept_is_not() -> None:
    first = {"run": {"name": "a", "outputs": "x", "seed": 0}, "online": {"L": 3, "old": True}, "list": [1, 2]}
    second = {
        "run": {"name": "b", "outputs": "y", "seed": 0},
        "online": {"L": 5, "new": None},
        "list": [2, 1],
    }
    assert changed_fields(first, second) == [
        ChangedField("online.L", "3", "5"), ChangedField("online.old", "true", ""),
        ChangedField("online.new", "", "null"), ChangedField("list", "[1, 2]", "[2, 1]"),
    ]  # fmt: skip


def test_values_of_each_of_several_configurations() -> None:
    """A section that one of them lacks is told field by field; `1` and `true` are not the same."""
    configs = [
        {"a": 1, "same": {"x": [0]}, "deep": {"k": {"n": 1}}, "empty": {}},
        {"a": True, "same": {"x": [0]}, "deep": {"k": {"n": 2}}, "empty": {}, "new": {"y": "é"}},
        {"a": 1, "same": {"x": [0]}, "deep": {"k": {"n": 1}}, "empty": {"z": 0}},
    ]
    assert differing_fields(configs) == {
        "a": ("1", "true", "1"), "deep.k.n": ("1", "2", "1"), "empty.z": ("", "", "0"), "new.y": ("", '"é"', ""),
    }  # fmt: skip
    assert differing_fields(configs[:1]) == {} == differing_fields([])
