"""What ESM's stages say word for word, names of entries, and a memory's rows by hand."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.config.config import Config
from engine.errors import DataError
from engine.esm import layout, what_if
from engine.esm.baselines import field
from engine.esm.baselines.plain import most_frequent
from engine.esm.baselines.prompt_pairs import mean_difference, principal_difference, read_pairs
from engine.esm.baselines.seal import seal_vector
from engine.esm.evaluation.sources import Sources
from engine.esm.export import LibraryVector, _records, as_layer_vectors, check_scale
from engine.esm.library import entry_names, memory, memory_stage
from engine.esm.library.entry_names import EntryNamer, chosen_name, entry_name, free_name, short_name, turned
from engine.esm.library.imported import Imported, _line, read_imports
from engine.esm.library.memory import Entry, EpisodicMemory
from engine.esm.library.select_stage import Select
from engine.esm.lines import read_entries
from engine.esm.mining import mine_stage, mine_work
from engine.esm.mining.mine_stage import candidate_records, kept_kinds, top_pairs
from engine.esm.online.control_point import Answer
from engine.esm.online.forced import Forced
from engine.esm.online.variants import _along, layer_means
from engine.esm.vectors import vector_bytes
from engine.events import (
    Candidate,
    DecisionTaken,
    EntryPicked,
    PairMined,
    RolloutsMined,
    TriedAnswer,
    WhatIfTried,
)
from engine.files import file_stem, read_jsonl, write_jsonl
from engine.tasks.example import TaskExample
from engine.tasks.task import Task
from engine.vectors.formats import vector_file
from engine.vectors.layer_vectors import LayerVectors
from tests.exactly import exactly


@pytest.mark.parametrize(
    ("wrong", "right", "words"),
    [
        ("a Backward b", "a Forward b", "Backward → Forward"), ("so it is", None, "so → solution"),
        ("", None, "end → solution"), ("a", "a", ""), ("a", "a b", "end → b"), ("a b", "a", "b → end"),
        ("subtracting", "multiplying", "subtrac… → multipl…"), ("additional", "additions", "…nal → …ns"),
        ("(x)", "[y]", "x → y"), ("x,", "x.", "x, → x."), ("one two three", "four five six", "one two → four five"),
        ("aaaaaaaa bb", "cccccccc dd", "aaaaaaaa → cccccccc"),
    ],
)  # fmt: skip
def test_what_an_entry_turns(wrong: str, right: str | None, words: str) -> None:
    assert turned(wrong, right) == words


def test_names_of_entries(tmp_path: Path) -> None:
    assert (
        entry_name("wrong", "B → F", 2) == "B → F, step 2"
        and entry_name("right", "B → F", 2) == "keep F, step 2"
    )
    assert free_name("a", {"a", "a #2"}) == "a #3" and free_name("b", {"a"}) == "b"
    assert short_name("x") == "x" and short_name("x" * 30) == "x" * 27 + "…"
    assert short_name("gsm8k-train-0123456789_m3_l12_right") == "keep train-0…, step 3"
    assert short_name("gsm8k-train-0123456789_m3_l12_wrong") == "train-0…, step 3"
    candidate = Candidate(
        entry="w1", kind="wrong", similarity=0.5, quality=1.0, ahat=0.2, probed=True, logprob=-1.0
    )
    taken = DecisionTaken(method="esm", example="e", m=1, gate="g", chosen="w1", candidates=[candidate])
    assert (
        chosen_name(taken) == "w1"
        and chosen_name(DecisionTaken(method="esm", example="e", m=1, gate="g")) == "null"
    )
    rollouts = [{"text": "a Back b", "correct": False, "reward": 0.0, "segments": 2},
                {"text": "a Forth b", "correct": True, "reward": 0.5, "segments": 2},
                {"text": "a Late b", "correct": True, "reward": 0.9, "segments": 1}]  # fmt: skip
    (tmp_path / "rollouts.jsonl").write_text(json.dumps({"example_id": "e", "rollouts": rollouts}) + "\n")
    namer = EntryNamer(tmp_path)
    entry = {"tool_name": "t", "kind": "wrong", "control_point_m": 2, "example_id": "e"}
    named = namer.named(
        [
            entry,
            entry,
            {**entry, "control_point_m": 1},
            {**entry, "name": "own\n"},
            {**entry, "source": "gold"},
        ]
    )
    assert [one["name"] for one in named] == [
        "Back → Forth, step 2", "Back → Forth, step 2 #2", "Back → Late, step 1", "own", "a → solution, step 2",
    ]  # fmt: skip
    assert namer.name({**entry, "example_id": "none"}) == "t"
    assert (entry_names.LONGEST, entry_names.ARROW) == (28, " → ")


def test_entries_that_are_asked_for_and_are_none(tmp_path: Path) -> None:
    rows = [{"name": "entry1", "tool_name": "t1", "lib_id": "l1", "vector_path": "v"},
            {"name": "n2", "tool_name": "t2", "lib_id": "l2", "vector_path": None}]  # fmt: skip
    assert _records(rows, ["l1", "t1", "entry1"], "w") == [rows[0]] * 3
    for name, words in (
        ("entry3", "no entry is called entry3; did you mean entry1? (w): see library.jsonl"),
        ("other", "no entry is called other (w): see library.jsonl"),
        ("n2", "n2 is of kind right: it speaks for not steering, and holds no vector (w): pick entries of kind wrong"),
    ):  # fmt: skip
        with pytest.raises(DataError) as caught:
            _records(rows, [name], "w")
        assert str(caught.value) == words
    for scale in (float("nan"), -1e39):  # in float32 both are no numbers
        said = f"scale {scale} is no finite float32 (--scale): give another"
        with pytest.raises(DataError, match=exactly(said)):
            check_scale(scale)
    one, two = (
        LibraryVector({"layer": 2, "name": name}, np.array(v, np.float32))
        for name, v in (("a", [1, 3]), ("b", [3, 5]))
    )
    both = as_layer_vectors([one, two])
    assert both.notes == {"method": "mean of ESM's entries", "entries": "2"} and both.vectors[2].tolist() == [
        2.0,
        4.0,
    ]
    assert as_layer_vectors([one]).notes == {"method": "ESM's entry a", "entries": "1"}


def entry_line(**changes: Any) -> dict[str, Any]:
    return {
        "tool_name": "t", "kind": "wrong", "pair_id": "p", "example_id": "e", "control_point_m": 1, "layer": 2,
        "quality": 0.5, "source": "rollout", "key_path": "keys/t.pt", "vector_path": "vectors/t.pt", "model": "m",
    } | changes  # fmt: skip


def test_lines_of_a_library_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "library.jsonl"
    again = "run the stage `select` again, which writes this file"

    def written(*lines: dict[str, Any]) -> None:
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    for lines, what, number in (
        ([entry_line(), entry_line()], "`tool_name`: the entry of line 1 stands here once more", 2),
        ([entry_line(layer=4)], "`layer` is 4: the model has layers 0 to 3", 1),
        ([entry_line(vector_path=None)],
         "`vector_path` is None: a wrong entry has a vector, a right one has none", 1),
        ([entry_line(kind="right")],
         "`vector_path` is 'vectors/t.pt': a wrong entry has a vector, a right one has none", 1),
    ):  # fmt: skip
        written(*lines)
        with pytest.raises(DataError, match=exactly(f"{what} ({path}:{number}): {again}")):
            read_entries(path, "select", 4)
    written(entry_line(layer=3))
    assert len(read_entries(path, "select", 4)) == 1
    for content, what in (
        (np.zeros(2, np.int64), "keys are int64, not floats"),
        (np.array([np.nan]), "keys hold NaN or infinity"),
    ):
        np.save(tmp_path / "keys.npy", content)
        hint = "run the stage `memory` again" if "floats" in what else "run the stage `mine` again"
        with pytest.raises(DataError, match=exactly(f"{what} ({tmp_path / 'keys.npy'}): {hint}")):
            memory._read_keys(tmp_path / "keys.npy")
    (tmp_path / "keys.npy").write_bytes(b"x")
    torn = f"the keys cannot be read: … ({tmp_path / 'keys.npy'}): run the stage `memory` again"
    with pytest.raises(DataError, match=exactly(torn)):
        memory._read_keys(tmp_path / "keys.npy")


@pytest.mark.parametrize(
    ("changes", "said"),
    [({}, ""), ({"hidden_size": 3}, "hidden_size is 3 there, 2 here"),
     ({"num_layers": 5}, "num_layers is 5 there, 4 here"), ({"model": "g"}, "model is g there, f here")],
)  # fmt: skip
def test_a_memory_is_of_one_model(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    path = tmp_path / "memory.json"
    path.write_text(
        json.dumps({"model": "f", "hidden_size": 2, "num_layers": 4, "keys_sha256": "d"} | changes)
    )
    info: Any = SimpleNamespace(hidden_size=2, num_layers=4, fingerprint="f")
    if not said:
        assert memory._check_model(path, info) == memory.MemoryModel("f", 2, 4, "d")
        return
    hint = "mine, select and build the memory with this model, or load the model it was built for"
    with pytest.raises(
        DataError, match=exactly(f"the memory was built for another model: {said} ({path}): {hint}")
    ):
        memory._check_model(path, info)


def test_keys_whose_bytes_have_changed(tmp_path: Path) -> None:
    path = tmp_path / "keys.npy"
    path.write_bytes(b"abc")
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    for known in ("", digest):  # older runs have none
        memory._check_digest(path, memory.MemoryModel("f", 2, 4, known))
    path.write_bytes(b"abd")
    changed = "the keys are not as the stage `memory` wrote them: some bytes have changed"
    with pytest.raises(DataError, match=exactly(f"{changed} ({path}): run the stage `memory` again")):
        memory._check_digest(path, memory.MemoryModel("f", 2, 4, digest))


def test_similarities_of_a_control_point() -> None:
    """Two layers: each state against the rows of its own."""

    def entry(name: str, layer: int, m: int, vector: bool = True) -> Entry:
        return Entry(tool_name=name, layer=layer, control_point_m=m, quality=1.0, name=name.upper(), source="e",
                     vector=np.ones(2, np.float32) if vector else None)  # fmt: skip

    entries = [entry("a", 5, 1), entry("b", 3, 1), entry("c", 3, 2), entry("d", 5, 1, vector=False)]
    keys = np.array([[0, 2], [3, 4], [1, 0], [1, 0]], np.float32)
    held = EpisodicMemory.of(entries, keys)
    rows, cosines = held.similarities(1, np.array([[0, 1], [1, 0]], np.float32))
    assert (rows.tolist(), held.layers) == ([0, 1, 3], (3, 5))
    assert cosines.tolist() == pytest.approx([0.0, 0.8, 1.0])
    assert held.similarities(3, np.zeros((2, 2), np.float32))[0].tolist() == []
    assert held.keys.ravel().tolist() == pytest.approx([0, 1, 0.6, 0.8, 1, 0, 1, 0])
    assert [one.tool_name for one in held.without_right().entries] == ["a", "b", "c"]
    assert held.names == {"a": "A", "b": "B", "c": "C", "d": "D"}


# ------------------------------------------------------------ mining and selection


def test_pairs_and_their_candidates() -> None:
    pairs: list[Any] = [{"pair_id": f"e_m{n}_l2", "quality": q, "example_id": "e", "control_point_m": n, "layer": 2,
                         "source": "rollout", "model": "m"} for n, q in enumerate((0.1, 0.5, 0.5, 0.9))]  # fmt: skip
    assert [pair["pair_id"] for pair in top_pairs(pairs, 2)] == ["e_m1_l2", "e_m3_l2"]
    shared = {
        "pair_id": "e_m0_l2", "example_id": "e", "control_point_m": 0, "layer": 2, "quality": 0.1, "source": "rollout",
        "model": "m",
    }  # fmt: skip
    stem = file_stem("e_m0_l2")
    assert candidate_records(pairs[:1], False) == [
        shared | {"tool_name": f"e_m0_l2_{kind}", "kind": kind, "key_path": f"keys/{stem}_{kind}.pt",
                  "vector_path": f"vectors/{stem}_delta.pt" if kind == "wrong" else None}
        for kind in ("wrong", "right")
    ]  # fmt: skip
    assert [path.name.rpartition("_")[2] for path in mine_stage._vector_paths(Path("f"), "p")] == [
        "right.pt",
        "wrong.pt",
        "delta.pt",
    ]
    assert [path.parent.name for path in mine_stage._vector_paths(Path("f"), "p")] == [
        "keys",
        "keys",
        "vectors",
    ]
    seen: Any = {"steered_correct": True, "wrong_correct": False, "right_correct": True}
    kinds = [
        kept_kinds(seen | more, True)
        for more in ({}, {"wrong_correct": True}, {"right_correct": False}, {"steered_correct": False})
    ]
    assert kinds == [["wrong", "right"], ["right"], ["wrong"], ["right"]]
    assert kept_kinds(seen | {"wrong_correct": True}, False) == kept_kinds({}, True) == ["wrong", "right"]  # type: ignore[typeddict-item]


def test_what_mining_tells_at_its_end(tmp_path: Path) -> None:
    """Of three pairs the two best are kept, of which one is right alone: three candidates."""
    job = object.__new__(mine_stage._Job)
    mine = {"offline_mine": {"keep_top_C": 2, "verify": True}}
    job.context = SimpleNamespace(config=Config.model_validate(mine))  # type: ignore[assignment]
    job.folder, job.rollouts, job.right, job.examples = tmp_path, 12, 5, range(4)  # type: ignore[assignment]
    job.pairs = [
        {"pair_id": f"p{n}", "quality": quality, "example_id": "e", "control_point_m": 1, "layer": 2,
         "source": "rollout", "model": "m", "steered_correct": n == 0, "wrong_correct": False, "right_correct": True}
        for n, quality in enumerate((0.9, 0.1, 0.5))
    ]  # type: ignore[typeddict-item]  # fmt: skip
    told: list[str] = []
    job.context.notice = lambda text, level: told.append(text)  # type: ignore[method-assign]
    assert job.export().summary == {
        "examples": 4, "rollouts": 12, "correct_rollouts": 5, "pairs": 3, "pairs_kept": 2, "candidates": 3,
    }  # fmt: skip
    assert len(told) == 1 and "(p = 1)" in told[0]


def test_mining_tells_how_far_it_is_after_each_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of five examples two are done already; what a batch cost is what its examples cost."""
    told: list[tuple[Any, ...]] = []
    batches = [[SimpleNamespace(tokens=7), SimpleNamespace(tokens=5)], [SimpleNamespace(tokens=3)]]
    job = SimpleNamespace(
        recover=lambda: 2, examples=range(5), batches=lambda done: ("from", done), export=lambda: "result",
        record=lambda batch: told.append(("record", len(batch))),
    )  # fmt: skip
    monkeypatch.setattr(mine_stage, "_Job", lambda context: job)
    monkeypatch.setattr(mine_stage, "Mining", lambda config: ("mining", config))

    def mined(batches_of: Any) -> Any:
        told.append(batches_of)
        return iter(batches)

    context: Any = SimpleNamespace(
        config="config", prepare=lambda work: told.append(work) or mined,
        start=lambda *of, unit: told.append((*of, unit)), progress=lambda *of: told.append(of),
    )  # fmt: skip
    assert mine_stage.Mine().run(context) == "result"  # type: ignore[comparison-overlap]
    assert told == [
        ("mining", "config"), (5, 2, "examples"), ("from", 2),
        ("record", 2), (4, 5, 12), ("record", 1), (5, 5, 3),
    ]  # fmt: skip


