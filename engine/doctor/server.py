"""Examine a server: can it be reached, which models it has, and what its chat completions can do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from engine.doctor.capabilities import CHECKS, Capability
from engine.doctor.chat_probe import ChatProbe, ProbeReply
from engine.servers.address import is_address
from engine.servers.http import Http, HttpAnswer
from engine.servers.key import fits_header

TIMEOUT = 120.0
"""Seconds for one answer: a server may have to load its model first."""
_NO_LIST = (404, 405, 501)
_BASE = "is this the base of an OpenAI-compatible interface? it often ends in /v1"
_FIRST = [
    {"role": "system", "content": "You answer briefly."},
    {"role": "user", "content": "Say hello in one word."},
]


@dataclass(frozen=True)
class ServerReport:
    """The result of `examine`. `usable`: chat completions work; then a configuration takes `base_url` and `model`."""

    usable: bool
    base_url: str = ""
    model: str = ""
    images: bool = False


def examine(
    base_url: str, key: str, key_env: str, model: str | None = None, timeout: float = TIMEOUT
) -> Iterator[Capability | ServerReport]:
    """Each capability as soon as it is checked, then a `ServerReport`. `key`: "" for none; `key_env`: its variable."""
    if not is_address(base_url):
        yield Capability("reachable", "no", "this is not an address", "give it as http://host:port/v1")
        yield ServerReport(False)
        return
    if not fits_header(key):
        text = f"the key in {key_env} holds spaces, line ends or characters beyond ASCII"
        yield Capability("reachable", "no", text, "copy it again")
        yield ServerReport(False)
        return
    http, models = _with_models(Http(base_url, key, timeout))
    reached = _reachable(http, models, base_url, bool(key), key_env, model)
    yield reached
    if reached.state == "no":
        yield ServerReport(False)
        return
    listed, name = _models(models, model)
    yield listed
    if not name:
        yield ServerReport(False)
        return
    probe = ChatProbe(http, name)
    first = probe.find_form(_FIRST, 256)
    yield _chat(probe, first, name, models.good)
    if first.completion is None:
        yield ServerReport(False)
        return
    sees = False
    for capability in (check(probe, first) for check in CHECKS):
        sees = sees or (capability.name == "images" and capability.state == "ok")
        yield capability
    yield ServerReport(True, http.address, name, sees)


def _with_models(http: Http) -> tuple[Http, HttpAnswer]:
    """The server with the base under which `/models` answers (the address, or `/v1` below it), and that answer."""
    models = http.get("/models")
    if models.good or models.status in (0, 401, 403):
        return http, models
    below = http.below("/v1")
    other = below.get("/models")
    return (below, other) if other.good or other.status in (401, 403) else (http, models)


def _reachable(
    http: Http, models: HttpAnswer, given: str, has_key: bool, key_env: str, model: str | None
) -> Capability:
    if models.status in (401, 403):
        meaning = f"the key in {key_env} is not accepted" if has_key else f"set {key_env} to a key"
        return Capability("reachable", "no", f"{http.address} needs a key ({models.status})", meaning)
    if models.status == 0:
        return Capability(
            "reachable", "no", f"{http.address}: {models.problem}", "start the server, or correct the address"
        )
    through = f", through the proxy {http.proxy} of the environment" if http.proxy else ""
    text = f"{http.address}, {models.seconds * 1000:.0f} ms{through}"
    if model and models.status in _NO_LIST:
        return Capability("reachable", "ok", f"{text}, without a list of models")
    if not models.good:
        return Capability("reachable", "no", f"{http.address}/models: {models.why()}", _BASE)
    moved = urlsplit(given).path.rstrip("/") != urlsplit(http.address).path.rstrip("/")
    return Capability("reachable", "ok", text + (f" (set base_url to {http.address})" if moved else ""))


def _models(models: HttpAnswer, requested: str | None) -> tuple[Capability, str]:
    """The models of the server, and the model to ask: `requested`, else the first."""
    data = models.fields.get("data")
    entries = data if isinstance(data, list) else []
    names = [str(entry["id"]) for entry in entries if isinstance(entry, dict) and "id" in entry]
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    if requested and names and requested not in names:
        return Capability(
            "models", "unknown", f"{requested} is not listed: {listed}", "the examination uses it anyway"
        ), requested
    if not names:
        text = "the server lists none"
        return Capability(
            "models", "ok" if requested else "no", text, "" if requested else "name a model with --model"
        ), requested or ""
    name = requested or names[0]
    return Capability("models", "ok", listed + (f"; examining {name}" if len(names) > 1 else "")), name


def _chat(probe: ChatProbe, first: ProbeReply, name: str, lists_models: bool) -> Capability:
    if first.completion is None:
        is_base = lists_models or first.answer.status not in _NO_LIST
        meaning = f"{name} cannot be used for any role" if is_base else _BASE
        return Capability("chat completions", "no", first.answer.why(), meaning)
    text = f"in {first.answer.seconds:.1f} s"
    meaning = "; ".join(f"the model {note}" for note in probe.notes)
    if not first.completion.text.strip():
        return Capability(
            "chat completions",
            "unknown",
            f"an empty answer {text}",
            "raise max_tokens: it may be a thinking model",
        )
    return Capability("chat completions", "ok", text, meaning)
