"""screens/README.md is made from the help texts."""

from __future__ import annotations

import re

from tests.screens.readme import README, readme


def test_the_readme_is_what_the_module_makes() -> None:
    assert README.read_text(encoding="utf-8") == readme(), "run `python -m tests.screens.readme`"


def test_its_pictures_exist() -> None:
    pictures = re.findall(r"\]\((pictures/.*?)\)", readme())
    assert pictures and all((README.parent / picture).is_file() for picture in pictures)
