"""A folder of VQAv2-style files with embeddings, as people have them: questions, annotations, vectors, RL data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

ANSWERS = ("red", "blue", "green")
WIDTH = 6


def answer_of(number: int) -> str:
    """What most people answer to question `number`."""
    return ANSWERS[number % len(ANSWERS)]


def write_questions(folder: Path, name: str, ids: list[int], images: list[int]) -> dict[str, str]:
    """Questions and annotations; returns what goes into the configuration. Eight of ten people agree."""
    questions = [
        {"question_id": question_id, "image_id": image, "question": f"What colour is thing {question_id}?"}
        for question_id, image in zip(ids, images, strict=True)
    ]
    annotations = [
        {
            "question_id": question_id,
            "question_type": "what color",
            "answers": [
                {
                    "answer": answer_of(question_id) if person < 8 else "grey",
                    "answer_confidence": "yes",
                    "answer_id": person,
                }
                for person in range(10)
            ],
        }
        for question_id in ids
    ]
    (folder / f"{name}_questions.json").write_text(json.dumps({"info": {}, "questions": questions}))
    (folder / f"{name}_annotations.json").write_text(json.dumps({"annotations": annotations}))
    vectors = np.stack([vector(question_id) for question_id in ids])
    np.save(folder / f"{name}.npy", vectors)
    return {
        "questions": str(folder / f"{name}_questions.json"),
        "annotations": str(folder / f"{name}_annotations.json"),
        "embeddings": str(folder / f"{name}.npy"),
    }


def vector(number: int) -> np.ndarray:
    """Similar where the answer is the same, mostly."""
    draws = np.random.default_rng(number)
    return (2 * np.eye(WIDTH)[number % len(ANSWERS)] + draws.normal(size=WIDTH)).astype(np.float32)


def write_folder(folder: Path) -> dict[str, Any]:
    """`pool.files`: 120 demonstrations (ids 1000...), 6 queries (0...) of which 0 is about image 1002 and 5 has a NaN,
    2 held-out queries (500, 501). Demonstration 1009 has an infinite embedding."""
    shown = list(range(1000, 1120))
    demonstrations = write_questions(folder, "demonstrations", shown, shown)
    table = np.load(folder / "demonstrations.npy")
    table[9] = np.inf
    table[2] = vector(0)  # the same image: the nearest row, were it not the query's own
    np.save(folder / "demonstrations.npy", table)
    queries = write_questions(folder, "queries", list(range(6)), [1002, 1, 2, 3, 4, 5])
    vectors = np.load(folder / "queries.npy")
    vectors[5, 0] = np.nan
    np.save(folder / "queries.npy", vectors)
    heldout = write_questions(folder, "heldout", [500, 501], [500, 501])
    return {"demonstrations": demonstrations, "queries": queries, "heldout": heldout}


def write_rl(folder: Path) -> str:
    """RL data whose pools missed every positive: query q has rows whose answer is another one."""
    content = {}
    for query in range(6):
        pool = [row for row in range(120) if answer_of(1000 + row) != answer_of(query)][:20]
        trajectory = {"pointer": [0, 1], "vqa_correct": 0, "vqa_acc_score": 0.0, "gen_method": "beam"}
        ids = {"query_id": query, "candidate_pool_indices": pool}
        content[str(query)] = {**ids, "pointer_candidates": [trajectory]}
    (folder / "rl.json").write_text(json.dumps(content))
    return str(folder / "rl.json")
