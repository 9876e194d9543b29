"""FinanceBench: questions over pages of annual reports, from JSONL in its published fields, or generated ones
over small statements (Islam et al. 2023; spec Evolution 3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.errors import ConfigError, DataError, Problem
from engine.tasks.example import TaskExample
from engine.tasks.generated.splits import Split
from engine.tasks.generated.statements import StatementQuestion, generate_statements
from engine.tasks.records import read_jsonl_records

FIELDS = ("financebench_id", "question", "answer", "evidence")


def statement_prompt(evidence: str, question: str) -> str:
    """The user's message: what to read, then what is asked."""
    return f"{evidence}\n\nQuestion: {question}"


def load_financebench(path: str, indices: Sequence[int] | None) -> list[TaskExample]:
    """Examples of a FinanceBench JSONL file, all of them or those at `indices` (0-based lines).

    `evidence` is a list of objects with `evidence_text`, as published, or of such texts. Raises DataError with
    file and line, and ConfigError for an index that is not there.
    """
    examples = [_example(record, where) for where, record in _lines(path)]
    if not examples:
        raise DataError(what="the data set is empty", where=path, mend="give a file with questions")
    if indices is None:
        return examples
    beyond = [index for index in indices if not 0 <= index < len(examples)]
    if beyond:
        raise ConfigError(
            [Problem("evolution.pool", str(beyond[:5]), f"indices from 0 to {len(examples) - 1}")]
        )
    return [examples[index] for index in indices]


def generated_financebench(split: Split, size: int, seed: int) -> list[TaskExample]:
    """Questions over generated statements."""
    return [_generated(question) for question in generate_statements(split, size, seed)]


def financebench_record(question: StatementQuestion) -> dict[str, Any]:
    """A generated question as a line of FinanceBench's file."""
    return {
        "financebench_id": question.id,
        "company": question.company,
        "doc_name": f"{question.company.replace(' ', '_').upper()}_10K",
        "question_type": "domain-relevant",
        "question_reasoning": "Numerical reasoning"
        if question.kind == "this year"
        else "Information extraction",
        "question": question.question,
        "answer": question.answer,
        "justification": "",
        "evidence": [{"evidence_text": question.evidence, "evidence_page_num": 1}],
    }


def _lines(path: str) -> Sequence[tuple[str, dict[str, Any]]]:
    try:
        return list(read_jsonl_records(Path(path)))
    except OSError as error:
        raise DataError(
            what=f"the questions cannot be read: {error.strerror}",
            where=path,
            mend="correct `evolution.financebench`",
        ) from error


def _generated(question: StatementQuestion) -> TaskExample:
    return _example(financebench_record(question), "generated")


def _example(record: dict[str, Any], where: str) -> TaskExample:
    missing = [name for name in FIELDS if name not in record]
    if missing:
        raise DataError(
            what=f"a question lacks {', '.join(missing)}",
            where=where,
            mend="use FinanceBench's published fields: " + ", ".join(FIELDS),
        )
    question, answer = str(record["question"]), record["answer"]
    golds = [str(gold) for gold in answer] if isinstance(answer, list) else [str(answer)]
    return TaskExample(
        id=str(record["financebench_id"]),
        question=question,
        answer=golds[0],
        solution=str(record.get("justification") or "") or None,
        meta={
            "prompt": statement_prompt(_evidence(record["evidence"], where), question),
            "answers": golds,
            "company": str(record.get("company", "")),
        },
    )


def _evidence(evidence: object, where: str) -> str:
    pieces = evidence if isinstance(evidence, list) else [evidence]
    texts = [piece.get("evidence_text") if isinstance(piece, dict) else piece for piece in pieces]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise DataError(
            what="`evidence` holds no text", where=where, mend="give a list of objects with `evidence_text`"
        )
    return "\n\n".join(str(text) for text in texts)
