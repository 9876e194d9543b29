"""Data sets of the hub: fetched once by the real library from a server that stands in for the hub, then from the cache;
what is said where it is out of reach. In processes of their own: the library reads its settings when imported."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet as parquet
import pytest

from engine.errors import DataError
from engine.tasks.hub import hub_name
from engine.tasks.sources import HUB, is_here, task_files
from tests.conftest import ROOT
from tests.exactly import exactly
from tests.hub_stand_in import hub_stand_in

NOWHERE = "http://127.0.0.1:9"


def parquet_bytes(*records: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(list(records)), out)
    return out.getvalue()


def ask(code: str, home: Path, url: str) -> list[Any]:
    """What `code` prints as JSON lines; a DataError is printed as a list of what, where, mend."""
    program = (
        f"import json\nfrom engine.errors import DataError\ntry:\n    {code}\n"
        "except DataError as e:\n    print(json.dumps([e.what, e.where, e.hint]))"
    )
    env = os.environ | {"HF_HOME": str(home), "HF_ENDPOINT": url, "HF_HUB_OFFLINE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not done.stderr, "the engine prints nothing"
    return [json.loads(line) for line in done.stdout.splitlines()]


LOAD = """from engine.tasks.loaders import load_task_dataset as load
    for one in load({dataset!r}, {path!r}, {split!r}, 9): print(json.dumps(one.question))"""


def test_a_task_is_fetched_once_and_then_read_from_the_cache(tmp_path: Path) -> None:
    files = {
        "main/train-00000-of-00001.parquet": b"never asked for",
        "main/test-00000-of-00001.parquet": parquet_bytes({"question": "Q", "answer": "#### 1"}),
        "socratic/test-00000-of-00001.parquet": b"never asked for",
    }
    code = LOAD.format(dataset="gsm8k", path=None, split="test")
    with hub_stand_in({"openai/gsm8k": files}) as hub:
        assert ask(code, tmp_path, hub.url) == ["Q"]
        fetched = [line for line in hub.requests if line.startswith("GET /datasets/")]
    assert len(fetched) == 1 and "main/test" in fetched[0]
    assert ask(code, tmp_path, NOWHERE) == ["Q"]


def test_an_interrupted_fetch_goes_on(tmp_path: Path) -> None:
    """One shard of two in the cache is not the data set."""
    name = "rmanluo/RoG-webqsp"
    shards = {f"data/test-0000{n}-of-00002.parquet": parquet_bytes({"a": n}) for n in (0, 1)}
    code = f"""from engine.gflownet.graphs.rog import rog_folder
    print(json.dumps(sorted(file.name for file in rog_folder("hub:{name}").rglob("*.parquet"))))"""
    with hub_stand_in({name: shards}) as hub:
        assert len(ask(code, tmp_path, hub.url)[0]) == 2
        next(tmp_path.rglob("test-00001-of-00002.parquet")).unlink()
        assert len(ask(code, tmp_path, hub.url)[0]) == 2
    next(tmp_path.rglob("test-00001-of-00002.parquet")).unlink()
    assert len(ask(code, tmp_path, NOWHERE)[0]) == 3, "told, not read as if it were whole"


def test_a_data_set_of_ones_own(tmp_path: Path) -> None:
    files = {"test.jsonl": json.dumps({"problem": "P", "answer": "7"}).encode(), "train.jsonl": b"never"}
    with hub_stand_in({"me/mine": files}) as hub:
        assert ask(LOAD.format(dataset="aime", path="hub:me/mine", split="test"), tmp_path, hub.url) == ["P"]
        ((what, where, hint),) = ask(
            LOAD.format(dataset="aime", path="hub:me/other", split="test"), tmp_path, hub.url
        )
        assert what.startswith("the data set cannot be fetched: ") and where == "hub:me/other"
        assert hint == (
            "go online, or copy *test* of https://huggingface.co/datasets/me/other to a folder and name it in task.path"
        )


def test_financebench_and_multichallenge(tmp_path: Path) -> None:
    """The hub's MultiChallenge has small letters, and its messages by column."""
    line = {"financebench_id": "f", "question": "Q", "answer": "1", "evidence": [{"evidence_text": "E"}]}
    row = {
        "question_id": "m", "axis": "A", "target_question": "T?", "pass_criteria": "YES", "num_turns": 1,
        "conversation": {"role": ["user", "assistant", "user"], "content": ["Hi", "Hello", "Bye"]},
    }  # fmt: skip
    data_sets = {
        "PatronusAI/financebench": {"financebench_merged.jsonl": json.dumps(line).encode()},
        "ScaleAI/MultiChallenge": {"data/test-00000-of-00001.parquet": parquet_bytes(row)},
    }
    code = """from engine.tasks.financebench import load_financebench
    from engine.slsm.multichallenge import dialogues_file, read_dialogues
    print(json.dumps([one.question for one in load_financebench("hub:PatronusAI/financebench", None)]))
    found = read_dialogues(dialogues_file("hub:ScaleAI/MultiChallenge"), 9)
    print(json.dumps([found.conversations[0].messages(""), found.criteria["m"].target_question]))"""
    with hub_stand_in(data_sets) as hub:
        questions, (messages, target) = ask(code, tmp_path, hub.url)
    assert questions == ["Q"] and target == "T?"
    assert [message["content"] for message in messages] == ["Hi", "Hello", "Bye"]


