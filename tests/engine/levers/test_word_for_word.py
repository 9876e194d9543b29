"""What levers say of a prompt, a run and themselves, without a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.config.config import Config
from engine.config.models.model import ModelSection
from engine.errors import DataError, wrong_value
from engine.events import LeverFit
from engine.evolution import layout as evolution_layout
from engine.levers import deltas_lever, esm_lever, evidence_lever, load
from engine.levers.deltas_lever import DeltasLever
from engine.levers.esm_lever import EsmLever
from engine.levers.evaluated_prompt import PromptUsed
from engine.levers.evidence_lever import EvidenceLever
from engine.levers.lever import Edited, LeverDid, last_user, with_last
from engine.levers.levers import PLAIN, Chosen, Levers, Limits, PromptTooLong
from engine.levers.token_logprobs import Nucleus
from tests.exactly import exactly


def levers(**more: Any) -> Levers:
    tokenizer = SimpleNamespace(
        encode=lambda text: list(range(len(text))), pieces=lambda tokens: [f"<{token}>" for token in tokens],
        encode_messages=lambda messages: list(range(sum(len(one["content"]) for one in messages))),
    )  # fmt: skip
    info = SimpleNamespace(name="org/tiny", context=10, vocab_size=20)
    fits = [
        LeverFit(lever="esm", run="r", fits=False, why="no memory"),
        LeverFit(lever="notes", run="r", fits=True, why=""),
        LeverFit(lever="evidence", run="r", fits=True, why=""), LeverFit(lever="deltas", run="r", fits=True, why=""),
    ]  # fmt: skip
    model: Any = SimpleNamespace(tokenizer=tokenizer, info=info, **more)
    return Levers(model, Config(), fits)


def test_what_a_model_and_its_levers_are_called() -> None:
    one = levers()
    assert (one.model_name, one.names, one.count_tokens("abc")) == (
        "org/tiny",
        ["notes", "evidence", "deltas"],
        3,
    )
    info: Any = one.model.info
    info.name = "/models/tiny"
    assert one.model_name == "tiny"
    for lever, why in (("esm", "no memory"), ("other", "there is no such lever")):
        words = (
            f"the lever {lever} is not there: {why} (steer.{lever}): choose among: notes, evidence, deltas"
        )
        with pytest.raises(DataError, match=exactly(words)):
            one._check(Chosen([lever]))
    none = Levers(one.model, one.config, [])
    with pytest.raises(
        DataError,
        match=exactly("the lever esm is not there: there is no such lever (steer.esm): choose among: none"),
    ):
        none._check(Chosen(["esm"]))


def test_prompts_that_leave_no_room() -> None:
    one = levers()
    assert [one._room([1] * length) for length in (1, 8)] == [8, 1]
    with pytest.raises(
        PromptTooLong,
        match=exactly(
            "the prompt has 9 tokens, this model's maximum context length is 10, of which a prompt may have 8: "
            "shorten the prompt"
        ),
    ):
        one._room([1] * 9)
    with pytest.raises(DataError, match=exactly("the prompt is empty: give a text to go on with")):
        one._room([])
    info: Any = one.model.info
    info.context = 0
    assert one._room([1] * 99) is None
    with pytest.raises(
        DataError, match=exactly("there is no token 20 (prompt): give token ids from 0 to 19")
    ):
        one._known([3, 20])
    assert one._known((0, 19)) == [0, 19]


def test_a_plain_text_is_gone_on_with() -> None:
    one = levers()
    ready = one.prepare_text(
        "n", "abc", Chosen(["notes"]), Limits(echo=True, stops=("x",), max_tokens=4, temperature=0.5, seed=9)
    )
    none = "a plain text is no conversation: nothing is added to it"
    assert ready.did == [LeverDid(lever="notes", acted=False, what=none)]
    assert ready.prompt == PromptUsed(False, why="as sent: a plain text is gone on with")
    text, decider = ready.text, ready.text.decider
    assert (text.echo, text.prompt, text.name, text.stops) == ("abc", [0, 1, 2], "n", ("x",))
    assert (decider.budget, decider.temperature, decider.seed, decider.points) == (4, 0.5, 9, 0)
    both = one.prepare_text("n", [5, 6], Chosen(["evidence", "notes"]), Limits(echo=True))
    assert [did.lever for did in both.did] == ["evidence", "notes"] and both.text.echo == "<5><6>"
    assert both.text.decider.budget == 7, "what the context leaves"
    held: Any = SimpleNamespace(processor=None, did=lambda: "added")
    first = replace(one, deltas=held).prepare_text("n", "abc", Chosen(["notes", "deltas"])).did
    assert first == ["added", *ready.did], "what acts on the model comes first"
    sent = one.prepare("n", [{"role": "user", "content": "Hi"}], Chosen([]))
    assert sent.prompt == PromptUsed(False, None, None, "as sent: no run here evaluated a task")
    assert sent.text.prompt == [0, 1] and sent.did == [] and sent.again is None


def test_a_question_is_asked_as_the_run_asked_unless_the_request_wants_otherwise() -> None:
    used = PromptUsed(True, "Q: {question}", None)
    prompt: Any = SimpleNamespace(
        applied=lambda messages: ([{"role": "user", "content": "Q: " + messages[0]["content"]}], used)
    )
    one, talk = replace(levers(), prompt=prompt), [{"role": "user", "content": "Hi"}]
    asked = one.prepare("q", talk, Chosen([]))
    assert (len(asked.text.prompt), asked.prompt) == (5, used)
    sent = one.prepare("q", talk, Chosen([], prompt=False))
    assert len(sent.text.prompt) == 2
    assert sent.prompt == PromptUsed(False, None, None, "as sent: the request wants it so")
    nothing = LeverDid(lever="evidence", acted=False, what="")
    held: Any = SimpleNamespace(add=lambda messages, count_tokens: Edited(messages, nothing))
    left = replace(one, evidence=held).prepare("q", talk, Chosen(["evidence"]))
    assert (len(left.text.prompt), left.prompt, left.did) == (5, used, [nothing])


def test_a_lever_that_is_there_acts_only_where_it_is_chosen() -> None:
    """The notes read the conversation as it came; what evidence has added stands before the note."""
    one, calls = levers(), list[tuple[Any, ...]]()
    talk = [{"role": "user", "content": "Hi"}]

    def edited(name: str, acted: bool = True) -> Any:
        def edit(messages: Any, *rest: Any) -> Edited:
            calls.append((name, messages, *rest[:-1]))
            longer = [{"role": "user", "content": messages[-1]["content"] + name}]
            return Edited(longer if acted else messages, LeverDid(lever=name, acted=acted, what=""))

        return edit

    notes = SimpleNamespace(
        read=lambda messages: ("read", messages), add=edited("n"), after=edited("a"), run_mode="always"
    )
    one = replace(one, notes=notes, evidence=SimpleNamespace(add=edited("e")))  # type: ignore[arg-type]
    plain = one.prepare("q", talk, Chosen([]))
    assert (calls, plain.did, plain.again, plain.text.prompt) == ([], [], None, [0, 1])
    ready = one.prepare("q", talk, Chosen(["notes"]))
    assert calls == [("n", talk, ("read", talk), "always")] and ready.again is None
    assert ([did.lever for did in ready.did], len(ready.text.prompt)) == (["n"], 3)
    calls.clear()
    both = one.prepare("q", talk, Chosen(["notes", "evidence"], notes="on_risk"))
    sent = [{"role": "user", "content": "Hie"}]
    assert calls == [("e", talk), ("n", sent, ("read", talk), "on_risk")]
    assert ([did.lever for did in both.did], len(both.text.prompt)) == (["e", "n"], 4)
    assert both.prompt == PromptUsed(True, None, "evidence", "the question stands behind its evidence")
    calls.clear()
    later = one.prepare("q", talk, Chosen(["notes", "evidence"], notes="on_detection"))
    assert ([did.lever for did in later.did], len(later.text.prompt)) == (["e"], 3)
    assert later.again is not None and calls == [("e", talk)]
    second: Any = later.again("an answer")
    assert calls[1:] == [("a", sent, ("read", talk), "an answer")]
    assert ([did.lever for did in second.did], len(second.text.prompt), second.again) == (["e", "a"], 4, None)
    found = LeverDid(lever="notes", acted=False, what="no conflict")
    notes.after = lambda *_: found
    assert later.again("an answer") is found
    idle = replace(one, evidence=SimpleNamespace(add=edited("e", acted=False)))  # type: ignore[arg-type]
    left = idle.prepare("q", talk, Chosen(["evidence"]))
    assert (left.text.prompt, left.prompt) == ([0, 1], plain.prompt)


def test_messages_that_hold_a_question() -> None:
    talk = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    assert last_user(talk) == "c" and with_last(talk, "d") == [*talk[:2], {"role": "user", "content": "d"}]
    assert talk[2]["content"] == "c"
    words = "the last message is not the user's (messages): end with what is to be answered"
    for wrong in ([], talk[:2]):
        with pytest.raises(DataError, match=exactly(words)):
            last_user(wrong)


def test_what_a_run_has_of_each_lever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = SimpleNamespace(about="all of it")

    def lacks(*_: object) -> None:
        raise DataError(what="no memory", where="x", hint="run the stage `memory`")

    monkeypatch.setattr(load, "EsmLever", lacks)
    monkeypatch.setattr(load, "DeltasLever", lambda *_: held)
    monkeypatch.setattr(load, "EvidenceLever", lambda *_: held)
    nobody: Any = None
    begun = Levers(SimpleNamespace(info=None), Config(), [], evidence=held)  # type: ignore[arg-type]
    found = load._with_run(begun, tmp_path, Config(), nobody, nobody)
    told = [(fit.lever, fit.fits, fit.why, fit.run) for fit in found.fits]
    run = str(tmp_path)
    assert told == [
        ("esm", False, "no memory: run the stage `memory`", run), ("deltas", True, "all of it", run),
        ("notes", False, "no conversation memory: run the stage `slsm` of this run, in a mode that keeps one", run),
        ("evidence", False, "another run's comes first", run),
        ("demonstrations", False, "no demonstration pool", run),
    ]  # fmt: skip
    assert (found.esm, found.deltas, found.prompt) == (None, held, None)
    (tmp_path / "pool").mkdir()
    again = load._with_run(begun, tmp_path, Config(), nobody, nobody)
    pictures = (
        "its demonstrations are found by an embedding in the pool's table; a text that is asked has none"
    )
    assert (again.fits[-1].fits, again.fits[-1].why) == (False, pictures)


@pytest.mark.parametrize(
    ("questions", "known", "asked"),
    [("task", None, "of the task"), ("task", "of the memory", "of the memory"), ("statements", None, None)],
)
def test_deltas_evolved_on_a_task_bring_its_prompt_where_none_is_known(
    questions: str, known: Any, asked: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacks(*_: object) -> None:
        raise DataError(what="no memory", hint="")

    monkeypatch.setattr(load, "EsmLever", lacks)
    monkeypatch.setattr(load, "DeltasLever", lambda *_: SimpleNamespace())
    monkeypatch.setattr(load, "EvaluatedPrompt", SimpleNamespace(of=lambda config: "of the task"))
    config: Any = SimpleNamespace(evolution=SimpleNamespace(questions=questions), answer=None)
    model: Any = SimpleNamespace(info=None)
    nobody: Any = None
    found = load._with_run(Levers(model, Config(), [], prompt=known), tmp_path, config, nobody, nobody)
    assert found.prompt == asked and found.fits[0].why == "no memory"


def test_limits_of_0_are_limits_and_those_not_given_are_the_run_s() -> None:
    settings = {"decode": {"max_new_tokens": 70, "temperature": 0.7}, "run": {"seed": 5}}
    one = replace(levers(), config=Config.model_validate(settings))

    def decided(**limits: Any) -> Any:
        return one._decider(Chosen([]), Limits(**limits), None)

    for limits, figures in (
        ({}, (70, 0.7, 5)),
        ({"max_tokens": 0, "temperature": 0.0, "seed": 0}, (0, 0.0, 0)),
        ({"max_tokens": 9, "temperature": 0.1, "seed": 3}, (9, 0.1, 3)),
    ):
        found = decided(**limits)
        assert (found.budget, found.temperature, found.seed) == figures
    own = Config.model_validate({"decode": {"max_new_tokens": 80}, "run": {"seed": 6}})
    memory: Any = SimpleNamespace(config=own, variant=lambda online: PLAIN)
    found = replace(one, esm=memory)._decider(Chosen(["esm"]), Limits(), None)
    assert (found.budget, found.temperature, found.seed) == (80, 0.0, 6), "those of the memory's own run"
    assert decided(top_p=0.5).committing == Nucleus(None, 0.7, 0.5)
    assert decided(top_p=1.0).committing is None, "all tokens are the nucleus"
    assert decided(top_p=0.5, temperature=0.0).committing is None, "nothing is drawn"


def test_a_run_whose_deltas_do_not_act_brings_no_prompt_and_one_that_cannot_be_used_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run's deltas come first; the controller of this one lacks its key."""

    def lacks(*_: object) -> None:
        raise DataError(what="none", hint="")

    def no_key(*_: object) -> None:
        raise wrong_value("slsm.controller.openai.api_key_env", "KEY", "a key in it")

    for name in ("EsmLever", "EvidenceLever"):
        monkeypatch.setattr(load, name, lacks)
    monkeypatch.setattr(load, "_notes", no_key)
    monkeypatch.setattr(load, "EvaluatedPrompt", SimpleNamespace(of=lambda config: "of the task"))
    config: Any = SimpleNamespace(evolution=SimpleNamespace(questions="task"))
    model: Any = SimpleNamespace(info=None)
    nobody: Any = None
    first: Any = SimpleNamespace()
    found = load._with_run(Levers(model, Config(), [], deltas=first), tmp_path, config, nobody, nobody)
    assert found.deltas is first and found.prompt is None and found.notes is None
    (notes,) = (fit for fit in found.fits if fit.lever == "notes")
    assert not notes.fits and "slsm.controller.openai.api_key_env" in notes.why and "a key in it" in notes.why


