"""Configuration of the processes that do the work of `mine` and `eval`."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from engine.config.section import PositiveInt, Section

_ADDRESS = re.compile(r"auto|(ray://)?[A-Za-z0-9._\[\]:-]+:\d{1,5}")


class ScaleSection(Section):
    """A single process, or replicas on a Ray cluster. Results are the same."""

    REMOVED = {"dashboard": False}
    INSTEAD = "leave it out, or name by `address` a cluster that you started with a dashboard"

    engine: Literal["local", "ray"] = Field(
        default="local", description="`local`: the worker's own process; `ray`: replicas on a Ray cluster."
    )
    replicas: PositiveInt = Field(
        default=1, description="Processes, each with a model of its own (engine ray)."
    )
    gpus_per_replica: Annotated[float, Field(ge=0, le=64)] = Field(
        default=0.0, description="GPUs for each replica, may be a fraction of a GPU; 0: it sees none."
    )
    address: str | None = Field(
        default=None,
        description="Cluster to use: `auto` (the cluster of this machine), `host:port` or `ray://host:port`; none: a "
        "cluster is started on this machine and ended with the run.",
    )

    @model_validator(mode="after")
    def _fits(self) -> ScaleSection:
        uses_ray = self.replicas > 1 or self.gpus_per_replica or self.address is not None
        if self.engine == "local" and uses_ray:
            raise ValueError("replicas, gpus_per_replica and an address are for engine `ray`")
        if self.address is not None and not _ADDRESS.fullmatch(self.address):
            raise ValueError("an address like auto, host:port or ray://host:port, without user and password")
        return self

    @field_validator("gpus_per_replica")
    @classmethod
    def _can_be_given(cls, gpus: float) -> float:
        """Raise ValueError for a fraction that Ray cannot assign."""
        if (gpus > 1 and gpus % 1) or round(gpus, 4) != gpus:
            raise ValueError("a whole number of GPUs, or below 1 a multiple of 0.0001")
        return gpus
