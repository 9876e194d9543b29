"""Published formats with their quirks, and what is said about files that do not fit them."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet as parquet
import pytest

from engine.config.config import Config
from engine.errors import DataError
from engine.esm.examples import evaluation_examples, training_examples
from engine.tasks.example import TaskExample
from engine.tasks.extractors import extract_marked, extract_pred
from engine.tasks.loaders import check_disjoint, load_task_dataset
from engine.tasks.metrics import is_correct
from engine.tasks.sources import HUB
from tests.exactly import exactly


def _file(folder: Path, *records: dict[str, Any]) -> str:
    path = folder / "test.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def _parquet(path: Path, *records: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(list(records)), path, row_group_size=1)


# ---------------------------------------------------------------- formats


@pytest.mark.parametrize(
    ("ending", "answer"),
    [
        ("#### 1,002", "1002"),
        ("#### $5", "5"),
        ("####-3", "-3"),
        ("#### 2.50", "2.5"),
        ("#### 70.", "70"),
        ("#### 100.0", "100"),
    ],
)
def test_gsm8k_numbers(tmp_path: Path, ending: str, answer: str) -> None:
    path = _file(tmp_path, {"question": "How many?", "answer": f"So 7.\n{ending}"})
    (example,) = load_task_dataset("gsm8k", path, "test", 5)
    assert (example.question, example.answer) == ("How many?", answer)


def test_gsm8k_solution_is_text_a_model_could_write(tmp_path: Path) -> None:
    """Without the sums for the calculator, a blank line between steps as the prompt asks, so that it has segments."""
    written = "Half is 48/2 = <<48/2=24>>24. \n \n Together <<48+24=72>>72, or 2*36 = <<2*36=72>>72.\n#### 72"
    (example,) = load_task_dataset("gsm8k", _file(tmp_path, {"question": "Q", "answer": written}), "test", 5)
    assert example.solution == "Half is 48/2 = 24.\n\nTogether 72, or 2*36 = 72.\n\n#### 72"
    for written, solution in (("5", None), ("#### 5", "#### 5")):
        path = _file(tmp_path, {"question": "Q", "answer": written})
        assert [one.solution for one in load_task_dataset("gsm8k", path, "test", 5)] == [solution]


def test_math500(tmp_path: Path) -> None:
    record = {"problem": "P", "solution": "S", "answer": "\\frac{1}{2}", "subject": "Algebra", "level": 2,
              "unique_id": "test/algebra/1.json"}  # fmt: skip
    (example,) = load_task_dataset("math500", _file(tmp_path, record), "test", 5)
    assert (example.id, example.answer, example.solution) == ("test/algebra/1.json", "\\frac{1}{2}", "S")
    assert example.meta == {"subject": "Algebra", "level": 2}


def test_math_itself_has_its_answers_in_boxes(tmp_path: Path) -> None:
    """So MATH's training split can be mined for MATH-500."""
    solution = "We find $\\boxed{3}$, no, $\\boxed{\\dfrac{1}{2}}$."
    _parquet(tmp_path / "train-00000-of-00001.parquet",
             {"problem": "P", "level": "Level 5", "type": "Algebra", "solution": solution})  # fmt: skip
    (example,) = load_task_dataset("math500", str(tmp_path), "train", 5)
    assert (example.id, example.answer) == ("math500-train-0", "\\dfrac{1}{2}")
    assert example.meta == {"type": "Algebra", "level": "Level 5"}
    given = {"problem": "P", "solution": solution}
    for answer, read in ((0, "0"), ("", "\\dfrac{1}{2}"), (None, "\\dfrac{1}{2}")):
        (example,) = load_task_dataset("math500", _file(tmp_path, {**given, "answer": answer}), "test", 5)
        assert example.answer == read
    with pytest.raises(
        DataError,
        match=exactly(
            "`answer` is missing, and `solution` holds no box; its fields are problem, solution (…/test.jsonl:1):"
            " give the file in the data set's published format"
        ),
    ):
        load_task_dataset("math500", _file(tmp_path, {"problem": "P", "solution": "none"}), "test", 5)


