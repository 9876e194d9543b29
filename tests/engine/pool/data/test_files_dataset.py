"""Files of one's own: VQAv2 JSON, embeddings, and the whole stage on them behind a real server."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from engine.config.config import Config
from engine.config.file import load_config
from engine.config.pool import PoolFilesSection
from engine.errors import ConfigError, DataError
from engine.events import Event, PoolQueryDone, PoolTotals
from engine.pool import layout
from engine.pool.data.embedding_table import read_embeddings
from engine.pool.data.files_dataset import FilesDataset
from engine.pool.data.records import POOL_SIZE, read_rl_data
from engine.pool.data.vqa_files import VQAQuestion, read_vqa
from engine.pool.from_config import make_dataset
from engine.pool.pool_stage import BuildPools
from engine.run.gate import StopRequested
from engine.run.stage import StageContext
from tests.engine.pool.vqa_folder import answer_of, write_folder, write_questions, write_rl
from tests.exactly import exactly
from tests.misbehaving_server import misbehaving_server

CONFIGS = Path(__file__).resolve().parents[4] / "configs"


def dataset(files: dict[str, Any], **changes: Any) -> FilesDataset:
    return FilesDataset(PoolFilesSection.model_validate(files | changes), seed=0)


def refused(folder: Path, call: Callable[[], object]) -> str:
    """What a DataError says, with names of files alone."""
    with pytest.raises(DataError) as caught:
        call()
    return str(caught.value).replace(f"{folder}/", "")


def test_everything_about_queries_and_demonstrations(tmp_path: Path):
    found = dataset(write_folder(tmp_path))
    assert found.splits == {"train": ["0", "1", "2", "3", "4", "5"], "heldout": ["500", "501"]}
    assert isinstance(found.embeddings, np.memmap) and found.embeddings.shape == (120, 6)
    assert found.question("2") == "What colour is thing 2?"
    assert found.annotations("2") == [answer_of(2)] * 8 + ["grey"] * 2
    assert found.demonstration(4) == ("What colour is thing 1004?", answer_of(1004))
    assert list(found.excluded("0")) == [2] and list(found.excluded("1")) == []
    assert found.image(4) is None and found.query_image("0") is None


def test_images_follow_the_pattern(tmp_path: Path):
    files = write_folder(tmp_path)
    files["demonstrations"]["images"] = f"{tmp_path}/COCO_train2014_{{image_id:012d}}.jpg"
    assert dataset(files).image(4) == tmp_path / "COCO_train2014_000000001004.jpg"
    files["demonstrations"]["images"] = "{image}.jpg"
    with pytest.raises(
        ConfigError,
        match=exactly(
            "pool.files.demonstrations.images: found {image}.jpg, expected a path with {image_id} that takes "
            "'1000' ('image') (configuration): correct this value"
        ),
    ):
        dataset(files)


@pytest.mark.parametrize("image_id", ["../private", "/root/private", "a/../../private", "~root", "a\0b"])
def test_an_image_id_leads_to_no_other_folder(tmp_path: Path, image_id: str):
    """What it leads to would be sent to the server."""
    files = {"demonstrations": write_questions(tmp_path, "some", [*range(8)], [*range(8)])}
    path = Path(files["demonstrations"]["questions"])
    asked = json.loads(path.read_text())
    asked["questions"][5]["image_id"] = image_id
    path.write_text(json.dumps(asked))
    for pattern in ("{image_id}", f"{tmp_path}/{{image_id}}.jpg"):
        with pytest.raises(
            DataError,
            match=exactly(
                "the image_id '…' of question 5 leads out of the folder of images "
                "(pool.files.demonstrations.images): correct the file of questions"
            ),
        ):
            dataset(files, demonstrations=files["demonstrations"] | {"images": pattern})
    asked["questions"][5]["image_id"] = "train/5"
    path.write_text(json.dumps(asked))
    found = dataset(
        files, demonstrations=files["demonstrations"] | {"images": f"{tmp_path}/{{image_id}}.jpg"}
    )
    assert found.image(5) == tmp_path / "train" / "5.jpg"


def test_queries_that_are_the_demonstrations_themselves(tmp_path: Path):
    """Every row is its own query's, and the share held out does not depend on the other queries."""
    files = {"demonstrations": write_folder(tmp_path)["demonstrations"]}
    found = dataset(files)
    assert sorted(map(int, [*found.splits["train"], *found.splits["heldout"]])) == list(range(1000, 1120))
    assert 10 < len(found.splits["heldout"]) < 40
    assert list(found.excluded("1007")) == [7]
    few = list(range(1000, 1050))
    fewer = dataset({"demonstrations": write_questions(tmp_path, "few", few, few)})
    assert fewer.splits["heldout"] == [name for name in found.splits["heldout"] if int(name) < 1050]


