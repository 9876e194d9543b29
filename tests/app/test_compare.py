"""`steer-tui compare`: what it prints."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from app.blocks.block import Paragraph, Table, plain, spans
from app.cli import main
from app.compared.columns import ITEMS, METHODS, ItemPair
from app.compared.print_comparison import print_comparison
from app.compared.tables import changed_fields, method_tables
from app.compared.words import arm_words, cells_sentence, difference_sentence, finding, run_words
from app.table.column import cell_of
from engine.comparison.comparison import compare_runs
from engine.comparison.figures import Figures
from engine.comparison.items import Item
from screens.widgets.tables.column_layout import place
from tests.two_runs import decided, evaluated, make_run


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    config = {"online": {"L": 3, "layers": [2]}, "run": {"name": "a"}}
    a = [decided("x", 2, alpha=1.0, segment="s"), evaluated("esm", "x", True), evaluated("esm", "y", True)]
    b = [decided("x", 2, alpha=2.0, segment="t"), evaluated("esm", "x", False), evaluated("esm", "y", True)]
    other = {"online": {"L": 5, "layers": [2]}, "run": {"name": "b"}}
    return str(make_run(tmp_path, "a", a, config)), str(make_run(tmp_path, "b", b, other))


def test_tables(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *runs]) == 0
    out = capsys.readouterr().out
    for words in (
        "changed field",
        "online.L",
        "ESM, over the items that are in both runs",
        "−0.500",
        "only A",
    ):
        assert words in out


def test_mistakes(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", runs[0], runs[0]]) == 2
    assert "these are the same run" in capsys.readouterr().err
    assert main(["compare", runs[0], "no such run"]) == 2
    assert "there is no such run" in capsys.readouterr().err
    for wrong in (
        ["compare", *runs, "--batch"],
        ["--json"],
        ["compare", runs[0]],
        ["compare", *runs, runs[0]],
    ):
        with pytest.raises(SystemExit):
            main(wrong)


@pytest.fixture
def settings(tmp_path: Path) -> list[str]:
    """Three runs of one experiment; the last has other items."""
    made = []
    for number, (length, items) in enumerate(((3, "xy"), (5, "xy"), (9, "z"))):
        events = [evaluated("esm", item, number > 0) for item in items]
        made.append(
            str(make_run(tmp_path, "demo", events, {"online": {"L": length}, "run": {"name": "demo"}}))
        )
    return made


def test_runs_are_named_by_what_differs(settings: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *settings[:2]]) == 0
    first, second = capsys.readouterr().out.splitlines()[:2]
    ids = [Path(path).name for path in settings]
    assert first == f"A: online.L=3 (demo/{ids[0]})" and second == f"B: online.L=5 (demo/{ids[1]})"


def test_runs_that_share_no_items_are_not_called_unjudged(
    settings: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", settings[0], settings[2]]) == 0
    out = capsys.readouterr().out
    assert "no common items" in out and "not judged" not in out


def test_items_that_both_have_and_nobody_judged_are(tmp_path: Path) -> None:
    comparison = compare_runs(*(make_run(tmp_path, name, [evaluated("esm", "x", True)]) for name in "ab"))
    arm = replace(comparison.arms[0], figures=Figures(0))
    assert finding(arm) == "not judged"
    assert cells_sentence(arm) == "None of its items was judged in both runs."
    words = run_words((comparison.a, comparison.b))
    assert [run.name for run in words] == ["a", "b"] and words[0].about == f"a/{comparison.a.path.name}"


def test_which_run_is_ahead(tmp_path: Path) -> None:
    """Differences are B minus A: an interval above 0 says that B is better, where McNemar's p bears it out."""
    comparison = compare_runs(*(make_run(tmp_path, name, [evaluated("esm", "x", True)]) for name in "ab"))

    def said(low: float, high: float, p: float) -> str:
        return finding(replace(comparison.arms[0], figures=Figures(1, low=low, high=high, p=p)))

    assert said(0.1, 0.3, 0.01) == "B better" and said(-0.3, -0.1, 0.01) == "A better"
    assert said(0.1, 0.3, 0.05) == said(-0.1, 0.3, 0.01) == "unclear" and said(0.0, 0.0, 1.0) == "equal"
    assert said(1.0, 1.0, 1.0) == "unclear", "a single item, which B alone has right"


