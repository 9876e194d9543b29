"""The process that answers "what if", one line in and one line out, whatever the method."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from engine.config.config import Config
from engine.config.section import Section
from engine.errors import DataError
from engine.events import AnswerTried, LeverActed, LeversTried, OtherAnswer
from engine.levers.evaluated_prompt import PromptUsed
from engine.levers.lever import LeverDid
from engine.levers.levers import SteeredAnswer
from engine.services import all_levers, what_if
from tests.two_runs import make_run


class Form(Section):
    """What can be asked."""

    say: str = ""


class Echo:
    """Answers with what was said."""

    stage, form = "eval", Form

    def __init__(self, context: object) -> None:
        pass

    def tried(self, asked: Form) -> LeversTried:
        return LeversTried(question=asked.say, model="m", fits=[], answers=[])


def test_a_reply_is_an_event_of_its_methods_stage_and_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_if, "kind_of", lambda system: Echo)
    monkeypatch.setattr(what_if, "run_context", lambda run_dir, stage: None)
    monkeypatch.setattr(what_if, "time", SimpleNamespace(time=lambda: 12.5))
    (tmp_path / "esm").mkdir()
    reply = what_if.OpenWhatIfs(tmp_path).reply('{"say": "why?"}')
    told: dict[str, Any] = json.loads(reply)
    assert (told["stage"], told["time"], told["question"]) == ("eval", 12.5, "why?")
    assert [json.loads(line) for line in (tmp_path / "esm/what_if.jsonl").read_text().splitlines()] == [told]


@pytest.mark.parametrize(
    ("system", "stage"),
    [("esm", "eval"), ("evolution", "evolve"), ("gflownet", "gflownet"), ("slsm", "slsm"), ("pool", "pool")],
)
def test_each_method_answers_about_results_of_its_own_stage(system: str, stage: str) -> None:
    kind = what_if.kind_of(system)
    assert kind.__module__ == f"engine.{system}.what_if" and kind.stage == stage


def test_other_packages_answer_for_what_they_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the place of a method that is included."""
    monkeypatch.setattr(
        what_if, "plugins", lambda group: {"pace": Echo, "esm": Echo} if group == "what_ifs" else {}
    )
    assert what_if.kind_of("pace") is what_if.kind_of("esm") is Echo is not what_if.kind_of("pool")


def test_what_a_method_answers_with_is_loaded_at_its_first_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []

    class Counted(Echo):
        def __init__(self, context: object) -> None:
            made.append(context)

    monkeypatch.setattr(what_if, "kind_of", lambda system: Counted)
    monkeypatch.setattr(what_if, "run_context", lambda run_dir, stage: (run_dir, stage))
    tries = what_if.OpenWhatIfs(tmp_path)
    for system in ("esm", "pool", "esm"):
        (tmp_path / system).mkdir(exist_ok=True)
        tries.reply(json.dumps({"system": system}))
    assert made == [(tmp_path, "eval")] * 2, "one for each method"


def test_an_answer_that_differs_says_which_programs_are_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert what_if.OpenWhatIfs(tmp_path)._versions() == "", "a folder without record"
    run = make_run(tmp_path, "run", [], versions={"python": "3.11", "torch": "2.9"})
    monkeypatch.setattr(what_if, "versions", lambda: {"python": "3.11", "torch": "2.13", "vllm": "0.32"})
    assert what_if.OpenWhatIfs(run)._versions() == "; torch was 2.9, is 2.13"


@pytest.mark.parametrize(
    ("exact", "difference"), [(True, "as it was"), (False, "as it was; torch was 2.9, is 2.13")]
)
def test_only_what_may_differ_from_the_run_names_other_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exact: bool, difference: str
) -> None:
    class Differs(Echo):
        def tried(self, asked: Form) -> Any:
            given = OtherAnswer(given="", text="")
            return AnswerTried(
                system="esm", example="1", case={}, question="", committed=given, none=given, yours=[],
                exact=exact, difference="as it was",
            )  # fmt: skip

    monkeypatch.setattr(what_if, "kind_of", lambda system: Differs)
    monkeypatch.setattr(what_if, "run_context", lambda run_dir, stage: None)
    run = make_run(tmp_path, "run", [], versions={"torch": "2.9"})
    (run / "esm").mkdir(exist_ok=True)
    monkeypatch.setattr(what_if, "versions", lambda: {"torch": "2.13"})
    assert json.loads(what_if.OpenWhatIfs(run).reply("{}"))["difference"] == difference


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (line, "this is not a request; `system` is one of ")
        for line in ("{", "[]", "3", '{"system": "none"}', '{"system": 3}', '{"system": [1]}')
    ]
    + [('{"say": 3}', "this is not a request: say: Input should be a valid string")],
)
def test_what_is_no_request_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, said: str
) -> None:
    monkeypatch.setattr(what_if, "run_context", lambda run_dir, stage: None)
    if "say" in line:
        monkeypatch.setattr(what_if, "kind_of", lambda system: Echo)
    assert said in what_if.OpenWhatIfs(tmp_path).reply(line).decode()


