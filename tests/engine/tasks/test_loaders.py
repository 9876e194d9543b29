"""Published formats, and what is said about files that do not fit them."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.errors import DataError
from engine.tasks.extractors import extract_pred
from engine.tasks.loaders import check_disjoint, load_task_dataset
from engine.tasks.metrics import is_correct


def _file(folder: Path, *records: dict[str, Any]) -> str:
    path = folder / "test.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def test_gsm8k(tmp_path: Path) -> None:
    path = _file(tmp_path, {"question": "How many?", "answer": "1,000 + 2 = 1,002\n#### 1,002"})
    (example,) = load_task_dataset("gsm8k", path, "test", 5)
    assert (example.question, example.answer) == ("How many?", "1002")


def test_arc_in_both_shapes(tmp_path: Path) -> None:
    flat = {"question": "Q", "choices": {"text": ["x", "y"], "label": ["1", "2"]}, "answerKey": "2"}
    choices = [{"text": "x", "label": "A"}, {"text": "y", "label": "B"}]
    nested = {"question": {"stem": "Q", "choices": choices}, "answerKey": "B"}
    examples = load_task_dataset("arc-c", _file(tmp_path, flat, nested), "test", 5)
    assert [example.answer for example in examples] == ["B", "B"]
    assert examples[0].question == examples[1].question == "Q\nA. x\nB. y"


def test_aime_fields_in_any_case(tmp_path: Path) -> None:
    (example,) = load_task_dataset("aime", _file(tmp_path, {"Problem": "P", "Answer": 204}), "test", 5)
    assert (example.question, example.answer) == ("P", "204")


def test_math_parquet(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet as parquet

    record = {"problem": "P", "solution": "S", "answer": "\\frac{1}{2}", "unique_id": "test/1"}
    parquet.write_table(pyarrow.Table.from_pylist([record] * 1), tmp_path / "test.parquet")
    (example,) = load_task_dataset("math500", str(tmp_path), "test", 5)
    assert (example.id, example.solution) == ("test/1", "S")


def test_errors_say_where(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    path.write_text('{"question": "q", "answer": "#### 1"}\nnot json\n')
    with pytest.raises(DataError, match=r"test\.jsonl:2"):
        load_task_dataset("gsm8k", str(path), "test", 5)
    path.write_text('{"question": "q"}\n')
    with pytest.raises(DataError, match="`answer` is missing"):
        load_task_dataset("gsm8k", str(path), "test", 5)
    path.write_text("")
    with pytest.raises(DataError, match="empty"):
        load_task_dataset("gsm8k", str(path), "test", 5)


def test_overlap_is_an_error() -> None:
    train = load_task_dataset("generated", None, "train", 5)
    check_disjoint(train, load_task_dataset("generated", None, "test", 50))
    with pytest.raises(DataError, match=train[3].id):
        check_disjoint(train, train[3:])


@pytest.mark.parametrize(
    ("dataset", "text", "pred"),
    [
        ("gsm8k", "so\n#### $1,234.50", "1234.5"),
        ("gsm8k", "it is 12 or 13", "13"),
        ("generated", "no mark 12", ""),
        ("math500", "\\boxed{1} then \\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("arc-c", "A is wrong. The answer is (C).", "C"),
    ],
)
def test_extraction(dataset: str, text: str, pred: str) -> None:
    assert extract_pred(dataset, text) == pred


@pytest.mark.parametrize(
    ("pred", "right"),
    [("0.5", True), ("\\dfrac{1}{2}", True), ("2", False), ("9^{9^{9^{9^9}}}", False), ("}{", False)],
)
def test_math_equality(pred: str, right: bool) -> None:
    assert is_correct("math500", pred, "\\frac{1}{2}") is right
