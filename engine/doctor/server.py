"""A look at a server: is it there, what is it, which models, and what can its chat completions do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from engine.doctor.capabilities import CHECKS, Capability, Check, greedy_answer, waiting
from engine.doctor.chat_probe import ChatProbe, Said
from engine.doctor.http import Answer, Http
from engine.doctor.product import find_product
from engine.doctor.side_by_side import side_by_side
from engine.servers.address import is_address
from engine.servers.key import fits_header

TIMEOUT = 120.0
"""Seconds for one answer: a server may have to load its model first."""
_AT_ONCE = 4
_NO_LIST = (404, 405, 501)
_BASE = "is this the base of an OpenAI-compatible interface? it often ends in /v1"
_HINTS = {
    ("SGLang", "seed"): "SGLang honours seeds where it is started with --enable-deterministic-inference"
}
"""What a product can do if it is told to."""
_FIRST = [
    {"role": "system", "content": "You answer briefly."},
    {"role": "user", "content": "Say hello in one word."},
]


@dataclass(frozen=True)
class Looked:
    """How it ended. `usable`: chat completions come; then `base_url` and `model` are what a configuration wants."""

    usable: bool
    base_url: str = ""
    model: str = ""
    images: bool = False


def look(
    base_url: str, key: str, key_env: str, model: str | None = None, timeout: float = TIMEOUT
) -> Iterator[Capability | Looked]:
    """What is found, as it is found; a `Looked` is the last. `key` "" asks without; `key_env` is how it is named."""
    if not is_address(base_url):
        yield Capability("reachable", "no", "not an address", "give it as http://host:port/v1")
        yield Looked(False)
        return
    if not fits_header(key):
        text = f"the key in {key_env} holds spaces, line ends or signs beyond ASCII"
        yield Capability("reachable", "no", text, "copy it again")
        yield Looked(False)
        return
    http, models = _found(Http(base_url, key, timeout))
    reached = _reachable(http, models, base_url, bool(key), key_env, model)
    yield reached
    if reached.state == "no":
        yield Looked(False)
        return
    product, sign = find_product(http, models)
    yield Capability(
        "product", "ok" if product else "unknown", f"{product} (by {sign})" if product else "not known"
    )
    listed, name = _models(models, model)
    yield listed
    if not name:
        yield Looked(False)
        return
    probe = ChatProbe(http, name)
    first = probe.find_form(_FIRST, 256)
    yield _chat(probe, first, name)
    if first.reply is None:
        yield Looked(False)
        return
    sees = False
    for capability in _capabilities(probe, first):
        hint = _HINTS.get((product.partition(" ")[0], capability.name), "")
        if hint and capability.state == "no":
            capability = replace(capability, meaning=f"{capability.meaning}; {hint}")
        sees = sees or (capability.name == "images" and capability.state == "ok")
        yield capability
    yield waiting(probe)
    yield Looked(True, http.address, name, sees)


def _found(http: Http) -> tuple[Http, Answer]:
    """The server where its models are: below the address, or below `/v1` of it."""
    models = http.get("/models")
    if models.good or models.status in (0, 401, 403):
        return http, models
    below = http.below("/v1")
    other = below.get("/models")
    return (below, other) if other.good or other.status in (401, 403) else (http, models)


def _reachable(
    http: Http, models: Answer, given: str, has_key: bool, key_env: str, model: str | None
) -> Capability:
    if models.status in (401, 403):
        meaning = f"the key in {key_env} is not taken" if has_key else f"set {key_env} to a key"
        return Capability("reachable", "no", f"{http.address} wants a key ({models.status})", meaning)
    if models.status == 0:
        return Capability(
            "reachable", "no", f"{http.address}: {models.problem}", "start the server, check the address"
        )
    text = f"{http.address}, {models.seconds * 1000:.0f} ms"
    if model and models.status in _NO_LIST:
        return Capability("reachable", "ok", f"{text}, without a list of models")
    if not models.good:
        return Capability("reachable", "no", f"{http.address}/models: {models.why()}", _BASE)
    moved = urlsplit(given).path.rstrip("/") != urlsplit(http.address).path.rstrip("/")
    return Capability("reachable", "ok", text + (f" (base_url has to be {http.address})" if moved else ""))


def _models(models: Answer, wanted: str | None) -> tuple[Capability, str]:
    """What is served, and the model to ask: the one that is wanted, else the first."""
    data = models.body.get("data") if isinstance(models.body, dict) else None
    names = (
        [str(one["id"]) for one in data if isinstance(one, dict) and "id" in one]
        if isinstance(data, list)
        else []
    )
    told = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    if wanted and names and wanted not in names:
        return Capability(
            "models", "unknown", f"{wanted} is not listed: {told}", "asked for all the same"
        ), wanted
    if not names:
        text = "none are listed"
        return Capability(
            "models", "ok" if wanted else "no", text, "" if wanted else "name one with --model"
        ), wanted or ""
    name = wanted or names[0]
    return Capability("models", "ok", told + (f"; looking at {name}" if len(names) > 1 else "")), name


def _chat(probe: ChatProbe, first: Said, name: str) -> Capability:
    if first.reply is None:
        meaning = _BASE if first.answer.status in _NO_LIST else f"{name} can be used for no role"
        return Capability("chat completions", "no", first.answer.why(), meaning)
    text = f"in {first.answer.seconds:.1f} s"
    meaning = "; ".join(f"the model {note}" for note in probe.notes)
    if not first.text.strip():
        return Capability(
            "chat completions", "unknown", f"an empty answer {text}", "give more max_tokens: does it think?"
        )
    return Capability("chat completions", "ok", text, meaning)


def _capabilities(probe: ChatProbe, first: Said) -> Iterator[Capability]:
    """Several checks at once, told in order. What goes wrong in a check is that check's."""
    greedy = greedy_answer(probe)

    def one(entry: tuple[str, Check]) -> Capability:
        try:
            return entry[1](probe, first, greedy)
        except (AttributeError, LookupError, TypeError) as error:  # fields of unforeseen kinds
            return Capability(entry[0], "unknown", f"the answer is of another shape ({error})")

    yield from side_by_side(one, CHECKS, _AT_ONCE)