def test_levers_say_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [SimpleNamespace(vector=1), SimpleNamespace(vector=None), SimpleNamespace(vector=2)]
    kept = SimpleNamespace(entries=entries, layers=(2, 5))
    monkeypatch.setattr(esm_lever, "EpisodicMemory", SimpleNamespace(load=lambda *_: kept))
    nobody: Any = None
    assert EsmLever(tmp_path, nobody, nobody).about == "a memory of 3 entries, 2 with a vector, at layer 2, 5"
    place = evolution_layout.deltas_best(tmp_path)
    lacking = f"no evolved deltas ({place}): run the stages `clusters` and `evolve` of this run"
    with pytest.raises(DataError, match=exactly(lacking)):
        DeltasLever(tmp_path, nobody)
    place.parent.mkdir(parents=True)
    place.write_text("{}")
    clusters = SimpleNamespace(
        vocabulary="a", vocab_size=7, names=["0", "1", "2"], count=3, ids=np.array([0, 1, 2], np.uint8)
    )
    monkeypatch.setattr(deltas_lever, "load_cluster_map", lambda folder: clusters)
    monkeypatch.setattr(deltas_lever, "load_vocabulary", lambda section: SimpleNamespace(fingerprint="b"))
    other = f"the deltas are for another vocabulary, of 7 tokens ({place}): evolve deltas with this model"
    with pytest.raises(DataError, match=exactly(other)):
        DeltasLever(tmp_path, nobody)
    clusters.vocabulary = "b"
    place.write_text('{"0": 0, "1": -2, "2": 0.5}')
    lever = DeltasLever(tmp_path, nobody)
    assert (lever.about, lever.changed) == ("deltas of 2 of 3 clusters", 2)
    assert lever.did().what == "added to the logits, by cluster: 1: -2, 2: +0.5"
    with pytest.raises(
        DataError, match=exactly("no sampled paths (…/paths.jsonl): run the stage `gflownet` of this run")
    ):
        EvidenceLever(tmp_path, Config())
    assert evidence_lever.EVIDENCE == "evidence"


