"""What `steer-tui export` says of the files that it wrote."""

from __future__ import annotations

import io
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.cli import export_vectors, main
from engine.errors import RunError
from engine.esm.export import Exported


@pytest.mark.parametrize(
    ("files", "named"),
    [
        (3, "f0.gguf, f1.gguf, f2.gguf"),
        (4, "f0.gguf, f1.gguf, f2.gguf and 1 more"),
        (9, "f0.gguf, f1.gguf, f2.gguf and 6 more"),
    ],
)
def test_of_many_files_three_are_named(
    files: int, named: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exported = Exported([Path(f"f{number}.gguf") for number in range(files)], files, [2, 5], 1.25)
    monkeypatch.setattr("app.choose_run.choose_run", lambda run, outputs: None)
    monkeypatch.setattr("engine.esm.export.export", lambda *options: exported)
    assert main(["export", "vectors", "run", "--format", "gguf", "--out", "out", "--scale", "2"]) == 0
    first, _, strength, *_ = capsys.readouterr().out.splitlines()
    assert first == f"{files} entries, layers 2, 5 (counted from 0): {named}"
    about = "ESM adds about 1.25 times such a vector where an entry matches well"
    assert strength == f"strength: {about}; this file holds 2 times"


def test_deltas_in_both_directions_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two raise and one lowers its cluster; the fourth does nothing. The server may be started from another folder."""
    done = SimpleNamespace(deltas={"0": 0.25, "1": -0.5, "2": 1.0, "3": 0.0}, bias=None)
    monkeypatch.setattr("app.choose_run.choose_run", lambda run, outputs: None)
    monkeypatch.setattr("engine.evolution.processors.export_deltas.export_deltas", lambda *options: done)
    monkeypatch.chdir(tmp_path)
    assert main(["export", "deltas", "run", "--format", "vllm", "--out", "deltas.py"]) == 0
    first, use = capsys.readouterr().out.splitlines()
    assert first == "3 of 4 clusters have a delta: deltas.py"
    assert use.endswith(
        f"PYTHONPATH={tmp_path} vllm serve MODEL --logits-processors deltas:ClusterDeltaVLLMProcessor"
    )


def test_what_a_logit_bias_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bias = SimpleNamespace(values={"7": 1.0, "9": -1.0}, shift=1 / 3)
    done = SimpleNamespace(deltas={"0": 0.25}, bias=bias)
    monkeypatch.setattr("app.choose_run.choose_run", lambda run, outputs: None)
    monkeypatch.setattr("engine.evolution.processors.export_deltas.export_deltas", lambda *options: done)
    out = tmp_path / "bias.json"
    assert main(["export", "deltas", "run", "--format", "logit-bias", "--out", str(out)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"1 of 1 clusters have a delta: {out}",
        f'use:  client.chat.completions.create(…, **json.load(open("{out}")))',
        "bias: 2 tokens; 0.333333 was taken from all, which changes no probability",
    ]


def written(files: int = 1, **more: Any) -> list[str]:
    options = Namespace(**({"scale": 1.0, "format": "gguf"} | more))
    names = [Path(f"{number}.gguf") for number in range(files)]
    exported: Any = SimpleNamespace(files=names, entries=2, layers=[2, 5], strength=1.2345)
    return export_vectors._words(exported, options)


def test_what_was_written_and_how_strong_it_is() -> None:
    """Up to three files are named."""
    use, lost = f"use:      {export_vectors.FORMATS['gguf'].use}", export_vectors.LOST
    strength = "strength: ESM adds about 1.23 times such a vector where an entry matches well"
    layers = "layers 2, 5 (counted from 0)"
    assert written() == [f"2 entries, {layers}: 0.gguf", use, strength, lost]
    assert written(scale=2.5, files=3) == [
        f"2 entries, {layers}: 0.gguf, 1.gguf, 2.gguf", use, f"{strength}; this file holds 2.5 times", lost,
    ]  # fmt: skip


def test_a_folder_of_files_is_not_written_over_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("app.choose_run.choose_run", lambda *_: None)
    out = tmp_path / "a.gguf"
    out.touch()
    options = Namespace(run="r", outputs=tmp_path, memory=True, out=out)
    with pytest.raises(RunError) as error:
        export_vectors.execute(options)
    assert str(error.value) == f"--memory writes a folder, and this is a file ({out}): name a folder"
    monkeypatch.setattr("engine.esm.export.export", lambda *options: Exported([options[2]], 2, [5], 1.25))
    given = ["export", "vectors", "run", "--format", "gguf", "--memory", "--out", str(tmp_path)]
    assert main(given) == 0 and str(tmp_path) in capsys.readouterr().out, (
        "a folder that is there is written into"
    )
    assert export_vectors._numbers("3, 0") == [3, 0]
    given = ["export", "vectors", "run", "--format", "gguf", "--out", str(out)]
    assert main(given) == 0, "one file is written over another"
    assert "strength: ESM adds about 1.25 times such a vector where an entry matches well\n" in (
        capsys.readouterr().out
    )


def test_a_terminal_without_unicode_gets_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    done, written = SimpleNamespace(deltas={"0": 0.25}, bias=None), io.BytesIO()
    monkeypatch.setattr("app.choose_run.choose_run", lambda run, outputs: None)
    monkeypatch.setattr("engine.evolution.processors.export_deltas.export_deltas", lambda *options: done)
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, "ascii", write_through=True))
    assert main(["export", "deltas", "run", "--format", "logit-bias", "--out", "bias.json"]) == 0
    assert b"create(?, **json.load" in written.getvalue()
