"""The structure of the code in figures: rooms, circles of imports, files at the root of each folder, lines.

`python -m tests.bench.bench_structure [FOLDER]` measures this checkout, or another one, for a comparison:
`git worktree add /tmp/before COMMIT; python -m tests.bench.bench_structure /tmp/before`.

A room is a folder of `engine/` (a file at its root is a room of its own), of `app/` and of `screens/`, taken alike.
A circle is a set of rooms, or of files, that import each other directly or through others; imports under
`TYPE_CHECKING` and inside functions count.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

PACKAGES = ("engine", "app", "screens")
Arrow = tuple[str, str]


def modules(root: Path) -> dict[str, Path]:
    """Every module of the three packages, by its dotted name."""
    files = [file for package in PACKAGES for file in (root / package).rglob("*.py")]
    return {
        ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file
        for file in files
    }


def imports(known: dict[str, Path]) -> set[Arrow]:
    """(importing module, imported module) among the known ones."""
    arrows: set[Arrow] = set()
    for name, file in known.items():
        for node in ast.walk(ast.parse(file.read_text())):
            arrows.update((name, target) for target in _targets(node, known) if target != name)
    return arrows


def _targets(node: ast.AST, known: dict[str, Path]) -> Iterable[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in known)
    elif isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            below = f"{node.module}.{alias.name}"
            if below in known:
                yield below
            elif node.module in known:
                yield node.module


def room(module: str) -> str:
    """The room a module is in."""
    return ".".join(module.split(".")[:2])


def circles(arrows: Iterable[Arrow]) -> list[set[str]]:
    """Sets of more than one name that reach each other (strongly connected components)."""
    after: dict[str, set[str]] = {}
    for source, target in arrows:
        after.setdefault(source, set()).add(target)
        after.setdefault(target, set())
    reach = {name: _reached(name, after) for name in after}
    found = {frozenset({name} | {other for other in reach[name] if name in reach[other]}) for name in after}
    return sorted((set(names) for names in found if len(names) > 1), key=len, reverse=True)


def _reached(start: str, after: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for name in after[waiting.pop()] - seen:
            seen.add(name)
            waiting.append(name)
    return seen


def main(root: Path) -> None:
    """Print the figures."""
    known = modules(root)
    files = imports(known)
    rooms = {(room(a), room(b)) for a, b in files if room(a) != room(b)}
    tied = circles(rooms)
    inside = sum(any(a in names and b in names for names in tied) for a, b in rooms)
    at_root = Counter(
        str(file.parent.relative_to(root)) for file in known.values() if file.name != "__init__.py"
    )
    lines = {package: _lines(known, package) for package in PACKAGES}
    print(f"folders with code: {len(at_root)}; modules: {len(known)}")
    print(f"rooms: {len({room(name) for name in known})}, imports between them: {len(rooms)}")
    print(
        f"rooms that import each other in a circle: {', '.join(str(len(names)) for names in tied) or 'none'}"
    )
    print(f"imports between rooms of one circle: {inside}")
    for names in tied:
        print(f"  {', '.join(sorted(names))}")
    print(
        f"files that import each other in a circle: {', '.join(str(len(c)) for c in circles(files)) or 'none'}"
    )
    print(
        "most files at the root of a folder: "
        + ", ".join(f"{name} {n}" for name, n in at_root.most_common(8))
    )
    print(f"lines: {', '.join(f'{name} {n:,}' for name, n in lines.items())}; {sum(lines.values()):,} in all")
    print(f"README.md: {(root / 'README.md').stat().st_size:,} bytes")


def _lines(known: dict[str, Path], package: str) -> int:
    own = [file for name, file in known.items() if name.partition(".")[0] == package]
    return sum(len(file.read_text().splitlines()) for file in own)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