@pytest.mark.parametrize("dataset", HUB)
def test_out_of_reach_says_which_file_to_put_where(tmp_path: Path, dataset: str) -> None:
    ((what, where, hint),) = ask(LOAD.format(dataset=dataset, path=None, split="test"), tmp_path, NOWHERE)
    source = HUB[dataset]["test"]
    assert what.startswith("the data set cannot be fetched: ") and where == f"hub:{source.name}"
    assert hint == (
        f"go online, or copy {source.pattern} of https://huggingface.co/datasets/{source.name} to a folder and "
        "name it in "
        "task.path"
    )


def test_where_each_split_is_on_the_hub() -> None:
    assert {(name, split): (file.shown, file.pattern) for name, of in HUB.items() for split, file in of.items()} == {
        ("gsm8k", "train"): ("hub:openai/gsm8k", "main/train-*.parquet"),
        ("gsm8k", "test"): ("hub:openai/gsm8k", "main/test-*.parquet"),
        ("math500", "train"): ("hub:DigitalLearningGmbH/MATH-lighteval", "data/train-*.parquet"),
        ("math500", "test"): ("hub:HuggingFaceH4/MATH-500", "test.jsonl"),
        ("arc-c", "train"): ("hub:allenai/ai2_arc", "ARC-Challenge/train-*.parquet"),
        ("arc-c", "validation"): ("hub:allenai/ai2_arc", "ARC-Challenge/validation-*.parquet"),
        ("arc-c", "test"): ("hub:allenai/ai2_arc", "ARC-Challenge/test-*.parquet"),
        ("aime", "train"): ("hub:AI-MO/aimo-validation-aime", "data/train-*.parquet"),
        ("aime", "test"): ("hub:math-ai/aime25", "test.jsonl"),
        ("aime", "2024"): ("hub:HuggingFaceH4/aime_2024", "data/train-*.parquet"),
    }  # fmt: skip


def test_a_split_that_the_hub_does_not_have() -> None:
    words = (
        "math500 has no split `dev` on the hub (task.train_split, task.eval_split): choose one of train, test, or name "
        "your own files in task.path"
    )
    for asked in (task_files, is_here):
        with pytest.raises(DataError, match=exactly(words)):
            asked("math500", None, "dev")


def test_names_that_are_none() -> None:
    assert hub_name("data/x") is None and hub_name(None) is None and hub_name("hub:a/b") == "a/b"
    for name in ("hub:", "hub:a", "hub:a/", "hub:/b", "hub:a/b/c", "hub:a/ b"):
        with pytest.raises(
            DataError, match=exactly(f"this is not the name of a data set ({name}): write hub:owner/name")
        ):
            hub_name(name)
