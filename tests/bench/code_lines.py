"""Code lines of each package: physical lines that hold more than a comment or a docstring.

    python -m tests.bench.code_lines           # the table
    python -m tests.bench.code_lines --check   # fails where a package holds more than tests/code_budget.txt allows

A package is a folder of app, engine or screens, or the files at the root of one. A budget line is a package, its most
code lines, and, where it was raised, why.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUDGET = ROOT / "tests" / "code_budget.txt"
PACKAGES = ("app", "engine", "screens")
_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip
_SCOPES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(source: str) -> int:
    """Code lines of a module's source."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _SCOPES) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            documented.update(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - documented)


def count_lines(roots: Iterable[Path]) -> tuple[Counter[str], Counter[str]]:
    """Code lines and files of every package."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for root in roots:
        for path in root.rglob("*.py"):
            *folders, _ = path.relative_to(root.parent).parts
            package = "/".join(folders[:2])
            lines[package] += code_lines(path.read_text(encoding="utf-8"))
            files[package] += 1
    return lines, files


def read_budget(text: str) -> dict[str, int]:
    """Most code lines by package; `#` begins a comment."""
    words = (line.partition("#")[0].split() for line in text.splitlines())
    return {package: int(most.replace(",", "")) for package, most in (line for line in words if line)}


def over_budget(lines: Mapping[str, int], budget: Mapping[str, int]) -> list[str]:
    """What is wrong, a sentence for each package: too many lines, or no budget."""
    return [
        f"{package} has {count:,} code lines, its budget is {budget.get(package, 0):,}"
        for package, count in sorted(lines.items())
        if count > budget.get(package, 0)
    ]


def main() -> None:
    """The table, or with `--check` the packages that are over their budget."""
    lines, files = count_lines(ROOT / package for package in PACKAGES)
    if "--check" in sys.argv:
        wrong = over_budget(lines, read_budget(BUDGET.read_text(encoding="utf-8")))
        if wrong:
            sys.exit(
                "\n".join(
                    [*wrong, f"Make it smaller, or raise the number in {BUDGET.name} and say there why."]
                )
            )
        return
    for package, count in lines.most_common():
        print(f"{count:7,} {files[package]:5} {package}")
    print(f"{lines.total():7,} {files.total():5} all")


if __name__ == "__main__":
    main()