FORM = "give the file in the data set's published format"
AIME = [
    ({"ID": "2024-I-1", "Problem": "P", "Solution": "S", "Answer": 204}, "2024-I-1", "204"),
    ({"id": 60, "problem": "P", "answer": "025", "url": "u", "year": "2024"}, "aime-test-60", "25"),
    ({"problem_idx": 3, "problem": "P", "answer": 70}, "aime-test-3", "70"),
    ({"id": 0, "problem_idx": 7, "problem": "P", "answer": 70}, "aime-test-0", "70"),
    ({"question": "P", "answer": "336^\\circ"}, "aime-test-0", "336"),
    ({"problem": "P", "solution": "\\boxed{033}", "url": "u"}, "aime-test-0", "33"),
    ({"problem": "P", "answer": "$\\boxed{809}$"}, "aime-test-0", "809"),
    ({"problem": "P", "answer": 25.0}, "aime-test-0", "25"),
    ({"id": "0", "problem": "P", "answer": "0"}, "aime-test-0", "0"),
    ({"id": "", "problem_idx": 4, "problem": "P", "answer": "0"}, "aime-test-4", "0"),
    ({"id": 5, "unique_id": "u/1", "problem": "P", "question": "why?", "answer": 1}, "u/1", "1"),
    ({"problem": "P", "answer": 999}, "aime-test-0", "999"),
]  # fmt: skip
"""Records of copies on the hub, each in its own form."""


@pytest.mark.parametrize(("record", "key", "answer"), AIME)
def test_aime_in_its_many_copies(tmp_path: Path, record: dict[str, Any], key: str, answer: str) -> None:
    (example,) = load_task_dataset("aime", _file(tmp_path, record), "test", 5)
    assert (example.id, example.question, example.answer) == (key, "P", answer)


@pytest.mark.parametrize("answer", ["1000", "-1", "x+1", "2.5", "\\frac{1}{2}", "१२"])
def test_aime_answers_that_are_none(tmp_path: Path, answer: str) -> None:
    with pytest.raises(
        DataError,
        match=exactly(f"the answer is {answer!r}, not a whole number from 0 to 999 (…/test.jsonl:1): {FORM}"),
    ):
        load_task_dataset("aime", _file(tmp_path, {"problem": "P", "answer": answer}), "test", 5)


def test_aime_as_csv(tmp_path: Path) -> None:
    """Problems of several lines, commas and quotes in them; a byte order mark."""
    header = "\ufeffID,Year,Problem Number,Question,Answer,Part\n"
    text = header + '1983-1,1983,1,"Let ""x"", and\n$y$.",60,\n1983-2,1983,2,Q,15,I\n'
    (tmp_path / "train.csv").write_text(text)
    first, second = load_task_dataset("aime", str(tmp_path), "train", 5)
    assert (first.id, first.question, first.answer) == ("1983-1", 'Let "x", and\n$y$.', "60")
    assert second.answer == "15"
    (tmp_path / "train.csv").write_text("Question,Answer\nq,1\nq,2,3\n")
    with pytest.raises(
        DataError,
        match=exactly("this row does not have the header's columns (…/train.csv:3): correct or remove it"),
    ):
        load_task_dataset("aime", str(tmp_path), "train", 5)


@pytest.mark.parametrize("name", ["test.json", "test.jsonl"])
def test_records_behind_a_byte_order_mark(tmp_path: Path, name: str) -> None:
    """In a folder that is itself named like the split. Of half a letter a question mark is left."""
    records = [{"question": f"Q{number}\ud800", "answer": f"#### {number}"} for number in range(2)]
    lines = "\n".join(map(json.dumps, records))
    text = json.dumps(records, indent=1) if name == "test.json" else lines
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
    found = load_task_dataset("gsm8k", str(tmp_path / "test"), "test", 5)
    assert [(example.question, example.answer) for example in found] == [("Q0?", "0"), ("Q1?", "1")]


