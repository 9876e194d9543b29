"""Words for the names that the engine's events use: what a screen shows instead of `mean_probe_tokens`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from app.wording.figures import short
from engine.config.esm_methods import METHODS as ESM_METHODS

METHODS = {
    "esm": "ESM",
    "evolution": "Evolution",
    "gflownet": "GFlowNet",
    "unchanged": "the unchanged model",
    "no_processor": "the unchanged model",
    "length_cap": "a cap at the same length",
    "chosen_cap": "a cap chosen on validation",
    "brief_prompt": "a request for short answers",
    "best": "the evolved deltas",
    "beam": "beam search",
    "prior": "the retriever's scores alone",
    "triples": "the best-scored triples",
    "distinct": "distinct paths",
    "reminder": "the constant reminder",
    "baseline": "no note",
    "never": "a silent controller",
    "on_detection": "a note on detection",
    "on_risk": "a note on risk",
    "always": "a note always",
    "remind_on_detection": "a reminder on detection",
    "selector": "the selector",
    "rices": "similarity (RICES)",
    "random": "random pairs",
    "given": "the data as given",
    "pool": "the pool stage",
    "flat": "the flat memory",
}
"""Methods and their baselines."""

_SHORT = {
    "baseline": "no note",
    "flat": "flat memory",
    "given": "as given",
    "never": "silent",
    "prior": "scores alone",
    "rices": "similarity",
}
"""Methods and their baselines in a table's cell, where the name itself does not say it."""


def method_name(name: str) -> str:
    """A method in words."""
    return METHODS.get(name, name.replace("_", " "))


def short_method_name(name: str) -> str:
    """A method in a word or two."""
    return _SHORT.get(name, name.replace("_", " "))


SAMPLERS = {"gflownet": "independent draws (GFlowNet)", "distinct": "distinct paths (GFlowNet)"}


def sampler_name(name: str) -> str:
    """A method that draws paths, in words; the trained sampler draws in two ways."""
    return SAMPLERS.get(name, method_name(name))


METRICS = {
    "mean_tokens": "answer length",
    "answer_recall": "answers reached",
    "answer_hit": "answered right",
    "pass_score": "passed",
    "oracle": "best pair known",
    "vqa_accuracy": "VQA accuracy",
}
"""What a method's figure counts, where its name does not read as words."""

STAGE_WORDS = {
    "serve": "answers requests",
    "mine": "collects right and wrong answers",
    "select": "chooses the entries of the memory",
    "memory": "builds the memory",
    "eval": "answers the test problems",
    "clusters": "divides the vocabulary into clusters",
    "evolve": "tries deltas and improves them",
    "graphs": "builds the graphs",
    "retriever": "trains the scorer of edges",
    "agent-graphs": "cuts out the graphs to walk on",
    "gflownet": "trains the sampler of paths",
    "answer": "answers questions from the paths",
    "slsm": "answers the conversations",
    "pool": "searches good pairs of examples",
    "selector": "trains the selector",
}
"""What a stage does, in words."""

FIGURES = {
    "T_max": "most tokens of an answer",
    "logpf_logr_corr": "correlation of log P_F and log R",
    "logpf_logr_spearman": "rank correlation of log P_F and log R",
    "rollout_reward": "reward of a path",
    "success": "a path meets an answer",
    "success_mean": "paths that meet an answer",
    "reach_frac": "share of the answers a path meets",
    "answer_recall_union": "answers met by any path",
    "gold_recall_union": "answers in the data met by any path",
    "answer_hit_any": "a path meets an answer of the graph",
    "path_hit_any": "a path goes along a shortest one",
    "answer_f1": "answer F1",
    "path_hit_f1": "path hit F1",
    "gt_path_precision": "taught path, precision",
    "gt_path_recall": "taught path, recall",
    "gt_path_f1": "taught path, F1",
    "gt_path_full_hit": "taught path, all of it",
    "length_mean": "edges of a path",
    "modes_found": "answers found",
    "modes_recall": "share of the answers found",
    "unique_paths": "different paths",
    "unique_success_paths": "different paths that meet an answer",
    "path_f1_union": "edges of all paths together, F1",
    "total_variation": "total variation from R",
    "baselines_ahead": "baselines that did better",
    "selector_minus_rices": "selector minus RICES",
    "unjudged": "not judged",
    "cut": "cut at the limit",
}
"""Figures of stages whose name does not read as words."""
_SCORED = re.compile("(score_as_published|score)_(.+?)(_structured|_flat|)(?:_none)?")
"""A figure of memory notes, by mode and memory."""


def method_notes(names: Iterable[str]) -> list[str]:
    """A line for each of ESM's methods that needs one."""
    return [f"{method_name(name)}: {ESM_METHODS[name].about}" for name in names if name in ESM_METHODS]


def figure_name(name: str) -> str:
    """A figure of a stage in words: `accuracy_esm` as `accuracy esm`, `success_all@10` as `a path meets an answer @10,
    of all questions`."""
    method, _, rest = name.partition("_")
    if method in ("beam", "distinct"):
        return f"{method_name(method)}: {figure_name(rest)}"
    if scored := _SCORED.fullmatch(name):
        return f"{scored[1].replace('_', ' ')}: {short_method_name(scored[2])}{scored[3].replace('_', ', ')}"
    base, at, k = name.partition("@")
    stem = base.removesuffix("_all")
    words = FIGURES.get(stem) or FIGURES.get(f"{stem}_union", stem.replace("_", " "))
    return words + (f" {at}{k}" if at else "") + (", of all questions" if stem != base else "")


def figures_words(summary: Mapping[str, float | int | str]) -> str:
    """The figures of a stage: `accuracy esm 0.965; examples 200`"""
    return "; ".join(f"{figure_name(name)} {short(value)}" for name, value in summary.items())
