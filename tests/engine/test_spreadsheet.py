"""No text of a model or a data set becomes a formula where a table is opened with a spreadsheet."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from app.ctl.decisions import _csv
from app.export import write_csv
from engine.files import csv_text
from engine.spreadsheet import cell, text_of_cell

FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\n=1", "-5 apples", "=", "+"]
OTHERS = ["", "a=b", "-3.5", "+0.25", "-12%", "-inf", "'tis", "− 3", " =1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_marked(text: str) -> None:
    assert cell(text) == f"'{text}"
    assert text_of_cell(f"'{text}") == text


@pytest.mark.parametrize("value", [*OTHERS, -3, -2.5, None, True])
def test_anything_else_stays(value: object) -> None:
    assert cell(value) == value
    assert text_of_cell(str(value)) == str(value)


@pytest.mark.parametrize("text", ["'=1", "''-2+3", "'", "'tis", "\n=1"])
def test_what_has_an_apostrophe_already_is_read_back_as_it_was(text: str) -> None:
    assert text_of_cell(cell(text)) == text


def test_a_carriage_return_begins_no_row() -> None:
    table = csv_text([{"a": "x\r=1", "b": "\r=1\r\n"}])
    assert table == 'a,b\n"x\n=1","\'\n=1\n"\n'


def test_every_table_marks_them(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    write_csv(path, ["=h"], [[text] for text in FORMULAS])
    tables = [
        path.read_bytes().decode(),
        csv_text([{"=h": text} for text in FORMULAS]),
        "\n".join(_csv([text]).rstrip("\n") for text in FORMULAS),
    ]
    for table in tables:
        cells = [row[0] for row in csv.reader(io.StringIO(table, newline="")) if row]
        assert [text for text in cells if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))] == []
