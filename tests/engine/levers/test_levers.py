"""What runs left acts on an answer as it did in the run, alone and in company, and says what it did."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from engine.config.file import dump_config, load_config
from engine.config.models.model import ModelSection
from engine.errors import DataError
from engine.esm import layout
from engine.events import Event
from engine.files import read_jsonl
from engine.gflownet.answer.readers import SYSTEM
from engine.levers.in_flight_batch import InFlightBatch
from engine.levers.lever import Edited, LeverDid
from engine.levers.levers import Chosen, Levers, Limits
from engine.levers.load import load_levers
from engine.levers.token_logprobs import Nucleus
from engine.lm.protocol import Request, Sampling
from engine.lm.transformers.model import TransformersModel
from tests.exactly import exactly

ESM = Chosen(["esm"])
PLAIN = Chosen([])
NOT_ASKED = "the last message is not the user's (messages): end with what is to be answered"


def asked(question: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": question}]


@pytest.mark.parametrize(("method", "chosen"), [("esm", ESM), ("greedy", PLAIN)])
def test_answers_are_those_of_the_evaluation(
    esm_run: tuple[Path, list[Event]], levers: Levers, method: str, chosen: Chosen
) -> None:
    lines = list(read_jsonl(layout.evaluation(esm_run[0], method) / "per_example.jsonl"))
    prepared = [levers.prepare(line["example_id"], asked(line["question"]), chosen) for line in lines]
    answers = levers.answer(prepared)
    assert [answer.text for answer in answers] == [line["text"] for line in lines]
    assert [len(answer.tokens) for answer in answers] == [line["tokens_used"] for line in lines]
    if method == "esm":
        assert any(line["steered"] for line in lines)
        assert [answer.did[0].tokens for answer in answers] == [line["probe_tokens_used"] for line in lines]
        for answer, line in zip(answers, lines, strict=True):
            told = [(d.gate, d.chosen, d.committed_tokens) for d in answer.decisions]
            assert told == [
                (step["gate"], step["chosen"], step["committed_tokens"]) for step in line["steps"]
            ]
            assert [d.alpha for d in answer.decisions] == pytest.approx([s["alpha"] for s in line["steps"]])


def test_who_joins_and_who_leaves_changes_no_text(esm_run: tuple[Path, list[Event]], levers: Levers) -> None:
    """Texts join in the middle of others, under other levers; every third is given up."""
    questions = [
        line["question"] for line in read_jsonl(layout.evaluation(esm_run[0], "esm") / "per_example.jsonl")
    ]
    kinds = [
        ESM,
        PLAIN,
        Chosen(["deltas", "esm"]),
        Chosen(["esm"], online={"k_scale": 9.0}),
    ]
    limits = [Limits(), Limits(temperature=0.8, seed=5), Limits(stops=("\n\nF",)), Limits(max_tokens=21)]
    cases = [(str(i), asked(q), kinds[i % 4], limits[i // 2 % 4]) for i, q in enumerate(questions)]
    alone = {case[0]: levers.answer([levers.prepare(*case)])[0] for case in cases}
    batch, left, ended = InFlightBatch(levers.model), list(cases), []
    rounds = 0
    while left or len(batch):
        if left:
            batch.add(levers.prepare(*left.pop()).text)
        if rounds % 3 == 2:
            batch.drop(batch.texts[:1])
        ended += batch.step()
        rounds += 1
    assert 4 < len(ended) < len(cases)
    for text in ended:
        one, tokens = alone[text.name], text.answer.tokens
        assert (text.text, text.finish) == (one.text, one.finish)
        assert tokens == one.tokens or (text.stopped and tokens[: len(one.tokens)] == one.tokens)
    assert {answer.finish for answer in alone.values()} == {"stop", "length"}
    assert all("\n\nF" not in alone[case[0]].text for case in cases if case[3].stops)


def test_deltas_change_their_own_rows_and_no_others(levers: Levers, embedded: TransformersModel) -> None:
    question = asked("Tom has 14 pens, buys 5, then loses 3. How many?")
    plain, more, mixed = levers.answer(
        [levers.prepare("q", question, chosen) for chosen in (PLAIN, Chosen(["deltas"]), PLAIN)]
    )
    assert levers.deltas is not None
    request = Request(embedded.tokenizer.encode_messages(question), Sampling(200))
    under = levers.deltas.processor
    assert more.tokens == embedded.generate([request], logits_processor=under)[0].tokens
    assert plain.tokens == embedded.generate([request])[0].tokens == mixed.tokens != more.tokens
    assert more.did[0].acted and more.did[0].what == "added to the logits, by cluster: 2: -8"


def test_notes_repeat_what_was_said(levers: Levers) -> None:
    talk = [*asked("My dog is Rex."), {"role": "assistant", "content": "Good."}, *asked("What is my dog?")]
    short = Limits(max_tokens=8)
    always, again, silent = levers.answer(
        [
            levers.prepare("q", talk, Chosen(["notes"], notes="always"), short),
            levers.prepare("q", talk, Chosen(["notes"], notes="on_detection"), short),
            levers.prepare("q", asked("Hello"), Chosen(["notes"], notes="always"), short),
        ]
    )
    assert always.did[0].acted and always.did[0].tokens > 5
    assert "[SLSM MEMORY NOTE]" in levers.model.tokenizer.decode(
        levers.prepare("q", talk, Chosen(["notes"], notes="always")).text.prompt
    )
    assert again.did[0].acted and again.did[0].what.startswith("answered again with a note")
    assert again.text == always.text
    assert not silent.did[0].acted and "nothing for a note" in silent.did[0].what


def test_evidence_has_its_own_system_message_unless_the_request_has_one(levers: Levers) -> None:
    assert levers.evidence is not None
    question = next(iter(levers.evidence._by_text.values())).question
    alone = levers.evidence.add(asked(question), levers.count_tokens)
    assert [m["role"] for m in alone.messages] == ["system", "user"] and alone.messages[0][
        "content"
    ] == SYSTEM
    own = [{"role": "system", "content": "Be brief."}, *asked(question)]
    given = levers.evidence.add(own, levers.count_tokens)
    assert [m["role"] for m in given.messages] == ["system", "user"]
    assert given.messages[0]["content"] == "Be brief."
    assert alone.did.tokens - given.did.tokens == levers.count_tokens(SYSTEM)


def test_evidence_stands_before_a_question_that_has_a_graph(levers: Levers) -> None:
    known = levers.prepare(
        "q", asked("which river does the capital of Vordania lie on"), Chosen(["evidence"])
    )
    other = levers.prepare("q", asked("Who are you?"), Chosen(["evidence"]))
    (did,) = known.did
    assert (did.acted, did.what) == (True, "2 triples of test-0's paths in the prompt") and did.tokens > 10
    assert "(Vordania," in levers.model.tokenizer.decode(known.text.prompt)
    none = "the run holds no graph for this question"
    assert other.did == [LeverDid(lever="evidence", acted=False, what=none)]


def test_evidence_that_fits_no_budget_leaves_the_question_alone(
    levers: Levers, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert levers.evidence is not None
    question = asked(next(iter(levers.evidence._by_text.values())).question)
    monkeypatch.setattr(levers.evidence, "_budget", 1)
    none = LeverDid(lever="evidence", acted=False, what="no triple of the sampled paths fits 1 tokens")
    assert levers.evidence.add(question, levers.count_tokens) == Edited(question, none)


def test_a_lever_that_does_not_fit_says_why(full_run: Path, tmp_path: Path) -> None:
    """Here the statements' model: another memory's, another vocabulary's. What edits conversations fits any model."""
    found = load_levers([full_run, full_run], ModelSection(path="statements"))
    (esm, *fits), others = found.fits[:5], found.fits[5:]
    assert found.names == ["notes", "evidence"]
    assert not esm.fits and esm.why.startswith("the memory was built for another model: ")
    assert [(fit.lever, fit.fits, fit.why) for fit in fits] == [
        (
            "deltas",
            False,
            "the deltas are for another vocabulary, of 575 tokens: evolve deltas with this model",
        ),
        ("notes", True, "notes of the controller rules (offline), structured"),
        ("evidence", True, "paths of 3 questions"),
        ("demonstrations", False, "no demonstration pool"),
    ]
    later = "another run's comes first"
    assert [(fit.fits, fit.why) for fit in others] == [
        (False, esm.why), (False, fits[0].why), (False, later), (False, later), (False, "no demonstration pool"),
    ]  # fmt: skip
    with pytest.raises(
        DataError,
        match=exactly(
            "the lever esm is not there: the memory was built for another model: model is "
            "a44eef4a2660c7a33f0458eb37772af9bced44e63804660e91a2e2396e651fb9 there, "
            "83d13b0766ff41a60f84b3be9991e6969721e919cfafc99181017fc0a33c68ce here: mine, select and build the "
            "memory with this model, or load the model it was built for (steer.esm): choose among: notes, "
            "evidence"
        ),
    ):
        found.prepare("q", asked("Hello"), ESM)
    empty = tmp_path / "run"
    empty.mkdir()
    shutil.copy(full_run / "config.yaml", empty)
    nothing = load_levers([empty], load=lambda section: found.model)
    assert nothing.names == [] and {fit.lever: fit.why for fit in nothing.fits} == {
        "esm": "`entries.jsonl` is not there: run the stage `memory` of this run first",
        "deltas": "no evolved deltas: run the stages `clusters` and `evolve` of this run",
        "notes": "no conversation memory: run the stage `slsm` of this run, in a mode that keeps one",
        "evidence": "no sampled paths: run the stage `gflownet` of this run",
        "demonstrations": "no demonstration pool",
    }


