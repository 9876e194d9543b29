"""What the evolution's stages say word for word."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import pytest

from engine.config.config import Config
from engine.errors import ConfigError, DataError
from engine.evolution import evolution_run, from_config, layout, report
from engine.evolution.answers import AnswerFile, AnswerRecord
from engine.evolution.clusters import clusters_stage
from engine.evolution.clusters.cluster_map import ClusterMap, save_cluster_map
from engine.evolution.clusters.descriptions import (
    ClusterDescription,
    _distinct,
    _in_words,
    _words,
    number_words,
    write_descriptions,
)
from engine.evolution.clusters.imported_files import read_embeddings, read_labels, read_pickle
from engine.evolution.clusters.token_frequency import TokenFrequency
from engine.evolution.deltas import check_deltas
from engine.evolution.evolution_run import EvolutionRun
from engine.evolution.history import History, Iteration, read_history, write_history
from engine.evolution.judges.judge import JudgeFailed
from engine.evolution.judges.openai_judge import OpenAIJudge, _read
from engine.evolution.judges.scope import JudgeScope, scope_of
from engine.evolution.judges.task_judge import TaskJudge
from engine.evolution.minibatch import QuestionSplits, split_questions
from engine.evolution.processor import _run_text
from engine.evolution.reflectors import prompt, reflection
from engine.evolution.reflectors.openai_reflector import OpenAIReflector
from engine.evolution.reflectors.reflector import ReflectorFailed
from engine.evolution.scoring import split_evaluator
from engine.evolution.scoring.comparison import BEST, PLAIN, Method, compare
from engine.evolution.scoring.score import Outcome, score
from engine.evolution.services import missing_services
from engine.evolution.what_if import WhatIf, WhatIfRequest, _run_words
from engine.gflownet.answer import readers
from engine.run.stage import StageContext
from engine.servers.client import ServerFailed
from engine.servers.completion import Reply
from engine.servers.spent import Spent
from engine.tasks.example import TaskExample
from tests.exactly import exactly
from tests.offline_evolution import offline


def test_messages_that_models_are_asked_with() -> None:
    assert prompt.SYSTEM.startswith(
        "You tune how a language model answers by adding one number, a delta, to the logits"
    )
    assert readers.SYSTEM == (
        "Answer the question from the triplets (head, relation, tail). List every answer on a line of its own, and "
        "nothing else. If the triplets do not hold the answer, write: unknown."
    )
    nobody: Any = None
    asked = OpenAIJudge(nobody, "m", 0.05).messages("Why?", ["a", "b"], "c")
    assert [message["role"] for message in asked] == ["system", "user"]
    assert "at most 0.05 of the gold number (5%), whatever" in asked[0]["content"]
    assert asked[1]["content"] == "Question: Why?\n\nGold answers:\n- a\n- b\n\nAnswer to judge:\nc"


def test_replies_that_are_no_verdict() -> None:
    read = _read(Reply('{"reasoning": "same", "correct": true}', "stop", spent=Spent(1, 2)), "m")
    assert (read.correct, read.reasoning, read.usage) == (True, "same", Spent(1, 2))
    end = " (evolution.judge: m): the answer is judged again, and left out if that fails three times"
    for text, why in (
        ('{"correct": 1}', "it is not an object with `reasoning` and `correct`"), ("", "the reply is empty"),
    ):  # fmt: skip
        with pytest.raises(JudgeFailed, match=exactly(f"no verdict: {why}{end}")) as caught:
            _read(Reply(text, "stop", spent=Spent(3)), "m")
        assert caught.value.spent == Spent(3)
    task: Any = SimpleNamespace(
        name="gsm8k", extract=lambda text: text.strip(), is_correct=lambda a, b: a == b
    )
    judge = TaskJudge(task)
    assert judge.name == "gsm8k (the task's own metric)" and judge.cannot_tell("q", []) == ""
    right, wrong, none = (judge.judge("q", ["4", "5"], said) for said in (" 5", "6", " "))
    assert (right.correct, right.reasoning) == (True, "answered 5, the gold answer is 4 or 5")
    assert (wrong.correct, wrong.reasoning) == (False, "answered 6, the gold answer is 4 or 5")
    assert (none.correct, none.reasoning) == (False, "no answer can be read out of the text")


def test_questions_that_a_judge_cannot_tell_on() -> None:
    words = (
        "2 of 9 questions are outside what the judge numeric can judge (no figure): their answers are counted, not "
        "scored"
    )
    assert JudgeScope(9, 2, "no figure").warning("numeric") == words
    assert JudgeScope(9, 0).warning("numeric") == ""
    examples = [TaskExample(str(n), f"q{n}", "a", meta={"answers": ["a"]}) for n in range(4)]
    judge: Any = SimpleNamespace(
        name="numeric", cannot_tell=lambda question, golds: "no figure" if question != "q1" else ""
    )
    splits = QuestionSplits(examples[:2], [], [], 2, 0)
    assert scope_of(judge, splits, 1) == JudgeScope(2, 1, "no figure")
    kinds = "`kind: openai`, or other questions (configuration): correct this value"
    cases = (
        (QuestionSplits(examples[:2], examples[2:], [], 2, 0), "the validation set", 2),
        (QuestionSplits(examples[:2], [], examples[2:3], 2, 0), "the test set", 1),
        (QuestionSplits(examples[2:], [], [], 2, 0), "the minibatch of iteration 0", 2),
    )
    for some, where, count in cases:
        told = f"evolution.judge: found numeric: no figure, expected a judge that can judge some of {where} ({count} " \
               f"questions): {kinds}"  # fmt: skip
        with pytest.raises(ConfigError, match=exactly(told)):
            scope_of(judge, some, 1)
    assert split_questions(examples, 1, 1, 2, 0).by_id.keys() == {"0", "1", "2", "3"}
    few = (
        "evolution.validation_size, evolution.test_size: found 2 and 2, and a minibatch of 1, expected together at "
        "most the 4 questions of the pool: both are set aside (configuration): correct this value"
    )
    with pytest.raises(ConfigError, match=exactly(few)):
        split_questions(examples, 1, 2, 2, 0)


# ------------------------------------------------------------ clusters


def test_descriptions_in_words() -> None:
    assert _words(["a", "ü"], ["b"], True) == 'tokens such as "a" "ü"; most used: "b"'
    assert _words(list("abcdef"), list("ghijkl"), True) == (
        'tokens such as "a" "b" "c" "d" "e"; most used: "g" "h" "i" "j" "k"'
    )
    assert (_words([], [], True), _words([], [], False)) == (
        "parts of characters; not used",
        "parts of characters",
    )
    texts = [" a", "a", "", "\ufffd", "\n", "b", "\x07", "c"]
    assert _distinct(texts, range(8), 3) == ["a", "\n", "b"] and _distinct(texts, range(8), 9) == [
        "a",
        "\n",
        "b",
        "c",
    ]
    given = (
        "x",
        {"description": "y"},
        {"description": 1},
        {"description": "", "a": 1},
        {"description": "y", "b": None},
    )
    assert [_in_words(entry) for entry in given] == ["x", "y", '{"description": 1}', '{"a": 1}', "y"]
    assert number_words("written") == "numbers and arithmetic symbols (digits, + - * / $ % = . ,)"
    assert TokenFrequency(np.array([1, 2]), "x").source == "x"


def test_clusters_that_were_made_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "labels.joblib"
    path.write_bytes(b"x")
    pickle = f"this is a joblib file, hence a pickle, which can run any program when it is opened ({{}}: {path}): if " \
             "you know who made it, set `clusters.trust_files: true`"  # fmt: skip
    for setting, more in (("clusters.labels", "; or give the labels as a .npy file"), ("clusters.pca", "")):
        with pytest.raises(DataError, match=exactly(pickle.format(setting) + more)):
            read_pickle(str(path), setting, trusted=False)
    again = "make it again with this version of scikit-learn"
    broken = f"the file cannot be loaded: …: … (clusters.pca: {path}): {again}"
    with pytest.raises(DataError, match=exactly(broken)):
        read_pickle(str(path), "clusters.pca", trusted=True)
    joblib.dump({"no": "pca"}, path)
    work = object.__new__(clusters_stage._ClusterJob)
    work.config = SimpleNamespace(pca=str(path), trust_files=True)  # type: ignore[assignment]
    with pytest.raises(
        DataError,
        match=exactly(
            f"a dict is not a fitted PCA (clusters.pca: {path}): give the PCA that scikit-learn fitted"
        ),
    ):
        work._given_pca()


def test_a_model_without_an_end_of_text_is_told_of() -> None:
    told: list[tuple[str, str]] = []
    work = object.__new__(clusters_stage._ClusterJob)
    context: Any = SimpleNamespace(notice=lambda text, level="info": told.append((text, level)))
    work.context = context
    work.config = SimpleNamespace(numbers="written")  # type: ignore[assignment]

    class Words(SimpleNamespace):
        def __len__(self) -> int:
            return 3

    work.vocabulary = Words(texts=["a", "1", "b"], eos=())  # type: ignore[assignment]
    assert work._special().tolist() == [255, 1, 255]
    empty = "the model has no end-of-text token: cluster 0 is empty, its delta does nothing"
    assert told == [(empty, "warning")]
    work.vocabulary.eos = (2,)  # type: ignore[misc,assignment]
    assert work._special().tolist() == [255, 1, 0] and len(told) == 1
    work.vocabulary.eos = (1,)  # type: ignore[misc,assignment]
    assert work._special().tolist() == [255, 0, 255], "a number that ends a text, too"


def test_clusters_of_another_vocabulary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in (("check_services", None), ("load_vocabulary", SimpleNamespace(fingerprint="a")),
                        ("load_cluster_map", SimpleNamespace(vocabulary="b"))):  # fmt: skip
        monkeypatch.setattr(evolution_run, name, lambda *_, value=value: value)
    context: Any = SimpleNamespace(config=Config(), run_dir=tmp_path)
    words = f"the clusters were made for another vocabulary than the model's ({layout.folder(tmp_path)}): run the " \
            "stage `clusters` again for this model (evolution.model)"  # fmt: skip
    with pytest.raises(DataError, match=exactly(words)):
        EvolutionRun(context)


def test_what_an_evolution_works_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Made from the run's files alone; a file of initial deltas may lie below the user's folder."""
    ids = np.array([0, 1, 2, 2], dtype=np.uint8)
    words = SimpleNamespace(fingerprint="v", texts=list("abcd"))
    read, loaded = list[Any](), list[Any]()
    model: Any = SimpleNamespace(info=SimpleNamespace(name="m"))
    monkeypatch.setattr(evolution_run, "load_vocabulary", lambda section: read.append(section) or words)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.json").write_text('{"0": 0.5, "1": -1, "2": 0}')
    run = tmp_path / "run"
    layout.folder(run).mkdir(parents=True)
    save_cluster_map(ClusterMap(ids, 3, "v"), layout.folder(run))
    described = {name: ClusterDescription(f"cluster {name}", 1) for name in "012"}
    write_descriptions(layout.descriptions(run), described)
    sizes = {"pool_size": 9, "minibatch_size": 2, "validation_size": 3, "test_size": 2, "batch_size": 4}

    def made(**changes: Any) -> EvolutionRun:
        steered = {"model": {"path": "statements"}}
        config = Config.model_validate(
            {"evolution": offline({**sizes, **steered, **changes}), "run": {"seed": 3}}
        )
        nobody: Any = None
        return EvolutionRun(
            StageContext(
                "evolve", config, run, nobody, nobody, lambda section: loaded.append(section) or model
            )
        )

    AnswerFile(layout.answers(run), 4).add(
        [
            AnswerRecord(
                iteration=0,
                split="baseline",
                example_id=str(n),
                answer="",
                token_ids=[],
                correct=True,
                reasoning="",
            )
            for n in range(3)
        ]
    )
    one = made()
    assert (one.initial, one.history) == ({"0": 0.0, "1": 0.0, "2": 0.0}, History(iterations=[]))
    assert (one.clusters.names, one.descriptions) == (["0", "1", "2"], described)
    assert (one.answers.batch, len(one.answers.of_split(0, "baseline"))) == (4, 3), (
        "a whole split, not a torn batch"
    )
    assert (len(one.questions.pool), len(one.questions.validation), len(one.questions.test)) == (4, 3, 2)
    assert (one.judge.name, one.reflector.name, one.server.name) == (
        "numeric (offline)", "statistical (offline)", "in process",
    )  # fmt: skip
    assert one.prompts.system == prompt.SYSTEM and one.vocabulary is words  # type: ignore[comparison-overlap]
    assert made(initial_deltas="~/mine.json").initial == {"0": 0.5, "1": -1.0, "2": 0.0}
    one.server.start(None, lambda: None)
    assert {section.path for section in (*read, *loaded)} == {"statements"} and loaded, "not the run's model"


