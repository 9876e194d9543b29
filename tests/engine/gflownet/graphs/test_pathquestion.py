"""PathQuestion's files as they are published, and as they should not be; which questions are held out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.check.data import check_data
from engine.config.config import Config
from engine.config.gflownet import GraphsSection
from engine.errors import DataError
from engine.events import Notice
from engine.gflownet import layout
from engine.gflownet.graphs.graphs_stage import BuildGraphs, question_words, relation_words
from engine.gflownet.graphs.pathquestion.files import read_question_lines, read_triples
from engine.gflownet.graphs.pathquestion.source import PathQuestionSource
from engine.gflownet.graphs.raw import RawSample
from engine.gflownet.graphs.store import RetrievalStore, ints
from engine.gflownet.graphs.tables import EmbeddingTables
from tests.engine.gflownet.pathquestion_files import write, write_files
from tests.engine.gflownet.small_run import small_config
from tests.exactly import exactly
from tests.run_stage import run_stage

BASE = ["ann\tspouse\tbob", "bob\tjob\tbaker", "ann\tjob\tpilot", "bob\tspouse\tann", "eve\tjob\tbaker"]


def section(path: Path, base: Path, **changes: Any) -> GraphsSection:
    settings = {
        "train_size": 200,
        "validation_size": 12,
        "test_size": 12,
        "max_hops": 2,
        "embedder": "hashed",
    }
    return GraphsSection(
        dataset="pathquestion", path=str(path), knowledge_base=str(base), **(settings | changes)
    )


def samples(source: PathQuestionSource, split: str) -> list[RawSample]:
    return [sample for sample in source.read(split) if isinstance(sample, RawSample)]


# ---------------------------------------------------------------- lines


@pytest.mark.parametrize(
    ("line", "answers", "relations"),
    [
        ("who is it ?\tb(b/c/)\ta#r1#m#r2#b#<end>#b", ("b", "c"), ("r1", "r2")),
        (" who is it ?\tb(b/)\ta#r1#m#r2#b", ("b",), ("r1", "r2")),
        ("who is it ?\tb(b)\ta#r1#m#r2#n#r3#b#<end>#b", ("b",), ("r1", "r2", "r3")),
        ("who is it ?\tS_(live)(S/S_(live)/)\ta#r1#S#r2#S_(live)", ("S", "S_(live)"), ("r1", "r2")),
        ("who is it ?\tS_(live)(S/S_(live)/)\ta#r1#S_(live)#r2#S", ("S", "S_(live)"), ("r1", "r2")),
        ("who is it ?\tS(S_(live)/S/)\ta#r1#S#r2#S_(live)", ("S_(live)", "S"), ("r1", "r2")),
        ("who is it ?\tx/y(w/x/y/z/)\ta#r1#m#r2#x/y#<end>#x/y", ("w", "x/y", "z"), ("r1", "r2")),
        ("who is it ?\tb( b / c )\ta # r1 # m # r2 # b", ("b", "c"), ("r1", "r2")),
        ("who is it ?\tb\ta#r1#m#r2#b#<end>#b", ("b",), ("r1", "r2")),
        ("who is it ?\té_n°(é_n°/)\ta#r1#é_n°#<end>#é_n°#<end>#é_n°\r", ("é_n°",), ("r1",)),
    ],
    ids=["PQ", "PQL", "three steps", "brackets in a name", "its path ends elsewhere", "another name has brackets",
         "a slash in a name", "spaces", "one answer alone", "Windows, other letters, a padded path"],
)  # fmt: skip
def test_a_line_of_each_published_form(
    line: str, answers: Sequence[str], relations: Sequence[str], tmp_path: Path
):
    (found,) = read_question_lines(write(tmp_path / "q.txt", [line]))
    assert (found.question, found.topic, found.answers) == ("who is it ?", "a", answers)
    assert tuple(relation for _, relation, _ in found.gold_path) == relations
    assert found.gold_path[-1][2] in answers


THREE = "expected `question<TAB>answer(answers)<TAB>gold path`"
PATH = "expected `topic#relation#entity#...#answer`"
ANSWERS = "expected `answer(answer1/answer2/...)`"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("who ?\tb(b/)", f"found 2 fields, {THREE}"),
        ("who ?\tb(b/)\ta#r1#b\tmore", f"found 4 fields, {THREE}"),
        ("who ?\tb(b/)\ta#r1#m#r2", f"found the gold path `a#r1#m#r2`, {PATH}"),
        ("who ?\tb(b/)\ta", f"found the gold path `a`, {PATH}"),
        ("who ?\tb(b/)\ta##b", f"found the gold path `a##b`, {PATH}"),
        ("who ?\tc\ta#r1#b", f"found the answers `c`, {ANSWERS}"),
        ("who ?\tc(b/\ta#r1#b", f"found the answers `c(b/`, {ANSWERS}"),
        ("who ?\tc(c/)\ta#r1#b", "found the gold path ends at `b`, expected one of the answers `c(c/)`"),
    ],
)
def test_a_broken_line_is_one_error_with_its_number(line: str, told: str, tmp_path: Path):
    path = write(tmp_path / "q.txt", ["good ?\tb(b/)\ta#r1#b", "", line])
    with pytest.raises(DataError, match=exactly(f"{told} (…/q.txt, line 3): correct the line")):
        read_question_lines(path)


def test_all_broken_lines_are_named_at_once(tmp_path: Path):
    """Or whoever mends a file of thousands of lines learns of one at a time."""
    path = write(tmp_path / "q.txt", ["who ?\tb(b/)", "good ?\tb(b/)\ta#r1#b", *["?"] * 25])
    with pytest.raises(DataError) as caught:
        read_question_lines(path)
    assert "found 2 fields" in caught.value.what and caught.value.where.endswith("q.txt, line 1")
    assert "25 more" in caught.value.hint and "3, 4, 5, " in caught.value.hint
    assert caught.value.hint.endswith("22 ...")


def test_empty_lines_are_passed_over_and_counted(tmp_path: Path):
    """A line of spaces, and the carriage return of Windows, are empty too."""
    path = tmp_path / "kb.txt"
    path.write_bytes(b"a\tr\tb\r\n\r\n  \t \nb\tr\tc\n\n")
    assert list(read_triples(path)) == [("a", "r", "b"), ("b", "r", "c")]
    path.write_bytes(b"\n \na\tr\n")
    with pytest.raises(DataError, match=r"kb\.txt, line 3"):
        read_triples(path)


def test_a_broken_triple_an_empty_file_and_bytes_that_are_no_text(tmp_path: Path):
    with pytest.raises(
        DataError,
        match=exactly(
            "found 2 fields, expected `head<TAB>relation<TAB>tail` (…/kb.txt, line 2): correct the line"
        ),
    ):
        read_triples(write(tmp_path / "kb.txt", ["a\tr\tb", "a\tr"]))
    with pytest.raises(DataError, match=exactly("an empty file (…/kb.txt): expected a triple in each line")):
        read_triples(write(tmp_path / "kb.txt", [""]))
    with pytest.raises(DataError, match=exactly("an empty file (…/q.txt): expected a question in each line")):
        read_question_lines(write(tmp_path / "q.txt", []))
    (tmp_path / "kb.txt").write_bytes(b"a\tr\tb\na\tr\t\xff\n")
    with pytest.raises(
        DataError, match=exactly("bytes that are not UTF-8 (…/kb.txt, line 2): convert the file to UTF-8")
    ):
        read_triples(tmp_path / "kb.txt")
    with pytest.raises(
        DataError,
        match=exactly("cannot be read: No such file or directory (…/nowhere.txt): correct the path"),
    ):
        read_triples(tmp_path / "nowhere.txt")


# ---------------------------------------------------------------- splits


def test_paraphrases_are_in_one_split(tmp_path: Path):
    path, base = write_files(tmp_path)
    source = PathQuestionSource(section(path, base))
    where: dict[object, set[str]] = {}
    for split in layout.SPLITS:
        for sample in samples(source, split):
            for gold in sample.gold_paths:
                relations = tuple(relation for _, relation, _ in gold)
                where.setdefault((sample.q_entity[0], relations), set()).add(split)
    assert len(where) > 2 and all(len(splits) == 1 for splits in where.values())
    assert {split for splits in where.values() for split in splits} == set(layout.SPLITS)


def test_the_split_is_drawn_by_its_seed_and_no_question_is_lost(tmp_path: Path):
    path, base = write_files(tmp_path)

    def ids(seed: int) -> list[list[str]]:
        source = PathQuestionSource(section(path, base, split_seed=seed))
        return [[sample.id for sample in samples(source, split)] for split in layout.SPLITS]

    assert ids(0) == ids(0) != ids(1)
    assert [len(split) for split in ids(0)] == [96, 12, 12]
    assert len({name for split in ids(0) for name in split}) == 120
    numbers = [[int(name.removeprefix("PQ-2H line ")) for name in split] for split in ids(0)]
    assert numbers == list(map(sorted, numbers)), "in the order of their lines"


def test_lines_that_ask_the_same_are_one_question_with_all_its_gold_paths(tmp_path: Path):
    lines = [f"whose job ?\tb{n}(b0/b1/)\ta#knows#m#job#b{n}" for n in range(2)]
    more = [f"which {n} ?\tz\t".replace("\tz\t", f"\tz{n}(z{n}/)\tt{n}#job#z{n}") for n in range(3)]
    base = ["a\tknows\tm", "m\tjob\tb0", "m\tjob\tb1", *(f"t{n}\tjob\tz{n}" for n in range(3))]
    settings = {"train_size": 9, "validation_size": 1, "test_size": 1}
    source = PathQuestionSource(
        section(write(tmp_path / "q.txt", [*lines, *more]), write(tmp_path / "kb.txt", base), **settings)
    )
    found = [sample for split in layout.SPLITS for sample in samples(source, split)]
    assert len(found) == 4
    (both,) = [sample for sample in found if sample.question == "whose job ?"]
    assert both.answer == ["b0", "b1"] and [path[-1][2] for path in both.gold_paths] == ["b0", "b1"]


# ---------------------------------------------------------------- graphs


def write_six(folder: Path, base: list[str]) -> tuple[Path, Path]:
    """Six questions about ann and bob."""
    lines = [
        f"job {n} of ann 's spouse ?\tbaker(baker/)\tann#spouse#bob#job#baker#<end>#baker" for n in range(2)
    ]
    lines += [f"who {n} is ann 's spouse 's spouse ?\tann(ann/)\tann#spouse#bob#spouse#ann" for n in range(2)]
    lines += [f"job {n} of bob ?\tbaker(baker/)\tbob#job#baker" for n in range(2)]
    return write(folder / "q.txt", lines), write(folder / "kb.txt", base)


def test_the_graph_is_what_walks_from_the_topic_can_meet(tmp_path: Path):
    def graph(**changes: Any) -> set[tuple[str, str, str]]:
        sizes = {"train_size": 2, "validation_size": 2, "test_size": 2}
        source = PathQuestionSource(section(*write_six(tmp_path, BASE), **(sizes | changes)))
        every = (sample for split in layout.SPLITS for sample in samples(source, split))
        return set(next(sample for sample in every if sample.q_entity == ["ann"]).graph)

    near = {("ann", "spouse", "bob"), ("ann", "job", "pilot")}
    assert graph(max_hops=1) == near
    assert graph(max_hops=2) == near | {("bob", "job", "baker"), ("bob", "spouse", "ann")}
    assert graph(max_hops=3, add_inverse_edges=True) == {tuple(line.split("\t")) for line in BASE}


def test_false_triples_stand_beside_the_true_ones_of_training_questions(tmp_path: Path):
    """Between the same entities, so that only its relation tells a triple to be false; held-out graphs stay true."""
    base = write(tmp_path / "kb.txt", [*BASE, "bob\tborn\toslo"])
    lines = [f"what is job of {n} {topic} 's couple ?\t{end}({end}/)\t{topic}#spouse#{other}#job#{end}"
             for n in range(3) for topic, other, end in (("ann", "bob", "baker"), ("bob", "ann", "pilot"))]  # fmt: skip
    path = write(tmp_path / "q.txt", [*lines, "what is job of eve ?\tbaker(baker/)\teve#job#baker"])
    sizes = {"train_size": 3, "validation_size": 3, "test_size": 1}
    plain, doubled, again = (
        PathQuestionSource(section(path, base, false_triples=count, **sizes)) for count in (0, 1, 1)
    )
    known = read_triples(base)
    leaves = {(head, relation) for head, relation, _ in known}
    for before, after in zip(samples(plain, "train"), samples(doubled, "train"), strict=True):
        made_up = after.graph[len(before.graph) :]
        assert after.graph[: len(before.graph)] == before.graph and after.gold_paths == before.gold_paths
        # ann and bob have two and three of the three relations.
        assert sorted({head for head, _, _ in made_up}) == ["ann"]
        assert [(head, tail) for head, _, tail in made_up] == [("ann", "bob"), ("ann", "pilot")]
        assert not leaves & {(head, relation) for head, relation, _ in made_up}
    assert samples(doubled, "train") == samples(again, "train")
    for split in ("validation", "test"):
        assert samples(doubled, split) == samples(plain, split)


def test_the_splits_seed_draws_the_false_triples(tmp_path: Path):
    """Of 30 relations that lead away from elsewhere, two for each edge of a training question's graph."""
    names = [f"n{i}" for i in range(6)]
    edges = [f"{name}\tknows\tx{i}" for name in names for i in range(5)]
    base = write(tmp_path / "kb.txt", [*edges, *(f"z\tr{i}\tx0" for i in range(30))])
    path = write(tmp_path / "q.txt", [f"who is it, {name} ?\tx1(x1/)\t{name}#knows#x1" for name in names])
    sizes = {"train_size": 4, "validation_size": 1, "test_size": 1, "false_triples": 2}

    def made_up(seed: int) -> dict[str, list[tuple[str, str, str]]]:
        source = PathQuestionSource(section(path, base, split_seed=seed, **sizes))
        return {sample.question: sample.graph[5:] for sample in samples(source, "train")}

    one, again, other = made_up(0), made_up(0), made_up(1)
    both = one.keys() & other.keys()
    assert one == again and both
    assert all(one[question] != other[question] for question in both)
    assert {len(triples) for triples in one.values()} == {10}
    drawn = {tuple(relation for _, relation, _ in triples) for triples in one.values()}
    assert len(drawn) == 4, "each question has draws of its own"


