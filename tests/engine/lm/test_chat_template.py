"""Templates that would run for hours end in any thread, and in one clear error."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import FrameType, SimpleNamespace

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.errors import ModelError
from engine.lm import chat_template, tokenizer
from engine.lm.chat_template import takes_powers, within_limits
from engine.lm.tokenizer import HfTokenizer
from tests.exactly import exactly
from tests.tiny_models import tiny_tokenizer

LOOPS = (
    "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(999) %}"
    "{% endfor %}{% endfor %}{% endfor %}"
)
MACROS = "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}"
SQUARES = "{% set ns = namespace(n=3) %}{% for i in range(60) %}{% set ns.n = ns.n * ns.n %}{% endfor %}"


def limited(template: str) -> str:
    # Compiled within the limits, too: what is constant is computed there.
    return within_limits(lambda: ImmutableSandboxedEnvironment().from_string(template).render(), 0.05)


@pytest.mark.parametrize("template", [LOOPS, MACROS, SQUARES], ids=["loops", "macros", "squares"])
def test_what_does_not_end_is_ended_in_a_thread_too(template: str) -> None:
    before = sys.gettrace()
    with ThreadPoolExecutor(1) as pool:
        for find in (limited, lambda text: pool.submit(limited, text).result()):
            with pytest.raises(TimeoutError, match=exactly("it is not done within 0.05 s")):
                find(template)
    assert sys.gettrace() is before and limited("{{ 1 + 1 }}") == "2"


def test_a_debugger_goes_on_behind_a_template() -> None:
    def debugger(frame: FrameType, event: str, argument: object) -> None: ...

    before = sys.gettrace()
    sys.settrace(debugger)
    try:
        done, after = limited("{{ 1 + 1 }}"), sys.gettrace()
    finally:
        sys.settrace(before)
    assert (done, after) == ("2", debugger)


def test_a_conversation_has_five_seconds_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]

    def render() -> str:
        now[0] += spent
        return str.upper("done") and (lambda: "done")()

    monkeypatch.setattr(chat_template, "time", SimpleNamespace(thread_time=lambda: now[0]))
    spent = 5.0
    assert within_limits(render) == "done"
    spent = 5.001
    with pytest.raises(TimeoutError, match=exactly("it is not done within 5 s")):
        within_limits(render)


def test_single_steps_that_do_not_end() -> None:
    for template in (
        "{{ 1 | round(900000000, 'ceil') }}",
        "{{ [1] | map('ro' ~ 'und', 900000000, 'floor') | list }}",
    ):
        with pytest.raises(ValueError, match=exactly("it rounds to very many digits")):
            limited(template)
    assert limited("{{ 1.26 | round(1) }}") == "1.3"


@pytest.mark.parametrize(("digits", "written"), [(20, "12345.0"), (-20, "0.0"), (21, None), (-21, None)])
def test_roundings_to_twenty_digits_are_done(digits: int, written: str | None) -> None:
    """To the left of the point as to the right."""
    template = f"{{{{ 12345.0 | round({digits}) }}}}"
    if written is not None:
        assert limited(template) == written
        return
    with pytest.raises(ValueError, match=exactly("it rounds to very many digits")):
        limited(template)


def test_powers_are_found_and_arguments_are_none() -> None:
    for template in ("{{ 9 ** (9 ** 9) }}", "{{ f(a, b\n** c) }}", "{% set x = (9)**9 %}", "{{ a[0] ** 2 }}"):
        assert takes_powers(template)
    for template in ("**bold** {{ '**' }} {% if %}", "{{ dict(**a) }}", "{{ dict(a,\n **b) }}", "{% if"):
        assert not takes_powers(template)


@pytest.mark.parametrize(
    ("template", "why"),
    [(LOOPS, "TimeoutError: it is not done within"), ("{{ 9 ** (9 ** 9) }}", "powers of numbers")],
)
def test_the_error_names_model_and_template(monkeypatch: pytest.MonkeyPatch, template: str, why: str) -> None:
    monkeypatch.setattr(tokenizer, "within_limits", partial(within_limits, seconds=0.05))
    made = tiny_tokenizer(template)
    made.name_or_path = "/models/odd"
    began = time.process_time()
    with pytest.raises(ModelError, match="chat template fails") as caught:
        HfTokenizer(made).encode_chat("hi", "be kind")
    assert why in caught.value.what and caught.value.where == "chat_template in /models/odd"
    assert time.process_time() - began < 2
