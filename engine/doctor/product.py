"""Recognise the product that answers, by addresses and fields that only this product documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.doctor.side_by_side import side_by_side
from engine.servers.http import Http, HttpAnswer

_PATIENCE = 10.0
"""Seconds to wait at an address that most products do not have."""


def _version(answer: HttpAnswer) -> str | None:
    return str(answer.fields.get("version") or "") or None


def _llama_cpp(answer: HttpAnswer) -> str | None:
    body = answer.fields
    if "llama.cpp" not in answer.headers.get("server", "") and "default_generation_settings" not in body:
        return None
    return str(body.get("build_info", ""))


def _sglang(answer: HttpAnswer) -> str | None:
    body = answer.fields
    marks = {"sglang_version", "internal_states", "mem_fraction_static", "disable_radix_cache"}
    return str(body.get("sglang_version") or body.get("version") or "") if marks & body.keys() else None


def _sglang_model(answer: HttpAnswer) -> str | None:
    return "" if {"model_path", "is_generation"} <= answer.fields.keys() else None


def _llama_cpp_python(answer: HttpAnswer) -> str | None:
    info = answer.fields.get("info")
    if not isinstance(info, dict) or "llama.cpp Python" not in str(info.get("title", "")):
        return None
    return str(info.get("version", ""))


_SIGNS: tuple[tuple[str, str, Callable[[HttpAnswer], str | None]], ...] = (
    ("Ollama", "/api/version", _version),
    ("llama.cpp", "/props", _llama_cpp),
    ("SGLang", "/server_info", _sglang),
    ("SGLang", "/get_server_info", _sglang),
    ("SGLang", "/get_model_info", _sglang_model),
    ("llama-cpp-python", "/openapi.json", _llama_cpp_python),
    ("vLLM", "/version", _version),
)
"""Product, path to ask, and a function of the answer: the version ("" if unknown), None for another product."""

_OWNERS = {"vllm": "vLLM", "sglang": "SGLang", "llamacpp": "llama.cpp", "library": "Ollama",
           "openai": "OpenAI", "system": "OpenAI", "openai-internal": "OpenAI"}  # fmt: skip


def find_product(http: Http, models: HttpAnswer) -> tuple[str, str]:
    """(product with its version, how it was recognised); ("", "") for an unknown product.

    `models`: the answer to `/models`, whose headers and owners also identify some products.
    """
    if "openai-processing-ms" in models.headers or "openai-version" in models.headers:
        return "OpenAI", "its headers"
    answers = list(side_by_side(lambda sign: http.get_root(sign[1], _PATIENCE), _SIGNS, len(_SIGNS)))
    owner = _OWNERS.get(_owner(models.fields), "")
    for (product, path, look), answer in zip(_SIGNS, answers, strict=True):
        version = look(answer)
        # Other products may also answer with a bare version number: vLLM's models are also owned by vLLM.
        if version is not None and (product != "vLLM" or owner == "vLLM"):
            return f"{product} {version}".strip(), path
    return (owner, "the owner of its models") if owner else ("", "")


def _owner(fields: dict[str, Any]) -> str:
    models = fields.get("data")
    first = models[0] if isinstance(models, list) and models else None
    return str(first.get("owned_by", "")).lower() if isinstance(first, dict) else ""
