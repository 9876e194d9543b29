"""Options that several commands have, and how their values are read. `container`: a parser or a group."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

DEFAULT_CONFIG = Path("configs/demo.yaml")
RUN = "the run: its folder, its id, or the name of an experiment"


def add_outputs(parser: ArgumentParser) -> None:
    """Where runs are looked for."""
    parser.add_argument(
        "--outputs",
        type=Path,
        default=Path("outputs"),
        metavar="DIR",
        help="folder of the runs (default: outputs)",
    )


def add_new_outputs(container: Any) -> None:
    """Where new runs go."""
    container.add_argument(
        "--outputs", metavar="DIR", help="folder of the runs (default: the one in the configuration)"
    )


def add_config(container: Any) -> None:
    """The configuration of new runs."""
    container.add_argument(
        "--config", type=Path, metavar="FILE", help=f"configuration (default: {DEFAULT_CONFIG})"
    )


def add_set(container: Any, help: str = "change fields of the configuration") -> None:
    """Changes of the configuration."""
    container.add_argument("--set", action="extend", nargs="+", default=[], metavar="KEY=VALUE", help=help)


def add_stages(parser: ArgumentParser) -> None:
    """Which stages run."""
    parser.add_argument("--stages", type=names, metavar="A,B", help="stages to run, in order")


def names(text: str) -> list[str]:
    """`a, b` as a list; none of them is empty."""
    given = [name.strip() for name in text.split(",")]
    if not all(given):
        raise ArgumentTypeError("expected names, separated by commas")
    return given


def count(text: str) -> int:
    """A whole number from 0 on."""
    if not (text.isascii() and text.isdigit()):
        raise ArgumentTypeError("expected a whole number from 0 on")
    return int(text)


def default_config() -> Path:
    """`configs/demo.yaml` below the working directory, else the one that was installed."""
    installed = Path(__file__).resolve().parents[2] / DEFAULT_CONFIG
    return DEFAULT_CONFIG if DEFAULT_CONFIG.exists() or not installed.exists() else installed