def test_arc_in_its_shapes(tmp_path: Path) -> None:
    """Letters or numbers as labels, choices by column or one by one, and the original's nested question."""
    numbers = {
        "id": "Mercury_1",
        "question": "Q",
        "choices": {"text": ["x", "y"], "label": ["1", "2"]},
        "answerKey": "2",
    }
    rows = {
        "id": "b",
        "question": "Q",
        "choices": [{"text": "x", "label": "A"}, {"text": "y", "label": "B"}],
        "answerKey": "B",
    }
    nested = {"id": "c", "question": {"stem": "Q", "choices": rows["choices"]}, "answerKey": "B"}
    examples = load_task_dataset("arc-c", _file(tmp_path, numbers, rows, nested), "test", 5)
    assert [example.answer for example in examples] == ["B", "B", "B"]
    assert {example.question for example in examples} == {"Q\nA. x\nB. y"}
    assert examples[0].id == "Mercury_1"
    _parquet(tmp_path / "p" / "test-00000-of-00001.parquet", numbers)
    assert load_task_dataset("arc-c", str(tmp_path / "p"), "test", 5) == examples[:1]


def test_arcs_archive_as_it_is_unpacked(tmp_path: Path) -> None:
    """Each split stands there twice; the CSV has the choices within the question."""
    folder = tmp_path / "ARC-V1-Feb2018-2" / "ARC-Challenge"
    folder.mkdir(parents=True)
    choices = [{"text": "x", "label": "1"}, {"text": "y", "label": "2"}]
    record = {"id": "a", "question": {"stem": "Q", "choices": choices}, "answerKey": "2"}
    (folder / "ARC-Challenge-Test.jsonl").write_text(json.dumps(record))
    (folder / "ARC-Challenge-Test.csv").write_text("questionID,question,AnswerKey\na,Q (1) x (2) y,2\n")
    (example,) = load_task_dataset("arc-c", str(tmp_path), "test", 5)
    assert (example.question, example.answer) == ("Q\nA. x\nB. y", "B")


# ---------------------------------------------------------------- files


def _gsm8k(name: str) -> dict[str, Any]:
    return {"question": name, "answer": "#### 1"}


@pytest.mark.parametrize(
    ("names", "split", "read"),
    [
        (["test.jsonl", "test_socratic.jsonl", "example_model_solutions.jsonl"], "test", ["test"]),
        (["main/test-00000-of-00001.parquet", "socratic/test-00000-of-00001.parquet"], "test", ["main"]),
        (["data/train-00001-of-00002-ab.parquet", "data/train-00000-of-00002-cd.parquet"], "train", ["0", "1"]),
        (["ARC-Easy/ARC-Easy-Dev.jsonl", "ARC-Challenge/ARC-Challenge-Dev.jsonl"], "validation", ["Challenge"]),
        (["d/train/0000.parquet", "d/train/0001.parquet", "d/test/0000.parquet"], "train", ["0000", "0001"]),
        (["aime_2024_problems.parquet"], "aime_2024_problems", ["aime"]),
        (["val.jsonl", "test.jsonl"], "validation", ["val"]),
        (["validation.jsonl", "train.jsonl"], "dev", ["validation"]),
        (["valid.jsonl", "train.jsonl"], "dev", ["valid"]),
        (["dev.jsonl", "train.jsonl"], "dev", ["dev"]),
        (["val.jsonl", "train.jsonl"], "dev", ["val"]),
        (["valid.jsonl", "train.jsonl"], "validation", ["valid"]),
        (["d/Test/0000.parquet", "d/Train/0000.parquet"], "test", ["Test"]),
        (["main/a/test.jsonl", "socratic/a/test.jsonl"], "test", ["main"]),
        (["test.json"], "test", ["test"]),
    ],
)  # fmt: skip
def test_which_files_hold_a_split(tmp_path: Path, names: list[str], split: str, read: list[str]) -> None:
    """Folders as GitHub, the hub and its conversions give them."""
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".parquet":
            _parquet(path, _gsm8k(name))
        else:
            path.write_text(json.dumps([_gsm8k(name)] if path.suffix == ".json" else _gsm8k(name)) + "\n")
    found = [example.question for example in load_task_dataset("gsm8k", str(tmp_path), split, 9)]
    assert len(found) == len(read) and all(part in name for part, name in zip(read, found, strict=True))


