"""The configurations that are included: right by `steer-tui check`, with a word on what they are, in the README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.cli import main
from app.runs.configs import leading_comment
from engine.check.data import check_data
from engine.config.file import load_config
from engine.tasks.sources import HUB
from tests.conftest import ROOT

READY = sorted((ROOT / "configs").glob("*.yaml"))
REAL = sorted((ROOT / "configs" / "real").glob("*.yaml"))
README = (ROOT / "engine" / "tasks" / "README.md").read_text()
TABLE = README[README.index("## Ready configurations") : README.index("## Your own files")]
DATA_SETS = (
    "gsm8k", "math500", "arc-c", "aime", "financebench", "multichallenge", "rog-webqsp", "rog-cwq",
    "subgraphrag", "okvqa", "vqav2",
)  # fmt: skip


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_a_measured_one_can_be_read(path: Path) -> None:
    """Its model and data are files that whoever repeats the measurement names."""
    assert load_config(path).run.stages and len(leading_comment(path)) > 60


@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_it_is_right(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever of data, models and keys is here or not."""
    code = main(["check", str(path)])
    out = capsys.readouterr().out
    assert code == 0, out
    assert "\n  wrong" not in out and "  right; " in out


@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_it_says_what_it_is_and_stands_in_the_readme(path: Path) -> None:
    assert len(leading_comment(path)) > 60
    if path.stem != "demo":
        assert f"`{path.stem}`" in TABLE


def test_every_data_set_has_one() -> None:
    """And the README names no configuration that is not included."""
    stems = {path.stem for path in READY}
    for name in DATA_SETS:
        assert any(re.search(rf"(_|-){name}(_|$)", stem) for stem in stems), name
    named = set(re.findall(r"`((?:esm|evolution|gflownet|slsm|pool)_[\w.-]+)`", TABLE))
    assert named == stems - {"demo"}


def test_the_readme_names_every_copy_on_the_hub() -> None:
    """The 2024 split of AIME stands in its configuration."""
    known = {source.name for splits in HUB.values() for source in splits.values()} - {
        "HuggingFaceH4/aime_2024"
    }
    used = {
        name
        for path in READY
        for name in re.findall(r"hub:([\w-]+/[\w-]+)", path.read_text().split("\nrun:")[1])
    }
    for name in known | used:
        assert f"https://huggingface.co/datasets/{name}" in TABLE, name


@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_data_that_is_not_here_is_fetched_or_named(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On a machine with nothing, each says for every file what to do."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    found = list(check_data(load_config(path)))
    assert found and all(one.kind != "wrong" for one in found)
    absent = [one for one in found if one.kind == "absent"]
    assert bool(absent) == (path.stem != "demo")
    assert all("fetched" in one.hint or "put it there" in one.hint for one in absent)
