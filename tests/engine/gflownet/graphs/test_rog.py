"""RoG parquet files as they are published, and as they should not be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.config.gflownet import GraphsSection
from engine.errors import DataError
from engine.events import GraphsBuilt, Notice
from engine.gflownet import layout
from engine.gflownet.graphs import sources
from engine.gflownet.graphs.graphs_stage import BuildGraphs, relation_words
from engine.gflownet.graphs.raw import RawSample, Unreadable, has_text
from engine.gflownet.graphs.rog import RogSource, parse_row
from engine.gflownet.graphs.store import RetrievalStore
from engine.run.stage import StageResult
from tests.engine.gflownet.small_run import small_config
from tests.exactly import exactly
from tests.run_stage import run_stage

GRAPH = [
    ["Jamaica", "location.country.languages_spoken", "Jamaican English"],
    ["Jamaica", "location.country.form_of_government", "m.0abc1"],
    ["m.0abc1", "government.kind", "Monarchy"],
    ["Jamaica", "location.country.languages_spoken", "Jamaican English"],
    ["Jamaica", "location.contains", "Jamaica"],
]


def row(**changes: Any) -> dict[str, Any]:
    whole = {
        "id": "WebQTest-0", "question": "what language do Jamaican people speak", "answer": ["Jamaican English"],
        "q_entity": ["Jamaica"], "a_entity": ["Jamaican English", "Jamaican English"], "graph": GRAPH,
    }  # fmt: skip
    return whole | changes


def write(folder: Path, rows: list[dict[str, Any]], split: str, row_group_size: int = 2) -> None:
    pq.write_table(
        pa.Table.from_pylist(rows), folder / f"{split}-00000-of-00001.parquet", row_group_size=row_group_size
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "rog"
    data.mkdir()
    for split in layout.SPLITS:
        prefix = {"train": "q", "validation": "v", "test": "t"}[split]
        write(
            data,
            [row(id=f"{prefix}{number}", question=f"question {prefix} {number}") for number in range(5)],
            split,
        )
    return data


def section(folder: Path, **changes: Any) -> GraphsSection:
    return GraphsSection(dataset="rog", path=str(folder), embedder="hashed", **changes)


def test_rows_are_read_across_row_groups_in_order(folder: Path):
    source = RogSource(section(folder, train_size=4))
    found = list(source.read("train"))
    assert [sample.id for sample in found if isinstance(sample, RawSample)] == ["q0", "q1", "q2", "q3"]
    assert source.size("train") == 4 and source.size("test") == 5
    first = found[0]
    assert isinstance(first, RawSample)
    assert first.a_entity == ["Jamaican English"]
    assert first.graph[0] == ("Jamaica", "location.country.languages_spoken", "Jamaican English")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"id": None}, "no id"),
        ({"question": "  "}, "no question"),
        ({"graph": 7}, "graph is not a list"),
        ({"graph": "a,b,c"}, "graph is not a list"),
        ({"q_entity": [""]}, "q_entity is not a list of texts"),
        ({"q_entity": [None]}, "q_entity is not a list of texts"),
        ({"a_entity": 7}, "a_entity is not a list of texts"),
    ],
)
def test_a_wrong_row_is_told_and_left_out(changes: dict[str, Any], reason: str):
    assert parse_row(row(**changes)) == Unreadable(reason)


@pytest.mark.parametrize(
    "broken", [["a", "b"], ["a", None, "c"], ["a", " ", "c"], None, "abc", {"h": "a", "r": "b", "t": "c"}]
)
def test_a_triple_that_is_none_costs_itself_and_not_its_question(broken: object):
    found = parse_row(row(graph=[GRAPH[0], broken, GRAPH[1]]))
    assert isinstance(found, RawSample)
    assert found.graph == [tuple(GRAPH[0]), tuple(GRAPH[1])] and found.broken_triples == 1


def test_broken_triples_are_counted_and_told(folder: Path, tmp_path: Path):
    whole = [*GRAPH, ["Jamaica", "location.contains", "Kingston"]]
    rows = [row(id="t0", graph=[*whole, ["a", "", "c"]]), row(id="t1", graph=[["", "", ""], ["a", "b", " "]])]
    write(folder, rows, "test")
    settings, results = section(folder).model_dump(), list[StageResult]()
    events = run_stage(BuildGraphs(), small_config(graphs=settings), tmp_path / "run", results=results)
    test = next(event for event in events if isinstance(event, GraphsBuilt) and event.split == "test")
    assert (test.samples, test.broken_triples, test.dropped) == (1, 3, {"an empty graph": 1})
    assert results[0].summary == {
        "train": 5, "validation": 5, "test": 1, "test_dropped": 1, "test_broken_triples": 3, "entities": 5,
        "relations": 4,
    }  # fmt: skip
    assert [event.text for event in events if isinstance(event, Notice) and event.level == "warning"] == [
        "test: 3 triples were left out, which are not three texts"
    ]


def test_of_an_id_that_stands_twice_the_first_row_is_kept(folder: Path, tmp_path: Path):
    """Draws, paths and answers belong to an id."""
    write(folder, [row(id="t0"), row(id="t1", question="other"), row(id="t0", question="third")], "test")
    events = run_stage(BuildGraphs(), small_config(graphs=section(folder).model_dump()), tmp_path / "run")
    test = next(event for event in events if isinstance(event, GraphsBuilt) and event.split == "test")
    assert test.samples == 2 and test.dropped == {"its id stands in an earlier row, too": 1}
    with RetrievalStore(layout.retrieval_store(tmp_path / "run")) as store:
        assert [store.record("test", number).question for number in (0, 1)] == [row()["question"], "other"]


def test_what_is_normal_is_no_error():
    empty = parse_row(row(graph=None, answer=None, a_entity=None))
    assert isinstance(empty, RawSample) and empty.graph == [] and empty.a_entity == []
    assert (
        not has_text("m.0abc1") and not has_text("g.11x_y") and has_text("m. Bison") and has_text("Jamaica")
    )
    assert relation_words("location.country.languages_spoken") == "location country languages spoken"


def test_files_become_graphs_and_bad_rows_are_counted(folder: Path, tmp_path: Path):
    rows = [row(id="q0"), row(id="q1", graph=[]), row(id="q2", q_entity=["Nowhere"]), row(id="", question="x"),
            row(id="q4", a_entity=["Atlantis"], answer=["The lost city"]),
            row(id="q5", answer=[], a_entity=[]), row(id="q6", graph=[])]  # fmt: skip
    write(folder, rows, "test")
    settings, results = section(folder).model_dump(), list[StageResult]()
    events = run_stage(BuildGraphs(), small_config(graphs=settings), tmp_path / "run", results=results)
    test = next(event for event in events if isinstance(event, GraphsBuilt) and event.split == "test")
    assert test.samples == 2
    assert test.dropped == {
        "an empty graph": 2, "no question entity in the graph": 1, "no id": 1, "no answer is given": 1,
    }  # fmt: skip
    assert results[0].summary["test_dropped"] == 5, "questions, not reasons"
    with RetrievalStore(layout.retrieval_store(tmp_path / "run")) as store:
        first, last = store.record("test", 0), store.record("test", 1)
    assert len(first.labels) == 4, "the same triple twice is one edge"
    assert first.a_locals == [1] and first.gt_paths == [[0]]
    assert last.a_locals == [] and last.gt_paths == [] and len(last.answer_entity_ids) == 1
    assert last.answers == ["The lost city"], "what a reader has to say, in the graph or not"


def test_no_folder_no_files_no_parquet_no_column(folder: Path, tmp_path: Path):
    with pytest.raises(DataError, match=exactly("no folder of parquet files is named (graphs.path): set it")):
        RogSource(GraphsSection(dataset="rog"))
    with pytest.raises(
        DataError,
        match=exactly(
            "no such file or folder (graphs.path: …/nowhere): put train.parquet into it (shards like "
            "train-00000-of-00002.parquet are fine), or name another path"
        ),
    ):
        RogSource(section(tmp_path / "nowhere"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        DataError,
        match=exactly(
            "no file of the split `train` (graphs.path: …/empty): put train.parquet into it (shards like "
            "train-00000-of-00002.parquet are fine), or name another path"
        ),
    ):
        RogSource(section(tmp_path / "empty"))
    file = folder / "validation-00000-of-00001.parquet"
    pq.write_table(pa.table({"id": ["a"], "question": ["b"]}), file)
    with pytest.raises(
        DataError,
        match=exactly(
            "no column answer, q_entity, a_entity, graph (…/rog/validation-00000-of-00001.parquet): expected the "
            "RoG format: columns id, question, answer, q_entity, a_entity, graph; load the file again"
        ),
    ):
        RogSource(section(folder))
    file.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(
        DataError,
        match=exactly(
            "no parquet file: Parquet magic bytes not found in footer. Either the file is corrupted or this is "
            "not a parquet file. (…/rog/validation-00000-of-00001.parquet): expected the RoG format: columns id, "
            "question, answer, q_entity, a_entity, graph; load the file again"
        ),
    ):
        RogSource(section(folder))


@pytest.mark.parametrize("graph", [7, [7], [{"h": "a", "r": "b", "t": "c"}], ["abc"], b"abc"])
def test_a_graph_column_of_another_type_is_one_error(folder: Path, graph: object):
    write(folder, [row(graph=graph)], "train")
    with pytest.raises(
        DataError,
        match=exactly(
            "column graph holds …, not lists of [head, relation, tail] (…/train-00000-of-00001.parquet): "
            "expected the RoG format: columns id, question, answer, q_entity, a_entity, graph; load the file again"
        ),
    ):
        RogSource(section(folder))


@pytest.mark.parametrize(
    "kind",
    [pa.large_list(pa.large_list(pa.string())), pa.list_(pa.list_(pa.string(), 3))],
    ids=["large", "fixed"],
)
def test_lists_of_another_width_are_lists(folder: Path, kind: pa.DataType):
    """As other programs write them."""
    table = pa.Table.from_pylist([row()])
    column = table.schema.get_field_index("graph")
    pq.write_table(
        table.set_column(column, "graph", pa.array([GRAPH], kind)), folder / "test-00000-of-00001.parquet"
    )
    (found,) = RogSource(section(folder)).read("test")
    assert isinstance(found, RawSample) and found.graph == list(map(tuple, GRAPH))


def test_a_question_of_two_splits_is_kept_in_the_later_one(folder: Path, tmp_path: Path):
    """However it is spaced, under whatever id; also where the later split is not read to its end."""
    rows = [
        row(id="new", question=" Question  T 4 "),
        row(id="v1", question="another"),
        row(id="q", question="third"),
    ]
    write(folder, rows, "train")
    write(folder, [row(id="t0", question="by id"), row(id="v1", question="fourth")], "validation")
    settings = section(folder, test_size=1)
    assert [type(one).__name__ for one in RogSource(settings).read("train")] == ["Unreadable"] * 2 + [
        "RawSample"
    ]
    events = run_stage(BuildGraphs(), small_config(graphs=settings.model_dump()), tmp_path / "run")
    built = {event.split: event for event in events if isinstance(event, GraphsBuilt)}
    assert built["train"].dropped == {"asked in test, too": 1, "asked in validation, too": 1}
    assert built["validation"].dropped == {"asked in test, too": 1} and built["validation"].samples == 1
    assert built["test"].dropped == {} and built["test"].samples == 1


def test_a_question_is_asked_again_by_rows_that_can_be_used_and_first_of_all_in_the_next_split(folder: Path):
    """That of the second row of training stands in test without an id, that of the third in both other splits."""
    write(folder, [row(id="", question="question q 1"), row(id="q2", question="other")], "test")
    write(folder, [row(id="v0", question="Question q 2"), row(id="v1", question="third")], "validation")
    found = [
        one.id if isinstance(one, RawSample) else one.reason
        for one in RogSource(section(folder)).read("train")
    ]
    assert found == ["q0", "q1", "asked in validation, too", "q3", "q4"]


def test_shards_are_read_in_order_and_a_missing_one_is_named(folder: Path):
    """As RoG-cwq is published: several files a split, with a digest behind their numbers."""
    (folder / "test-00000-of-00001.parquet").unlink()
    for number in (1, 0):
        table = pa.Table.from_pylist([row(id=f"t{number}", question=f"part {number}")])
        pq.write_table(table, folder / f"test-0000{number}-of-00002-4fdfd3ea11c73388.parquet")
    found = list(RogSource(section(folder)).read("test"))
    assert [one.id for one in found if isinstance(one, RawSample)] == ["t0", "t1"]
    (folder / "test-00000-of-00002-4fdfd3ea11c73388.parquet").unlink()
    with pytest.raises(
        DataError,
        match=exactly(
            "the split `test` is incomplete: test-00000-of-00002 missing (…/rog): fetch the whole data set again"
        ),
    ):
        RogSource(section(folder))


@pytest.mark.parametrize(
    ("before", "place"),
    [(0, "row group 0 cannot be read behind row 0"), (4, "row group 2 cannot be read behind row 4")],
)
def test_text_that_is_no_text_is_one_error(folder: Path, before: int, place: str):
    table = pa.Table.from_pylist([row()] * (before + 1))
    words = pa.array([*[b"who"] * before, b"\xff\xfe"], pa.binary())
    column = table.schema.get_field_index("question")
    table = table.set_column(column, "question", words.view(pa.binary()).cast(pa.string(), safe=False))
    pq.write_table(table, folder / "test-00000-of-00001.parquet", row_group_size=2)
    with pytest.raises(
        DataError,
        match=exactly(
            f"{place}: 'utf-8' codec can't decode byte 0xff in position 0: invalid"
            " start byte (…/rog/test-00000-of-00001.parquet): expected the RoG format: columns id, question, "
            "answer, q_entity, a_entity, graph; load the file again"
        ),
    ):
        list(RogSource(section(folder)).read("test"))


def test_a_row_group_that_is_broken_is_named(folder: Path):
    file = folder / "train-00000-of-00001.parquet"
    content = bytearray(file.read_bytes())
    content[60:200] = b"\xff" * 140
    file.write_bytes(bytes(content))
    with pytest.raises(DataError, match="row group 0"):
        list(RogSource(section(folder)).read("train"))


def test_without_pyarrow_the_field_is_named_that_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "require_pyarrow", lambda field: (_ for _ in ()).throw(LookupError(field)))
    with pytest.raises(LookupError, match=r"^'?graphs\.dataset'?$"):
        sources.make_source(GraphsSection().model_copy(update={"dataset": "rog"}), seed=0)