def test_what_a_hub_is_known_for_is_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """For each of its edges anew it took seconds a question."""
    names = ("ann", "bob", "eve")
    base = write(tmp_path / "kb.txt", [f"{name}\tknows\tn{n}" for name in names for n in range(50)])
    path = write(tmp_path / "q.txt", [f"who is it, {name} ?\tn1(n1/)\t{name}#knows#n1" for name in names])
    sizes = {"train_size": 1, "validation_size": 1, "test_size": 1}
    source = PathQuestionSource(section(path, base, false_triples=1, **sizes))
    looked_up: list[str] = []

    def absent(head: str) -> list[str]:
        looked_up.append(head)
        return []

    monkeypatch.setattr(source, "_absent", absent)
    assert len(samples(source, "train")[0].graph) == 50
    assert len(looked_up) == 1


def test_gold_paths_are_the_labels_and_are_kept_whole(tmp_path: Path):
    """Also where the answer is the topic itself, and where a path goes twice through one edge."""
    path, base = write_six(tmp_path, [*BASE, "bob\tis\tbob"])
    lines = path.read_text().split("\n")
    write(path, [*lines, "what is bob 's bob ?\tbob(bob/)\tbob#is#bob#is#bob"])
    settings = section(path, base, train_size=4, validation_size=2, test_size=2).model_dump()
    run_stage(BuildGraphs(), small_config(graphs=settings), tmp_path / "run")
    found = {}
    with RetrievalStore(layout.retrieval_store(tmp_path / "run")) as store:
        names, relations = store.names("entities"), store.names("relations")
        for split in layout.SPLITS:
            for number in range(store.count(split)):
                record = store.record(split, number)
                heads, tails, kinds = map(ints, (record.heads, record.tails, record.relations))
                nodes = [names[node] for node in ints(record.nodes)]
                walked = [
                    [(nodes[heads[e]], relations[kinds[e]], nodes[tails[e]]) for e in one]
                    for one in record.gt_paths
                ]
                assert sum(record.labels) == len({edge for one in record.gt_paths for edge in one})
                found[record.question] = walked
    assert found["who 0 is ann 's spouse 's spouse ?"] == [
        [("ann", "spouse", "bob"), ("bob", "spouse", "ann")]
    ]
    assert found["job 0 of ann 's spouse ?"] == [[("ann", "spouse", "bob"), ("bob", "job", "baker")]]
    assert found["what is bob 's bob ?"] == [[("bob", "is", "bob"), ("bob", "is", "bob")]]


