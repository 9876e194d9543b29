"""Configuration of the processes that do the work of `mine` and `eval`."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, field_validator

from engine.config.section import PositiveInt, Section

_ADDRESS = re.compile(r"auto|(ray://)?[A-Za-z0-9._\[\]:-]+:\d{1,5}")


class ScaleSection(Section):
    """One process, or replicas: on this machine or on a Ray cluster. Results are the same."""

    REMOVED = {"dashboard": False, "engine": "local"}
    INSTEAD = "leave it out; to use a Ray cluster that you have started, name its `address`"

    replicas: PositiveInt = Field(
        default=1,
        description="Processes, each with a model of its own. A single one without an address is the worker itself.",
    )
    gpus_per_replica: Annotated[float, Field(ge=0, le=64)] = Field(
        default=0.0,
        description="GPUs for each of several replicas, may be a fraction of a GPU; 0: on Ray it sees none, else those "
        "that the worker sees.",
    )
    address: str | None = Field(
        default=None,
        description="Ray cluster to use: `auto` (the cluster of this machine), `host:port` or `ray://host:port`; none: "
        "replicas work on this machine, without Ray.",
    )

    @field_validator("address")
    @classmethod
    def _is_an_address(cls, address: str | None) -> str | None:
        """Raise ValueError for any other text."""
        if address is not None and not _ADDRESS.fullmatch(address):
            raise ValueError("an address like auto, host:port or ray://host:port, without user and password")
        return address

    @field_validator("gpus_per_replica")
    @classmethod
    def _check_gpu_fraction(cls, gpus: float) -> float:
        """Raise ValueError for a fraction that Ray cannot assign."""
        if (gpus > 1 and gpus % 1) or round(gpus, 4) != gpus:
            raise ValueError("a whole number of GPUs, or below 1 a multiple of 0.0001")
        return gpus