def test_where_on_the_hub_the_questions_lie_that_figures_are_of() -> None:
    files = {name: splits["test"] for name, splits in HUB.items()}
    assert {name: (one.shown, one.pattern) for name, one in files.items()} == {
        "gsm8k": ("hub:openai/gsm8k", "main/test-*.parquet"),
        "math500": ("hub:HuggingFaceH4/MATH-500", "test.jsonl"),
        "arc-c": ("hub:allenai/ai2_arc", "ARC-Challenge/test-*.parquet"),
        "aime": ("hub:math-ai/aime25", "test.jsonl"),
    }


OR, WHICH = "may be the split `test`", "(task.path): name the right folder or file itself"
NO_FILE = (
    "no file of the split `test` (task.path: …): put test.jsonl or test.parquet into it (shards like "
    "test-00000-of-00002.parquet are fine), or name another path"
)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["a/test.jsonl", "b/test.jsonl"], f"several files {OR}: …/a/test.jsonl, …/b/test.jsonl {WHICH}"),
        (
            [f"{folder}/test.jsonl" for folder in "abcd"],
            f"several files {OR}: …/a/test.jsonl, …/b/test.jsonl, …/c/test.jsonl {WHICH}",
        ),
        (
            ["a/test-00000-of-00002.jsonl", "b/test-00001-of-00002.jsonl"],
            f"several files {OR}: …/a/test-00000-of-00002.jsonl, …/b/test-00001-of-00002.jsonl {WHICH}",
        ),
        (["test.jsonl", "test.csv"], f"several files {OR}: …/test.csv, …/test.jsonl {WHICH}"),
        (
            ["test-00000-of-00002.jsonl", "test-1.jsonl"],
            f"several files {OR}: …/test-00000-of-00002.jsonl, …/test-1.jsonl {WHICH}",
        ),
        (
            ["test-00000-of-00002.jsonl"],
            "the split `test` is incomplete: test-00001-of-00002 missing (…): fetch the whole data set again",
        ),
        (
            ["test-00001-of-00005.jsonl"],
            "the split `test` is incomplete: test-00000-of-00005, test-00002-of-00005, test-00003-of-00005 missing "
            "(…): fetch the whole data set again",
        ),
        (["train.jsonl"], NO_FILE),
        (["test/any.jsonl"], NO_FILE),
        (["latest.jsonl", "my_test.jsonl", "test-of-all.jsonl"], NO_FILE),
        ([], NO_FILE),
    ],
)
def test_folders_that_do_not_say_what_is_meant(tmp_path: Path, names: list[str], told: str) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(_gsm8k("q")))
    with pytest.raises(DataError, match=exactly(told)):
        load_task_dataset("gsm8k", str(tmp_path), "test", 5)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            b'{"question": "q", "answer": "#### 1"}\nnot json\n',
            "this line is not JSON (…) (…/test.jsonl:2): correct or remove it",
        ),
        (
            b'{"question": "q", "answer": "#### 1"}\n[1]\n',
            "this line is not a JSON object (…/test.jsonl:2): correct or remove it",
        ),
        (
            b'{"question": "q\xff", "answer": "#### 1"}\n',
            "this line is not JSON (…) (…/test.jsonl:1): correct or remove it",
        ),
        (
            b'{"question": "q"}\n',
            f"the field `answer` is missing; its fields are question (…/test.jsonl:1): {FORM}",
        ),
        (
            b'{"question": " ", "answer": "#### 1"}\n',
            f"`question` is ' ', not a text (…/test.jsonl:1): {FORM}",
        ),
        (
            b'{"question": {"a": 1}, "answer": "#### 1"}\n',
            f"`question` is \"{{'a': 1}}\", not a text (…/test.jsonl:1): {FORM}",
        ),
        (
            b'{"question": "q", "answer": "it is 5"}\n',
            f"`answer` ends with 'it is 5', not with `#### ` and a number (…/test.jsonl:1): {FORM}",
        ),
        (
            b'[{"question": "q", "answer": "1"}, 7]',
            "this record is not a JSON object (…/test.jsonl: record 2): correct or remove it",
        ),
        (b"[1", "this is not JSON: … (…/test.jsonl): fetch the file again"),
        (b"\n\n", "the split `test` of the data set is empty (…/test.jsonl): give a file with examples"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:35dc\nsize 4\n",
            "this is a pointer of git-lfs, not the file itself (…/test.jsonl): fetch the file: git lfs pull",
        ),
    ],
)
def test_errors_say_what_and_where(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "test.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=exactly(told)):
        load_task_dataset("gsm8k", str(path), "test", 5)


def test_a_split_that_the_generated_problems_do_not_have() -> None:
    words = "the generated task has no split 'validation' (task): use train, dev or test"
    with pytest.raises(DataError, match=exactly(words)):
        load_task_dataset("generated", None, "validation", 5)
    assert all(len(load_task_dataset("generated", None, split, 2)) == 2 for split in ("train", "dev", "test"))


def test_an_id_that_occurs_twice(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    path.write_text(
        json.dumps({"id": "a", "problem": "P", "answer": 1})
        + "\n"
        + json.dumps({"id": "a", "problem": "R", "answer": 2})
    )
    with pytest.raises(DataError, match=exactly("the id 'a' occurs twice (…/test.jsonl): make ids unique")):
        load_task_dataset("aime", str(path), "test", 5)


def test_errors_in_parquet_name_the_row(tmp_path: Path) -> None:
    path = tmp_path / "test.parquet"
    _parquet(path, _gsm8k("a"), {"question": "b", "answer": None})
    with pytest.raises(
        DataError,
        match=exactly(
            "the field `answer` is missing; its fields are answer, question (…/test.parquet: row 2): give the "
            "file in the data set's published format"
        ),
    ):
        load_task_dataset("gsm8k", str(path), "test", 5)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(
        DataError,
        match=exactly("this is not a readable parquet file: … (…/test.parquet): fetch it again"),
    ):
        load_task_dataset("gsm8k", str(path), "test", 5)
    with pytest.raises(
        DataError,
        match=exactly(
            "no such file or folder (task.path: …/nowhere): put test.jsonl or test.parquet into it (shards like "
            "test-00000-of-00002.parquet are fine), or name another path"
        ),
    ):
        load_task_dataset("gsm8k", str(tmp_path / "nowhere"), "test", 5)


NO_CHOICES = "`choices` are not `text` and `label` of two or more choices"


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        ({"choices": {"text": ["x"], "label": ["A", "B"]}}, NO_CHOICES),
        ({"choices": {"text": ["x"], "label": ["A"]}}, NO_CHOICES),
        ({"choices": {"text": "xy", "label": ["A", "B"]}}, NO_CHOICES),
        ({"choices": {"text": ["x", "y"], "label": "AB"}}, NO_CHOICES),
        ({"choices": {"text": ["x", "y"]}}, NO_CHOICES),
        ({"choices": [{"text": "x"}, {"text": "y"}]}, NO_CHOICES),
        ({"choices": [{"text": "x", "label": "A"}, "y"]}, NO_CHOICES),
        ({"choices": None}, NO_CHOICES),
        ({"choices": {"text": ["x", "y"], "label": ["A", "A"]}}, NO_CHOICES),
        ({"choices": {"text": ["x", ""], "label": ["A", "B"]}}, NO_CHOICES),
        ({"answerKey": "E"}, "`answerKey` is 'E', none of A, B"),
        ({"answerKey": ""}, "`answerkey` is '', not a text"),
    ],
)
def test_arc_records_that_are_none(tmp_path: Path, broken: dict[str, Any], what: str) -> None:
    whole = {"question": "Q", "choices": {"text": ["x", "y"], "label": ["A", "B"]}, "answerKey": "B"}
    with pytest.raises(DataError, match=exactly(f"{what} (…/test.jsonl:1): {FORM}")):
        load_task_dataset("arc-c", _file(tmp_path, whole | broken), "test", 5)


