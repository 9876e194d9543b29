"""What a check of a server tells of what it saw."""

from __future__ import annotations

from typing import Any

import pytest

from engine.doctor.capabilities import Capability, Check, NoCompletion, Seen

NOBODY: Any = None


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (Seen("ok", "text"), ("ok", "text", "")),
        (Seen("unknown", "text"), ("unknown", "text", "")),
        (Seen("no", "text"), ("no", "text", "of no")),
        (Seen("no", "text", "another"), ("no", "text", "another")),
        (Seen("unknown", "text", "another"), ("unknown", "text", "another")),
    ],
)
def test_the_meaning_of_no_is_the_checks_own(seen: Seen, told: tuple[Any, str, str]) -> None:
    check = Check("seed", lambda probe, first, greedy: seen, "of no")
    assert check(NOBODY, NOBODY, NOBODY) == Capability("seed", *told)


def test_an_error_is_the_result_of_its_check() -> None:
    def refused(*_: Any) -> Seen:
        raise NoCompletion("422: no seed here")

    def misshapen(*_: Any) -> Seen:
        raise KeyError("choices")

    assert Check("seed", refused, "of no")(NOBODY, NOBODY, NOBODY) == Capability(
        "seed", "no", "422: no seed here", "of no"
    )
    found = Check("seed", misshapen, "of no")(NOBODY, NOBODY, NOBODY)
    assert found.state == "unknown" and "unexpected shape ('choices')" in found.text and not found.meaning
