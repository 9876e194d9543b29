"""What the mutants of a few lines are, by hand."""

from __future__ import annotations

from tests.bench.mutants import mutants

TEXT = '''"""A page."""
def share(row: Row, most: int = 3) -> str:
    if row.right < most:
        log(row.right, row.n)
    if one.kind in ("a", "b") and not one.hidden:
        most += 1
        return sorted(names, key=len)[0].strip()
    return f"{row.right} of {row.n:,}" + words(rows[:2], sign=True)
'''


def test_each_kind_changes_one_place() -> None:
    made = {(mutant.kind, mutant.old, mutant.new) for mutant in mutants("a.py", TEXT)}
    assert made >= {
        ("comparison", "row.right < most", "(row.right <= most)"),
        ("branch", "row.right < most", "not row.right < most"),
        ("number", "3", "4"),
        ("field", "row.n", "row.right"),
        ("field", "row.right", "row.n"),
        ("arguments", "log(row.right, row.n)", "log(row.n, row.right)"),
        ("call left out", "log(row.right, row.n)", "pass"),
        ("slice", "rows[:2]", "rows[2:]"),
        ("truth", "True", "False"),
        ("argument left out", "words(rows[:2], sign=True)", "words(rows[:2])"),
        ("format", 'f"{row.right} of {row.n:,}"', "f'{row.right} of {row.n}'"),
        ("text", 'f"{row.right} of {row.n:,}"', "f'{row.right} of{row.n:,}'"),
        ("arguments", 'f"{row.right} of {row.n:,}"', "f'{row.n} of {row.right:,}'"),
        ("term", 'one.kind in ("a", "b") and not one.hidden', "not one.hidden"),
        ("never", 'one.kind in ("a", "b") and not one.hidden', "False"),
        ("element", '("a", "b")', "('b',)"),
        ("call left out", "most += 1", "pass"),
        ("without the call", "sorted(names, key=len)", "names"),
        ("without the call", "sorted(names, key=len)[0].strip()", "sorted(names, key=len)[0]"),
    }
    assert not any(mutant.old in ("Row", "int", "str", '"""A page."""') for mutant in mutants("a.py", TEXT))
    assert not any(kind == "arithmetic" for kind, _, _ in made), "a text is joined, not counted"


def test_the_rest_of_the_module_stays() -> None:
    one = next(mutant for mutant in mutants("a.py", TEXT) if mutant.kind == "number")
    assert (one.first, one.last) == (2, 2)
    assert one.text == TEXT.replace("most: int = 3", "most: int = 4")
