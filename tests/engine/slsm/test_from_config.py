"""What each configuration has a run made of: conversations, controller, model and judge."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.config.run import RunSection
from engine.errors import ConfigError
from engine.slsm import layout
from engine.slsm.chat_model import LocalChatModel, OpenAIChatModel
from engine.slsm.controllers.detection import CheckedController
from engine.slsm.controllers.openai_controller import OpenAIController
from engine.slsm.controllers.rule_controller import RuleController
from engine.slsm.from_config import make_chat_model, make_controller, make_dialogues, make_judge
from engine.slsm.judges.judge import ExactAnswerJudge
from engine.slsm.judges.openai_judge import OpenAIAnswerJudge
from engine.tasks.generated.dialogues.records import multichallenge_jsonl
from tests.engine.slsm.small_run import small_config, small_context
from tests.exactly import exactly


class Context(SimpleNamespace):
    """A stage's context that notes for which role a server is asked, and what model is loaded."""

    def __init__(self, **slsm: Any) -> None:
        super().__init__(config=small_config(**slsm), asked=[], loaded=[])

    def client(self, section: Any, role: str, where: str) -> Any:
        self.asked.append((section.model, role, where))
        return SimpleNamespace()

    def load_model(self, section: Any) -> Any:
        self.loaded.append(section)
        return SimpleNamespace(info=SimpleNamespace(name="local"))


class Own:
    """A role of the user's own."""

    name = "own"

    def update(self, *given: Any) -> Any: ...

    def detect(self, *given: Any) -> Any: ...

    def judge(self, *given: Any) -> Any: ...


OWN = f"{__name__}:Own"


@pytest.mark.parametrize(("conversations", "made"), [(3, 3), (None, 240), (243, 243)])
def test_generated_conversations_are_written_once_and_read(
    tmp_path: Path, conversations: int | None, made: int
) -> None:
    context = small_context(tmp_path, [], data={"conversations": conversations})
    dialogues = make_dialogues(context)
    assert len(dialogues.conversations) == made
    text = multichallenge_jsonl(made, 0)
    assert layout.dialogues(tmp_path).read_bytes() == text
    layout.dialogues(tmp_path).write_text("of the user's own\n")
    assert make_dialogues(context) == dialogues
    assert layout.dialogues(tmp_path).read_text() == "of the user's own\n"


def test_generated_conversations_belong_to_the_run_s_seed(tmp_path: Path) -> None:
    context = small_context(tmp_path, [], data={"conversations": 3})
    context.config = context.config.model_copy(update={"run": RunSection(seed=4)})
    dialogues = make_dialogues(context)
    assert layout.dialogues(tmp_path).read_bytes() == multichallenge_jsonl(3, 4) != multichallenge_jsonl(3, 0)
    assert (dialogues.name, dialogues.left_out) == ("generated", 0)
    assert list(dialogues.criteria) == [one.id for one in dialogues.conversations]


@pytest.mark.parametrize(("detector", "ask"), [("controller", None), ("checks", False), ("both", True)])
@pytest.mark.parametrize(
    ("controller", "kind", "asked"),
    [
        ({"kind": "rules"}, RuleController, []),
        ({"kind": OWN}, Own, []),
        (
            {"kind": "openai", "openai": {"model": "m"}},
            OpenAIController,
            [("m", "controller", "slsm.controller.openai")],
        ),
    ],
)
def test_a_controller_and_what_finds_its_conflicts(
    detector: str, ask: bool | None, controller: dict[str, Any], kind: type[Any], asked: list[Any]
) -> None:
    context: Any = Context(controller=controller, detector=detector)
    made: Any = make_controller(context)
    if ask is None:
        assert isinstance(made, kind)
    else:
        assert isinstance(made, CheckedController) and made._ask is ask
        assert isinstance(made._controller, kind)
    assert context.asked == asked


@pytest.mark.parametrize(
    ("judge", "kind", "asked"),
    [
        ({"kind": "exact"}, ExactAnswerJudge, []),
        ({"kind": "none"}, type(None), []),
        ({"kind": OWN}, Own, []),
        (
            {"kind": "openai", "openai": {"model": "m"}},
            OpenAIAnswerJudge,
            [("m", "judge", "slsm.judge.openai")],
        ),
    ],
)
def test_a_judge(judge: dict[str, Any], kind: type[Any], asked: list[Any]) -> None:
    context: Any = Context(judge=judge)
    assert isinstance(make_judge(context), kind) and context.asked == asked


@pytest.mark.parametrize(
    ("prompt", "strictly"), [("default", "very strictly"), ("multichallenge", "VERY STRICTLY")]
)
def test_the_authors_prompt_is_loud(prompt: str, strictly: str) -> None:
    context: Any = Context(judge={"kind": "openai", "prompt": prompt})
    made: Any = make_judge(context)
    assert made._strictly == strictly


def test_a_local_model_is_that_of_the_section_with_its_limits() -> None:
    context: Any = Context(model={"path": "dialogues"}, max_new_tokens=77, temperature=0.25)
    made = make_chat_model(context)
    assert isinstance(made, LocalChatModel) and made.name == "local"
    assert context.loaded == [context.config.slsm.model] and not context.asked
    assert (made._sampling.max_tokens, made._sampling.temperature) == (77, 0.25)


def test_a_model_behind_a_server_has_the_limits_of_the_section_and_as_many_requests_at_once() -> None:
    answers = {"kind": "openai", "openai": {"model": "m"}}
    context: Any = Context(answers=answers, max_new_tokens=77, temperature=0.25, concurrency=3)
    asked: list[Any] = []
    context.client = lambda section, role, where: asked.append(section)
    made = make_chat_model(context)
    assert isinstance(made, OpenAIChatModel) and (made.name, made._concurrency) == ("m", 3)
    assert [(one.max_tokens, one.temperature) for one in asked] == [(77, 0.25)]


def test_a_file_of_answers_is_for_its_own_questions_alone() -> None:
    context: Any = Context(answers={"kind": "file", "path": "x"}, compare=["baseline"])
    said = (
        "slsm.answers.kind: found file, which answers its own questions alone, expected local or openai "
        "(configuration): correct this value"
    )
    with pytest.raises(ConfigError, match=exactly(said)):
        make_chat_model(context)
