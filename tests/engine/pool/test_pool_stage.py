"""The stage pool on the digits: files, events, stops, kills, and RL data of every kind."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.config.config import Config
from engine.errors import DataError
from engine.events import Event, Notice, PoolQueryDone, PoolTotals
from engine.pool import from_config, layout, pool_stage
from engine.pool.data.digits import DigitsDataset
from engine.pool.data.records import POOL_SIZE, RLQueryData, TrajectoryData, read_rl_data, write_rl_data
from engine.pool.from_config import given_rl_data
from engine.pool.pool_stage import BuildPools, PoolJob, heldout_id
from engine.pool.vqa.digits_vqa import DigitsVQA
from engine.run.gate import StopRequested
from tests.engine.pool.small_run import SMALL, context_of, run_pool, small_config
from tests.exactly import exactly


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Event]]:
    folder = tmp_path_factory.mktemp("whole")
    return folder, run_pool(folder)


def queries(events: list[Event]) -> list[PoolQueryDone]:
    return [event for event in events if isinstance(event, PoolQueryDone)]


def totals(events: list[Event]) -> PoolTotals:
    (found,) = [event for event in events if isinstance(event, PoolTotals)]
    return found


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in layout.folder(folder).iterdir()}


def dataset() -> DigitsDataset:
    return DigitsDataset(0, train=SMALL["train_queries"], heldout=SMALL["heldout_queries"])


def test_every_query_ends_with_64_candidates_and_12_trajectories(whole: tuple[Path, list[Event]]):
    folder, _ = whole
    given, final = read_rl_data(layout.initial(folder)), read_rl_data(layout.rl_data(folder), 3600)
    assert list(final) == dataset().splits["train"] and final.notes == given.notes
    sizes = {len(query.candidate_pool_indices) for query in given.values()}
    assert min(sizes) < POOL_SIZE < max(sizes), "nothing to normalise"
    for query in final.values():
        assert len(set(query.candidate_pool_indices)) == POOL_SIZE
        assert len(query.pointer_candidates) == 12


def marked(folder: Path, name: str) -> int:
    """Final trajectories with this field."""
    final = read_rl_data(layout.rl_data(folder)).values()
    return sum(name in one.extra for query in final for one in query.pointer_candidates)


def test_repeated_trajectories_say_so_and_no_refused_one_is_kept(whole: tuple[Path, list[Event]]):
    found = totals(whole[1])
    assert marked(whole[0], "repeated") == found.repeated > 0
    assert marked(whole[0], "refused") == found.reserve == 0


def test_refused_trajectories_that_fill_up_the_data_say_so(whole: tuple[Path, list[Event]], tmp_path: Path):
    """There are fewer repetitions then, by as many as were refused."""
    found, plain = totals(run_pool(tmp_path, fill_with_refused=True)), totals(whole[1])
    assert marked(tmp_path, "refused") == found.reserve > 0
    assert marked(tmp_path, "repeated") == found.repeated == plain.repeated - found.reserve


def test_mining_finds_what_the_pools_had_missed(whole: tuple[Path, list[Event]]):
    found = totals(whole[1])
    assert found.queries == 30
    assert found.before.positive < 0.8 * 30
    assert found.after.positive >= 0.95 * 30
    assert found.before.positive < found.after.positive


def test_files_and_events_tell_the_same(whole: tuple[Path, list[Event]]):
    folder, events = whole
    done, final = queries(events), read_rl_data(layout.rl_data(folder))
    lines = [json.loads(line) for line in layout.decisions(folder).read_text().splitlines()]
    assert [line["query_id"] for line in lines] == [event.query_id for event in done] == list(final)
    rows = list(csv.DictReader(io.StringIO(layout.oracle(folder).read_text())))
    report = json.loads(layout.report(folder).read_text())
    evaluated = [json.loads(line) for line in layout.evaluated(folder).read_text().splitlines()]
    found = totals(events)
    assert report["asked"] == found.asked == len(evaluated) == sum(event.asked for event in done)
    assert report["after"]["mean"] == pytest.approx(np.mean([float(row["oracle_after"]) for row in rows]))
    assert (report["failed"], report["left_out"], report["tokens"]) == (0, {}, 0), (
        "nothing is left to be guessed"
    )
    assert found.injected == sum(len(event.injected) for event in done) > 0
    for event, query in zip(done, final.values(), strict=True):
        assert event.pool_after == query.candidate_pool_indices
        changed = [place for place in range(64) if event.pool_before[place] != event.pool_after[place]]
        assert sorted(event.injected) == changed
        kept = Counter(query.pair(one) for one in query.pointer_candidates)
        assert kept == {t.pair: t.kept for t in event.trajectories if t.kept}
        assert event.referenced == sorted(
            {place for one in query.pointer_candidates for place in one.pointer}
        )
        assert event.oracle_after >= event.oracle_before


def test_what_the_data_knew_is_not_asked_again(whole: tuple[Path, list[Event]]):
    for event in queries(whole[1]):
        known = {one.pair for one in event.trajectories if one.verdict == "given"}
        assert not known & {one.pair for one in event.trajectories if one.verdict != "given"}


def test_every_score_is_the_official_accuracy_of_the_answer(whole: tuple[Path, list[Event]]):
    """Counted by hand from the annotators' answers, which digits leave as they are."""
    data, seen = dataset(), 0
    for event in queries(whole[1]):
        people = data.annotations(event.query_id)
        for one in event.trajectories:
            if one.answer:
                k = people.count(one.answer)
                expected = (k * min((k - 1) / 3, 1) + (10 - k) * min(k / 3, 1)) / 10 if k else 0
                assert one.score == pytest.approx(expected)
                seen += 1
    assert seen == totals(whole[1]).asked