# ---------------------------------------------------------------- splits


def test_numbers_as_ids_do_not_make_two_files_overlap(tmp_path: Path) -> None:
    """GSM8K has no ids, and copies of AIME count each from 0."""
    for dataset, of in (("gsm8k", _gsm8k), ("aime", lambda name: {"id": 0, "problem": name, "answer": 1})):
        for split in ("train", "test"):
            (tmp_path / f"{split}.jsonl").write_text(json.dumps(of(split)) + "\n")
        config = Config.model_validate({"task": {"dataset": dataset, "path": str(tmp_path)}})
        check_disjoint(training_examples(config), evaluation_examples(config))


def test_a_problem_without_a_worked_solution_has_none(tmp_path: Path) -> None:
    path = _file(tmp_path, {"problem": "P", "answer": " 5 "})
    [example] = load_task_dataset("math500", path, "test", 1)
    assert (example.answer, example.solution) == ("5", None)
    with pytest.raises(DataError, match="`answer` is missing, and `solution` holds no box"):
        load_task_dataset("math500", _file(tmp_path, {"problem": "P", "answer": " "}), "test", 1)


def test_signs_tell_problems_apart_spacing_does_not(tmp_path: Path) -> None:
    def read(text: str) -> Any:
        return load_task_dataset(
            "math500", _file(tmp_path, {"problem": text, "answer": "1", "id": text}), "test", 1
        )

    check_disjoint(read("What is $3+5$?"), read("What is $3-5$?"))
    with pytest.raises(
        DataError,
        match=exactly(
            "1 examples are both learnt from and evaluated: …what is…$3+5$?… (task.train_split, "
            "task.eval_split): choose "
            "splits that share no example, or take these out of the training file"
        ),
    ):
        check_disjoint(read("What is $3+5$?"), read(" what is  $3+5$?\n"))