def test_tokens_go_from_a_to_b(tmp_path: Path) -> None:
    comparison = compare_runs(*(make_run(tmp_path, name, [evaluated("esm", "x", True)]) for name in "ab"))
    [column] = [column for column in METHODS if column.key == "tokens"]
    shown = [
        column.show(column.value(replace(comparison.arms[0], figures=figures)))
        for figures in (Figures(1, tokens_a=79.6, tokens_b=92.4), Figures(1))
    ]
    assert shown == ["80 → 92", "·"]
    nothing = replace(comparison.arms[0], figures=Figures(1, tokens_a=0.0, tokens_b=3.0))
    assert column.show(column.value(nothing)) == "0 → 3", "no token is a number of tokens"


def test_an_arm_is_named_by_system_and_method(tmp_path: Path) -> None:
    """A method that is called as its system has one name."""
    comparison = compare_runs(*(make_run(tmp_path, name, [evaluated("esm", "x", True)]) for name in "ab"))
    [arm] = comparison.arms
    assert (arm.a.system, arm.a.name) == ("ESM", "esm") and arm_words(arm) == "ESM"
    assert arm_words(replace(arm, a=replace(arm.a, name="no_probing"))) == "ESM, no probing"
    notes = replace(arm.a, system="SLSM", name="never (structured)")
    assert arm_words(replace(arm, a=notes)) == "SLSM, silent, structured"


def test_items_of_one_run_only_are_counted_for_that_run(tmp_path: Path) -> None:
    """x is in both; y and z only in A, w only in B."""
    a = [evaluated("esm", name, True) for name in "xyz"]
    b = [evaluated("esm", name, True) for name in "xw"]
    (arm,) = compare_runs(make_run(tmp_path, "a", a), make_run(tmp_path, "b", b)).arms
    assert (arm.figures.n, arm.paired.only_a, arm.paired.only_b) == (1, 2, 1)


def test_each_method_has_a_table_of_its_own(tmp_path: Path) -> None:
    """A is right with x and y, B with y alone. The other method scores without right or wrong, and is better in B."""
    a, b = ([evaluated("esm", "x", right), evaluated("esm", "y", True)] for right in (True, False))
    comparison = compare_runs(make_run(tmp_path, "a", a), make_run(tmp_path, "b", b))
    (arm,) = comparison.arms
    figures = Figures(
        1234, mean_a=0.25, mean_b=0.5, difference=0.25, low=0.1, high=0.4, tokens_a=79.6, tokens_b=92.4
    )
    other = replace(arm, a=replace(arm.a, system="Other", name="their_way"), figures=figures)
    graded = replace(arm.figures, low=-1.0, high=0.0, p=0.0004)
    tables = method_tables(replace(comparison, arms=[replace(arm, figures=graded), other]))
    assert [(table.caption, [list(map(plain, row)) for row in table.rows]) for table in tables] == [
        ("ESM, over the items that are in both runs", [
            ["ESM", "unclear", "2", "1.000", "0.500", "−0.500", "[−1.000, 0.000]", "4e-04", "1", "1", "0", "0",
             "12 → 12"],
        ]),
        ("Other, over the items that are in both runs", [
            ["their way", "B better", "1234", "0.250", "0.500", "+0.250", "[+0.100, +0.400]", "·", "·", "·", "·", "·",
             "80 → 92"],
        ]),
    ]  # fmt: skip
    assert list(tables[0].header)[8:12] == ["both✓", "only A", "only B", "none✓"] and tables[0].figures == 11
    assert [spans(row[1])[0].tone for table in tables for row in table.rows] == ["dim", "strong"]
    assert [span.tone for cell in tables[0].rows[0][8:12] for span in spans(cell)] == [
        "accent",
        "accent",
        "dim",
        "dim",
    ]
    assert (
        cells_sentence(other) == "Several draws are averaged for each item: none is right or wrong by itself."
    )
    assert cells_sentence(arm).endswith(" Both right 1, only A 1, only B 0, neither 0.")


def test_the_fields_in_which_runs_differ() -> None:
    changed = [
        SimpleNamespace(name="online.L", a="3", b=""),
        SimpleNamespace(name="run.name", a="", b="x" * 201),
        SimpleNamespace(name="task.path", a="y" * 203, b="z" * 200),
    ]
    comparison: Any = SimpleNamespace(changed=changed)
    table = changed_fields(comparison)
    assert isinstance(table, Table) and list(table.header) == ["changed field", "A", "B"]
    assert [list(map(plain, row)) for row in table.rows] == [
        ["online.L", "3", "not there"], ["run.name", "not there", "x" * 200 + " … 1 more characters"],
        ["task.path", "y" * 200 + " … 3 more characters", "z" * 200],
    ]  # fmt: skip
    comparison.changed = []
    assert changed_fields(comparison) == Paragraph("No field of the configuration differs.")