def test_all_questions_about_an_image_are_on_one_side(tmp_path: Path):
    """With embeddings of images they are one query to a selector: what is trained on cannot be compared on."""
    names = list(range(300))
    files = write_questions(tmp_path, "shared", names, [name // 3 for name in names])
    np.save(tmp_path / "shared.npy", np.repeat(np.load(tmp_path / "shared.npy")[::3], 3, axis=0))
    found = dataset({"demonstrations": files})
    train, heldout = ({int(name) // 3 for name in found.splits[side]} for side in ("train", "heldout"))
    assert train.isdisjoint(heldout) and len(train | heldout) == 100 and 10 < len(heldout) < 35
    vectors = {found.query_embedding(name).tobytes() for name in found.splits["train"]}
    assert not any(found.query_embedding(name).tobytes() in vectors for name in found.splits["heldout"])
    assert list(found.excluded("7")) == [6, 7, 8], "all show one image"


def test_held_out_questions_that_are_trained_on_under_other_ids_are_refused(tmp_path: Path):
    files = write_folder(tmp_path)
    files["heldout"] = write_questions(tmp_path, "heldout", [500, 501], [500, 2])
    others = "hold out questions about other images, or leave the file out: then a fifth of the images is"
    assert refused(tmp_path, lambda: dataset(files)) == (
        "the held-out question 501 is like 2, which is trained on: both are about the image 2 (pool.files.heldout): "
        f"{others}"
    )
    files["heldout"] = write_questions(tmp_path, "heldout", [500, 501], [500, 501])
    again = json.loads(Path(files["heldout"]["questions"]).read_text())
    again["questions"][1]["question"] = " what colour  is THING 3?"
    Path(files["heldout"]["questions"]).write_text(json.dumps(again))
    vectors = np.load(files["heldout"]["embeddings"])
    dataset(files)  # other answers, another embedding: another question
    vectors[1] = np.load(files["queries"]["embeddings"])[3]
    np.save(files["heldout"]["embeddings"], vectors)
    answers = json.loads(Path(files["heldout"]["annotations"]).read_text())
    own = json.loads(Path(files["queries"]["annotations"]).read_text())["annotations"][3]["answers"]
    answers["annotations"][1]["answers"] = own[::-1]
    Path(files["heldout"]["annotations"]).write_text(json.dumps(answers))
    assert refused(tmp_path, lambda: dataset(files)) == (
        "the held-out question 501 is like 3, which is trained on: question, answers and embedding are the same "
        f"(pool.files.heldout): {others}"
    )


def test_the_same_query_on_both_sides_is_named(tmp_path: Path):
    files = write_folder(tmp_path)
    assert refused(tmp_path, lambda: dataset(files, heldout=files["queries"])) == (
        "query 0 is both trained on and held out (pool.files.heldout): give files that share no question"
    )


def test_embeddings_of_another_width_are_named(tmp_path: Path):
    files = write_folder(tmp_path)
    np.save(tmp_path / "queries.npy", np.zeros((6, 5), np.float32))
    assert refused(tmp_path, lambda: dataset(files)) == (
        "embeddings of 5 and of 6 dimensions (pool.files): embed all questions with the same model"
    )


# ---------------------------------------------------------------- single files


def asked(count: int, first: int = 0, images: int = 900) -> list[VQAQuestion]:
    """Questions `first`, ... about images `images`, ..."""
    return [VQAQuestion(str(first + n), images + n, "?", ()) for n in range(count)]


def test_a_file_is_read_without_running_code(tmp_path: Path):
    tensor = torch.arange(12, dtype=torch.bfloat16).reshape(4, 3)
    save_file({"clip": tensor}, tmp_path / "table.safetensors")
    assert read_embeddings(tmp_path / "table.safetensors", asked(4)).tolist() == tensor.tolist()
    torch.save(tensor, tmp_path / "table.pt")
    with pytest.raises(
        DataError,
        match=exactly("no array: … (…/table.pt): save it with numpy.save"),
    ):
        read_embeddings(tmp_path / "table.pt", asked(4))
    np.save(tmp_path / "table.npy", np.array([Path("x")], dtype=object))
    with pytest.raises(
        DataError,
        match=exactly(
            "no array: it holds Python objects, not numbers (…/table.npy): save it with numpy.save"
        ),
    ):
        read_embeddings(tmp_path / "table.npy", asked(1))


def save_with_ids(path: Path, table: np.ndarray, ids: list[int]) -> None:
    if path.suffix == ".safetensors":
        save_file({"features": torch.from_numpy(table).half()}, path)
    else:
        np.save(path, table)
    path.with_suffix(".ids.json").write_text(json.dumps([str(key) for key in ids]))


@pytest.mark.parametrize("suffix", [".npy", ".safetensors"])
@pytest.mark.parametrize("named", ["questions", "images"])
def test_rows_are_picked_by_id(tmp_path: Path, suffix: str, named: str):
    """In any order, more than are wanted; ids of questions, or of images that several questions share."""
    questions = asked(3, first=10) if named == "questions" else [*asked(2), *asked(1, first=2, images=901)]
    ids = [12, 99, 10, 11] if named == "questions" else [901, 7, 900]
    table = np.arange(len(ids) * 2, dtype=np.float32).reshape(-1, 2)
    save_with_ids(tmp_path / f"t{suffix}", table, ids)
    rows = [2, 3, 0] if named == "questions" else [2, 0, 0]
    assert read_embeddings(tmp_path / f"t{suffix}", questions).tolist() == table[rows].tolist()


def test_an_id_that_is_a_question_s_and_an_image_s_is_the_question_s(tmp_path: Path):
    table = np.arange(8, dtype=np.float32).reshape(-1, 2)
    save_with_ids(tmp_path / "t.npy", table, [900, 901, 10, 11])
    assert read_embeddings(tmp_path / "t.npy", asked(2, first=10)).tolist() == table[[2, 3]].tolist()


def test_unfit_ids_raise(tmp_path: Path):
    path, table = tmp_path / "t.npy", np.zeros((3, 2), np.float32)
    for ids, problem in (
        (
            [10, 11, 99],
            "1 of 3 questions have no embedding: neither question 12 nor its image 902 is among the ids (t.npy): embed "
            "these questions, or their images, too",
        ),
        ([10, 11, 11], "the id 11 occurs twice (t.npy): give every row its own id"),
        ([10, 11], "2 ids for 3 rows (t.npy): give one id for each row"),
        ([10, 11, 12, 13], "4 ids for 3 rows (t.npy): give one id for each row"),
    ):
        np.save(path, table)
        (tmp_path / "t.ids.json").write_text(json.dumps(ids))
        assert refused(tmp_path, lambda: read_embeddings(path, asked(3, first=10))) == problem
    (tmp_path / "t.ids.json").write_text("[10")
    with pytest.raises(DataError, match=r"no ids: .*t\.ids\.json"):
        read_embeddings(path, asked(3, first=10))


def test_files_without_a_single_table_raise(tmp_path: Path):
    table = torch.zeros(3, 2)
    alone = "save the embeddings [n, d] alone; ids of their rows go into {}.ids.json"

    def said(name: str) -> str:
        return refused(tmp_path, lambda: read_embeddings(tmp_path / name, asked(3)))

    save_file({"image": table, "text": table.clone()}, tmp_path / "two.safetensors")
    assert said("two.safetensors") == (
        f"holds image, text: not one table (two.safetensors): {alone.format('two')}"
    )
    (tmp_path / "two.safetensors").write_bytes(b"garbage")
    assert said("two.safetensors").startswith("no safetensors file: ")
    assert said("two.safetensors").endswith(" (two.safetensors): copy it again")
    save_file({}, tmp_path / "none.safetensors")
    assert said("none.safetensors") == (
        f"holds nothing: not one table (none.safetensors): {alone.format('none')}"
    )
    np.savez(tmp_path / "none.npz", table.numpy())
    assert said("none.npz").startswith("no array: ") and said("none.npz").endswith("save it with numpy.save")


@pytest.mark.parametrize(
    ("array", "named"),
    [
        (
            np.zeros((4, 3), np.int64),
            "expected a table of floats, found int64 of shape [4, 3] (table.npy): give [n, d]: a row for each question",
        ),
        (
            np.zeros(4, np.float32),
            "expected a table of floats, found float32 of shape [4] (table.npy): give [n, d]: a row for each question",
        ),
        (
            np.zeros((4, 0), np.float32),
            "expected a table of floats, found float32 of shape [4, 0] (table.npy): give [n, d]: a row for each "
            "question",
        ),
        (
            np.zeros((5, 3), np.float32),
            "5 rows of embeddings for 4 questions (table.npy): give the embeddings of these questions, in the order of "
            "their file, or ids with them",
        ),
        (None, "no array: "),
    ],
)
def test_tables_that_are_none_are_named(tmp_path: Path, array: np.ndarray | None, named: str):
    path = tmp_path / "table.npy"
    if array is None:
        path.write_bytes(b"\x93NUMPY torn")
    else:
        np.save(path, array)
    said = refused(tmp_path, lambda: read_embeddings(path, asked(4)))
    assert said == named if array is not None else said.startswith(named)


TOO_FEW = (
    " answers, the VQA accuracy needs 4 or more (some_annotations.json): give the annotations that belong to these "
    "questions"
)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            lambda q, a: q["questions"].append(q["questions"][0]),
            "question_id 0 occurs twice (some_questions.json): remove one of them",
        ),
        (
            lambda q, a: a["annotations"].append(a["annotations"][0]),
            "question 0 is annotated twice (some_annotations.json): remove one of them",
        ),
        (lambda q, a: a["annotations"].pop(), "question 3 has 0" + TOO_FEW),
        (
            lambda q, a: a["annotations"][2].update(answers=a["annotations"][2]["answers"][:3]),
            "question 2 has 3" + TOO_FEW,
        ),
        (lambda q, a: a["annotations"][1]["answers"].clear(), "question 1 has 0" + TOO_FEW),
        (
            lambda q, a: q["questions"][2].pop("image_id"),
            "a VQA file cannot be read: Object missing required field `image_id` - at `$.questions[2]` "
            "(some_questions.json): give the published JSON file, unpacked",
        ),
        (
            lambda q, a: a["annotations"][1]["answers"].append({"answer": 5}),
            "a VQA file cannot be read: Expected `str`, got `int` - at `$.annotations[1].answers[10].answer` "
            "(some_annotations.json): give the published JSON file, unpacked",
        ),
        (
            lambda q, a: q["questions"].clear(),
            "no questions (some_questions.json): give a file with questions",
        ),
    ],
)
def test_question_files_that_are_none_are_named(tmp_path: Path, change: Any, named: str):
    files = write_questions(tmp_path, "some", list(range(4)), list(range(4)))
    paths = Path(files["questions"]), Path(files["annotations"])
    questions, annotations = (json.loads(path.read_text()) for path in paths)
    change(questions, annotations)
    for path, content in zip(paths, (questions, annotations), strict=True):
        path.write_text(json.dumps(content))
    assert refused(tmp_path, lambda: read_vqa(*paths)) == named


def test_very_many_answers_and_deep_fields_end_at_once(tmp_path: Path):
    answers = tuple(f"answer {number}" for number in range(30_000))
    began = time.process_time()
    assert VQAQuestion("1", 1, "what?", (*answers, "answer 7")).majority == "answer 7"
    assert time.process_time() - began < 1
    files = write_questions(tmp_path, "some", [1], [1])
    path = Path(files["questions"])
    path.write_text(path.read_text().replace('"info": {}', f'"info": {"[" * 5000}{"]" * 5000}'))
    with pytest.raises(
        DataError,
        match=exactly(
            "a VQA file cannot be read: … (…/some_questions.json): give the published JSON file, unpacked"
        ),
    ):
        read_vqa(path, Path(files["annotations"]))


# ---------------------------------------------------------------- the whole stage


def copied(body: dict[str, Any]) -> str:
    """A model that repeats what the last demonstration answered."""
    return [message["content"] for message in body["messages"] if message["role"] == "assistant"][-1]


def config(folder: Path, url: str) -> Config:
    pool = {
        "dataset": "files",
        "files": write_folder(folder),
        "rl_data": write_rl(folder),
        "vqa": {"kind": "openai", "openai": {"base_url": url, "api_key_env": "none", "price_prompt": 1.0}},
        "max_eval_pairs": 12,
        "batch_size": 4,
    }
    return Config.model_validate({"pool": pool})


def test_the_stage_on_files_behind_a_server(tmp_path: Path):
    """Stopped twice on the way; only replies that were under way are asked for again."""
    events: list[Event] = []
    stops = 0
    with misbehaving_server(copied) as server:
        settings = config(tmp_path, server.url)
        for allowed in (7, 15, 1000):

            def checkpoint(allowed: int = allowed) -> None:
                if len(server.requests) >= allowed:
                    raise StopRequested

            context = StageContext("pool", settings, tmp_path, events.append, checkpoint, None)  # type: ignore[arg-type]
            try:
                BuildPools().run(context)
            except StopRequested:
                stops += 1
        requests = [json.dumps(request["messages"]) for request in server.requests]
    lines = [json.loads(line) for line in layout.evaluated(tmp_path).read_text().splitlines()]
    assert stops == 2
    assert len({(line["query_id"], *line["pair"]) for line in lines}) == len(lines)
    assert len(requests) - len(set(requests)) <= 2 * settings.pool.batch_size
    final, (found,) = read_rl_data(layout.rl_data(tmp_path)), [e for e in events if isinstance(e, PoolTotals)]
    assert [query.query_id for query in final.values()] == [0, 1, 2, 3, 4]
    heldout = read_rl_data(layout.heldout(tmp_path)).values()
    assert [query.query_id for query in heldout] == [500, 501], "numbers, as in the RL data"
    assert found.left_out == {"embedding not finite": 1} and found.heldout == 2
    assert found.before.positive == 0 and found.after.positive == 5
    assert found.calls == len(lines) and found.model == settings.pool.vqa.openai.model
    for query in final.values():
        assert len(set(query.candidate_pool_indices)) == POOL_SIZE and 9 not in query.candidate_pool_indices
        assert len(query.pointer_candidates) == 12
    assert 2 not in final["0"].candidate_pool_indices, "the query's own image"
    assert not any(line["query_id"] == "0" and 2 in line["pair"] for line in lines)
    done = {event.query_id: event for event in events if isinstance(event, PoolQueryDone)}
    for event in done.values():
        for trajectory in event.trajectories:
            if trajectory.answer:
                assert trajectory.answer == answer_of(1000 + trajectory.pair[1])
                assert (trajectory.score == 1) == (trajectory.answer == answer_of(int(event.query_id)))


def test_the_configuration_for_ok_vqa_is_valid_and_names_the_first_missing_file():
    found = load_config(CONFIGS / "pool_okvqa.yaml")
    files = found.pool.files
    assert files.demonstrations is not None and files.queries is None and files.heldout is not None
    with pytest.raises(
        DataError,
        match=exactly(
            "a VQA file cannot be read: No such file or directory "
            "(data/okvqa/OpenEnded_mscoco_train2014_questions.json): give the published JSON file, unpacked"
        ),
    ):
        make_dataset(found)


def test_numbers_that_numpy_does_not_know_and_ids_of_no_shape(tmp_path: Path) -> None:
    save_file({"e": torch.ones(3, 2).to(torch.float8_e4m3fn)}, tmp_path / "small.safetensors")
    assert read_embeddings(tmp_path / "small.safetensors", asked(3)).tolist() == [[1, 1]] * 3
    (tmp_path / "small.ids.json").write_text("[[1], [1, 2], 3]")
    with pytest.raises(DataError, match="no ids: Expected"):
        read_embeddings(tmp_path / "small.safetensors", asked(3))
