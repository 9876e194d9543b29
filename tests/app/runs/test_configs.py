"""The configurations that can be started, as the dialog lists them."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.runs import configs
from app.runs.configs import ConfigFile, find_configs, leading_comment


def test_the_demo_comes_first_and_what_lies_here_hides_what_was_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, stem in (
        ("installed", "b"),
        ("installed", "demo"),
        ("installed", "a"),
        ("here/configs", "b"),
    ):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / f"{stem}.yaml").write_text(f"# {stem} of {folder}\n# more\nrun: {{}}\n# no\n")
    (tmp_path / "installed" / "c.yml").write_text("")
    monkeypatch.setattr(configs, "INSTALLED", tmp_path / "installed")
    monkeypatch.chdir(tmp_path / "here")
    found = find_configs()
    assert [(config.path, config.headline) for config in found] == [
        (tmp_path / "installed" / "demo.yaml", "demo of installed"),
        (tmp_path / "installed" / "a.yaml", "a of installed"), (Path("configs/b.yaml"), "b of here/configs"),
    ]  # fmt: skip
    assert found[0].about == "demo of installed\nmore"


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("# one\n#\n##  two \n", "one\n\ntwo"), ("run: {}\n# one\n", ""), ("", ""), (None, ""),
        ("#\n# one\n\n# two\n", "one"),
    ],
)  # fmt: skip
def test_the_comment_at_the_head_of_a_file(text: str | None, about: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    if text is not None:
        path.write_text(text)
    assert leading_comment(path) == about
    assert ConfigFile(path, about).headline == about.split("\n")[0]
