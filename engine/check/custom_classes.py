"""Check the classes of the user's own that a configuration names: they are imported and made, as a run would."""

from __future__ import annotations

from collections.abc import Iterator

from engine.check.finding import Finding, Findings, run_checks
from engine.config.config import Config
from engine.custom_class import Role, is_custom, make_custom


def check_custom_classes(config: Config) -> Iterator[Finding]:
    """A finding for each class that one of the run's stages takes."""
    named = [(role, kind) for role, kind in _named(config, set(config.run.stages)) if is_custom(kind)]
    return run_checks(*((lambda findings, one=one: _check(findings, *one)) for one in named))


def _named(config: Config, stages: set[str]) -> Iterator[tuple[Role, str]]:
    if "evolve" in stages:
        from engine.evolution.custom_classes import JUDGE, REFLECTOR

        yield from ((JUDGE, config.evolution.judge.kind), (REFLECTOR, config.evolution.reflector.kind))
    if "slsm" in stages:
        from engine.slsm.custom_roles import CONTROLLER, JUDGE

        yield from ((JUDGE, config.slsm.judge.kind), (CONTROLLER, config.slsm.controller.kind))
    if "answer" in stages and is_custom(config.answer.reader):
        from engine.gflownet.answer.custom_reader import READER  # imports torch: only where there is one

        yield READER, config.answer.reader


def _check(findings: Findings, role: Role, kind: str) -> None:
    with findings.at(role.where):
        make_custom(kind, role)
        findings.here(f"{kind} can be used", role.where)
