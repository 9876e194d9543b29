"""The problems of the bench: no task in two splits, other wordings to learn from, answers checked by their sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.files import read_jsonl, write_jsonl
from tests.bench import bench_esm_instructions as bench


def row(task: str, kind: str, **given: object) -> dict[str, Any]:
    return {"prompt": f"{task} Then more.", "instruction_id_list": [kind], "kwargs": [given]}


ROWS = [
    row(f"Write a poem about the number that is called {word}.", kind, **given)
    for word, kind, given in zip(
        ("ten", "six", "nine", "eight", "seven", "eleven"),
        bench.KINDS,
        (
            {"relation": "less than", "num_words": 40},
            {"relation": "at least", "num_sentences": 3},
            {"num_bullets": 2},
            {"keywords": ["river"]},
            {"relation": "at least", "keyword": "tree", "frequency": 2},
            {"end_phrase": "That is all."},
        ),
        strict=True,
    )
]


def test_splits_share_no_task_and_have_wordings_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SIZES", {"train": (2, 6), "dev": (2, 6), "test": (2, 6)})
    made = bench.problems(ROWS)
    tasks = [{problem["question"].partition("\n")[0] for problem in problems} for problems in made.values()]
    assert not set.union(*tasks[:2]) & tasks[2] and not tasks[0] & tasks[1]
    words = {
        split: [p["answer"] for p in problems if p["kind"] == "number_words"]
        for split, problems in made.items()
    }
    assert words["train"] == ["Use less than 40 words in every answer."]
    assert words["test"] == words["dev"] == ["Write less than 40 words in each answer."]
    assert [p["kind"] for p in made["test"]] == [kind.partition(":")[2] for kind in bench.KINDS]


@pytest.mark.parametrize(
    ("instruction", "kept", "missed"),
    [
        ("Write less than 4 words in each answer.", "one two three", "one two three four"),
        ("Write every answer with exactly 2 bullet points.", "- a\n- b", "- a\n- b\n- c"),
        ('Finish each of your answers with "That is all."', "Yes. That is all.", "That is all. Yes."),
    ],
)
def test_an_answer_is_checked_by_its_instruction(instruction: str, kept: str, missed: str) -> None:
    assert bench.kept(kept, instruction) and not bench.kept(missed, instruction)


def test_a_kind_of_instruction_has_files_of_its_own(tmp_path: Path) -> None:
    kept = [
        {"kind": "length", "question": "Write a poem.\nUse 40 words.", "answer": "Use 40 words."},
        {"kind": "closing", "question": 'Sing.\nEnd with "Bye".', "answer": 'End with "Bye".'},
    ]
    for split in ("train", "test"):
        write_jsonl(tmp_path / f"{split}.jsonl", kept)
    own = bench.contrast_files(tmp_path, "closing", tmp_path / "runs")
    assert read_jsonl(own / "train.jsonl") == read_jsonl(own / "test.jsonl") == kept[1:]
    assert read_jsonl(own / "pairs.jsonl") == [{"positive": 'Sing.\nEnd with "Bye".', "negative": "Sing."}]


def test_figures_of_a_method_beside_greedy() -> None:
    """Of four problems one is fixed, one broken: no difference, one in four steered."""

    def lines(correct: list[bool], steered: list[int]) -> list[dict[str, Any]]:
        return [
            {"correct": right, "tokens_used": 10, "probe_tokens_used": 4, "steered": count}
            for right, count in zip(correct, steered, strict=True)
        ]

    made = bench.figures(
        lines([True, True, False, False], [2, 0, 0, 0]), lines([True, False, True, False], [0] * 4)
    )
    assert (made["n"], made["kept"], made["minus greedy"], made["fixed"], made["broken"]) == (4, 0.5, 0, 1, 1)
    assert (made["tokens"], made["probe tokens"], made["steered"]) == (10, 4, 0.25)
