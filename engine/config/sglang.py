"""Configuration of an SGLang server that is started here."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from engine.config.section import PositiveInt, Section

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class ServerSection(Section):
    """Who answers the evolution's questions."""

    kind: Literal["in_process", "sglang"] = Field(
        default="in_process",
        description="`in_process`: the model in the worker; `sglang`: a server started by it.",
    )
    command: str = Field(
        default="{python} -m sglang.launch_server --model-path {model} --host {host} --port {port} "
        "--enable-custom-logit-processor",
        min_length=1,
        description="Command line of the server; {python}, {model}, {host} and {port} are filled in.",
    )
    port: Annotated[int, Field(ge=1, le=65_535)] = Field(default=30_000, description="Port on 127.0.0.1.")
    startup_timeout: Seconds = Field(default=600.0, description="Seconds until it must be healthy.")
    health_interval: Seconds = Field(default=2.0, description="Seconds between two looks at its health.")
    grace: Seconds = Field(default=15.0, description="Seconds between SIGTERM and SIGKILL.")
    request_timeout: Seconds = Field(default=300.0, description="Seconds for one answer.")
    concurrency: PositiveInt = Field(default=8, description="Questions it is asked at once.")
