"""`task.dataset: files`: any fields, four ways to compare or a function, errors that name file and line."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from pydantic import ValidationError

from engine.config.esm import TaskSection
from engine.errors import ConfigError, DataError
from engine.tasks.example import TaskExample
from engine.tasks.loaders import configured_examples, configured_task
from tests.exactly import exactly

RECORDS = [
    {"frage": "Capital of France?", "antwort": "Paris", "weg": "It is Paris."},
    {"frage": "Capital of Peru?", "antwort": "Lima", "weg": "It is Lima."},
]
FIELDS = {"question": "frage", "answer": "antwort", "solution": "weg"}


def _section(path: Path, **fields: Any) -> TaskSection:
    return TaskSection.model_validate({"dataset": "files", "path": str(path), **fields})


def _examples(section: TaskSection) -> list[TaskExample]:
    return configured_examples(section, "train", 10, 0)


def _lines(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet", "json", "json after a blank line"])
def test_the_same_records_in_any_form_are_the_same_examples(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"train.{suffix.partition(' ')[0]}"
    if suffix == "jsonl":
        _lines(path, *RECORDS)
    elif suffix.startswith("json"):
        path.write_text(("\n " if "blank" in suffix else "") + json.dumps(RECORDS))
    elif suffix == "parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(RECORDS), path)
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(RECORDS[0]))
            writer.writeheader()
            writer.writerows(RECORDS)
    found = _examples(_section(tmp_path, fields=FIELDS))
    assert [(e.id, e.question, e.answer, e.solution) for e in found] == [
        ("files-train-0", "Capital of France?", "Paris", "It is Paris."),
        ("files-train-1", "Capital of Peru?", "Lima", "It is Lima."),
    ]


def test_ids_are_those_of_the_named_field(tmp_path: Path) -> None:
    records = [{"nr": number, "question": f"Q{number}", "answer": "1"} for number in (7, 8)]
    path = _lines(tmp_path / "a.jsonl", *records)
    assert [one.id for one in _examples(_section(path, fields={"id": "nr"}))] == ["7", "8"]
    with pytest.raises(DataError, match=r"there is no field `key`, only .*: correct task\.fields\.id$"):
        _examples(_section(path, fields={"id": "key"}))


def test_examples_are_shuffled_by_the_seed_if_asked(tmp_path: Path) -> None:
    path = _lines(tmp_path / "a.jsonl", *({"question": f"Q{n}", "answer": "1"} for n in range(20)))
    plain = [f"Q{number}" for number in range(20)]

    def drawn(shuffle: bool, size: int, seed: int) -> list[str]:
        section = _section(path, shuffle=shuffle)
        return [one.question for one in configured_examples(section, "train", size, seed)]

    assert drawn(False, 3, 1) == plain[:3]
    one, other = drawn(True, 20, 1), drawn(True, 20, 2)
    assert sorted(one) == sorted(other) == sorted(plain) and len({*map(tuple, (one, other, plain))}) == 3


@pytest.mark.parametrize(
    ("compare", "gold", "text", "right", "strict"),
    [
        ("exact", "Paris", "France is in Europe.\n\nAnswer: **paris**.", True, True),
        ("exact", "Paris", "The answer is Paris", True, True),
        ("exact", "Paris", "I think:\nParis", True, False),
        ("exact", "Paris", "Answer: Lima\n", False, False),
        ("number", "1,250.50", "so 1250.5", True, False),
        ("number", 7, "#### 7", True, True),
        ("number", "-12.34", "#### -12.34", True, True),
        ("number", 7, "7 or 8", False, False),
        ("math", "\\frac{1}{2}", "\\boxed{0.5}", True, True),
        ("choice", "b", "The answer is (B).", True, True),
        ("choice", "green", "A", False, False),
    ],
)
def test_answers_are_compared_as_configured(
    compare: str, gold: object, text: str, right: bool, strict: bool, tmp_path: Path
) -> None:
    record = {"question": "?", "answer": gold, "options": ["red", "green"]}
    fields = {"choices": "options"} if compare == "choice" else {}
    section = _section(_lines(tmp_path / "a.jsonl", record), compare=compare, fields=fields)
    [example], task = _examples(section), configured_task(section)
    assert task.is_correct(task.extract(text), example.answer) is right
    assert task.is_correct(task.extract_marked(text), example.answer) is strict
    assert example.question in task.prompt(example)
    if compare == "choice":
        assert example.question == "?\nA. red\nB. green" and example.answer == "B"


def test_a_function_of_ones_own_judges_the_whole_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_judging.py").write_text(
        "def begins(text, answer):\n    return text.startswith(answer)\n\n\n"
        "def unsure(text, answer):\n    return None\n\n\ndef wordy(text, answer):\n    return 'y' * 90\n\n\ndef "
        "breaks(text, answer):\n    return 1 / 0\n\n\ndef leaves(text, answer):\n    raise SystemExit(3)\n\n\n"
        "number = 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    data = _lines(tmp_path / "a.jsonl", {"question": "?", "answer": "yes"})
    task = configured_task(_section(data, compare="my_judging:begins"))
    assert task.is_correct(task.extract("yes, it is"), "yes") and not task.is_correct("no, yes", "yes")
    assert task.extract(" yes\n") == task.extract_marked(" yes\n") == "yes"
    returned, long = "it returned None, neither True nor False", repr("y" * 90)[:40]
    for name, said in (
        ("unsure", returned), ("breaks", "ZeroDivisionError: division by zero"),
        ("leaves", "SystemExit: 3"), ("wordy", f"it returned {long}, neither True nor False"),
    ):  # fmt: skip
        judged = configured_task(_section(data, compare=f"my_judging:{name}"))
        with pytest.raises(DataError) as caught:
            judged.is_correct("x" * 60 + "text", "yes")
        what = f"the function `my_judging:{name}` failed on the answer {'x' * 56 + 'text'!r}: {said}"
        assert caught.value.what.startswith(what)
        assert str(caught.value).endswith(" (task.compare): let it return True or False for every text")
    for name in ("my_judging:none", "no_such_module:f", "my_judging:number"):
        with pytest.raises(ConfigError, match=r"task\.compare") as wrong:
            configured_task(_section(data, compare=name))
    assert "expected a function of the text and the gold answer" in str(wrong.value)


@pytest.mark.parametrize(
    ("record", "settings", "said"),
    [
        (
            {"q": "?", "answer": "1"}, {},
            "there is no field `question`, only `q`, `answer` (2): correct task.fields.question",
        ),
        ({}, {}, "there is no field `question`, only none (2): correct task.fields.question"),
        (
            {"question": "?", "answer": "1"}, {"fields": {"solution": "steps"}},
            "there is no field `steps`, only `question`, `answer` (2): correct task.fields.solution",
        ),
        (
            {"question": "?", "answer": True}, {},
            "`answer` is True, neither a text nor a number (2): correct or remove it",
        ),
        (
            {"question": ["x" * 99], "answer": "1"}, {},
            f"`question` is ['{'x' * 58}, neither a text nor a number (2): correct or remove it",
        ),
        (
            {"question": " ", "answer": "1"}, {},
            "`question` is ' ', neither a text nor a number (2): correct or remove it",
        ),
        (
            {"question": "?", "answer": "seven" * 9}, {"compare": "number"},
            f"the answer {'seven' * 8!r} is not a number (2): correct it, or set task.compare to exact or math",
        ),
        (
            {"question": "?", "answer": "G" * 50}, {"compare": "choice"},
            f"the answer {'G' * 40!r} is neither one of the letters ABCDE nor one of the choices (2): correct it",
        ),
        (
            {"question": "?", "answer": "A", "o": "x"}, {"compare": "choice", "fields": {"choices": "o"}},
            "`o` is not a list of two to five texts (2): correct it, or task.fields.choices",
        ),
    ],
)  # fmt: skip
def test_a_bad_record_is_told_with_its_line(
    record: dict[str, Any], settings: dict[str, Any], said: str, tmp_path: Path
) -> None:
    good = {"question": "?", "answer": "A" if settings.get("compare") == "choice" else "1"}
    extra = {"steps": "s"} if "fields" in settings else {}
    if "o" in record:
        good["o"] = ["x", "y"]  # type: ignore[assignment]
    path = _lines(tmp_path / "a.jsonl", {**good, **extra}, record)
    with pytest.raises(DataError) as caught:
        _examples(_section(path, **settings))
    assert str(caught.value).replace(f"{path}:", "") == said


def test_a_text_of_several_lines_stays_as_it_stands_in_a_csv(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'question,answer\r\n"one\r\ntwo",1\r\nthree,2\r\n')
    found = _examples(_section(tmp_path / "a.csv"))
    assert [(one.question, one.answer) for one in found] == [("one\r\ntwo", "1"), ("three", "2")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('question,answer\n"one" more?,1\n', "this is not CSV in UTF-8: … (…/a.csv): fetch the file again"),
        ('question,answer\n"one?,1\n', "this is not CSV in UTF-8: … (…/a.csv): fetch the file again"),
        ("question,answer\none?\n", "this row does not have the header's columns (…/a.csv:2): …"),
        ("question,answer\none?,1\ntwo?,2,3\n", "this row does not have the header's columns (…/a.csv:3): …"),
    ],
    ids=["text behind a quotation", "a quotation without end", "too few columns", "too many"],
)
def test_a_broken_csv_is_told(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataError, match=exactly(said)):
        _examples(_section(tmp_path / "a.csv"))


NO_LIST = "`options` is not a list of two to five texts (…/a.jsonl:1): correct it, or task.fields.choices"


@pytest.mark.parametrize(
    ("choices", "answer", "said"),
    [
        (
            ["red", "green"],
            "C",
            "the answer 'C' is neither one of the letters AB nor one of the choices (…/a.jsonl:1): correct it",
        ),
        (
            ["red", "green"],
            "AB",
            "the answer 'AB' is neither one of the letters AB nor one of the choices (…/a.jsonl:1): correct it",
        ),
        (
            ["red", "red"],
            "red",
            "the answer 'red' is neither one of the letters AB nor one of the choices (…/a.jsonl:1): correct it",
        ),
        (["red"], "A", NO_LIST),
        (list("uvwxyz"), "A", NO_LIST),
        (["red", 2], "A", NO_LIST),
    ],
)
def test_an_answer_is_one_of_its_own_choices(
    choices: list[object], answer: str, said: str, tmp_path: Path
) -> None:
    path = _lines(tmp_path / "a.jsonl", {"question": "?", "answer": answer, "options": choices})
    with pytest.raises(DataError, match=exactly(said)):
        _examples(_section(path, compare="choice", fields={"choices": "options"}))
    five = {"question": "?", "answer": "z", "options": list("vwxyz")}
    [example] = _examples(
        _section(_lines(tmp_path / "a.jsonl", five), compare="choice", fields={"choices": "options"})
    )
    assert example.answer == "E"
    path = _lines(tmp_path / "a.jsonl", {"question": "?", "answer": "B", "options": ["B", "A"]})
    [example] = _examples(_section(path, compare="choice", fields={"choices": "options"}))
    assert example.answer == "A", "a choice's own text comes before the letter"


def test_files_need_a_path_and_a_known_comparison() -> None:
    with pytest.raises(ValidationError, match=r"needs `task\.path`"):
        TaskSection(dataset="files")
    with pytest.raises(ValidationError, match="compare"):
        TaskSection(dataset="files", path="x", compare="fuzzy")