def test_a_mining_that_found_nothing() -> None:
    job = object.__new__(mine_stage._Job)
    job.context = SimpleNamespace(config=Config())  # type: ignore[assignment]
    job.rollouts, job.right, job.reached = 12, 5, 0
    none = (
        "none of 12 rollouts contains the delimiter '\\n\\n': no control point (control_points.segment_delimiter): ask "
        "for it in prompt.template, or set the delimiter to a string the model does write"
    )
    assert str(job._nothing_mined()) == none
    job.reached = 9
    assert str(job._nothing_mined()) == (
        "no contrast was found: 5 of 12 rollouts are right, 9 contain the delimiter (offline_mine): raise K or "
        "temperature, take harder or easier examples, or set pos_source to rollout_or_gold"
    )
    job._count({"rollouts": [{"correct": True, "segments": 0}, {"correct": False, "segments": 1}]})
    assert (job.rollouts, job.right, job.reached) == (14, 6, 10)


def test_pairs_of_a_batch_that_was_not_through_are_mined_again(tmp_path: Path) -> None:
    """Two examples a batch: of five written ones the last stands alone, and another has its pairs only."""
    job = object.__new__(mine_stage._Job)
    job.context = SimpleNamespace(config=Config.model_validate({"offline_mine": {"batch_size_examples": 2}}))  # type: ignore[assignment]
    job.folder, job.rollouts, job.right, job.reached = tmp_path, 0, 0, 0
    job.examples = [SimpleNamespace(id=f"e{n}") for n in range(8)]  # type: ignore[assignment]
    pairs = [
        {"pair_id": f"p{n}", "example_id": f"e{n}", "control_point_m": 1, "layer": 2, "quality": 0.5,
         "source": "rollout", "model": "m"}
        for n in range(6)
    ]  # fmt: skip
    rollouts = [{"example_id": f"e{n}", "rollouts": [{"correct": True, "segments": 1}]} for n in range(5)]
    write_jsonl(tmp_path / "pairs.jsonl", pairs)
    write_jsonl(tmp_path / "rollouts.jsonl", rollouts)
    assert (job.recover(), job.rollouts) == (4, 4)
    assert [pair["pair_id"] for pair in job.pairs] == ["p0", "p1", "p2", "p3"]
    assert (
        read_jsonl(tmp_path / "pairs.jsonl") == pairs[:4]
        and read_jsonl(tmp_path / "rollouts.jsonl") == rollouts[:4]
    )


