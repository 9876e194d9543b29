"""Makes conversations, controller, model and judge as configured."""

from __future__ import annotations

from pathlib import Path

from engine.custom_class import is_custom, make_custom
from engine.errors import wrong_value
from engine.files import write_atomic
from engine.run.stage import StageContext
from engine.slsm import layout
from engine.slsm.chat_model import ChatModel, LocalChatModel, OpenAIChatModel
from engine.slsm.controllers.controller import MemoryController
from engine.slsm.controllers.detection import CheckedController
from engine.slsm.controllers.openai_controller import OpenAIController
from engine.slsm.controllers.rule_controller import RuleController
from engine.slsm.judges.judge import AnswerJudge, ExactAnswerJudge
from engine.slsm.judges.openai_judge import OpenAIAnswerJudge
from engine.slsm.multichallenge import Dialogues, dialogues_file, parse_dialogues, read_dialogues
from engine.slsm.published_answers import read_answers
from engine.tasks.generated.dialogues.records import multichallenge_jsonl

_GENERATED = 240
"""Conversations that are generated where no number is given."""


def make_dialogues(context: StageContext) -> Dialogues:
    """Conversations of the configured file; without a file, generated ones, which are written into the run."""
    data = context.config.slsm.data
    if data.path is not None:
        return read_dialogues(dialogues_file(data.path), data.conversations)
    most = data.conversations or _GENERATED
    text = multichallenge_jsonl(most, context.config.run.seed)
    path = layout.dialogues(context.run_dir)
    if not path.is_file():
        write_atomic(path, text)
    return parse_dialogues(text, str(path), "generated", most)


def make_controller(context: StageContext) -> MemoryController:
    """The configured controller, with its detector. Raises ConfigError, with both ways out, for a missing key."""
    controller = _controller(context)
    detector = context.config.slsm.detector
    return controller if detector == "controller" else CheckedController(controller, ask=detector == "both")


def _controller(context: StageContext) -> MemoryController:
    section = context.config.slsm.controller
    if is_custom(section.kind):
        return make_custom(section.kind, "slsm.controller.kind", MemoryController)
    if section.kind == "rules":
        return RuleController()
    client = context.client(section.openai, "controller", "slsm.controller.openai")
    return OpenAIController(client, section.openai.model)


def make_chat_model(context: StageContext, dialogues: Dialogues | None = None) -> ChatModel:
    """A local model, a server's, or a file's answers to `dialogues`. Raises ModelError, ConfigError and DataError."""
    section = context.config.slsm
    if section.answers.kind == "file":
        if dialogues is None:
            what = "file, which answers its own questions alone"
            raise wrong_value("slsm.answers.kind", what, "local or openai")
        return read_answers(Path(str(section.answers.path)).expanduser(), dialogues)
    if section.answers.kind == "openai":
        limits = {"max_tokens": section.answer_tokens, "temperature": section.temperature}
        openai = section.answers.openai.model_copy(update=limits)
        client = context.client(openai, "model", "slsm.answers.openai")
        return OpenAIChatModel(client, openai.model, section.concurrency)
    model = context.load_model(context.config.slsm_model)
    return LocalChatModel(model, section.answer_tokens, section.temperature)


def make_judge(context: StageContext) -> AnswerJudge | None:
    """The judge of the answers; None for no score."""
    section = context.config.slsm.judge
    if section.kind == "openai":
        client = context.client(section.openai, "judge", "slsm.judge.openai")
        return OpenAIAnswerJudge(client, section.openai.model, section.prompt == "multichallenge")
    if is_custom(section.kind):
        return make_custom(section.kind, "slsm.judge.kind", AnswerJudge)
    return ExactAnswerJudge() if section.kind == "exact" else None
