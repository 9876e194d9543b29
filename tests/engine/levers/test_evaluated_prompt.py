"""A question as the run's evaluation asked it, and what is said where it is not."""

from __future__ import annotations

import pytest

from engine.config.config import Config
from engine.levers.evaluated_prompt import EvaluatedPrompt, PromptUsed, as_sent, with_evidence


def message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def evaluated(**prompt: str) -> EvaluatedPrompt:
    return EvaluatedPrompt.of(Config.model_validate({"task": {"dataset": "gsm8k"}, "prompt": prompt}))


BOXED = "{question}\n\nPlease reason step by step, and put your final answer within \\boxed{}."


def test_the_task_s_template() -> None:
    asked, used = evaluated().applied([message("user", "1 + {x}?")])
    assert asked == [message("user", BOXED.replace("{question}", "1 + {x}?"))]
    assert used == PromptUsed(True, BOXED)


def test_the_configuration_s_template_and_system_message() -> None:
    prompt = evaluated(template="Q: {question} {{A}}", system="Count.")
    asked, used = prompt.applied([message("user", "{question}?")])
    assert asked == [message("system", "Count."), message("user", "Q: {question}? {A}")]
    assert used == PromptUsed(True, "Q: {question} {A}", "evaluation")


@pytest.mark.parametrize(
    ("run", "request_s", "same", "why"),
    [
        ("Count.", "Count.", True, ""),
        ("Count.", "Guess.", False, "the system message is the request's: the evaluation had another"),
        (None, "Guess.", False, "the system message is the request's: the evaluation had no system message"),
        ("Count.", "", False, "the system message is the request's: the evaluation had another"),
    ],
)
def test_a_system_message_of_the_request_stays(run: str | None, request_s: str, same: bool, why: str) -> None:
    prompt = evaluated(template="Q: {question}", **({"system": run} if run else {}))
    asked, used = prompt.applied([message("system", request_s), message("user", "1?")])
    assert asked == [message("system", request_s), message("user", "Q: 1?")]
    assert used == PromptUsed(same, "Q: {question}", "request", why)


def test_where_nobody_has_a_system_message_the_prompt_is_the_evaluation_s() -> None:
    asked, used = evaluated(template="Q: {question}").applied([message("user", "1?")])
    assert (asked, used) == ([message("user", "Q: 1?")], PromptUsed(True, "Q: {question}", None))


def test_a_conversation_of_several_turns_is_left_alone() -> None:
    talk = [message("user", "1?"), message("assistant", "2"), message("user", "3?")]
    why = "as sent: a conversation of several turns: the evaluation asked in one"
    assert evaluated(system="Count.").applied(talk) == (talk, PromptUsed(False, None, None, why))
    short = talk[1:]  # no system message, and one message more than the question
    assert evaluated(system="Count.").applied(short) == (short, PromptUsed(False, None, None, why))
    own = [message("system", "Guess."), *talk]
    assert evaluated(system="Count.").applied(own) == (own, PromptUsed(False, None, "request", why))


def test_as_sent_and_with_evidence() -> None:
    one, own = [message("user", "1?")], [message("system", "S"), message("user", "1?")]
    assert as_sent(one, "so") == (one, PromptUsed(False, None, None, "as sent: so"))
    assert as_sent(own, "so")[1].system == "request"
    behind = "the question stands behind its evidence"
    assert with_evidence(one) == PromptUsed(True, None, "evidence", behind)
    assert with_evidence([*one, message("assistant", "2"), *one]) == PromptUsed(
        False, None, "evidence", behind
    )
    assert with_evidence(own).system == "request" and not with_evidence(own).as_evaluated
