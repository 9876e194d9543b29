"""Configuration of the stage serve."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from engine.config.method import MethodSections, StageEntry
from engine.config.section import PositiveInt, Section

Lever = Literal["esm", "deltas", "notes", "evidence"]


class ServeSection(Section):
    """The server that answers with a run's levers."""

    FIXED = ("max_waiting", "max_body", "client_timeout")
    REMOVED = {"key_file": None}

    runs: list[str] = Field(
        default=[],
        description="Folders of runs whose levers are used; of a lever, the first that fits. None: this run.",
    )
    levers: list[Lever] | None = Field(
        default=None, description="Levers of a request that does not choose; none: all that fit."
    )
    host: str = Field(
        default="127.0.0.1", min_length=1, description="Address to listen on; 0.0.0.0 lets other machines in."
    )
    port: Annotated[int, Field(ge=0, le=65535)] = Field(default=8899, description="Port; 0: any free one.")
    key_env: str | None = Field(
        default=None,
        description="Environment variable with the key that requests must bring; `none`: no key is asked for. "
        "Not given: a new key is made in serve/key of the run, which only you can read.",
    )
    max_in_flight: PositiveInt = Field(default=32, description="Requests that are answered together.")
    max_waiting: ClassVar[int] = 64
    """Requests that may wait for a place; further ones get 429 and have to try again."""
    max_tokens: PositiveInt = Field(
        default=4096, description="Longest answer that a request may ask for, in tokens."
    )
    max_body: ClassVar[int] = 1_048_576
    """Bytes of the largest request."""
    client_timeout: ClassVar[float] = 30.0
    """Seconds that a client may take to send its request, or to take a piece of its answer."""
    log_texts: bool = Field(default=True, description="Whether questions and answers stand in the run's log.")


class ServeSections(MethodSections):
    """The section and stage of the server."""

    stage_entries: ClassVar = (StageEntry("serve", "engine.serve.serve_stage:Serve"),)

    serve: ServeSection = ServeSection()
