"""Configuration of an SGLang server that the worker starts."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from engine.config.section import PositiveInt, Section


class ServerSection(Section):
    """The server that answers the evolution's questions."""

    FIXED = ("startup_timeout", "health_interval", "grace", "request_timeout")

    kind: Literal["in_process", "sglang"] = Field(
        default="sglang",
        description="`in_process`: the model in the worker; `sglang`: a server that the worker starts.",
    )
    command: str = Field(
        default="{python} -m sglang.launch_server --model-path {model} --host {host} --port {port} "
        "--enable-custom-logit-processor",
        min_length=1,
        description="Command line of the server; {python}, {model}, {host} and {port} are filled in.",
    )
    port: Annotated[int, Field(ge=1, le=65_535)] = Field(default=8_000, description="Port on 127.0.0.1.")
    startup_timeout: ClassVar[float] = 600.0
    """Seconds until the server must be healthy."""
    health_interval: ClassVar[float] = 2.0
    grace: ClassVar[float] = 15.0
    """Seconds between SIGTERM and SIGKILL."""
    request_timeout: ClassVar[float] = 300.0
    """Seconds for an answer."""
    concurrency: PositiveInt = Field(default=8, description="Questions sent to it at once.")