def test_the_prompt_is_that_of_the_run_whose_memory_acts(
    full_run: Path, tmp_path: Path, levers: Levers
) -> None:
    """Deltas that were evolved on a task's questions have one, too; it gives way to the memory's."""
    texts = {"memory": "M {question}", "task": "T {question}", "statements": "S {question}"}
    runs = {name: tmp_path / name for name in texts}
    for name, run in runs.items():
        shutil.copytree(full_run, run)
        questions = "task" if name == "task" else "financebench"
        changes = [f"prompt.template={texts[name]}", f"evolution.questions={questions}"]
        judge = ["evolution.judge.kind=task"] if name == "task" else []
        (run / "config.yaml").write_text(dump_config(load_config(run / "config.yaml", [*changes, *judge])))
        if name != "memory":
            shutil.rmtree(layout.memory(run))

    def template(*names: str) -> str | None:
        loaded = load_levers([runs[name] for name in names], load=lambda section: levers.model)
        return loaded.prepare("q", asked("1?"), PLAIN).prompt.template

    assert template("memory") == template("task", "memory") == template("memory", "task") == "M {question}"
    assert template("task") == "T {question}"
    assert template("statements") is None
    assert template("statements", "task") is None, "the deltas are the first run's"


@pytest.mark.parametrize(
    ("messages", "chosen", "says"),
    [
        ([], PLAIN, NOT_ASKED),
        ([{"role": "assistant", "content": "Hi"}], PLAIN, NOT_ASKED),
        *(
            (
                asked("Hi"), Chosen([name]),
                f"the lever {name} is not there: {why} (steer.{name}): choose among: esm, deltas, notes, evidence",
            )
            for name, why in (("demonstrations", "no demonstration pool"), ("magic", "there is no such lever"))
        ),
        (
            asked("1 + 1 " * 2000), PLAIN,
            "the prompt has 10008 tokens, this model's maximum context length is 1024, of which a prompt may have "
            "1022: shorten the prompt",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(
    levers: Levers, messages: list[dict[str, str]], chosen: Chosen, says: str
) -> None:
    with pytest.raises(DataError) as caught:
        levers.prepare("q", messages, chosen)
    assert str(caught.value) == says


def test_a_conversation_has_a_message_and_a_prompt_a_token(levers: Levers) -> None:
    assert levers.notes is not None
    with pytest.raises(DataError) as caught:
        levers.notes.read([])
    assert str(caught.value) == "no message of the user (messages): begin with a message of the user"
    with pytest.raises(DataError) as caught:
        levers.prepare_text("q", [], PLAIN)
    assert str(caught.value) == "the prompt is empty: give a text to go on with"


def test_a_row_is_added_as_it_is(levers: Levers) -> None:
    import torch

    assert levers.deltas is not None
    logits = torch.zeros(2, levers.model.info.vocab_size)
    added = np.asarray(levers.deltas.processor([[], []], logits))
    assert set(np.unique(added)) == {0.0, -8.0} and not logits.any()


def test_a_prompt_of_tokens_has_those_of_the_vocabulary(levers: Levers) -> None:
    size = levers.model.info.vocab_size
    assert levers.prepare_text("q", [0, size - 1], PLAIN).text.prompt == [0, size - 1]
    for strange in (-1, size):
        with pytest.raises(
            DataError, match=exactly(f"there is no token {strange} (prompt): give token ids from 0 to 574")
        ):
            levers.prepare_text("q", [0, strange], PLAIN)


def test_limits_and_settings_reach_the_decoding(levers: Levers) -> None:
    """Compared with the run's own configuration: with each other, all could ignore them."""
    own = levers.config
    usual = levers.prepare("q", asked("Hello"), ESM).text.decider
    assert (usual.seed, usual.temperature) == (own.run.seed, own.decode.temperature)
    assert (usual.budget, usual.points) == (own.decode.max_new_tokens, own.control_points.M)
    limits = Limits(max_tokens=21, temperature=0.8, seed=own.run.seed + 5)
    chosen = Chosen(["esm"], online={"k_scale": 9.25})
    decider = levers.prepare("q", asked("Hello"), chosen, limits).text.decider
    assert (decider.budget, decider.temperature, decider.seed) == (21, 0.8, own.run.seed + 5)
    assert decider.online == own.online.model_copy(update={"k_scale": 9.25})
    cold = levers.prepare("q", asked("Hello"), PLAIN, Limits(temperature=0.0, seed=0)).text.decider
    assert (cold.temperature, cold.seed, cold.points, cold.processor) == (0.0, 0, 0, None)
    prompt, context = levers.prepare("q", asked("Hello"), PLAIN).text.prompt, levers.model.info.context
    long = levers.prepare("q", asked("Hello"), PLAIN, Limits(max_tokens=10**6)).text.decider
    assert long.budget == context - 1 - len(prompt) > 0


def test_a_nucleus_bounds_what_is_drawn_and_nothing_else(levers: Levers) -> None:
    def committing(temperature: float, top_p: float) -> object:
        limits = Limits(temperature=temperature, top_p=top_p)
        return levers.prepare("q", asked("Hello"), PLAIN, limits).text.decider.committing

    assert committing(0.8, 0.5) == Nucleus(None, 0.8, 0.5)
    assert committing(0.8, 1.0) is None and committing(0.0, 0.5) is None


def test_the_first_of_several_stops_ends_a_text(levers: Levers) -> None:
    text = levers.prepare("q", asked("Hello"), PLAIN, Limits(stops=("de", "c", "x"))).text
    text.answer.text = "abcdef"
    assert text.text == "ab" and text.stopped
    text.answer.text = "ab"
    assert text.text == "ab" and not text.stopped
