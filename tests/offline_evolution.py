"""The evolution's roles without servers, for tests: the defaults are the document's servers."""

from __future__ import annotations

from typing import Any

KINDS = {"server": "in_process", "judge": "numeric", "reflector": "statistical"}


def offline(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of an EvolutionSection, with the offline kind of each role that `fields` gives no kind."""
    roles = {role: {"kind": kind} for role, kind in KINDS.items()}
    given = {role: fields[role] for role in roles if role in fields}
    merged = {
        role: {**roles[role], **value} if isinstance(value, dict) else value for role, value in given.items()
    }
    return {**roles, **fields, **merged}
