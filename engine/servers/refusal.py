"""What a server says of a request that it refuses: products put it into bodies of different shapes."""

from __future__ import annotations

import json
import re
from typing import Any

_CONTENT = re.compile(
    r"context.{0,40}(?:length|window|size)|maximum.{0,40}tokens|too (?:long|many tokens)|longer than"
    r"|exceeds?.{0,60}tokens"
    r"|content.{0,10}(?:filter|management|policy)|moderation|safety|flagged",
    re.IGNORECASE | re.DOTALL,
)


def is_about_content(message: str) -> bool:
    """Whether a refusal is for the length of this request or for what it says: others may be answered."""
    return _CONTENT.search(message) is not None


def refusal_text(body: str) -> str:
    """The message alone, without what of the request is repeated beside it; a body of no known shape as it is.

    `{"error": {"message": …}}` is OpenAI's; without the outer key SGLang's and vLLM's before; `{"error": …}` Ollama's
    own and TGI's; `{"detail": …}` FastAPI's, where `detail` may be a list of `loc` and `msg`.
    """
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(parsed, dict):
        return body
    error = parsed.get("error", parsed)
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail")
    if isinstance(error, list):
        error = "; ".join(map(_one, error))
    return error if isinstance(error, str) and error else body


def _one(detail: Any) -> str:
    """`body.seed: Extra inputs are not permitted`."""
    if not isinstance(detail, dict):
        return str(detail)
    place = detail.get("loc")
    field = ".".join(map(str, place)) if isinstance(place, list) else ""
    return f"{field}: {detail.get('msg', '')}"