def test_what_a_selection_tells_at_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two best of three, as far apart as can be: log 1.9 + log 1.5 with no weight on how they differ."""
    config = Config.model_validate({"offline_select": {"B": 2, "lambda_diversity": 0.0}})
    nothing: Any = lambda *of, **more: None  # noqa: E731
    context: Any = SimpleNamespace(
        config=config, run_dir=tmp_path, start=nothing, progress=nothing, emit=nothing, checkpoint=nothing
    )
    rows = [
        entry_line(tool_name="a", quality=0.1), entry_line(tool_name="b", quality=0.9),
        entry_line(tool_name="c", quality=0.5, kind="right", vector_path=None),
    ]  # fmt: skip
    path = layout.mine(tmp_path) / "candidates.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    keys = iter(np.eye(3, dtype=np.float32))
    monkeypatch.setattr("engine.esm.library.select_stage.load_vector", lambda path: next(keys))
    monkeypatch.setattr(Select, "_copy", nothing)
    found = Select().run(context)
    summary = found.summary
    assert found.files == ["esm/library/library.jsonl", "esm/library/keys", "esm/library/vectors"]
    assert (summary.pop("objective"), summary.pop("mean_quality")) == pytest.approx((np.log(1.9 * 1.5), 0.7))
    assert summary == {"candidates": 3, "picked": 2, "wrong": 1, "right": 1}


@pytest.mark.parametrize(
    ("method", "order", "objective"),
    [("top_quality", "abc", np.log(1.9 * 1.8 * 1.1)), ("dpp", "acb", None)],
)
def test_a_double_is_taken_last_only_where_difference_counts(
    tmp_path: Path, method: str, order: str, objective: float | None
) -> None:
    """`a` and `b` have the same key; each pick is told with everything that it rests on."""
    config = Config.model_validate({"offline_select": {"method": method}}).offline_select
    rows = [entry_line(tool_name=name, quality=q) for name, q in (("a", 0.9), ("b", 0.8), ("c", 0.1))]
    told: list[Any] = []
    context: Any = SimpleNamespace(
        run_dir=tmp_path, checkpoint=lambda: None, emit=told.append, progress=lambda *of: None
    )
    keys = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    picks = Select()._pick(context, config, rows, keys, 3)
    assert "".join(record["tool_name"] for record, _ in picks) == order
    assert [event for _, event in picks] == told
    assert told[0] == EntryPicked(
        order=0, lib_id="lib_00000", tool_name="a", kind="wrong", example="e", control_point_m=1, layer=2,
        quality=0.9, gain=told[0].gain, objective=told[0].gain, max_similarity=-1.0, reason=method, name="a",
    )  # fmt: skip
    if objective is not None:
        assert told[-1].objective == pytest.approx(objective)
        assert told[0].gain == pytest.approx(np.log(1.9)) and told[1].max_similarity == pytest.approx(1.0)


def test_a_selection_that_selects_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, str]] = []
    config = Config.model_validate({"offline_select": {"B": 2}})
    context: Any = SimpleNamespace(
        config=config, run_dir=tmp_path, notice=lambda text, level: told.append((text, level))
    )
    monkeypatch.setattr(
        "engine.esm.library.select_stage.load_vector", lambda path: (_ for _ in ()).throw(KeyError())
    )
    path = layout.mine(tmp_path) / "candidates.jsonl"
    path.parent.mkdir(parents=True)
    for count, notices in ((3, 0), (2, 1)):
        path.write_text("".join(json.dumps(entry_line(tool_name=f"t{n}")) + "\n" for n in range(count)))
        with pytest.raises(KeyError):
            Select().run(context)
        assert len(told) == notices
    words = "offline_select.B = 2 is not smaller than the 2 candidates: selection selects nothing"
    assert told == [(words, "warning")]


# ------------------------------------------------------------ baselines, imports


def test_cast_separates_the_states_of_its_layer_and_adds_the_mean_of_its_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = layout.library(tmp_path)
    folder.mkdir(parents=True)
    rows = [
        entry_line(
            tool_name=str(n), key_path=f"k{n}", vector_path=None if right else f"v{n}", layer=layer,
            kind="right" if right else "wrong",
        )
        for n, right, layer in ((1, False, 2), (2, False, 2), (6, False, 2), (3, True, 2), (4, False, 1), (5, True, 1))
    ]  # fmt: skip
    write_jsonl(folder / "library.jsonl", rows)
    read: list[tuple[str, int]] = []

    def load_vector(path: Path, size: int) -> Any:
        read.append((path.name, size))
        return np.array([int(path.name[1]), 10], np.float32)

    monkeypatch.setattr(field, "load_vector", load_vector)
    monkeypatch.setattr(field, "field_layer", lambda config, info: 2)
    monkeypatch.setattr(field, "fit", lambda steer, leave: (steer.tolist(), leave.tolist()))
    info: Any = SimpleNamespace(num_layers=4, hidden_size=2)
    condition, mean = field.read_library(Config(), info, tmp_path)
    assert condition == ([[1, 10], [2, 10], [6, 10]], [[3, 10]])  # type: ignore[comparison-overlap]
    assert (mean.tolist(), mean.dtype) == ([3.0, 10.0], np.float32)
    assert read == [(name, 2) for name in ("k1", "k2", "k6", "k3", "v1", "v2", "v6")]


def test_what_a_baseline_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = layout.library(tmp_path)
    folder.mkdir(parents=True)
    right = entry_line(tool_name="r", kind="right", vector_path=None, layer=1)
    (folder / "library.jsonl").write_text(json.dumps(entry_line()) + "\n" + json.dumps(right) + "\n")
    monkeypatch.setattr(field, "load_vector", lambda path, size: np.ones(2))
    info: Any = SimpleNamespace(num_layers=4, hidden_size=2)
    for layer, there in ((2, "1 wrong and 0 right"), (1, "0 wrong and 1 right"), (3, "0 wrong and 0 right")):
        monkeypatch.setattr(field, "field_layer", lambda config, info, layer=layer: layer)
        cast = (
            f"`cast` needs entries of both kinds at layer {layer}: the library has {there} ones there ({folder}): "
            "set `eval.field.layer` to a layer that has both, or leave `cast` out of `eval.field.methods`"
        )
        with pytest.raises(DataError, match=exactly(cast)):
            field.read_library(Config(), info, tmp_path)
    monkeypatch.setattr(
        "engine.esm.baselines.seal._read_thoughts", lambda *_: SimpleNamespace(executing=[True, True])
    )
    nobody: Any = None
    seal = "of 4 thoughts in 2 mined answers 0 reflect or change course; `seal` needs some that do and some that do " \
           "not (eval.field): name the words with which such thoughts begin in `openings`, or leave `seal` out of " \
           "`eval.field.methods`"  # fmt: skip
    with pytest.raises(DataError, match=exactly(seal)):
        seal_vector(nobody, [nobody, nobody], 2, "\n", nobody)
    path = tmp_path / "pairs.jsonl"
    form = 'write {"positive": "…", "negative": "…"}, and "prompt" where both are answers to one'
    same = f"`positive` and `negative` are the same text ({path}:1): {form}"
    empty = f"the file holds no pairs ({path}): write a pair a line"
    for text, what in (('{"positive": "a", "negative": "a"}', same), ("", empty)):
        path.write_text(text)
        with pytest.raises(DataError) as caught:
            read_pairs(path)
        assert str(caught.value) == what
    deltas = np.array([[3.0, 0.0], [5.0, 0.0]])
    assert mean_difference(deltas).tolist() == [4.0, 0.0]
    assert principal_difference(-deltas).tolist() == pytest.approx([-4.0, 0.0])
    same = "positive and negative texts have the same states on average (eval.contrast.path): take pairs whose last " \
           "tokens come after what differs"  # fmt: skip
    with pytest.raises(DataError, match=exactly(same)):
        mean_difference(np.array([[1.0], [-1.0]]))


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"kind": "wrong", "file": None}, "a wrong entry has a `file`, a right one has none"),
        ({"kind": "right", "file": None, "layer": None}, "a right entry needs `layer`, and `text` or `key`"),
        ({"key": "k.pt"}, "`key` and `text` both say what its key is"),
        ({"text": None, "prompt": "p"}, "`prompt` without `text`"),
        ({"quality": -1.0}, "`quality` (above -1) and `scale` are finite in float32"),
        ({"scale": -3.5e38}, "`quality` (above -1) and `scale` are finite in float32"),
        ({"m": 0}, "`m` counts control points from 1"), ({"m": [1, 1_000_001]}, "`m` counts control points from 1"),
        ({"layer": 4}, "layer 4 does not exist: the model has layers 0 to 3"),
        ({"layer": 3, "quality": -0.5, "m": [1, 1_000_000]}, ""),
    ],
)  # fmt: skip
def test_lines_of_an_imported_memory(changes: dict[str, Any], what: str) -> None:
    info: Any = SimpleNamespace(num_layers=4)
    record = {"kind": "wrong", "file": "v.gguf", "text": "t", "layer": 2} | changes
    record = {name: value for name, value in record.items() if value is not None}
    if not what:
        assert _line("f:1", record, info).layer == 3
        return
    with pytest.raises(DataError) as caught:
        _line("f:1", record, info)
    assert (caught.value.what, caught.value.where) == (what, "f:1")


def test_entries_that_a_file_of_lines_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with two layers makes two entries, but where the line names one; control points are all, one or a few.
    Files lie beside the file of lines, or below the user's folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    vectors = {1: np.array([1, 2], np.float32), 2: np.array([3, 4], np.float32)}
    (tmp_path / "v.safetensors").write_bytes(vector_file("safetensors", LayerVectors(vectors), "m", 1.0))
    (tmp_path / "k.pt").write_bytes(vector_bytes(np.array([5, 6], np.float32)))
    lines = [
        {"file": "v.safetensors", "scale": -2.0, "quality": 0.5},
        {"file": "v.safetensors", "layer": 2, "tool_name": "t", "name": "T", "m": 3, "key": "k.pt"},
        {"kind": "right", "layer": 1, "key": "k.pt", "m": [1, 4]},
        {"file": "~/v.safetensors", "layer": 1, "text": "ab", "prompt": "p", "m": 1},
    ]
    path = tmp_path / "imports.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    tokenizer = SimpleNamespace(
        encode=lambda text: [ord(letter) for letter in text],
        encode_chat=lambda prompt, system: [len(system or "")],
    )
    model: Any = SimpleNamespace(tokenizer=tokenizer)
    info: Any = SimpleNamespace(num_layers=4, hidden_size=2)
    config = Config.model_validate({"control_points": {"M": 3}, "prompt": {"system": "Be."}})
    found = read_imports(path, config, info, model)
    shown = [
        (one.tool_name, one.where, one.layer, one.points, one.quality, one.vector is not None and one.vector.tolist(),
         one.key is not None and one.key.tolist(), one.tokens, one.name)
        for one in found
    ]  # fmt: skip
    assert shown == [
        ("imported_00001_l1", f"{path}:1", 1, (1, 2), 0.5, [-2.0, -4.0], False, (), ""),
        ("imported_00001_l2", f"{path}:1", 2, (1, 2), 0.5, [-6.0, -8.0], False, (), ""),
        ("t", f"{path}:2", 2, (3,), 1.0, [3.0, 4.0], [5.0, 6.0], (), "T"),
        ("imported_00003_l1", f"{path}:3", 1, (1, 4), 1.0, False, [5.0, 6.0], (), ""),
        ("imported_00004_l1", f"{path}:4", 1, (1,), 1.0, [1.0, 2.0], False, (3, 97, 98), ""),
    ]
    assert [one.vector.dtype for one in found if one.vector is not None] == [np.float32] * 4


def test_rows_of_an_imported_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry for two control points has a row for each; one without a vector is right."""
    both = Imported("two", "f:1", 2, (1, 3), 0.5, np.ones(2, np.float32), name="Two")
    right = Imported("one", "f:2", 1, (4,), 0.25, None)
    key = np.ones(2, np.float32)
    monkeypatch.setattr(memory_stage, "has_texts", lambda path: False)
    monkeypatch.setattr(memory_stage, "read_imports", lambda *_: [both, right])
    monkeypatch.setattr(memory_stage, "keys_of", lambda *_: [[key, key], [key]])
    context: Any = SimpleNamespace(
        model_info=lambda: SimpleNamespace(fingerprint="p"),
        run_dir=tmp_path,
        config=Config(),
        checkpoint=lambda: None,
    )
    rows, keys = memory_stage._import(tmp_path / "f", context, [], [])
    shared = {"example_id": "imported", "model": "p"}
    two = shared | {
        "name": "Two",
        "kind": "wrong",
        "layer": 2,
        "quality": 0.5,
        "vector_path": "vectors/imported_00000.pt",
    }
    assert len(keys) == 3 and rows == [
        two | {"tool_name": "two_m1", "control_point_m": 1, "key_path": "keys/imported_00000_0.pt"},
        two | {"tool_name": "two_m3", "control_point_m": 3, "key_path": "keys/imported_00000_1.pt"},
        shared | {"tool_name": "one", "name": "", "kind": "right", "control_point_m": 4, "layer": 1, "quality": 0.25,
                  "key_path": "keys/imported_00001_0.pt", "vector_path": None},
    ]  # fmt: skip
    assert (layout.library(tmp_path) / "vectors" / "imported_00000.pt").is_file()
    assert memory_stage._by_control_point(rows) == {"1": [1, 0], "3": [1, 0], "4": [0, 1]}
    points = memory_stage._by_control_point(
        [
            {"control_point_m": m, "kind": kind}
            for m, kind in ((8, "right"), (1, "wrong"), (8, "wrong"), (8, "right"))
        ]
    )
    assert list(points.items()) == [("1", [1, 0]), ("8", [1, 2])]
    twice = "1 entries are called as another one is, one among them (f): give each a `tool_name` of its own"
    with pytest.raises(DataError, match=exactly(twice)):
        memory_stage._check_names([*rows, {"tool_name": "one"}], Path("f"))


