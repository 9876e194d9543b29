"""Names of memory entries as they are typed."""

from __future__ import annotations

import pytest

from app.methods.esm.entry_words import name_within
from app.wording.entry_names import typed_names

NAME, OTHER = "Backward → Forward, step 2", "32 → 22, step 12 #3"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (NAME, [NAME]),
        (f" {NAME} + {OTHER}", [NAME, OTHER]),
        (f"{NAME}, {OTHER},lib_00004", [NAME, OTHER, "lib_00004"]),
        ("Backward -> Forward, step 2", [NAME]),
        ("1 2, 3+4", ["1", "2", "3", "4"]),
        (f"2 + {NAME}", ["2", NAME]),
        ("a_m1_l2_wrong, b_m1_l2_wrong", ["a_m1_l2_wrong", "b_m1_l2_wrong"]),
        (" , +", []),
        ("", []),
    ],
)
def test_names_ids_and_numbers(text: str, names: list[str]) -> None:
    assert typed_names(text) == names


@pytest.mark.parametrize(("width", "shown"), [(19, OTHER), (18, "32 → 22 #3"), (3, "32…")])
def test_in_little_room_the_step_is_left_out(width: int, shown: str) -> None:
    assert name_within(OTHER, width) == shown
