"""The table of planted faults fits the program as it is."""

from __future__ import annotations

from functools import cache

from tests.bench.bench_planted_faults import FIELDS, ROOT, read_faults


@cache
def text_of(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def test_each_fault_can_be_planted_and_names_tests_that_exist() -> None:
    """Where code has moved on: change the line, and empty its `noticed`."""
    for fault in read_faults():
        assert tuple(fault) == FIELDS
        assert text_of(fault["file"]).count(fault["old"]) == 1, (fault["file"], fault["old"])
        assert fault["old"] != fault["new"]
        for name in fault["tests"].split():
            assert (ROOT / "tests" / name.partition("::")[0]).exists(), name


def test_the_page_has_the_counts_of_the_table() -> None:
    faults = read_faults()
    page = (ROOT / "tests" / "bench" / "README.md").read_text(encoding="utf-8")
    assert f"| {len(faults):,} one-line faults " in page and all(
        fault["noticed"] == "yes" for fault in faults
    )
    for name, words in (
        ("engine, fresh", "engine"), ("app and screens", "app, screens"), ("hostile", "by hostile authors")
    ):  # fmt: skip
        first = [fault["first"] == "yes" for fault in faults if fault["set"] == name]
        assert f"{words} {sum(first)} of {len(first)}" in page
