"""What becomes of errors and findings that a check collects."""

from __future__ import annotations

import pytest

from engine.check.finding import Finding, Findings, run_checks
from engine.errors import ConfigError, DataError, ModelAbsent, Problem, SteerError


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (
            ConfigError([Problem("a.b", "7", "at most 5"), Problem("a.c", "x", "a number")]),
            [
                Finding("wrong", "7, expected at most 5", "a.b"),
                Finding("wrong", "x, expected a number", "a.c"),
            ],
        ),
        (
            ModelAbsent(what="no model", where="there", hint="fetch it"),
            [Finding("absent", "no model", "the.field", "fetch it")],
        ),
        (
            DataError(what="no lines", where="f.jsonl", hint="write some"),
            [Finding("wrong", "no lines (f.jsonl)", "the.field", "write some")],
        ),
        (None, []),
    ],
)
def test_an_error_is_a_finding(error: SteerError | None, found: list[Finding]) -> None:
    findings = Findings()
    with findings.at("the.field"):
        if error is not None:
            raise error
    assert findings.all == found


def test_a_fault_of_the_program_is_no_finding() -> None:
    with pytest.raises(ZeroDivisionError), Findings().at("the.field"):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("kind", "fetched", "stops"),
    [("here", False, False), ("absent", True, False), ("absent", False, True), ("wrong", False, True)],
)
def test_a_stage_is_stopped_by_what_is_wrong_or_does_not_come_by_itself(
    kind: str, fetched: bool, stops: bool
) -> None:
    assert Finding(kind, "what", "where", "hint", fetched).stops is stops  # type: ignore[arg-type]


def test_each_check_adds_its_findings_in_turn() -> None:
    def first(findings: Findings) -> None:
        findings.here("one", "a")
        findings.wrong("two", "b")

    def second(findings: Findings) -> None:
        findings.absent("three", "c", "wait", fetched=True)

    assert list(run_checks(first, second)) == [
        Finding("here", "one", "a"),
        Finding("wrong", "two", "b"),
        Finding("absent", "three", "c", "wait", True),
    ]