def test_a_text_s_tokens_are_noted_only_where_that_is_asked() -> None:
    one = levers()
    under: Any = lambda written, logits: logits  # noqa: E731
    held: Any = SimpleNamespace(processor=under, did=lambda: "added")
    one = replace(one, deltas=held)
    none = one.prepare_text("n", "abc", Chosen([])).text
    assert none.echo == "", "the prompt is not asked for"
    assert (none.recorder, none.decider.committing, none.decider.processor) == (None, None, None)
    for chosen, processor in ((Chosen([]), None), (Chosen(["deltas"]), under)):
        ready = one.prepare_text("n", "abc", chosen, Limits(logprobs=0, temperature=0.5, top_p=0.9))
        text, recorder = ready.text, ready.text.recorder
        assert recorder is not None and text.decider.committing is recorder
        assert (recorder._top, recorder._under, text.decider.processor) == (0, processor, processor)
        assert recorder._drawn == Nucleus(processor, 0.5, 0.9)
        assert ready.did == (["added"] if processor else [])
    assert (
        one.prepare_text("n", "abc", Chosen([]), Limits(top_p=0.9, temperature=0.0)).text.decider.committing
        is None
    )


def test_an_answer_ends_before_its_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tokens are those that make up its text; of each of them there is a probability."""
    one = levers()
    letters: Any = one.model.tokenizer
    letters.decode = lambda tokens: "".join(map(chr, tokens))
    ready = one.prepare_text("n", "abc", Chosen(["notes"]), Limits(stops=("##",), echo=True, logprobs=1))
    text = ready.text
    text.answer.tokens, text.answer.text, text.finish = (
        [*map(ord, "so# it is## not")],
        "so# it is## not",
        "stop",
    )
    offsets: list[int] = []
    recorder: Any = SimpleNamespace(
        prompt=["p"], answer=lambda prompt, begun, offset: offsets.append(offset) or [*"so# it is## not"]
    )
    text.recorder = recorder
    found = one.answered(ready)
    assert (found.text, found.finish, found.prompt_tokens) == ("abcso# it is", "stop", 3)
    assert "".join(map(chr, found.tokens)) == "so# it is" and found.scored == ["p", *"so# it is"]
    assert offsets == [3], "behind the prompt"
    assert (found.decisions, found.did, found.prompt) == ([], ready.did, ready.prompt)
    seen = LeverDid(lever="notes", acted=False, what="no conflict")
    assert one.answered(ready, seen).did == [*ready.did, seen]
    text.stops = ("so",)
    assert (one.answered(ready).text, one.answered(ready).tokens) == ("abc", [])
    text.recorder, text.stops = None, ()
    found = one.answered(ready)
    assert (found.text, len(found.tokens), found.scored) == ("abcso# it is## not", 15, None)


def test_the_model_is_the_one_that_is_named_or_the_first_run_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several runs, each is looked at with the same model; its own configuration is the first one's."""
    runs = [tmp_path / name for name in ("one", "two")]
    for run, path in zip(runs, ("statements", "arithmetic"), strict=True):
        run.mkdir()
        (run / "config.yaml").write_text(f"model: {{path: {path}}}\n")
    known: Any = object()
    loaded: list[str | None] = []
    looked: list[tuple[Path, str | None, str | None]] = []

    def load_model(section: Any) -> Any:
        loaded.append(section.path)
        return SimpleNamespace(info=None)

    def with_run(levers: Levers, run: Path, config: Config, section: Any, servers: Any) -> Levers:
        looked.append((run, config.model.path, section.path))
        assert servers is known
        return levers

    monkeypatch.setattr(load, "_with_run", with_run)
    for section, path in ((None, "statements"), (ModelSection(path="other"), "other")):
        looked.clear()
        found = load.load_levers(runs, section, load_model, known)
        assert loaded[-1] == path and found.config.model.path == "statements"
        assert looked == [(runs[0], "statements", path), (runs[1], "arithmetic", path)]