def test_where_two_traces_part() -> None:
    def step(title: str, *differs: str) -> Any:
        return SimpleNamespace(step=SimpleNamespace(title=title, weighed_as="score of null"), differs=differs)

    steps = [
        step("segment 1", "only in B"),
        step("segment 2", "α"),
        step("segment 3", "entry", "α", "text"),
        step("tail", "only in A"),
    ]

    def said(first: int | None, first_text: int | None, first_weighed: int | None = None) -> str:
        traces: Any = SimpleNamespace(
            steps=steps, first=first, first_text=first_text, first_weighed=first_weighed
        )
        return difference_sentence(traces)

    assert said(None, None) == "Both runs decided and wrote the same."
    assert said(0, None) == "The runs part at segment 1: it is only in B. Both wrote the same text."
    assert said(0, 0) == "The runs part at segment 1: it is only in B.", "the first step is number 0"
    assert said(1, None) == "The runs part at segment 2: α differs. Both wrote the same text."
    assert said(1, 2) == "The runs part at segment 2: α differs. The texts differ from segment 3 on."
    assert said(2, 2, 0) == (
        "The runs part at segment 3: entry, α and text differ. "
        "The score of null differs already at segment 1, with the same decision."
    )
    assert said(3, 3) == "The runs part at tail: it is only in A."


def test_the_cells_of_an_item() -> None:
    pairs = [
        ItemPair(
            Item("x", "Why\nso?", "", 1.0, True, 1234), Item("x", "?", "", 0.0, False, None), "segment 2: α"
        ),
        ItemPair(Item("y", "?", "", 0.456, None, 0), Item("y", "?", "", None, None, 7), ""),
    ]
    cells = [[cell_of(column.show(column.value(pair))) for column in ITEMS] for pair in pairs]
    assert [[cell.text for cell in row] for row in cells] == [
        ["✓", "✗", "segment 2: α", "Why⏎so?", "1,234", "·", "x"], ["0.46", "·", "nowhere", "?", "0", "7", "y"],
    ]  # fmt: skip
    assert [[cell.tone for cell in row[:3]] for row in cells] == [
        ["good", "bad", "accent"],
        ["", "dim", "dim"],
    ]


def test_a_method_has_every_figure(tmp_path: Path) -> None:
    """Of x and y A has both right and B one; B has another question behind z, and w is in B alone."""
    a = [evaluated("esm", name, True) for name in "xyz"]
    b = [evaluated("esm", "x", False), evaluated("esm", "y", True), evaluated("esm", "z", True, question="other"),
         evaluated("esm", "w", True)]  # fmt: skip
    (arm,) = compare_runs(make_run(tmp_path, "a", a), make_run(tmp_path, "b", b)).arms
    assert (arm.a.system, arm.a.name, arm.a.stage) == ("ESM", "esm", "eval")
    assert arm.figures == Figures(
        2, mean_a=1.0, mean_b=0.5, difference=-0.5, low=-1.0, high=0.0, p=1.0, cells=(1, 1, 0, 0),
        tokens_a=12.0, tokens_b=12.0,
    )  # fmt: skip
    paired = arm.paired
    assert (paired.only_a, paired.only_b, paired.other_question, paired.unjudged) == (0, 1, 1, 0)
    rights = [(one.id, one.right, other.right) for one, other in paired.pairs]
    assert rights == [("x", True, False), ("y", True, True)]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_long_values_of_both_runs_are_printed_in_full(tmp_path: Path, width: int) -> None:
    """Each goes on in the next line of its column; none pushes the other out of the terminal."""
    paths = [make_run(tmp_path, "demo", [], {"task": {"path": name * 70}}) for name in ("X", "Y")]
    console = Console(file=io.StringIO(), width=width)
    assert print_comparison(paths[0], paths[1], console) == 0
    out = console.file.getvalue()  # type: ignore[attr-defined]
    table = out[out.index("changed field") :]
    assert (table.count("X"), table.count("Y")) == (70, 70)


