"""The table of code lines by package, and that nothing is counted that is no code."""

from __future__ import annotations

from pathlib import Path

from tests.bench.code_lines import code_lines, count_lines, over_budget, read_budget

SOURCE = '''"""A docstring
of two lines."""

# a comment
import os


def place(
    name: str,  # counted: there is code before the comment
) -> str:
    """Docstrings of functions do not count."""
    text = """
    a text does
    """
    return os.path.join(name, text)
'''


def test_code_lines_of_a_module() -> None:
    """import, three of the signature, three of the text, return."""
    assert code_lines(SOURCE) == 8


def test_packages_are_folders_of_a_package(tmp_path: Path) -> None:
    package = tmp_path / "engine"
    (package / "esm" / "deep").mkdir(parents=True)
    for path in ("seeds.py", "esm/mine.py", "esm/deep/more.py"):
        (package / path).write_text("a = 1\nb = 2\n")
    lines, files = count_lines([package])
    assert lines == {"engine": 2, "engine/esm": 4}
    assert files == {"engine": 1, "engine/esm": 2}


def test_a_room_beyond_its_budget_is_named() -> None:
    budget = read_budget("engine/esm 1,000  # why\n# a comment\nengine 5\n")
    assert budget == {"engine/esm": 1000, "engine": 5}
    assert over_budget({"engine/esm": 1000, "engine": 4}, budget) == []
    assert over_budget({"engine/esm": 1001, "app": 1}, budget) == [
        "app has 1 code lines, its budget is 0",
        "engine/esm has 1,001 code lines, its budget is 1,000",
    ]
