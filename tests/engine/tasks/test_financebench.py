"""FinanceBench's format, published and generated."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from engine.errors import ConfigError, DataError
from engine.evolution.judges.numeric_judge import NumericJudge
from engine.tasks.financebench import financebench_record, generated_financebench, load_financebench
from engine.tasks.generated.statements import (
    Kind,
    StatementQuestion,
    draw_change,
    draw_statement,
    generate_statements,
)
from tests.exactly import exactly
from tests.training.statement_answers import core_sentence, write_answer


def published(**changes: object) -> dict[str, object]:
    return {
        "financebench_id": "financebench_id_03029",
        "company": "3M",
        "doc_name": "3M_2018_10K",
        "question_type": "metrics-generated",
        "question": "What is the FY2018 capital expenditure amount (in USD millions) for 3M?",
        "answer": "$1577.00",
        "justification": "The metric was directly extracted.",
        "evidence": [{"evidence_text": "Purchases of PP&E (1,577)", "evidence_page_num": 59}],
        "gics_sector": "Industrials",
    } | changes  # fmt: skip


def write(path: Path, *lines: object) -> str:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return str(path)


def test_published_fields(tmp_path: Path) -> None:
    path = write(tmp_path / "f.jsonl", published(), published(financebench_id="b", answer=["1", "one"]))
    first, second = load_financebench(path, None)
    assert first.id == "financebench_id_03029" and first.answer == "$1577.00"
    assert first.meta["company"] == "3M" and first.meta["answers"] == ["$1577.00"]
    assert (
        first.meta["prompt"].startswith("Purchases of PP&E (1,577)")
        and first.question in first.meta["prompt"]
    )
    assert (second.answer, second.meta["answers"]) == ("1", ["1", "one"])
    assert [example.id for example in load_financebench(path, [1])] == ["b"]


def test_the_hub_s_file_is_fetched_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def fetch(name: str, files: list[str], setting: str) -> Path:
        asked.append((name, files, setting))
        return tmp_path

    monkeypatch.setattr("engine.tasks.financebench.fetch", fetch)
    write(tmp_path / "financebench_merged.jsonl", published())
    assert [one.id for one in load_financebench("hub:me/fb", None)] == ["financebench_id_03029"]
    assert asked == [("me/fb", ["financebench_merged.jsonl"], "evolution.financebench")]
    (tmp_path / "financebench_merged.jsonl").unlink()
    told = (
        "the questions cannot be read: no such file (hub:me/fb): correct `evolution.financebench`: a JSONL file, or "
        "hub:PatronusAI/financebench"
    )
    with pytest.raises(DataError, match=exactly(told)):
        load_financebench("hub:me/fb", None)


NO_EVIDENCE = "`evidence` holds no text (…/f.jsonl:1): give a list of objects with `evidence_text`"
EMPTY = "`question` or `answer` is empty (…/f.jsonl:1): correct or remove the line"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["{no"], "this line is not JSON (…) (…/f.jsonl:1): correct or remove it"),
        (
            [published(), {"question": "q"}],
            "a question lacks financebench_id, answer, evidence (…/f.jsonl:2): use FinanceBench's published fields: "
            "financebench_id, question, answer, evidence",
        ),
        ([published(evidence=[{"page": 1}])], NO_EVIDENCE),
        ([published(evidence=[{"evidence_text": " "}])], NO_EVIDENCE),
        ([published(evidence=[])], NO_EVIDENCE),
        ([published(evidence=[{"evidence_text": "a"}, {"evidence_text": 7}])], NO_EVIDENCE),
        ([published(answer="")], EMPTY),
        ([published(answer=None)], EMPTY),
        ([published(answer=["a", " "])], EMPTY),
        ([published(answer=["a", None])], EMPTY),
        ([published(answer=[])], EMPTY),
        ([published(question=None)], EMPTY),
        (
            [published(), published()],
            "the id 'financebench_id_03029' occurs twice (…/f.jsonl:2): remove one of the two questions",
        ),
        (
            ["version https://git-lfs.github.com/spec/v1"],
            "this is a pointer of git-lfs, not the file itself (…/f.jsonl): fetch the file: git lfs pull",
        ),
        ([], "the data set is empty (…/f.jsonl): give a file with questions"),
    ],
)
def test_bad_files(tmp_path: Path, lines: list[object], words: str) -> None:
    with pytest.raises(DataError, match=exactly(words)):
        load_financebench(write(tmp_path / "f.jsonl", *lines), None)


def test_the_published_line_in_full(tmp_path: Path) -> None:
    """Two pages as evidence, the whole pages beside them, numbers of questions that are null; an older form, too."""
    pages = [
        {
            "evidence_text": text,
            "doc_name": "3M_2022_10K",
            "evidence_page_num": 47,
            "evidence_text_full_page": "long",
        }
        for text in ("Net sales 34,229", "Total assets 46,455")
    ]
    blank = {"evidence_text": " ", "evidence_page_num": 48}
    line = published(
        evidence=[pages[0], blank, pages[1], pages[0]],
        domain_question_num=None,
        dataset_subset_label="OPEN_SOURCE",
    )
    older = {name: value for name, value in published(financebench_id="b").items() if name != "evidence"}
    path = write(
        tmp_path / "f.jsonl", line, older | {"evidence_text": "Purchases (1,577)", "page_number": "59"}
    )
    first, second = load_financebench(path, None)
    assert first.meta["prompt"].startswith(
        "Net sales 34,229\n\nTotal assets 46,455\n\nNet sales 34,229\n\nQuestion: What is"
    )
    assert "long" not in first.meta["prompt"] and first.solution == "The metric was directly extracted."
    assert second.meta["prompt"].startswith("Purchases (1,577)")


def test_an_answer_may_be_the_number_zero(tmp_path: Path) -> None:
    path = write(
        tmp_path / "f.jsonl", published(answer=0), published(financebench_id="b", answer=[0, "none"])
    )
    assert [example.meta["answers"] for example in load_financebench(path, None)] == [["0"], ["0", "none"]]


def test_what_a_question_lacks_is_empty(tmp_path: Path) -> None:
    path = write(tmp_path / "f.jsonl", published(justification=None, company=None))
    [example] = load_financebench(path, None)
    assert (example.solution, example.meta["company"]) == (None, "")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match=exactly(
            "the questions cannot be read: no such file (…/none.jsonl): correct `evolution.financebench`: a JSONL"
            " file, or hub:PatronusAI/financebench"
        ),
    ):
        load_financebench(str(tmp_path / "none.jsonl"), None)


def test_questions_come_in_the_order_of_their_indices(tmp_path: Path) -> None:
    path = write(tmp_path / "f.jsonl", *(published(financebench_id=name) for name in "abc"))
    assert [example.id for example in load_financebench(path, [2, 0])] == ["c", "a"]


@pytest.mark.parametrize("index", [3, 1, -1])
def test_an_index_that_is_not_there(tmp_path: Path, index: int) -> None:
    with pytest.raises(
        ConfigError,
        match=exactly(
            f"evolution.pool: found [{index}], expected indices from 0 to 0 (configuration): correct this value"
        ),
    ):
        load_financebench(write(tmp_path / "f.jsonl", published()), [0, index])


def test_of_many_indices_that_are_not_there_the_first_five_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"found \[1, 2, 3, 4, 5\], expected indices from 0 to 0"):
        load_financebench(write(tmp_path / "f.jsonl", published()), range(7))


@pytest.mark.parametrize(
    ("kind", "reasoning"),
    [
        ("this year", "Numerical reasoning"), ("last year", "Information extraction"),
        ("change", "Information extraction"),
    ],
)  # fmt: skip
def test_a_generated_question_as_a_published_line(kind: Kind, reasoning: str) -> None:
    question = StatementQuestion(
        id="s1", company="Nor Vex Corp", evidence="Cash was 41.", item="cash", before=41, change=3, question="What?",
        answer="44", kind=kind, split="test",
    )  # fmt: skip
    assert financebench_record(question) == {
        "financebench_id": "s1", "company": "Nor Vex Corp", "doc_name": "NOR_VEX_CORP_10K",
        "question_type": "domain-relevant", "question_reasoning": reasoning, "question": "What?", "answer": "44",
        "justification": "", "evidence": [{"evidence_text": "Cash was 41.", "evidence_page_num": 1}],
    }  # fmt: skip


def test_generated_questions_are_in_the_published_format(tmp_path: Path) -> None:
    questions = generate_statements("test", 5, 0)
    path = write(tmp_path / "f.jsonl", *map(financebench_record, questions))
    assert load_financebench(path, None) == generated_financebench("test", 5, 0)


def test_splits_share_no_company() -> None:
    companies = {
        split: {q.company for q in generate_statements(split, 200, 0)} for split in ("train", "dev", "test")
    }
    assert not companies["train"] & companies["dev"] and not companies["test"] & companies["dev"]
    assert generate_statements("dev", 5, 1) == generate_statements("dev", 9, 1)[:5]


def test_written_answers_are_right_padded_or_not() -> None:
    """The judge agrees with the generator: every habit answers rightly, another question's answer does not."""
    rng, judge = random.Random(0), NumericJudge(0.001)
    lengths: dict[str, int] = {"padded": 0, "terse": 0}
    for _ in range(200):
        question = draw_statement(rng)
        for habit in ("padded", "terse"):
            text = write_answer(question, rng, habit)
            assert core_sentence(question) in text
            assert judge.judge(question.question, [question.answer], text).correct
            lengths[habit] += len(text.split())
    assert lengths["padded"] > 2 * lengths["terse"]


def test_changes_leave_the_tens_alone() -> None:
    rng = random.Random(0)
    for _ in range(300):
        before, change = draw_change(rng)
        assert change and before // 10 == (before + change) // 10 and 10 <= before <= 99