# ------------------------------------------------------------ history, reflector, processor


def iteration(number: int, **more: Any) -> Any:
    score: Any = SimpleNamespace(composite=0.1 * number)
    return Iteration(iteration=number, deltas={"0": float(number)}, examples=[], score=score, **more)


def test_what_follows_from_the_iterations(tmp_path: Path) -> None:
    better: Any = SimpleNamespace(composite=0.9)
    history = History(
        iterations=[
            iteration(0, best=True, summary="less", usage=Spent(1, 2)),
            iteration(1, best=True, validation=better, new_deltas={"0": 7.0}, usage=Spent(2, 3)),
            iteration(2, aborted="no"), iteration(3, aborted="no", summary="more"),
        ]
    )  # fmt: skip
    assert history.best is history.iterations[1] and (history.reached, history.since_best) == (0.9, 2)
    higher: Any = SimpleNamespace(composite=0.91)
    assert (history.is_best(better), history.is_best(higher)) == (False, True)
    assert history.summary == "Iteration 0: less\nIteration 3: more" and history.usage == Spent(3, 5)
    assert (history.aborted_in_a_row(), history.next_deltas({})) == (2, {"0": 3.0})
    early = History(iterations=history.iterations[:2])
    assert (early.next_deltas({}), early.aborted_in_a_row(), early.since_best) == ({"0": 7.0}, 0, 0)
    none = History(iterations=[])
    assert (none.reached, none.since_best, none.next_deltas({"0": 1.0})) == (None, 0, {"0": 1.0})
    assert [one.decided_on for one in history.iterations[:2]] == ["its minibatch", "the validation set"]
    path = tmp_path / "history.json"
    path.write_text('{"iterations": 1}')
    with pytest.raises(
        DataError,
        match=exactly(f"the history cannot be read: … ({path}): restore the file, or start a new run"),
    ):
        read_history(path)
    figures = (
        "answers",
        "judged",
        "correct",
        "mean_tokens",
        "shortness",
        "correctness",
        "composite",
        "error",
    )
    score = json.dumps(dict.fromkeys((*figures, "cannot_tell"), 0))
    path.write_text(
        f'{{"iterations": [{{"iteration": 1, "deltas": {{}}, "examples": [], "score": {score}}}]}}'
    )
    gap = f"the history's iterations are not 0, 1, 2, ... ({path}): restore the file, or start a new run"
    with pytest.raises(DataError, match=exactly(gap)):
        read_history(path)


