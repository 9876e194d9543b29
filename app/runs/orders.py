"""Orders to the worker of a run, and the messages about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from app.runs.client import send
from engine.errors import RunError
from engine.run.directory import RunDirectory


@dataclass(frozen=True)
class UserMessage:
    """A notification for the user."""

    text: str
    severity: Literal["information", "warning", "error"] = "information"


def send_command(directory: RunDirectory, command: str) -> UserMessage:
    """Give a worker a command: pause, continue or stop."""
    try:
        reply = send(directory, command)
    except RunError as error:
        return UserMessage(str(error), "error")
    if not reply.ok:
        return UserMessage(reply.error or f"the engine refused: {command}", "error")
    return UserMessage(command_result(command, str(reply.status.get("state", ""))))


def command_result(command: str, state: str) -> str:
    """The worker's answer to a command, for the user."""
    if command == "pause":
        return "The engine is paused." if state == "paused" else "The engine pauses after its current item."
    if command == "stop":
        return "The engine stops after its current item; finished work is kept."
    return "The engine continues." if command == "continue" else f"The engine is {state}."