def test_the_pixels_of_a_query_are_told(whole: tuple[Path, list[Event]]):
    """The same query of another seed is about another picture."""
    data = dataset()
    for event in whole[1]:
        if isinstance(event, PoolQueryDone):
            grey = (data.query_image(event.query_id).ravel() >> 4).tolist()
            assert [int(digit, 16) for digit in event.picture] == grey


def test_heldout_queries_get_a_pool_and_nothing_else(whole: tuple[Path, list[Event]]):
    folder, _ = whole
    heldout = read_rl_data(layout.heldout(folder))
    assert list(heldout) == dataset().splits["heldout"]
    assert all(len(set(query.candidate_pool_indices)) == POOL_SIZE for query in heldout.values())
    assert not any(query.pointer_candidates for query in heldout.values())
    asked = {json.loads(line)["query_id"] for line in layout.evaluated(folder).read_text().splitlines()}
    assert not asked & set(heldout), "a held-out query was asked"


def test_a_run_stopped_anywhere_goes_on_as_if_it_had_not_been(
    whole: tuple[Path, list[Event]], tmp_path: Path
):
    stops, told = 0, set()
    for allowed in (0, 3, 10, 1, 25, 40, 1000):
        left = iter(range(allowed))

        def checkpoint(left: Any = left) -> None:
            if next(left, None) is None:
                raise StopRequested

        events: list[Event] = []
        try:
            BuildPools().run(context_of(tmp_path, events.append, checkpoint))
        except StopRequested:
            stops += 1
        assert not told & {event.query_id for event in queries(events)}, "a finished query was done again"
        told |= {event.query_id for event in queries(events)}
    assert stops >= 5
    assert files(tmp_path) == files(whole[0])


def test_a_kill_between_asking_and_deciding_asks_nothing_again(
    whole: tuple[Path, list[Event]], tmp_path: Path
):
    """As a kill leaves it: some decisions gone, one torn, everything asked."""
    run_pool(tmp_path)
    path = layout.decisions(tmp_path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:20])[:-30])
    before = layout.evaluated(tmp_path).read_bytes()
    for name in (layout.rl_data, layout.report, layout.oracle, layout.heldout):
        name(tmp_path).unlink()
    events = run_pool(tmp_path)
    assert len(queries(events)) == 11
    assert layout.evaluated(tmp_path).read_bytes() == before
    assert files(tmp_path) == files(whole[0])


