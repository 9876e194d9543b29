"""The conversations of a configured file: IFEval's prompts, MultiChallenge, or plain chats; the fields tell which."""

from __future__ import annotations

import json

from engine.config.slsm import SLSMDataSection
from engine.slsm.ifeval.reader import MARK, read_ifeval
from engine.slsm.multichallenge import Dialogues, dialogues_file, read_bytes, read_dialogues


def configured_dialogues(data: SLSMDataSection, seed: int) -> Dialogues:
    """All conversations of `data.path`, or as many as it allows. Raises DataError with line and field."""
    assert data.path is not None
    path = dialogues_file(data.path)
    if path.suffix != ".parquet" and _is_ifeval(content := read_bytes(path)):
        return read_ifeval(content, str(path), path.stem, data.conversations, data.turns, seed)
    return read_dialogues(path, data.conversations)


def _is_ifeval(content: bytes) -> bool:
    first = next((line for line in content.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()), b"")
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return False  # the reader of conversations says what is wrong
    return isinstance(record, dict) and MARK in record
