"""Judge, reflector and server as the configuration names them."""

from __future__ import annotations

from engine.custom_class import is_custom, make_custom
from engine.events import ServerChanged
from engine.evolution import layout
from engine.evolution.judges.judge import Judge
from engine.evolution.judges.offline import offline_judge
from engine.evolution.processor import load_logits_processor, sglang_processor_string
from engine.evolution.reflectors.prompt import read_prompts
from engine.evolution.reflectors.reflector import Reflector
from engine.evolution.reflectors.statistical_reflector import StatisticalReflector
from engine.lm.loading.load import model_path
from engine.lm.model_server import InProcessServer, ModelServer
from engine.lm.sglang.server import SGLangServer
from engine.lm.vocabulary import load_vocabulary
from engine.run.stage import StageContext

UNSEEDED = (
    "SGLang draws from the seeds of the run only with --enable-deterministic-inference in evolution.server.command: "
    "without it, another run samples other answers"
)


def make_judge(context: StageContext) -> Judge:
    """The configured judge. Raises ConfigError for an API key that is missing."""
    judge = offline_judge(context.config)
    if judge is not None:
        return judge
    from engine.evolution.judges.openai_judge import OpenAIJudge

    section = context.config.evolution.judge
    client = context.client(section.openai, "judge", "evolution.judge.openai")
    return OpenAIJudge(client, section.openai.model, section.tolerance)


def make_reflector(context: StageContext) -> Reflector:
    """The configured reflector. Raises ConfigError for an API key that is missing."""
    section = context.config.evolution.reflector
    if section.kind == "openai":
        from engine.evolution.reflectors.openai_reflector import OpenAIReflector

        client = context.client(section.openai, "reflector", "evolution.reflector.openai")
        return OpenAIReflector(client, section.openai.model, read_prompts(section).system)
    if is_custom(section.kind):
        return make_custom(section.kind, "evolution.reflector.kind", Reflector)
    return StatisticalReflector(section.step, section.limit)


def make_server(context: StageContext) -> ModelServer:
    """The configured server, not started yet. Raises ConfigError for a command that others could reach."""
    config = context.config
    section = config.evolution.server
    if section.kind == "in_process":
        return InProcessServer(lambda: context.load_model(config.evolution_model), load_logits_processor)
    context.unload_models()  # the device is the server's
    log = layout.server_log(context.run_dir)
    model, _ = model_path(config.evolution_model)
    tokenizer = load_vocabulary(config.evolution_model).tokenizer

    def announce(state: str) -> None:
        context.emit(ServerChanged(state=state, server=server.name, log=server.log_tail()))

    evolution = config.evolution
    keys = [evolution.judge.openai.api_key_env, evolution.reflector.openai.api_key_env]
    server = SGLangServer(section, model, tokenizer, sglang_processor_string, log, announce, hidden=keys)
    if evolution.temperature > 0 and not server.draws_by_seed:
        context.notice(UNSEEDED, level="warning")
    return server
