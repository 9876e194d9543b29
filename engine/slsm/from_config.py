"""Conversations, controller, model and judge as the configuration names them."""

from __future__ import annotations

from engine.files import write_atomic
from engine.run.stage import StageContext
from engine.slsm import layout
from engine.slsm.chat_model import ChatModel, LocalChatModel, OpenAIChatModel
from engine.slsm.controllers.controller import Controller
from engine.slsm.controllers.openai_controller import OpenAIController
from engine.slsm.controllers.rule_controller import RuleController
from engine.slsm.judges.judge import ExactJudge, Judge
from engine.slsm.judges.openai_judge import OpenAIJudge
from engine.slsm.multichallenge import Dialogues, dialogues_file, parse_dialogues, read_dialogues
from engine.tasks.generated.dialogues.records import multichallenge_jsonl


def make_dialogues(context: StageContext) -> Dialogues:
    """From the file that is named; else generated, and written into the run."""
    data = context.config.slsm.data
    if data.path is not None:
        return read_dialogues(dialogues_file(data.path), data.conversations)
    text = multichallenge_jsonl(data.conversations, context.config.run.seed)
    path = layout.dialogues(context.run_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, text)
    return parse_dialogues(text, str(path), "generated", data.conversations)


def make_controller(context: StageContext) -> Controller:
    """Raises ConfigError for a key that is not there."""
    section = context.config.slsm.controller
    if section.kind == "openai":
        client = context.client(section.openai, "controller", "slsm.controller.openai")
        return OpenAIController(client, section.openai.model)
    return RuleController()


def make_chat_model(context: StageContext) -> ChatModel:
    """Raises ModelError and ConfigError."""
    section = context.config.slsm
    if section.answers.kind == "openai":
        limits = {"max_tokens": section.max_new_tokens, "temperature": min(section.temperature, 2.0)}
        openai = section.answers.openai.model_copy(update=limits)
        client = context.client(openai, "model", "slsm.answers.openai")
        return OpenAIChatModel(client, openai.model, section.concurrency)
    model = context.load_model(context.config.slsm_model)
    return LocalChatModel(model, section.max_new_tokens, section.temperature)


def make_judge(context: StageContext) -> Judge | None:
    """None where nothing is to be scored."""
    section = context.config.slsm.judge
    if section.kind == "openai":
        client = context.client(section.openai, "judge", "slsm.judge.openai")
        return OpenAIJudge(client, section.openai.model)
    return ExactJudge() if section.kind == "exact" else None