# ------------------------------------------------------------ events of mining, what if


def test_what_mining_tells_of_an_example_and_a_pair() -> None:
    def rollout(text: str, correct: bool, tokens: int, *ends: int) -> Any:
        return SimpleNamespace(
            text=text, pred="4", correct=correct, reward=0.5, tokens=tokens, ends=ends, source="rollout"
        )

    example: Any = SimpleNamespace(id="e1", question="q?", answer="4")
    first, last = rollout("right", True, 4, 1, 3), rollout("wrong", False, 8, 2)
    sampled: Any = SimpleNamespace(example=example, rollouts=[first, last], pairs=[1, 2, 3])
    assert mine_work._mined_event(sampled) == RolloutsMined(
        example="e1", question="q?", n=2, correct=1, mean_tokens=6.0, segments=[2, 1], pairs=3
    )
    shared = {"pred": "4", "correct": True, "reward": 0.5, "tokens": 4, "segments": 2}
    assert mine_work._line(example, [first]) == {
        "example_id": "e1", "question": "q?", "gold": "4", "rollouts": [{"text": "right", **shared}],
    }  # fmt: skip
    contrast = SimpleNamespace(quality=0.75, delta=np.array([3.0, 4.0]))
    pair: Any = SimpleNamespace(
        m=2, layer=3, contrast=contrast, positives=[first], negatives=[last, last], name="p", example=example
    )
    facts = {
        "control_point_m": 2,
        "layer": 3,
        "quality": 0.75,
        "positives": 1,
        "negatives": 2,
        "source": "rollout",
    }
    assert mine_work._record(pair, "f", None) == {"pair_id": "p", "example_id": "e1", "model": "f", **facts}
    assert mine_work._pair_event(pair) == PairMined(
        pair="p", example="e1", delta_norm=5.0, positive_text="right", negative_text="wrong", **facts
    )  # fmt: skip


