"""What an error says, word for word, for `pytest.raises(..., match=exactly("..."))`."""

from __future__ import annotations

import re


def exactly(text: str) -> str:
    """The pattern of this text and no other; each `…` stands for anything, such as a test's folder."""
    return f"(?s:^{'.*'.join(map(re.escape, text.split('…')))}$)"
