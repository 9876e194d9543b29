"""The servers that an evolution needs, looked for before it begins: what is missing is one error with both ways out."""

from __future__ import annotations

from collections.abc import Iterator

from engine.config.config import Config
from engine.config.models.openai import OFFLINE, OpenAISection
from engine.errors import ConfigError, Problem
from engine.lm.sglang.command import missing_program
from engine.servers.key import lacks_key


def check_services(config: Config) -> None:
    """Raises ConfigError where the judge's or the reflector's key, or the SGLang server's program, is not there."""
    problems = list(missing_services(config))
    if problems:
        raise ConfigError(problems)


def missing_services(config: Config) -> Iterator[Problem]:
    """A problem for each key or program that is missing: what to provide, or the setting that does without."""
    section = config.evolution
    if section.judge_kind == "openai":
        yield from _key("evolution.judge.openai", section.judge.openai)
    if section.reflector.kind == "openai":
        yield from _key("evolution.reflector.openai", section.reflector.openai)
    if section.server.kind == "sglang" and (missing := missing_program(section.server)):
        allowed = (
            "an SGLang server: install it and name its Python in the command; or `evolution.server.kind: in_process`, "
            "the model in the worker, without a server"
        )
        yield Problem("evolution.server.command", f"{missing} is not installed", allowed)


def _key(where: str, section: OpenAISection) -> Iterator[Problem]:
    if lacks_key(section.api_key_env, section.base_url):
        allowed = (
            "this environment variable set to a key, or the `base_url` of a server on this machine; or, offline, "
            f"`{OFFLINE[where]}`"
        )
        yield Problem(f"{where}.api_key_env", f"{section.api_key_env}, not set", allowed)