def test_an_answer_is_decoded_again_once_for_each_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was, with null, and with the sum of both vectors at each strength: all from one prompt."""
    asked: list[Any] = []
    texts = ["#### 7", "so 6", "half #### 7", "twice"]

    class Decoding:
        def __init__(self, model: object, config: object, variant: object) -> None:
            asked.append(variant)

        def run(self, examples: Any, prompts: Any, forced: Any) -> list[Answer]:
            asked.extend([examples, prompts, forced])
            decisions = [
                DecisionTaken(method="esm", example="e", m=2, gate="g", chosen="w1", alpha=1.5, segment="s")
            ]
            made = [Answer("e", [1] * n, texts[n - 1], probe_tokens=n) for n in range(1, len(examples) + 1)]
            made[0].decisions = decisions
            return made

    monkeypatch.setattr(what_if, "Controller", Decoding)
    monkeypatch.setattr(what_if, "encoded_prompt", lambda config, task, model, example: [ord(example.id)])
    entries = [Entry(f"w{n}", 3, 1, 1.0, np.full(2, n, dtype=np.float32), "x", name=f"W{n}") for n in (1, 2)]
    step = SimpleNamespace(phase="segment", chosen="w1", alpha=1.5, committed_tokens=0)
    line: Any = SimpleNamespace(steps=[step, SimpleNamespace(phase="segment")], text="#### 7")
    tried: Any = object.__new__(what_if.WhatIf)
    vars(tried).update(
        config=Config(), model=SimpleNamespace(info=SimpleNamespace(num_layers=4)), task=Task("gsm8k", "gsm8k"),
        memory=SimpleNamespace(names={}), entries={one.tool_name: one for one in entries},
        examples={"e": TaskExample("e", "Q", "7")}, _lines={"esm": {"e": line}}, _variants={"esm": "variant"},
    )  # fmt: skip
    request = what_if.WhatIfRequest(example="e", m=2, entries=["w1", "w2"], alphas=[0.5, 2.0], onward=True)
    found = tried.tried(request)
    variant, examples, prompts, forced = asked
    assert (variant, examples, prompts) == ("variant", ["e"] * 4, [[101]] * 4)
    assert list(forced) == [1, 2, 3] and forced[1] == Forced(2, onward=True)
    for row, alpha in ((2, 0.5), (3, 2.0)):
        one = forced[row]
        assert (one.m, one.name, one.onward) == (2, "w1 + w2", True)
        assert (one.steer.layer, one.steer.scale, one.steer.vector.tolist()) == (3, alpha, [3.0, 3.0])

    def answer(n: int, pred: str, **more: Any) -> TriedAnswer:
        return TriedAnswer(
            text=texts[n - 1], pred=pred, correct=pred == "7", tokens_used=n, probe_tokens_used=n, **more
        )

    assert found == WhatIfTried(
        method="esm", example="e", m=2, question="Q", gold="7", entries=["w1", "w2"], names=["W1", "W2"], layer=3,
        onward=True, committed=answer(1, "7", alpha=1.5, chosen=["w1"], segment="s"), null=answer(2, "6"),
        yours=[answer(3, "7"), answer(4, "")], exact=True, difference="",
    )  # fmt: skip
    asked.clear()
    line.text = "other"
    found = tried.tried(what_if.WhatIfRequest(example="e", m=1, layer=2))
    assert (asked[1], asked[3]) == (["e"] * 2, {1: Forced(1)})
    assert (found.entries, found.layer, found.yours) == ([], None, [found.null])
    assert (found.exact, found.difference) == (False, "the same decisions lead to another text")


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        (("a", 1.0, 5), ("a", 1.0005, 5), ""), (("a", 1.0, 5), ("b", 1.0, 5), "segment 2 chose A then and b now"),
        ((None, 0.0, 5), ("a", 1.0, 5), "segment 2 chose null then and A now"),
        (("a", 1.23456, 5), ("a", 2.0, 5), "segment 2 chose A at α 1.235 then and A at α 2 now"),
        (("a", 1.0, 5), ("a", 1.0, 7), "segment 2 had 5 tokens then and 7 now"),
    ],
)  # fmt: skip
def test_where_an_answer_decoded_again_leaves_the_record(then: Any, now: Any, said: str) -> None:
    def made(of: Any, **more: Any) -> Any:
        chosen, alpha, tokens = of
        return SimpleNamespace(chosen=chosen, alpha=alpha, committed_tokens=tokens, m=2, **more)

    line: Any = SimpleNamespace(steps=[made(then)], text="x")
    again: Any = SimpleNamespace(decisions=[made(now)], text="x")
    assert what_if.difference_to(line, again, {"a": "A"}) == said
    again.text = "y"
    assert what_if.difference_to(line, again, {}) == (
        said.replace("A", "a") or "the same decisions lead to another text"
    )


def test_a_method_tries_with_what_it_was_evaluated_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """ESM and its ablations with the memory that is there; others read what they need, once."""
    tried, read = object.__new__(what_if.WhatIf), list[tuple[Any, ...]]()
    config, memory, place = Config(), object(), Path("run")
    tried.model = SimpleNamespace(info="the model's")  # type: ignore[assignment]
    tried.config, tried.memory, tried._run_dir, tried._variants = config, memory, place, {}  # type: ignore[assignment]

    def read_sources(methods: Any, config: Any, info: Any, run_dir: Any) -> str:
        read.append(([method.name for method in methods], config, info(), run_dir))
        return "what it needs"

    monkeypatch.setattr(what_if, "read_sources", read_sources)
    monkeypatch.setattr(what_if, "make_variant", lambda *given: [*given])
    for method in ("esm", "no_probing", "mean_vector", "cast", "seal", "cast", "esm"):
        needed = what_if.METHODS[method].needs
        sources: Any = Sources(memory) if needed == "memory" else "what it needs"  # type: ignore[arg-type]
        assert tried._variant(method) == [method, tried.model, config, sources]
        assert tried._variant(method) is tried._variants[method]
    assert {what_if.METHODS[method].needs for method in ("esm", "no_probing", "mean_vector")} == {"memory"}
    assert read == [([method], config, "the model's", place) for method in ("cast", "seal")]


def test_what_an_answer_cannot_be_tried_with() -> None:
    tried = object.__new__(what_if.WhatIf)
    tried.model = SimpleNamespace(info=SimpleNamespace(num_layers=4))  # type: ignore[assignment]

    def entries(*layers: int) -> Any:
        return [(SimpleNamespace(layer=layer), None) for layer in layers]

    def request(layer: int | None) -> Any:
        return SimpleNamespace(layer=layer)

    assert [tried._layer(request(None), entries(3, 3)), tried._layer(request(0), entries(1, 2))] == [3, 0]
    several = "the entries are of several layers (1, 3): choose entries of one layer, or name the layer"
    with pytest.raises(DataError, match=exactly(several)):
        tried._layer(request(None), entries(3, 1))
    with pytest.raises(DataError, match=exactly("the model has no layer 4: choose one of 0 to 3")):
        tried._layer(request(4), entries(1))
    null = "try another choice in an answer of esm or of one of its ablations; null is what greedy does"
    with pytest.raises(DataError, match=exactly(f"greedy takes no decisions: {null}")):
        tried._of_method("greedy")
    means = layer_means(
        [(3, np.array([1.0, 3.0])), (1, np.array([2.0, 2.0])), (3, np.array([3.0, 5.0])), (2, None)]
    )
    assert {layer: mean.tolist() for layer, mean in means.items()} == {1: [2.0, 2.0], 3: [2.0, 4.0]} and list(
        means
    ) == [1, 3]
    assert _along(np.array([0.0, 2.0]), np.array([3.0, 4.0])).tolist() == [0.0, 5.0]  # type: ignore[union-attr]
    one = np.ones(1, np.float32)
    assert _along(None, one) is None is _along(one, None)


def test_the_answer_that_most_give() -> None:
    given = {
        ("a", "b", "b"): "b",
        ("a", "b"): "a",
        ("", "", "c"): "c",
        ("", ""): "",
        ("", "b", "a", "a", "b"): "b",
    }
    assert [most_frequent(answers) for answers in given] == list(given.values())


def test_every_control_point_has_its_floor_first(tmp_path: Path) -> None:
    """Its best candidate, as far as the size goes; then the others."""
    config = Config.model_validate({"offline_select": {"min_per_control_point": 1}}).offline_select
    rows = [
        entry_line(tool_name=name, control_point_m=m, quality=q)
        for name, m, q in (("a", 1, 0.1), ("b", 2, 0.9), ("c", 1, 0.5))
    ]
    told: list[Any] = []
    asked: list[int] = []
    context: Any = SimpleNamespace(
        run_dir=tmp_path, checkpoint=lambda: asked.append(len(told)), emit=told.append,
        progress=lambda *of: told.append(of),
    )  # fmt: skip
    for size, names in ((1, "c"), (3, "cba")):
        told.clear()
        asked.clear()
        picks = Select()._pick(context, config, rows, np.eye(3, dtype=np.float32), size)
        assert [record["tool_name"] for record, _ in picks] == list(names)
        assert [record["lib_id"] for record, _ in picks] == ["lib_00000", "lib_00001", "lib_00002"][:size]
        reasons = ["min_per_control_point", "min_per_control_point", config.method][:size]
        assert [(event.order, event.reason) for event in told[:-1]] == list(enumerate(reasons))
        assert told[-1] == (size, size) and told[0].quality == 0.5
        assert asked == [*range(size)], "a pause is asked for before each pick"
