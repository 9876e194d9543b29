"""Which stages there are: a name, the class behind it (imported when it runs), and what it builds on.

Besides the names below, `package.module:Class` names a stage of one's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module

from engine.errors import ConfigError, Problem
from engine.stage import Stage


@dataclass(frozen=True)
class StageEntry:
    """`target` is `module:Class`; `needs` are the stages whose files this one reads."""

    name: str
    target: str
    needs: tuple[str, ...] = ()


_ENTRIES = (
    StageEntry("mine", "engine.esm.mine:Mine"),
    StageEntry("select", "engine.esm.select:Select", needs=("mine",)),
    StageEntry("memory", "engine.esm.memory_stage:BuildMemory", needs=("select",)),
    StageEntry("eval", "engine.esm.evaluate:Evaluate", needs=("memory",)),
    StageEntry("clusters", "engine.evolution.clusters_stage:BuildClusters"),
    StageEntry("evolve", "engine.evolution.evolve:Evolve", needs=("clusters",)),
    StageEntry("graphs", "engine.gflownet.graphs_stage:BuildGraphs"),
    StageEntry("retriever", "engine.gflownet.retriever_stage:TrainRetriever", needs=("graphs",)),
    StageEntry("agent-graphs", "engine.gflownet.agent_graphs_stage:BuildAgentGraphs", needs=("retriever",)),
    StageEntry("gflownet", "engine.gflownet.gflownet_stage:TrainGFlowNet", needs=("agent-graphs",)),
    StageEntry("answer", "engine.gflownet.answer_stage:AnswerQuestions", needs=("gflownet",)),
    StageEntry("pool", "engine.pool.pool_stage:BuildPools"),
    StageEntry("selector", "engine.pool.selector_stage:TrainSelector", needs=("pool",)),
    StageEntry("slsm", "engine.slsm.slsm_stage:RunSLSM"),
    StageEntry("train-embedded", "engine.lm.embedded_training.stage:TrainEmbedded"),
)
STAGES: dict[str, StageEntry] = {entry.name: entry for entry in _ENTRIES}


def stage_problems(names: Sequence[str], where: str = "run.stages") -> list[Problem]:
    """Everything wrong with a list of stages: unknown names, doubles, one before what it builds on.

    A stage whose needs are not in the list at all is fine here: an earlier run may have left the files, and
    if none did, the stage itself says which file it misses.
    """
    problems: list[Problem] = []
    for position, name in enumerate(names):
        place = f"{where}[{position}]"
        earlier = names[:position]
        if not _is_known(name):
            problems.append(Problem(place, name, _known(name)))
        elif name in earlier:
            problems.append(Problem(place, name, "each stage once"))
        else:
            late = [need for need in _needs(name) if need in names and need not in earlier]
            problems.extend(Problem(place, name, f"`{need}` before `{name}`") for need in late)
    return problems


def resolve_stage(name: str) -> Stage:
    """Import and make the stage called `name`. Raises ConfigError for a name that leads nowhere."""
    if not _is_known(name):
        raise ConfigError([Problem("run.stages", name, _known(name))])
    target = STAGES[name].target if name in STAGES else name
    module_name, _, class_name = target.partition(":")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        allowed = f"an importable module; there is no `{error.name}`"
        raise ConfigError([Problem("run.stages", name, allowed)]) from error
    try:
        return getattr(module, class_name)()
    except AttributeError as error:
        if hasattr(module, class_name):
            raise
        allowed = f"a class of `{module_name}`; it has no `{class_name}`"
        raise ConfigError([Problem("run.stages", name, allowed)]) from error


def _is_known(name: str) -> bool:
    module, colon, attribute = name.partition(":")
    own = bool(colon) and attribute.isidentifier() and all(part.isidentifier() for part in module.split("."))
    return name in STAGES or own


def _needs(name: str) -> tuple[str, ...]:
    return STAGES[name].needs if name in STAGES else ()


def _known(name: str) -> str:
    close = get_close_matches(name, STAGES, n=1)
    meant = f"; did you mean `{close[0]}`?" if close else ""
    return f"one of {', '.join(STAGES)}{meant}"