def test_hostile_rl_data(tmp_path: Path):
    """Pools of 3 and of 500, rows and trajectories twice, a query nobody knows, a held-out one with trajectories."""

    def trajectory(first: int, last: int, score: float = 0.0) -> dict[str, Any]:
        return {
            "pointer": [first, last], "vqa_correct": int(score == 1), "vqa_acc_score": score, "gen_method": "beam",
        }  # fmt: skip

    content = {
        "_meta": "by hand",
        "train-0000": {
            "candidate_pool_ids": [5, 6, 5],
            "pointer_candidates": [trajectory(0, 1), trajectory(2, 1)],
        },
        "train-0001": {
            "candidate_pool_indices": list(range(500)),
            "pointer_candidates": [trajectory(n, 499 - n, float(n == 7)) for n in range(200)],
        },
        "train-0002": {"candidate_pool_indices": [], "pointer_candidates": []},
        "stranger": {"candidate_pool_indices": [1, 2], "pointer_candidates": [trajectory(0, 1)]},
        "heldout-0000": {
            "candidate_pool_indices": [9, 8],
            "pointer_candidates": [trajectory(0, 1, 1.0)],
            "answer": "4",
        },
    }
    (tmp_path / "given.json").write_text(json.dumps(content))
    events = run_pool(tmp_path, rl_data=str(tmp_path / "given.json"))
    final = read_rl_data(layout.rl_data(tmp_path))
    assert list(final) == ["train-0000", "train-0001", "train-0002"] and final.notes == {"_meta": "by hand"}
    assert all(len(query.pointer_candidates) == 12 for query in final.values())
    assert final["train-0000"].candidate_pool_indices[:2] == [5, 6]
    assert (7, 492) in {final["train-0001"].pair(one) for one in final["train-0001"].pointer_candidates}
    found = totals(events)
    assert found.left_out == {"unknown to the data set": 1}
    assert found.dropped["candidate: twice in the pool"] == 1
    assert any("1 of 4 queries were left out" in e.text for e in events if isinstance(e, Notice))
    heldout = read_rl_data(layout.heldout(tmp_path))
    assert len(heldout) == 8 and heldout["heldout-0000"].candidate_pool_indices[:2] == [9, 8]
    assert (heldout["heldout-0000"].pointer_candidates, heldout["heldout-0000"].extra) == ([], {})


@pytest.mark.parametrize(
    ("name", "numbers", "query_id"),
    [("70", True, 70), ("70", False, "70"), ("007", True, "007"), ("q7", True, "q7")],
)
def test_held_out_ids_are_numbers_where_the_rl_datas_are(name: str, numbers: bool, query_id: int | str):
    assert heldout_id(name, numbers) == query_id


def test_rl_data_about_other_queries_is_named(tmp_path: Path):
    path = tmp_path / "given.json"
    path.write_text(json.dumps({"x": {"candidate_pool_indices": [], "pointer_candidates": []}}))
    with pytest.raises(
        DataError,
        match=exactly(
            "no query of the RL data can be trained on: of 1, 0 are held out and 1 are not among the questions "
            "(pool.rl_data): give RL data about questions that are not held out, or name other "
            "`pool.files.heldout`"
        ),
    ):
        run_pool(tmp_path, rl_data=str(path))
    path.write_text("{}")
    with pytest.raises(
        DataError,
        match=exactly(
            "no query of the RL data can be trained on: of 0, 0 are held out and 0 are not among the questions "
            "(pool.rl_data): give RL data about questions that are not held out, or name other "
            "`pool.files.heldout`"
        ),
    ):
        run_pool(tmp_path, rl_data=str(path))
    path.write_text(json.dumps({"x": {"candidate_pool_indices": [3600], "pointer_candidates": []}}))
    with pytest.raises(
        DataError,
        match=exactly(
            "a row of the pool is 3600, but the embedding table has 3600 rows (…/given.json: query x): give the "
            "embeddings this file was made with"
        ),
    ):
        run_pool(tmp_path, rl_data=str(path))


def test_where_every_query_is_left_out_there_is_no_data(tmp_path: Path):
    """One without any trajectory, and nothing is mined; the other the data set does not know."""
    path = tmp_path / "given.json"
    query = {"candidate_pool_indices": [1, 2], "pointer_candidates": []}
    path.write_text(json.dumps({"train-0001": query, "x": query}))
    with pytest.raises(
        DataError,
        match=exactly(
            "every query of the RL data was left out (no scored trajectory was given or committed, unknown to the data "
            "set) (pool.rl_data): check that data, embeddings and questions belong together"
        ),
    ):
        run_pool(tmp_path, rl_data=str(path), max_eval_pairs=0)


def test_without_mining_nothing_is_asked(tmp_path: Path):
    found = totals(run_pool(tmp_path, max_eval_pairs=0))
    assert found.asked == found.injected == 0 and found.before == found.after


def test_rl_data_may_lie_in_the_users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    data = {"q": RLQueryData(query_id="q", candidate_pool_indices=[3, 1], pointer_candidates=[])}
    write_rl_data(tmp_path / "rl.json", data)
    context: Any = SimpleNamespace(config=SimpleNamespace(pool=SimpleNamespace(rl_data="~/rl.json")))
    dataset: Any = SimpleNamespace(embeddings=np.zeros((5, 2)))
    nobody: Any = None
    assert dict(given_rl_data(context, dataset, nobody)) == data