@pytest.mark.parametrize(
    ("held", "known", "asked"),
    [
        (None, None, "of this run"),
        (None, "of the deltas", "of this run"),
        ("memory", "of the memory", "of the memory"),
    ],
)
def test_the_memory_that_acts_brings_its_prompt(
    held: Any, known: Any, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacks(*_: object) -> None:
        raise DataError(what="none", hint="")

    monkeypatch.setattr(load, "EsmLever", lambda *_: SimpleNamespace())
    monkeypatch.setattr(load, "DeltasLever", lacks)
    monkeypatch.setattr(load, "EvaluatedPrompt", SimpleNamespace(of=lambda config: "of this run"))
    model: Any = SimpleNamespace(info=None)
    nobody: Any = None
    begun = Levers(model, Config(), [], esm=held, prompt=known)
    assert load._with_run(begun, tmp_path, Config(), nobody, nobody).prompt == asked


def test_a_controller_s_server_is_known_to_all_levers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notes need the stage's folder, and a mode in which a controller keeps them."""
    seen: list[Any] = []
    controller = SimpleNamespace(name="rules")
    monkeypatch.setattr(load, "make_controller", lambda context: seen.append(context) or controller)
    known: Any = object()
    (tmp_path / "slsm").mkdir()
    notes = load._notes(tmp_path, Config(), known)
    (context,) = seen
    assert (context.stage, context.run_dir, context.servers) == ("slsm", tmp_path, known)
    assert notes._controller is controller and notes.about == "notes of the controller rules, structured"
    kept_nowhere = Config.model_validate({"slsm": {"disable_controller": True}})
    lacking = (
        f"no conversation memory ({tmp_path}): run the stage `slsm` of this run, in a mode that keeps one"
    )
    with pytest.raises(DataError, match=exactly(lacking)):
        load._notes(tmp_path, kept_nowhere, known)


@pytest.mark.parametrize("role", ["system", "assistant"])
def test_the_last_message_is_the_users(role: str) -> None:
    assert last_user([{"role": role, "content": "x"}, {"role": "user", "content": "Who?"}]) == "Who?"
    for messages in ([], [{"role": "user", "content": "Who?"}, {"role": role, "content": "x"}]):
        with pytest.raises(DataError, match="the last message is not the user's"):
            last_user(messages)
