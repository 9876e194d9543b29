"""The pages: every link leads somewhere, every configuration on them can be read."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

from engine.config.file import load_config
from tests.conftest import ROOT

PAGES = [
    *ROOT.glob("*.md"),
    *(
        page
        for folder in ("app", "configs", "engine", "screens", "tests")
        for page in (ROOT / folder).rglob("*.md")
    ),
]


GENERATED = (ROOT / "configs" / "README.md", ROOT / "screens" / "README.md")
MOST_BYTES = 120_000
"""Of all hand-written pages together."""


def test_the_hand_written_pages_stay_short() -> None:
    sizes = {page: page.stat().st_size for page in PAGES if page not in GENERATED}
    total = sum(sizes.values())
    longest = sorted(sizes, key=lambda page: -sizes[page])[:5]
    assert total <= MOST_BYTES, (
        f"The hand-written pages have {total:,} bytes, {total - MOST_BYTES:,} too many. Take out what another page or "
        "configs/README.md says, how a figure came about, and figures that tests/bench/results holds; do not raise the "
        f"limit. The longest: {', '.join(f'{page.relative_to(ROOT)} {sizes[page]:,}' for page in longest)}."
    )


@cache
def _anchors(page: Path) -> set[str]:
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if "://" not in link:
            assert target.exists(), link
            assert not anchor or anchor in _anchors(target), link


@pytest.mark.parametrize("method", ["esm", "evolution", "gflownet", "slsm", "pool"])
def test_the_configuration_of_a_methods_page_can_be_read(method: str, tmp_path: Path) -> None:
    text = (ROOT / "engine" / method / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^ *```yaml\n( *run: .*?)^ *```", text, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "page.yaml").write_text(dedent(block), encoding="utf-8")
    assert load_config(tmp_path / "page.yaml").run.stages