def test_the_first_examples_or_a_subset_that_goes_with_seed_and_split(tmp_path: Path) -> None:
    for split in ("train", "test"):
        text = "".join(json.dumps(_gsm8k(f"Q{number}")) + "\n" for number in range(30))
        (tmp_path / f"{split}.jsonl").write_text(text)

    def read(split: str, seed: int, shuffle: bool, size: int = 30) -> list[str]:
        found = load_task_dataset("gsm8k", str(tmp_path), split, size, seed, shuffle)
        return [example.question for example in found]

    assert read("test", 7, False, size=3) == ["Q0", "Q1", "Q2"]
    drawn = read("test", 7, True)
    assert sorted(drawn) == sorted(read("test", 0, False)) and read("test", 7, True, size=3) == drawn[:3]
    orders = [read("test", 0, False), drawn, read("test", 8, True), read("train", 7, True)]
    assert len({tuple(order) for order in orders}) == 4
    problems = [load_task_dataset("generated", None, "train", 5, seed=seed)[0].question for seed in (1, 1, 2)]
    assert problems[0] == problems[1] != problems[2]


def test_an_id_that_was_learnt_from_is_an_overlap_whatever_its_text() -> None:
    with pytest.raises(
        DataError,
        match=exactly(
            "1 examples are both learnt from and evaluated: same (task.train_split, task.eval_split): choose "
            "splits that share no example, or take these out of the training file"
        ),
    ):
        check_disjoint([TaskExample("same", "Q", "1")], [TaskExample("same", "R", "1")])