def test_a_gold_path_outside_the_knowledge_base_is_counted_and_other_files_are_refused(tmp_path: Path):
    settings = {"train_size": 2, "validation_size": 2, "test_size": 2}
    path, base = write_six(tmp_path, [line for line in BASE if line != "bob\tspouse\tann"])
    source = PathQuestionSource(section(path, base, **settings))
    assert source.missing == 2 and "2 of 6 gold paths" in source.remark
    config = small_config(graphs=section(path, base, **settings).model_dump())
    notices = [
        event for event in run_stage(BuildGraphs(), config, tmp_path / "run") if isinstance(event, Notice)
    ]
    assert ("warning", source.remark.removeprefix("; ")) in [(each.level, each.text) for each in notices]
    every = [sample for split in layout.SPLITS for sample in samples(source, split)]
    assert len(every) == 6 and sum(not sample.gold_paths for sample in every) == 2
    with pytest.raises(
        DataError,
        match=exactly(
            "none of the 6 gold paths is in the knowledge base (…/q.txt, …/other.txt): name the knowledge base "
            "that belongs to these questions, such as 2H-kb.txt to PQ-2H.txt"
        ),
    ):
        PathQuestionSource(section(path, write(tmp_path / "other.txt", ["x\tr\ty"]), **settings))
    with pytest.raises(
        DataError,
        match=exactly(
            "no question is left for the split `train` (…/q.txt): lower the other sizes (graphs.train_size, "
            "validation_size, test_size); paraphrases are kept together"
        ),
    ):
        PathQuestionSource(section(path, base, **(settings | {"test_size": 6})))
    for name in ("path", "knowledge_base"):
        with pytest.raises(DataError, match=exactly(f"no file is named (graphs.{name}): set it")):
            PathQuestionSource(section(path, base, **settings).model_copy(update={name: None}))


