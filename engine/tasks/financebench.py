"""FinanceBench (Islam et al. 2023): questions over pages of annual reports, from JSONL with its published fields, a
local file or on the hub, or generated questions over small statements (spec Evolution 3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.errors import ConfigError, DataError, Problem
from engine.tasks.example import TaskExample
from engine.tasks.generated.splits import Split
from engine.tasks.generated.statements import StatementQuestion, generate_statements
from engine.tasks.hub import fetch, hub_name
from engine.tasks.records import read_records

FIELDS = ("financebench_id", "question", "answer", "evidence")
HUB_FILE = "financebench_merged.jsonl"
"""The 150 open questions in `hub:PatronusAI/financebench`; on GitHub the same file is named
financebench_open_source.jsonl."""
_SETTING = "evolution.financebench"


def statement_prompt(evidence: str, question: str) -> str:
    """The user's message: the evidence, then the question."""
    return f"{evidence}\n\nQuestion: {question}"


def load_financebench(path: str, indices: Sequence[int] | None) -> list[TaskExample]:
    """Examples of a FinanceBench JSONL file, all of them or those at `indices` (0-based lines).

    `path`: the file, or `hub:PatronusAI/financebench`. `evidence` is a list of objects with `evidence_text`, as
    published, or of such texts; older copies have `evidence_text` beside the question. Raises DataError with file and
    line, and ConfigError for an index beyond the last line.
    """
    examples: list[TaskExample] = []
    seen: set[str] = set()
    for where, record in read_records(_file(path)):
        example = _example(record, where)
        if example.id in seen:
            raise DataError(
                what=f"the id {example.id!r} occurs twice",
                where=where,
                hint="remove one of the two questions",
            )
        seen.add(example.id)
        examples.append(example)
    if not examples:
        raise DataError(what="the data set is empty", where=path, hint="give a file with questions")
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
    return [
        _example(financebench_record(each), "generated") for each in generate_statements(split, size, seed)
    ]


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


def _file(path: str) -> Path:
    name = hub_name(path)
    file = Path(path).expanduser() if name is None else fetch(name, [HUB_FILE], _SETTING) / HUB_FILE
    if not file.is_file():
        raise DataError(
            what="the questions cannot be read: no such file",
            where=path,
            hint=f"correct `{_SETTING}`: a JSONL file, or hub:PatronusAI/financebench",
        )
    return file


def _example(record: dict[str, Any], where: str) -> TaskExample:
    if "evidence" not in record and "evidence_text" in record:
        record = record | {"evidence": record["evidence_text"]}
    missing = [name for name in FIELDS if name not in record]
    if missing:
        raise DataError(
            what=f"a question lacks {', '.join(missing)}",
            where=where,
            hint="use FinanceBench's published fields: " + ", ".join(FIELDS),
        )
    question, answer = str(record["question"] or ""), record["answer"]
    golds = ["" if gold is None else str(gold) for gold in (answer if isinstance(answer, list) else [answer])]
    if not question.strip() or not golds or not all(gold.strip() for gold in golds):
        raise DataError(
            what="`question` or `answer` is empty", where=where, hint="correct or remove the line"
        )
    return TaskExample(
        id=str(record["financebench_id"]),
        question=question,
        answer=golds[0],
        solution=str(record.get("justification") or "") or None,
        meta={
            "prompt": statement_prompt(_evidence(record["evidence"], where), question),
            "answers": golds,
            "company": str(record.get("company") or ""),
        },
    )


def _evidence(evidence: object, where: str) -> str:
    pieces = evidence if isinstance(evidence, list) else [evidence]
    texts = [piece.get("evidence_text") if isinstance(piece, dict) else piece for piece in pieces]
    written = [text for text in texts if isinstance(text, str) and text.strip()]
    if not written or not all(isinstance(text, str) for text in texts):
        raise DataError(
            what="`evidence` holds no text", where=where, hint="give a list of objects with `evidence_text`"
        )
    return "\n\n".join(written)
