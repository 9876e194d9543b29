"""Which fields two configurations have otherwise."""

from __future__ import annotations

from engine.comparison.fields import ChangedField, changed_fields


def test_fields_of_either_configuration_are_told_and_where_a_run_is_kept_is_not() -> None:
    first = {"run": {"name": "a", "outputs": "x", "seed": 0}, "online": {"L": 3, "old": True}, "list": [1, 2]}
    second = {
        "run": {"name": "b", "outputs": "y", "seed": 0},
        "online": {"L": 5, "new": None},
        "list": [2, 1],
    }
    assert changed_fields(first, second) == [
        ChangedField("online.L", "3", "5"), ChangedField("online.old", "true", ""),
        ChangedField("list", "[1, 2]", "[2, 1]"), ChangedField("online.new", "", "null"),
    ]  # fmt: skip