def test_further_runs_whose_levers_are_tried_stand_beside_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs and model are loaded once for all their questions."""
    loaded: list[tuple[Any, ...]] = []
    monkeypatch.setattr(all_levers, "load_levers", lambda *given: loaded.append(given) or len(loaded))
    outputs = tmp_path / "outputs"
    for name in ("demo/1", "demo/2", "../away/3", "demo/empty"):
        (outputs / name).mkdir(parents=True)
    for name in ("demo/1", "demo/2", "../away/3"):
        (outputs / name / "config.yaml").touch()
    context: Any = SimpleNamespace(run_dir=outputs / "demo/1", config=Config())
    tries = all_levers.AllLevers(context)
    request = all_levers.LeversRequest(question="Q", runs=["demo/2"])
    assert [tries._levers(one) for one in (request, request, all_levers.LeversRequest(question="Q"))] == [
        1,
        1,
        2,
    ]
    assert [runs for runs, *_ in loaded] == [[outputs / "demo/1", outputs / "demo/2"], [outputs / "demo/1"]]
    for name in ("../away/3", "demo/empty", "demo/none", "/etc"):
        with pytest.raises(DataError) as caught:
            tries._levers(all_levers.LeversRequest(question="Q", runs=[name]))
        assert (caught.value.what, caught.value.where) == (f"{name} is not a run", str(outputs))
        assert caught.value.hint == "give a run's name and id, such as demo/20261122-165601-abb9"


@pytest.mark.parametrize(("letters", "runs", "fits"), [(20_000, 8, True), (20_001, 0, False), (1, 9, False)])
def test_a_question_of_levers_has_bounds(letters: int, runs: int, fits: bool) -> None:
    given = {"question": "x" * letters, "runs": ["demo/1"] * runs}
    if fits:
        assert len(all_levers.LeversRequest.model_validate(given).runs) == runs
        return
    with pytest.raises(ValidationError):
        all_levers.LeversRequest.model_validate(given)


def test_levers_are_tried_on_the_model_of_the_run_or_of_a_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(
        all_levers, "load_levers", lambda runs, section, load: loaded.append(section.path) or section.path
    )
    paths = {"run": "statements", "evolution": "arithmetic", "slsm": "dialogues"}
    sections = {name: {"model": {"path": path}} for name, path in paths.items()}
    config = Config.model_validate({**sections.pop("run"), **sections})
    context: Any = SimpleNamespace(run_dir=tmp_path, config=config)
    tries = all_levers.AllLevers(context)
    for name in [*paths, *paths]:
        request = all_levers.LeversRequest.model_validate({"question": "Q", "model": name})
        assert tries._levers(request) == paths[name]
    assert loaded == list(paths.values()), "each once"


@pytest.mark.parametrize(
    ("names", "choices"),
    [
        ([], [[]]),
        (["esm"], [[], ["esm"]]),
        (["esm", "notes"], [[], ["esm"], ["notes"], ["esm", "notes"]]),
    ],
)
def test_a_question_is_answered_plainly_with_each_lever_and_with_several_together(
    names: list[str], choices: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []

    def answered(levers: list[str]) -> SteeredAnswer:
        did = [LeverDid(lever=lever, acted=True, what="so", calls=3) for lever in levers]
        return SteeredAnswer("+".join(levers), [1] * len(levers), 9, "stop", did, [], PromptUsed(True))

    levers = SimpleNamespace(
        names=names, model_name="tiny", fits=[], answer=lambda prepared: [*map(answered, prepared)],
        prepare=lambda name, messages, chosen: asked.append((name, messages)) or chosen.levers,
    )  # fmt: skip
    context: Any = SimpleNamespace(run_dir=Path("run"), config=Config())
    tries = all_levers.AllLevers(context)
    monkeypatch.setattr(tries, "_levers", lambda request: levers)
    tried = tries.tried(all_levers.LeversRequest(question="Why?"))
    assert asked == [("question", [{"role": "user", "content": "Why?"}])] * len(choices)
    assert (tried.question, tried.model) == ("Why?", "tiny")
    with pytest.raises(ValidationError):
        all_levers.LeversRequest(question="")
    told = [(one.levers, one.text, one.tokens, one.prompt_tokens) for one in tried.answers]
    assert told == [(choice, "+".join(choice), len(choice), 9) for choice in choices]
    assert [one.effects for one in tried.answers] == [
        [LeverActed(lever=lever, acted=True, what="so") for lever in choice] for choice in choices
    ]