def test_a_history_is_read_as_it_was_written_indented(tmp_path: Path) -> None:
    path = tmp_path / "evolution/history.json"
    assert read_history(path) == History(iterations=[])
    found = score([Outcome(10, True), Outcome(30, None, cannot_tell=True)], 20.0)
    kept = Iteration(
        iteration=0, deltas={"0": 1.5}, examples=["a", "b"], score=found, validation=found, best=True,
        new_deltas={"0": 2.0}, summary="Less.", reflector="m", attempts=2, usage=Spent(1, 2, 0.5),
    )  # fmt: skip
    history = History(
        iterations=[kept, Iteration(iteration=1, deltas={}, examples=[], score=found, aborted="no")]
    )
    write_history(path, history)
    assert read_history(path) == history
    text = path.read_text()
    assert text.startswith('{\n  "iterations": [\n    {\n      "iteration": 0,\n') and text.endswith("\n}\n")
    assert json.loads(text)["iterations"][0]["usage"] == {"calls": 1, "tokens": 2, "cost": 0.5}


def test_what_a_reflector_s_failure_leaves(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []

    def fails(given: object, message: str) -> None:
        error = ReflectorFailed(what="no reply", where="r", hint="h")
        error.spent, error.refused = Spent(3), [{"missing": "1"}]
        raise error

    evolution: Any = SimpleNamespace(
        reflector=SimpleNamespace(reflect=fails, name="m"), clusters=SimpleNamespace(names=["0", "1"]),
        context=SimpleNamespace(notice=lambda text, level: told.append((text, level))),
    )  # fmt: skip
    given: Any = SimpleNamespace(iteration=4)
    reply = reflection._ask(evolution, given, "message")
    assert told == [("iteration 4 ends without new deltas: no reply (r): h", "warning")]
    assert (reply.deltas, reply.aborted, reply.usage, reply.refused, reply.attempts) == (
        {}, "no reply (r): h", Spent(3), [{"missing": "1"}], 1,
    )  # fmt: skip
    evolution.reflector.reflect = lambda given, message: SimpleNamespace(deltas={"0": 1})
    each = "give one finite number for each of the clusters 0 to 1"
    wrong = f"these are not deltas: missing clusters: 1 (the reply of m): {each}"
    with pytest.raises(DataError, match=exactly(wrong)):
        reflection._ask(evolution, given, "message")
    many = {str(n): 0 for n in range(42)} | {"x" * 50: 0}
    with pytest.raises(DataError) as caught:
        check_deltas(many, ["a"], "w")
    listed = ", ".join(map(str, range(40)))
    assert (
        caught.value.what
        == f"these are not deltas: missing clusters: a; unknown clusters: {listed}, and 3 more"
    )
    path = tmp_path / "reply.json"
    path.write_text("x")
    stored = f"this is not a reply of a reflector: … ({path}): remove the file: the reflector is asked again"
    with pytest.raises(DataError, match=exactly(stored)):
        reflection.read_stored_reply(path)
    again = "generate it again from its deltas"
    broken = f"this processor cannot be loaded: ZeroDivisionError: division by zero (p.py): {again}"
    with pytest.raises(DataError, match=exactly(broken)):
        _run_text("1 / 0", "p.py")


def test_services_that_are_missing_and_draws_without_seeds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    server = {"kind": "sglang", "command": "/no/such/python -m sglang.launch_server"}
    openai = {"kind": "openai", "openai": {"api_key_env": "NO_SUCH_KEY"}}
    config = Config.model_validate({"evolution": {"judge": openai, "reflector": openai, "server": server}})
    key = (
        "this environment variable set to a key, or the `base_url` of a server on this machine; or, offline, "
    )
    assert list(map(str, missing_services(config))) == [
        f"evolution.judge.openai.api_key_env: found NO_SUCH_KEY, not set, expected {key}`evolution.judge.kind: auto`",
        f"evolution.reflector.openai.api_key_env: found NO_SUCH_KEY, not set, expected {key}"
        "`evolution.reflector.kind: statistical`",
        "evolution.server.command: found the program /no/such/python is not installed, expected an SGLang server: "
        "install it and name its Python in the command; or `evolution.server.kind: in_process`, the model in the "
        "worker, without a server",
    ]
    assert from_config.UNSEEDED == (
        "SGLang draws from the seeds of the run only with --enable-deterministic-inference in evolution.server."
        "command: without it, another run samples other answers"
    )


# ------------------------------------------------------------ what if


def what_if(tmp_path: Path, kind: str = "in_process") -> WhatIf:
    made = object.__new__(WhatIf)
    made._run_dir = tmp_path
    made._clusters = SimpleNamespace(names=["0", "1", "2"])  # type: ignore[assignment]
    config: Any = SimpleNamespace(
        evolution=SimpleNamespace(server=SimpleNamespace(kind=kind), brief_prompts=["Be brief."])
    )
    made._config = config
    made._examples = {}
    return made


def test_an_answer_under_other_deltas_in_words(tmp_path: Path) -> None:
    one = what_if(tmp_path)

    def request(**more: Any) -> WhatIfRequest:
        return WhatIfRequest(**{"iteration": 3, "split": "minibatch", "example": "e"} | more)

    other = one._other(request(put={"1": 0.5, "2": -2}), {"0": 1.0, "1": 0.0, "2": 4.0}, 2.0)
    assert other == (
        {"0": 2.0, "1": 1.0, "2": -4.0},
        "its own deltas, +0.5 on cluster 1, -2 on cluster 2, times 2",
    )
    assert one._other(request(), None, 1.0) == ({"0": 0.0, "1": 0.0, "2": 0.0}, "its own deltas")
    halved = one._other(request(), {"0": 1.0, "1": 0.0, "2": 4.0}, 0.5)
    assert halved == ({"0": 0.5, "1": 0.0, "2": 2.0}, "its own deltas, times 0.5")
    lost = f"there is no cluster 7, 9 ({layout.folder(tmp_path)}): choose clusters of 0 to 2"
    with pytest.raises(DataError, match=exactly(lost)):
        one._other(request(put={"7": 1, "1": 1, "9": 1}), None, 1.0)
    place = layout.history(tmp_path)
    with pytest.raises(
        DataError, match=exactly(f"no iteration is finished ({place}): wait for the first one")
    ):
        one._iteration(0)
    record: Any = SimpleNamespace(token_ids=[1, 2, 3], answer="x")
    for tokens, text, words in (
        ([1, 2, 3], "x", ""), ([1, 5, 3], "y", "the answers differ after 1 of 3 tokens"),
        ([1, 2], "y", "the answers differ after 2 of 3 tokens"),
        ([1, 2, 3], "y", "the answers differ after 3 of 3 tokens"),
    ):  # fmt: skip
        again: Any = SimpleNamespace(tokens=tokens, text=text)
        assert one._difference(record, again) == words
    behind = "an SGLang server gave the recorded answer, the model of this process the new one"
    again = SimpleNamespace(tokens=[9], text="")
    assert what_if(tmp_path, "sglang")._difference(record, again) == behind
    none = f"iteration 3 has no answer to 'e' in minibatch ({layout.answers(tmp_path)}): choose an answer of this run"
    with pytest.raises(DataError, match=exactly(none)):
        one._recorded(request())
    said = {
        split: _run_words(request(split=split))
        for split in ("minibatch", "validation", "test", "baseline", "test_plain")
    }
    assert said["minibatch"] == said["validation"] == "the deltas of iteration 3"
    assert (
        said["test"] == "the deltas of the best iteration" and said["baseline"] == "no deltas, as in the run"
    )
    assert said["test_plain"] == "no deltas, as in the run"


def test_the_request_that_was_put_after_the_question(tmp_path: Path) -> None:
    """On the test set it is the one that was chosen, as the table holds it."""
    one = what_if(tmp_path)
    one._config.evolution.brief_prompts = ["Be brief.", "One word."]
    splits = ("minibatch", "validation", "baseline", "brief_1", "brief_2", "brief_3", "test", "test_plain")
    assert [one._suffix(split) for split in splits] == ["", "", "", "Be brief.", "One word.", "", "", ""]
    table = layout.comparison(tmp_path)
    table.parent.mkdir(parents=True)
    table.write_text("method,prompt\nno_processor,\nlength_cap,x\nbest,y\n")
    assert one._suffix("test_brief") == ""
    table.write_text(
        'method,prompt\nno_processor,x\nbrief_prompt,"\'-- Ein Wort,\nfür sich."\nbest,y\n', "utf-8"
    )
    assert one._suffix("test_brief") == "-- Ein Wort,\nfür sich."


@pytest.mark.parametrize(
    ("split", "deltas"),
    [("minibatch", {"0": 3.0}), ("validation", {"0": 3.0}), ("test", {"0": 3.0}), ("baseline", None),
     ("brief_1", None), ("brief_12", None), ("test_plain", None), ("test_brief", None)],
)  # fmt: skip
def test_the_deltas_that_an_answer_was_given_under(
    tmp_path: Path, split: str, deltas: dict[str, float] | None
) -> None:
    found = score([Outcome(10, True)], 20.0)
    write_history(
        layout.history(tmp_path),
        History(
            iterations=[
                Iteration(iteration=n, deltas={"0": n + 2.0}, examples=[], score=found) for n in (0, 1)
            ]
        ),
    )
    one = what_if(tmp_path)
    assert one._recorded_deltas(WhatIfRequest(iteration=1, split=split, example="e")) == deltas
    late = f"iteration 2 is not finished ({layout.history(tmp_path)}): choose one of 0 to 1"
    with pytest.raises(DataError, match=exactly(late)):
        one._iteration(2)


def test_the_last_record_of_an_answer_is_the_one_that_counts(tmp_path: Path) -> None:
    """The judge's second verdict stands behind its first; answers of other iterations and splits are others."""
    one = what_if(tmp_path)
    one._examples = {"e": TaskExample("e", "q", "a")}
    file = AnswerFile(layout.answers(tmp_path), 2)
    common: dict[str, Any] = {"token_ids": [1], "correct": True, "reasoning": ""}
    places = [(3, "minibatch", "e", "first"), (3, "minibatch", "e", "second"), (3, "test", "e", "x"),
              (2, "minibatch", "e", "x"), (3, "minibatch", "f", "x")]  # fmt: skip
    file.add([AnswerRecord(iteration=i, split=s, example_id=e, answer=a, **common) for i, s, e, a in places])
    assert one._recorded(WhatIfRequest(iteration=3, split="minibatch", example="e")).answer == "second"
    none = f"iteration 3 has no answer to 'f' in minibatch ({file.path}): choose an answer of this run"
    with pytest.raises(DataError, match=exactly(none)):
        one._recorded(WhatIfRequest(iteration=3, split="minibatch", example="f"))


# ------------------------------------------------------------ files and the server


def test_files_have_the_names_that_the_pages_give(tmp_path: Path) -> None:
    names = [
        "embeddings", "pca", "labels", "descriptions", "token_frequency", "server_log", "deltas_current", "deltas_best",
        "processor", "processor_best", "answers", "history", "plot", "comparison", "test_answers", "baselines",
    ]  # fmt: skip
    assert [str(getattr(layout, name)(Path("r")).relative_to("r/evolution")) for name in names] == [
        "embeddings.npy", "pca.joblib", "labels_kmeans.joblib", "cluster_descriptions.json", "token_frequency.jsonl",
        "server.log", "deltas_current.json", "deltas_best.json", "processor.py", "processor_best.py", "answers.jsonl",
        "history.json", "evolution_lengths.png", "tables/test.csv", "tables/test_answers.csv", "tables/baselines.csv",
    ]  # fmt: skip
    assert layout.reflector_message(Path("r"), 7).name == "reflector_message_007.txt"
    assert layout.reflector_reply(Path("r"), 7).name == "reflector_reply_007.json"
    written = [
        "deltas_best", "processor_best", "deltas_current", "processor", "history", "answers", "plot", "comparison",
        "test_answers", "baselines",
    ]  # fmt: skip
    for name in names:
        path = getattr(layout, name)(tmp_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    evolution: Any = SimpleNamespace(context=SimpleNamespace(run_dir=tmp_path))
    told = report._files(evolution)
    assert told == [str(getattr(layout, name)(tmp_path).relative_to(tmp_path)) for name in written]
    layout.plot(tmp_path).unlink()
    assert report._files(evolution) == [name for name in told if not name.endswith(".png")]


def test_a_server_s_states_are_told_as_they_come(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done: list[Any] = []
    monkeypatch.setattr(
        split_evaluator, "generate_processor", lambda file, clusters, deltas: done.append(file.name)
    )

    def start(processor: Path | None, checkpoint: object) -> None:
        done.append(processor and processor.name)
        if processor is not None and processor.name == "fails.py":
            raise DataError(what="it is dead", where="x", hint="")

    server = SimpleNamespace(name="s", log_tail=lambda: "tail", stop=lambda: done.append("stop"), start=start)
    context = SimpleNamespace(run_dir=tmp_path, checkpoint=lambda: done.append("looks"),
                              emit=lambda event: done.append((event.state, event.server, event.log)))  # fmt: skip
    evaluator = object.__new__(split_evaluator.SplitEvaluator)
    evaluator.evolution = SimpleNamespace(server=server, context=context, clusters=None)  # type: ignore[assignment]
    monkeypatch.setattr(split_evaluator.SplitEvaluator, "context", context, raising=False)

    def block_lines(*states: str) -> list[Any]:
        known = ("stopping", "starting", "healthy", "failed")
        return [(state, "s", "tail") if state in known else state for state in states]

    evaluator.serve(None)
    assert done == [*block_lines("stopping", "stop", "looks", "starting"), None, *block_lines("healthy")]
    done.clear()
    evaluator.serve({"0": 1.0})
    assert done == block_lines(
        "stopping", "stop", "looks", "processor.py", "starting", "processor.py", "healthy"
    )
    done.clear()
    with pytest.raises(DataError):
        evaluator.serve({"0": 1.0}, tmp_path / "fails.py")
    assert done[-2:] == block_lines("fails.py", "failed")


def test_arrays_that_do_not_fit_the_vocabulary(tmp_path: Path) -> None:
    """Four tokens in six rows: two are padding, which may be left out."""

    class Words(SimpleNamespace):
        def __len__(self) -> int:
            return 6

    vocabulary: Any = Words(padding=np.array([False] * 4 + [True] * 2))
    path = tmp_path / "x.npy"
    fits = "the model has 4 tokens in 6 rows"
    for rows in (3, 7):
        for setting, content in (
            ("embeddings", np.ones((rows, 2), np.float32)),
            ("labels", np.zeros(rows, np.int64)),
        ):
            np.save(path, content)
            made = "use files that were made for this model's vocabulary"
            words = f"there are {rows} rows, {fits} (clusters.{setting}: {path}): {made}"
            with pytest.raises(DataError, match=exactly(words)):
                if setting == "labels":
                    read_labels(str(path), vocabulary, trusted=False)
                else:
                    read_embeddings(str(path), vocabulary)
    np.save(path, np.full((5, 2), 2.0, np.float32))
    assert read_embeddings(str(path), vocabulary)[:, 0].tolist() == [2.0] * 5 + [0.0]
    np.save(path, np.array([0, 252, 1, 2]))
    assert read_labels(str(path), vocabulary, trusted=False).tolist() == [0, 252, 1, 2, -1, -1]
    np.save(path, np.array([0, 253, 1, 2]))
    many = (
        f"label 253: there are too many clusters (clusters.labels: {path}): use at most 253 k-means clusters"
    )
    with pytest.raises(DataError, match=exactly(many)):
        read_labels(str(path), vocabulary, trusted=False)
    for content, what in (
        (np.ones(4, np.float32), "float32 of shape (4,)"),
        (np.full((4, 1), np.nan, np.float32), "float32 of shape (4, 1)"),
    ):
        np.save(path, content)
        each = "give one row for each token of the model's vocabulary"
        wrong = f"embeddings are a matrix of finite floats, not {what} (clusters.embeddings: {path}): {each}"
        with pytest.raises(DataError, match=exactly(wrong)):
            read_embeddings(str(path), vocabulary)
    whole = f"labels are whole numbers, one a token, not float32 of shape (4, 1) (clusters.labels: {path}): give the " \
            "`labels_` of k-means"  # fmt: skip
    with pytest.raises(DataError, match=exactly(whole)):
        read_labels(str(path), vocabulary, trusted=False)
    with pytest.raises(
        DataError, match=exactly("no such file (clusters.labels: /none.npy): correct the path")
    ):
        read_labels("/none.npy", vocabulary, trusted=False)


def test_a_reflector_that_gives_no_deltas() -> None:
    """Twice refused, or its server failed: what was spent and refused is kept."""

    def reflected(*replies: Any) -> Any:
        left = iter(replies)

        def complete(messages: object, schema: object) -> Reply:
            reply = next(left)
            if isinstance(reply, Exception):
                raise reply
            return reply

        client: Any = SimpleNamespace(complete=complete)
        given: Any = SimpleNamespace(deltas={"0": 0.0})
        return OpenAIReflector(client, "m", "system").reflect(given, "message")

    bad = Reply('{"deltas": {}, "summary": "s"}', "stop", spent=Spent(1, 5))
    with pytest.raises(
        ReflectorFailed,
        match=exactly(
            "no valid reply in 2 attempts: missing clusters: 0 (evolution.reflector: m): the iteration ends without "
            "new deltas; the next iteration asks again"
        ),
    ) as caught:
        reflected(bad, bad)
    assert (caught.value.spent, caught.value.refused) == (Spent(2, 10), [{"missing clusters": "0"}] * 2)
    gone = ServerFailed(what="the server failed (500)", where="w", hint="h")
    with pytest.raises(ReflectorFailed, match=exactly("the server failed (500) (w): h")) as caught:
        reflected(bad, gone)
    assert (caught.value.spent, caught.value.refused) == (Spent(2, 5), [{"missing clusters": "0"}])
    fine = reflected(
        bad, Reply('{"deltas": {"0": 2}, "summary": "Less. Shorter."}', "stop", spent=Spent(1, 7))
    )
    assert (fine.deltas, fine.summary, fine.usage, fine.attempts) == (
        {"0": 2.0},
        "Less. Shorter.",
        Spent(2, 12),
        2,
    )


def test_a_line_of_the_comparison_by_hand() -> None:
    """At a scale of 20 tokens: 20 tokens and all judged right are 0.4 / 2 + 0.6; 30 and half are 0.4 * 0.4 + 0.3."""
    best = Method(BEST, [Outcome(10, True), Outcome(30, None, cannot_tell=True)], prompt="Be brief.", cap=9)
    plain = Method(PLAIN, [Outcome(20, True), Outcome(40, False)])
    mine, theirs = (
        next(row for row in compare([plain, best], 20.0, 0) if row.method == name) for name in (BEST, PLAIN)
    )
    assert (mine.n, mine.cannot_tell, mine.correctness, mine.mean_tokens, mine.shortness) == (
        1,
        1,
        1.0,
        20.0,
        0.5,
    )
    assert (mine.composite, theirs.composite) == (pytest.approx(0.8), pytest.approx(0.46))
    assert (mine.wilson_low, mine.wilson_high) == (pytest.approx(0.2065493143), 1.0)
    assert (theirs.wilson_low, theirs.wilson_high) == (
        pytest.approx(0.0945312057),
        pytest.approx(0.9054687943),
    )
    assert (mine.cap, mine.prompt, theirs.cap, theirs.prompt) == (9, "Be brief.", None, "")
    assert (mine.tokens_difference, theirs.tokens_difference, mine.ahead) == (-10.0, None, None)
    assert theirs.ahead == pytest.approx(-0.34) and (theirs.n, theirs.cannot_tell) == (2, 0)
    assert report._compared([theirs, mine], ["x", "y"]) == {
        "composite": 0.8, "composite_before": 0.46, "tokens": 20.0, "tokens_before": 30.0, "judged": 1,
        "cannot_tell": 1, "correctness": 1.0, "correctness_before": 0.5, "baselines_ahead": "x, y",
    }  # fmt: skip
    assert report._compared([theirs, mine], [])["baselines_ahead"] == "none"


def test_answers_of_a_batch_that_was_torn_are_asked_again(tmp_path: Path) -> None:
    def answer(iteration: int, split: str, number: int) -> AnswerRecord:
        return AnswerRecord(iteration=iteration, split=split, example_id=str(number), answer="x", token_ids=[1, 2],
                            correct=None, reasoning="r", cannot_tell=number == 9)  # fmt: skip

    path = tmp_path / "answers.jsonl"
    file = AnswerFile(path, 2)
    file.add([answer(0, "a", n) for n in range(3)])
    file.add([answer(1, "a", n) for n in range(3)])
    opened = AnswerFile.open(path, 2, {"a": 3})
    assert [len(opened.of_split(n, "a")) for n in (0, 1)] == [3, 3], "the split is whole"
    opened = AnswerFile.open(path, 2, {"a": 4})
    assert [len(opened.of_split(n, "a")) for n in (0, 1)] == [3, 2]
    assert [r.example_id for r in AnswerFile.open(path, 2, {"a": 4}).of_split(1, "a")] == ["0", "1"]
    taken = opened.take_unjudged(1, "a")
    assert [record.example_id for record in taken] == ["0", "1"] and opened.of_split(1, "a") == []
    opened.add([answer(1, "a", 9)])
    assert opened.take_unjudged(1, "a") == [], "the judge cannot tell"
    assert answer(0, "a", 9).outcome == Outcome(2, None, True)
