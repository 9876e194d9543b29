"""Data sets in their published forms, and answers to their questions."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from engine.config.gflownet import GraphsSection
from engine.gflownet.graphs.pathquestion.files import read_question_lines, read_triples
from engine.gflownet.graphs.rog import RogSource
from engine.pool.data.image_url import image_url
from engine.pool.data.records import read_rl_data
from engine.pool.data.vqa_files import read_vqa
from engine.slsm.multichallenge import parse_dialogues, read_dialogues
from engine.slsm.published_answers import read_answers
from engine.tasks.extractors import extract_marked, extract_pred
from engine.tasks.financebench import load_financebench
from engine.tasks.loaders import load_task_dataset
from engine.tasks.metrics import is_correct
from tests.hostile.family import Family


def _lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def _task(dataset: str, suffix: str = "jsonl") -> Callable[[bytes, Path], object]:
    def read(data: bytes, folder: Path) -> object:
        path = folder / f"test.{suffix}"
        path.write_bytes(data)
        examples = load_task_dataset(dataset, str(path), "test", 50)
        return json.dumps([example.question for example in examples], ensure_ascii=False).encode()

    return read


def _answer(dataset: str) -> Callable[[bytes, Path], object]:
    """What a model may write: is it right?"""

    def read(data: bytes, folder: Path) -> object:
        text = data.decode(errors="replace")
        return is_correct(dataset, extract_pred(dataset, text), "\\frac{1}{2}"), extract_marked(dataset, text)

    return read


def _financebench(data: bytes, folder: Path) -> object:
    path = folder / "questions.jsonl"
    path.write_bytes(data)
    return [example.meta["prompt"].encode() for example in load_financebench(str(path), None)]


def _dialogues(data: bytes, folder: Path) -> object:
    path = folder / "conversations.jsonl"
    path.write_bytes(data)
    read = read_dialogues(path, None)
    return [turn.user.encode() for conversation in read.conversations for turn in conversation.turns]


def _answers(data: bytes, folder: Path) -> object:
    path = folder / "answers.jsonl"
    path.write_bytes(data)
    return read_answers(path, parse_dialogues(_CHALLENGE, "c", "c", None))


def _questions(data: bytes, folder: Path) -> object:
    path = folder / "PQ-2H.txt"
    path.write_bytes(data)
    return [line.gold_path for line in read_question_lines(path)]


def _triples(data: bytes, folder: Path) -> object:
    path = folder / "2H-kb.txt"
    path.write_bytes(data)
    return read_triples(path)


def _vqa(data: bytes, folder: Path) -> object:
    (folder / "q.json").write_bytes(data)
    (folder / "a.json").write_bytes(data)
    return [question.majority for question in read_vqa(folder / "q.json", folder / "a.json")]


def _rl_data(data: bytes, folder: Path) -> object:
    (folder / "rl.json").write_bytes(data)
    return read_rl_data(folder / "rl.json", 100)


def _image(data: bytes, folder: Path) -> object:
    (folder / "i.png").write_bytes(data)
    return image_url(folder / "i.png")


def _rog(data: bytes, folder: Path) -> object:
    for split in ("train", "validation", "test"):
        (folder / f"{split}.parquet").write_bytes(data)
    source = RogSource(GraphsSection(dataset="rog", path=str(folder)))
    return list(source.read("train"))


@cache
def _parquet(rows: str) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(json.loads(rows)), file)
    return file.getvalue()


_GSM8K = _lines(
    {"question": "Ida has 3 cats and gets 4. How many?", "answer": "3 + 4 = <<3+4=7>>7\n#### 7"},
    {"question": "And 1,000 more?", "answer": "#### 1,007"},
)
_MATH = _lines(
    {
        "unique_id": "a/1",
        "problem": "Half?",
        "solution": "It is $\\boxed{\\frac{1}{2}}$.",
        "level": 2,
        "subject": "Algebra",
    }
)
_AIME = _lines({"id": 1, "problem": "What?", "answer": "025", "solution": ""})
_ARC = _lines(
    {"id": "x", "question": "Which?", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "answerKey": "B"}
)
_FINANCE = _lines(
    {
        "financebench_id": "f1",
        "company": "A",
        "question": "How much?",
        "answer": "$5.00",
        "justification": "",
        "evidence": [{"evidence_text": "It cost 5.", "evidence_page_num": 1}],
        "question_type": "metrics",
    }
)
_CHALLENGE = _lines(
    {
        "QUESTION_ID": "q1",
        "AXIS": "INFERENCE_MEMORY",
        "TARGET_QUESTION": "Is it vegan?",
        "PASS_CRITERIA": "YES",
        "CONVERSATION": [
            {"role": "user", "content": "I am vegan."},
            {"role": "assistant", "content": "Noted."},
            {"role": "user", "content": "What shall I eat?"},
        ],
    }
)
_PLAIN = _lines({"id": "c", "messages": [{"role": "user", "content": "No commas."}]})
_QUESTIONS = b"which nationality is a 's couple ?\tuk(uk/france/)\ta#spouse#b#nationality#uk#<end>#uk\n" * 2
_VQA = json.dumps(
    {
        "questions": [{"question_id": 1, "image_id": 7, "question": "What colour?"}],
        "annotations": [{"question_id": 1, "answers": [{"answer": "red"}] * 5 + [{"answer": "blue"}] * 5}],
    }
).encode()
_RL = json.dumps(
    {
        "q1": {
            "query_id": "q1",
            "candidate_pool_indices": list(range(8)),
            "pointer_candidates": [
                {
                    "pointer": [0, 3],
                    "pointer_global": [0, 3],
                    "vqa_correct": 1,
                    "vqa_acc_score": 0.6,
                    "gen_method": "beam",
                }
            ],
        }
    }
).encode()
_ROG = json.dumps(
    [
        {
            "id": f"r{n}",
            "question": f"who {n}",
            "answer": ["b"],
            "q_entity": ["a"],
            "a_entity": ["b"],
            "graph": [["a", "likes", "b"]],
        }
        for n in range(3)
    ]
)


_WRITTEN = [
    b"So \\boxed{\\frac{1}{2}}.",
    b"\\boxed{0.5}",
    b"the answer is $\\boxed{x^{2}+1}$",
    b"#### 1,200.50",
    b"Answer: (B)",
    b"\\boxed{9**9**9}",
    b"\\boxed{2^{3^{4}}}",
]
FAMILIES = [
    Family("GSM8K", "lines", lambda: [_GSM8K], _task("gsm8k")),
    Family(
        "GSM8K as a list",
        "json",
        lambda: [b"[" + b",".join(_GSM8K.splitlines()) + b"]"],
        _task("gsm8k", "json"),
    ),
    Family(
        "GSM8K as CSV",
        "text",
        lambda: [b'question,answer\n"How many, Ida?","so\n#### 7"\nAnd?,#### 8\n'],
        _task("gsm8k", "csv"),
    ),
    Family(
        "GSM8K as parquet",
        "bytes",
        lambda: [_parquet(json.dumps([json.loads(line) for line in _GSM8K.splitlines()]))],
        _task("gsm8k", "parquet"),
    ),
    Family("MATH", "lines", lambda: [_MATH], _task("math500")),
    Family("AIME", "lines", lambda: [_AIME], _task("aime")),
    Family("ARC", "lines", lambda: [_ARC], _task("arc-c")),
    Family("answer to MATH", "text", lambda: _WRITTEN, _answer("math500")),
    Family("answer to GSM8K", "text", lambda: _WRITTEN, _answer("gsm8k")),
    Family("answer to ARC", "text", lambda: _WRITTEN, _answer("arc-c")),
    Family("FinanceBench", "lines", lambda: [_FINANCE], _financebench),
    Family("conversations", "lines", lambda: [_CHALLENGE, _PLAIN], _dialogues),
    Family(
        "published answers", "lines", lambda: [_lines({"QUESTION_ID": "q1", "RESPONSE": "Beans."})], _answers
    ),
    Family("PathQuestion's questions", "text", lambda: [_QUESTIONS], _questions),
    Family("PathQuestion's triples", "text", lambda: [b"a\tspouse\tb\nb\tnationality\tuk\n"], _triples),
    Family("VQA", "json", lambda: [_VQA], _vqa),
    Family("RL data", "json", lambda: [_RL], _rl_data),
    Family("image", "bytes", lambda: [b"\x89PNG\r\n\x1a\nabc", b"\xff\xd8\xffabc"], _image),
    Family("RoG", "bytes", lambda: [_parquet(_ROG)], _rog),
]