def test_the_first_rl_data_go_with_the_seed_of_the_run(tmp_path: Path) -> None:
    found = []
    for seed in (0, 0, 4):
        folder = tmp_path / str(len(found))
        layout.folder(folder).mkdir(parents=True)
        config: Any = SimpleNamespace(pool=SimpleNamespace(rl_data=None), run=SimpleNamespace(seed=seed))
        context: Any = SimpleNamespace(config=config, run_dir=folder, checkpoint=lambda: None)
        dataset = DigitsDataset(seed=0, demonstrations=400, train=4, heldout=1)
        found.append(given_rl_data(context, dataset, DigitsVQA(dataset)))
    assert dict(found[0]) == dict(found[1]) != dict(found[2])


def part(**fields: Any) -> Any:
    """The stage's work with these parts alone."""
    job = PoolJob.__new__(PoolJob)
    vars(job).update(fields)
    return job


def test_enough_rows_are_searched_for_a_query_with_rows_of_its_own() -> None:
    """Rows 0 to 2, the nearest ones, show the query: the 70 behind them are its nearest."""
    table = np.stack([np.cos(angles := np.linspace(0, 1, 90)), np.sin(angles)], axis=1).astype(np.float32)
    dataset = SimpleNamespace(
        embeddings=table, splits={"train": ["q"], "heldout": ["h"]}, query_embedding=lambda name: table[0],
        excluded=lambda name: [0, 1, 2] if name == "q" else [],
    )  # fmt: skip
    config = SimpleNamespace(pool=SimpleNamespace(search_top_k=70))
    context = SimpleNamespace(config=config, checkpoint=lambda: None)
    job = part(context=context, dataset=dataset, training=["q", "unknown"], nearest={})
    job._search()
    assert set(job.nearest) == {"q", "h"}
    assert job.nearest["q"] == list(range(3, 73)) and job.nearest["h"][:70] == list(range(70))


@pytest.mark.parametrize(("ids", "held_out"), [((1, 2), 70), ((1, "b"), "70"), (("a", "b"), "70")])
def test_held_out_ids_are_numbers_only_where_all_others_are(
    monkeypatch: pytest.MonkeyPatch, ids: tuple[int | str, ...], held_out: int | str
) -> None:
    monkeypatch.setattr(pool_stage, "normalised", lambda bare, *rest: SimpleNamespace(query=bare))
    monkeypatch.setattr(pool_stage, "unusable", lambda *given: "")
    data = {
        str(one): RLQueryData(query_id=one, candidate_pool_indices=[1], pointer_candidates=[]) for one in ids
    }
    job = part(
        context=SimpleNamespace(config=small_config()), dataset=SimpleNamespace(splits={"heldout": ["70"]}),
        data=data, nearest={"70": [1]},
    )  # fmt: skip
    assert job._heldout()["70"].query_id == held_out


def test_of_a_held_out_query_the_pool_alone_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither trajectories nor other fields of the data: they hold scores."""
    known = TrajectoryData(pointer=[0, 1], vqa_correct=1, vqa_acc_score=1.0, gen_method="beam")
    given = RLQueryData(
        query_id="h", candidate_pool_indices=[4, 5], pointer_candidates=[known], extra={"best_score": 1.0}
    )
    monkeypatch.setattr(pool_stage, "normalised", lambda bare, *rest: SimpleNamespace(query=bare))
    monkeypatch.setattr(pool_stage, "unusable", lambda *given: "")
    job = part(
        context=SimpleNamespace(config=small_config()), dataset=SimpleNamespace(splits={"heldout": ["h", "new"]}),
        data={"h": given}, nearest={"h": [1], "new": [2]},
    )  # fmt: skip
    found = job._heldout()
    assert [(one.query_id, one.candidate_pool_indices) for one in found.values()] == [
        ("h", [4, 5]),
        ("new", []),
    ]
    assert all(one.pointer_candidates == [] and one.extra == {} for one in found.values())


def test_the_digits_are_as_many_as_the_run_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(from_config, "DigitsDataset", lambda *given, **more: made.append((given, more)))
    settings = {"pool": {"train_queries": 30, "heldout_queries": 8}, "run": {"seed": 5}}
    from_config.make_dataset(Config.model_validate(settings))
    assert made == [((5,), {"train": 30, "heldout": 8})]