def test_overlap_is_an_error() -> None:
    train = load_task_dataset("generated", None, "train", 5)
    check_disjoint(train, load_task_dataset("generated", None, "test", 50))
    with pytest.raises(DataError, match=train[3].id):
        check_disjoint(train, train[3:])
    three = ", ".join(example.id for example in train[:3])
    with pytest.raises(DataError, match=f"5 examples are both learnt from and evaluated: {three} "):
        check_disjoint(train, train)


NO_NOUNS = "and as because but cannot does for has if is isn't or seems should since the was when while would"
"""Before one of these A is a choice, not an article."""


@pytest.mark.parametrize(
    ("dataset", "text", "pred"),
    [
        ("gsm8k", "so\n#### $1,234.50", "1234.5"),
        ("gsm8k", "it is 12 or 13", "13"),
        ("gsm8k", "#### 3\nThat is wrong.\n#### 4", "4"),
        ("gsm8k", "so\n#### -$5", "-5"),
        ("gsm8k", "so\n#### $-5", "-5"),
        ("gsm8k", "so\n#### \\$.50", "0.5"),
        ("gsm8k", "so\n#### -.50", "-0.5"),
        ("generated", "no mark 12", ""),
        ("math500", "\\boxed{1} then \\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("math500", "so $\\boxed 9$.", "9"),
        ("math500", "\\boxed{2} or \\boxed{3", "2"),
        ("aime", "\\fbox {033}", "033"),
        ("arc-c", "A is wrong. The answer is (C).", "C"),
        ("arc-c", "The answer is (c), as A is wrong.", "C"),
        ("arc-c", "The answer is: B. A is wrong.", "B"),
        ("arc-c", "The answer is **B**, as A is wrong.", "B"),
        ("arc-c", "The answer is a magnet, and that is B.", "B"),
        ("arc-c", "So it is E", "E"),
        ("arc-c", "so it is a magnet", ""),
        ("arc-c", "A longer rod takes more time, and I cannot decide.", ""),
        ("arc-c", "It is B. A\tlonger rod swings slower.", "B"),
        ("arc-c", "Not B, for-profit or not: A for-profit firm.", "B"),
        ("arc-c", "B is wrong, A is correct", "A"),
        ("arc-c", "Not B: A, the longer rod.", "A"),
        ("arc-c", "Not B, so A.", "A"),
        ("arc-c", "Not B.\nA\nlonger", "A"),
        ("arc-c", "Not B but A) the rod", "A"),
        ("arc-c", "Not B: A the rod", "A"),
        ("arc-c", "B no, answer: A", "A"),
        ("arc-c", "B, no: A isn't as wrong", "A"),
        ("arc-c", "Not B: A Longer Rod", "A"),
        *(("arc-c", f"Not B: A {word} it", "A") for word in NO_NOUNS.split()),
        ("arc-c", "It is C. Both swing alike.", "C"),
        ("arc-c", "The answer is Certainly B.", "B"),
        ("math500", "so \\boxed 9, or 8.", "9"),
        ("math500", "so \\boxed 9.", "9"),
        ("math500", "\\boxed{ 5 }", "5"),
        ("arc-c", "The answer is A. No: the answer is (e), not B.", "E"),
        ("exact", "Answer: Lima\nNo.\nAnswer: Paris", "Paris"),
        ("exact", "It is long.\n  Paris \t\n \n", "Paris"),
    ],
)
def test_extraction(dataset: str, text: str, pred: str) -> None:
    assert extract_pred(dataset, text) == pred


@pytest.mark.parametrize(
    ("dataset", "text", "marked", "pred"),
    [
        ("gsm8k", "so 3 + 4 = 7, not 8", "", "8"),
        ("gsm8k", "it is \\(\\boxed{378}\\) hours in exactly 6 months", "378", "378"),
        ("gsm8k", "it is \\boxed{\\$1{,}200 \\text{ a day}}, as 5 say", "1200", "1200"),
        ("gsm8k", "\\boxed{3} but\n#### 4", "4", "4"),
        ("gsm8k", "\\boxed{none} of 5", "", "5"),
        ("gsm8k", "\\boxed{1\\,200}", "1200", "1200"),
        ("gsm8k", "so 12.75", "", "12.75"),
        ("generated", "\\boxed{3}", "", ""),
        ("arc-c", "B or C", "", "C"),
        ("arc-c", "The answer is B. C is wrong.", "B", "B"),
        ("math500", "so 5", "", ""),
    ],
)
def test_strict_extraction_takes_only_what_is_marked(dataset: str, text: str, marked: str, pred: str) -> None:
    """The flexible one falls back to the last number or letter."""
    assert (extract_marked(dataset, text), extract_pred(dataset, text)) == (marked, pred)


@pytest.mark.parametrize(
    ("pred", "right"),
    [("0.5", True), ("\\dfrac{1}{2}", True), ("2", False), ("9^{9^{9^{9^9}}}", False), ("}{", False)],
)
def test_math_equality(pred: str, right: bool) -> None:
    assert is_correct("math500", pred, "\\frac{1}{2}") is right


@pytest.mark.parametrize(
    ("pred", "right"), [("025", True), ("25", True), ("25^\\circ", True), ("250", False)]
)
def test_aime_equality(pred: str, right: bool) -> None:
    assert is_correct("aime", pred, "25") is right


@pytest.mark.parametrize(
    ("dataset", "pred", "gold", "right"),
    [
        ("gsm8k", "1,000", "1000", True),
        ("gsm8k", "$5.00", "5", True),
        ("gsm8k", "5", "15", False),
        ("gsm8k", "15", "5", False),
        ("gsm8k", "-5", "5", False),
        ("arc-c", "B", "B", True),
        ("arc-c", "B", "C", False),
        ("exact", "**The  Seine**.", "the seine", True),
        ("exact", "Seine", "the Seine", False),
        ("exact", "\"'(_`*Seine*`_)'\",;:!.", "Seine", True),
        *((dataset, "", "", False) for dataset in ("gsm8k", "arc-c", "exact", "math500")),
        ("math500", "\\left( 1,\\, \\dfrac{2}{3} \\right).", "(1,\\frac{2}{3})", True),
        ("math500", "$\\tfrac12$", "\\frac12", True),
        ("math500", "3\\!\\sqrt{2}", "3\\sqrt{2}", True),
    ],
)
def test_equality_without_computing(
    dataset: str, pred: str, gold: str, right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.tasks.metrics._equivalent", lambda pred, gold: pytest.fail("SymPy is asked"))
    assert is_correct(dataset, pred, gold) is right


def test_gold_is_named_first_and_long_answers_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """math-verify takes the gold answer first."""
    asked: list[tuple[str, str]] = []

    def equivalent(gold: str, pred: str) -> bool:
        asked.append((gold, pred))
        return True

    monkeypatch.setattr("engine.tasks.equivalence.equivalent", equivalent)
    assert is_correct("math500", "x = 3", "3") and asked == [("3", "x = 3")]
    longest = "1" * 200
    assert is_correct("math500", longest, "2") and len(asked) == 2
    for pred, gold in ((longest + "1", "2"), ("2", longest + "1")):
        assert not is_correct("math500", pred, gold)
    assert len(asked) == 2