def test_a_comparison_is_printed_from_top_to_bottom(tmp_path: Path) -> None:
    a, b = (make_run(tmp_path, name, [evaluated("esm", "x", right)], status=state)
            for name, right, state in (("a", True, "finished"), ("b", False, "failed")))  # fmt: skip
    console = Console(file=io.StringIO(), width=200)
    print_comparison(a, b, console)
    lines = [line.strip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    assert lines[:2] == [f"A: a (a/{a.name})", f"B: b (b/{b.name}, failed)"]
    method = lines.index("ESM, over the items that are in both runs")
    assert lines.index("No field of the configuration differs.") < method
    remark = "- B is not finished (failed): its figures are those of what it has done so far."
    assert lines.index(remark) > method
    assert all(line.startswith("- ") for line in lines[lines.index(remark) :] if line)


@pytest.mark.parametrize(
    ("low", "high", "p", "words"),
    [
        (0.0, 0.3, 0.01, "unclear"), (-0.3, 0.0, 0.01, "unclear"), (0.001, 0.3, None, "B better"),
        (-0.3, -0.001, None, "A better"), (0.1, 0.3, 0.0499, "B better"), (0.1, 0.3, 0.05, "unclear"),
        (None, 0.3, 0.01, "not judged"), (0.1, None, 0.01, "not judged"),
    ],
)  # fmt: skip
def test_an_interval_that_touches_zero_shows_nothing(
    low: float | None, high: float | None, p: float | None, words: str, tmp_path: Path
) -> None:
    comparison = compare_runs(*(make_run(tmp_path, name, [evaluated("esm", "x", True)]) for name in "ab"))
    arm = replace(
        comparison.arms[0], figures=Figures(1, low=low, high=high, p=p, cells=(1234, 2345, 3456, 4567))
    )
    assert finding(arm) == words
    counts = cells_sentence(arm).partition(". ")[2]
    assert counts == "Both right 1,234, only A 2,345, only B 3,456, neither 4,567."
    shown = {column.key: cell_of(column.show(column.value(arm))) for column in METHODS}
    assert [shown[key].text for key in ("both", "only_a", "only_b", "neither")] == [
        "1,234", "2,345", "3,456", "4,567",
    ]  # fmt: skip
    assert shown["finding"].tone == ("strong" if "better" in words else "dim")


def test_which_columns_of_a_comparison_there_is_room_for(tmp_path: Path) -> None:
    """Each names what it shows, cut where its widest figure would be."""
    arm = compare_runs(*(make_run(tmp_path, name, [evaluated("esm", "x", True)]) for name in "ab")).arms[0]
    figures = Figures(9999, mean_a=0.5, mean_b=0.5, difference=-0.125, low=-0.5, high=-0.25, p=0.5)
    widest = replace(arm, figures=replace(figures, cells=(9999,) * 4, tokens_a=9999.0, tokens_b=9999.0))
    cells = {column.key: cell_of(column.show(column.value(widest))).text for column in METHODS}
    assert [
        key for key, text in cells.items() if len(text) > next(c.width for c in METHODS if c.key == key)
    ] == ["tokens"]

    def shown(columns: Any, width: int) -> str:
        return " ".join(f"{one.column.label}:{one.width}" for one in place(columns, width))

    assert shown(METHODS, 50) == "method:18 finding:10 A:5 B:5 B−A:6"
    assert shown(METHODS, 78) == "method:15 finding:10 A:5 B:5 B−A:6 95% interval:16 only A:6 only B:6"
    assert shown(METHODS, 140) == (
        "system:9 method:34 finding:10 n:4 A:5 B:5 B−A:6 95% interval:16 p:5 both✓:5 only A:6 only B:6 none✓:5 tokens:9"
    )
    assert shown(ITEMS, 50) == "A:4 B:4 first difference:26"
    assert shown(ITEMS, 78) == "A:4 B:4 first difference:26 question:25 tok. A:6 tok. B:6"
    assert [column.key for column in METHODS if column.justify == "left"] == ["system", "method", "finding"]
    assert {column.label: column.help for column in METHODS if column.help} == {
        "finding": "of the scores; unclear: the interval holds 0, or p is not below 0.05",
        "n": "items that both runs have",
        "A": "mean score of A", "B": "mean score of B", "B−A": "difference of the mean scores",
        "95% interval": "of B−A: paired bootstrap over items", "p": "McNemar's exact p of only A against only B",
        "both✓": "both right: enter opens these items", "only A": "only A right: enter opens these items",
        "only B": "only B right: enter opens these items", "none✓": "neither right: enter opens these items",
        "tokens": "mean tokens an item, A → B",
    }  # fmt: skip
    assert {column.label: column.help for column in ITEMS if column.help} == {
        "A": "✓ right, ✗ wrong in A", "B": "✓ right, ✗ wrong in B",
        "first difference": "where they first decide or write otherwise",
    }  # fmt: skip
