"""From which failure on a server counts as dead."""

from __future__ import annotations

import pytest

from engine.errors import SteerError
from engine.servers.side_by_side import ServerFailures
from tests.exactly import exactly


def failure(number: int) -> SteerError:
    return SteerError(what=f"failure {number}", where="w", hint="h")


def test_seven_in_a_row_are_written_once_it_answers_the_eighth_ends_the_stage() -> None:
    written: list[int] = []
    failures = ServerFailures(written.append)
    for number in range(7):
        failures.take(number, failure(number))
    assert written == []
    failures.take(7)
    assert written == [0, 1, 2, 3, 4, 5, 6, 7], "in the order in which they came"
    for number in range(10, 17):
        failures.take(number, failure(number))
    with pytest.raises(SteerError, match=exactly("failure 17 (w): h")):
        failures.take(17, failure(17))
    failures.take(18)
    assert written[8:] == [18], "what a dead server lost is asked for again"


@pytest.mark.parametrize(
    ("failed", "asked", "dead"), [(2, 2, True), (1, 1, False), (2, 3, False), (0, 0, False)]
)
def test_where_all_of_several_fail_the_stage_ends(failed: int, asked: int, dead: bool) -> None:
    written: list[int] = []
    failures = ServerFailures(written.append)
    for number in range(failed):
        failures.take(number, failure(number))
    if dead:
        with pytest.raises(SteerError, match=exactly("failure 1 (w): h")):
            failures.end(asked)
    else:
        failures.end(asked)
    assert written == ([] if dead else list(range(failed)))