def test_check_refuses_what_the_stage_refuses(tmp_path: Path):
    path, base = write_files(tmp_path)

    def check(**changes: Any) -> list[tuple[str, str, str]]:
        graphs = section(path, base).model_dump() | changes
        config = Config.model_validate({"run": {"stages": ["graphs"]}, "graphs": graphs})
        return [(one.kind, one.where, one.what) for one in check_data(config)]

    assert check() == [("here", "graphs.path", f"{path}: 96 of `train`, 12 of `validation`, 12 of `test`")]
    absent = check(knowledge_base=str(tmp_path / "nowhere.txt"))
    assert [(kind, where) for kind, where, _ in absent] == [("absent", "graphs.knowledge_base")]
    write(path, [*path.read_text().split("\n")[:7], "no question"])
    ((kind, where, what),) = check()
    assert (kind, where) == ("wrong", "graphs.path") and "PQ-2H.txt, line 8" in what


# ---------------------------------------------------------------- texts


def test_what_is_embedded_has_no_underscores_and_if_asked_no_topic():
    assert relation_words("__film__cinematographer__film") == "film cinematographer film"
    question = "who is ann_berg 's ann_bergs friend ?"
    assert question_words(question, ()) == "who is ann berg 's ann bergs friend ?"
    assert question_words(question, ["ann_berg"]) == "who is this entity 's ann bergs friend ?"


def test_embeddings_are_scaled_to_unit_variance_if_asked(tmp_path: Path):
    """Question, entities and relations alike; the zero row of all without text stays."""
    path, base = write_files(tmp_path, people=6)
    found = []
    for name, scaled in (("one", False), ("other", True)):
        sizes = {"train_size": 16, "validation_size": 4, "test_size": 4}
        settings = section(path, base, unit_variance=scaled, **sizes).model_dump()
        run_stage(BuildGraphs(), small_config(graphs=settings), tmp_path / name)
        tables = EmbeddingTables.load(tmp_path / name)
        with RetrievalStore(layout.retrieval_store(tmp_path / name)) as store:
            question = np.frombuffer(store.record("train", 0).question_emb, "<f4")
        found.append((question, tables.entity, tables.relation))
    for unit, scaled in zip(*found, strict=True):
        np.testing.assert_allclose(scaled, unit * unit.shape[-1] ** 0.5, rtol=1e-5)
