"""Models that answer conversations: what is sent, what counts as an answer, and why there is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from engine.servers.client import ServerFailed
from engine.servers.completion import Reply
from engine.servers.spent import Spent
from engine.slsm.chat_model import ChatAnswer, ChatAsk, LocalChatModel, OpenAIChatModel, answer_of
from engine.slsm.from_config import make_chat_model
from engine.slsm.published_answers import PublishedAnswers
from tests.engine.slsm.note_following_model import NoteFollowingModel
from tests.engine.slsm.small_run import small_config
from tests.exactly import exactly

ASK = ChatAsk(({"role": "user", "content": "Hi"},), seed=7, conversation="c")
PROMPT = len('[{"role": "user", "content": "Hi"}]')


class Parrot(NoteFollowingModel):
    """Says one thing, whatever it is asked."""

    def __init__(self, said: str, context: int) -> None:
        super().__init__([])
        self.said = said
        self.info = replace(self.info, context=context)

    def answer(self, messages: Any, seed: int) -> str:
        return f"{self.said} {seed}" if self.said else " "


@pytest.mark.parametrize(("context", "fits"), [(0, True), (PROMPT + 2, True), (PROMPT + 1, False)])
def test_a_prompt_fits_where_a_token_and_its_end_have_room(context: int, fits: bool) -> None:
    model = LocalChatModel(Parrot("so", context), max_new_tokens=9, temperature=0.5)  # type: ignore[arg-type]
    kept, seen = dict[int, ChatAnswer](), dict[int, ChatAnswer]()
    model.answer([ASK], lambda: None, kept.__setitem__, seen.__setitem__)
    answer = kept[0]
    if fits:
        assert answer == ChatAnswer("so 7", Spent(1, PROMPT + len("so 7")))
        assert seen == kept == {0: answer}
    else:
        why = f"the conversation has {PROMPT} tokens, the model's context {context}"
        assert answer == ChatAnswer("", Spent(), failure=why) and not seen


def test_of_several_those_that_fit_keep_their_places() -> None:
    long = replace(ASK, messages=({"role": "user", "content": "Hi" * 50},))
    model = LocalChatModel(Parrot("so", PROMPT + 2), max_new_tokens=9, temperature=0.5)  # type: ignore[arg-type]
    kept, seen = dict[int, ChatAnswer](), dict[int, ChatAnswer]()
    model.answer([long, replace(ASK, seed=3)], lambda: None, kept.__setitem__, seen.__setitem__)
    assert [(number, one.text) for number, one in kept.items()] == [(0, ""), (1, "so 3")] and [*seen] == [1]
    assert [one.spent for one in kept.values()] == [Spent(), Spent(1, PROMPT + len("so 3"))]
    assert model.name == "follows notes by rule" and model.count_tokens("abc") == 3


def test_an_answer_without_a_word_is_none() -> None:
    model = LocalChatModel(Parrot("", 0), max_new_tokens=9, temperature=0.0)  # type: ignore[arg-type]
    answer = answer_of(model, ASK)
    assert (answer.text, answer.failure, answer.cut) == ("", "the answer is empty (eos)", False)


class Client:
    """Replies, or fails, as it is told."""

    def __init__(self, *replies: Reply | ServerFailed) -> None:
        self.replies: Iterator[Reply | ServerFailed] = iter(replies)
        self.asked: list[tuple[Any, int]] = []

    def complete(self, messages: Any, seed: int = 0) -> Reply:
        self.asked.append((messages, seed))
        given = next(self.replies)
        if isinstance(given, ServerFailed):
            raise given
        return given


def failed(refused: bool, content: bool = False) -> ServerFailed:
    error = ServerFailed(what="too long", where="s", hint="h")
    error.refused, error.content, error.spent = refused, content, Spent(2, 3, 0.5)
    return error


def asked(*replies: Reply | ServerFailed) -> list[ChatAnswer]:
    model = OpenAIChatModel(Client(*replies), "gpt", 1)  # type: ignore[arg-type]
    kept: dict[int, ChatAnswer] = {}
    model.answer([ASK] * len(replies), lambda: None, kept.__setitem__)
    return [*kept.values()]


def reply(text: str, ended: str = "stop", refusal: str = "") -> Reply:
    return Reply(text, ended, refusal, spent=Spent(1, 7, 0.5))


def test_what_a_server_says() -> None:
    """A refusal in words is an answer; one that is cut may be used as it is."""
    plain, refused, cut, empty, blank = asked(
        reply(" Yes. "),
        reply("", refusal="I will not."),
        reply("Yes and", "length"),
        reply(" ", "content_filter"),
        reply("", refusal=" \n"),
    )
    assert [one.text for one in (plain, refused, cut, empty)] == ["Yes.", "I will not.", "Yes and", ""]
    assert [one.cut for one in (plain, refused, cut, empty)] == [False, False, True, False]
    assert [one.failure for one in (plain, refused, cut)] == [""] * 3
    assert empty.failure == "the answer is empty (content_filter)"
    assert blank.failure == "the answer is empty (stop)"
    assert plain.spent == Spent(1, 7, 0.5) and plain.suspect is None


def test_a_refused_request_is_suspect_unless_it_is_about_the_content() -> None:
    form, content = failed(refused=True), failed(refused=True, content=True)
    one, two = asked(form, content)
    assert one == ChatAnswer("", Spent(2, 3, 0.5), failure="too long", suspect=form)
    assert two == ChatAnswer("", Spent(2, 3, 0.5), failure="too long")
    with pytest.raises(ServerFailed, match=exactly("too long (s): h")):
        asked(failed(refused=False))


def test_a_server_is_asked_with_the_messages_and_the_seed() -> None:
    client = Client(reply("Yes."))
    answer_of(OpenAIChatModel(client, "gpt", 1), ASK)  # type: ignore[arg-type]
    assert client.asked == [(ASK.messages, 7)]


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2)])
def test_a_server_s_tokens_are_a_quarter_of_the_characters(text: str, tokens: int) -> None:
    assert OpenAIChatModel(Client(), "gpt", 1).count_tokens(text) == tokens  # type: ignore[arg-type]
    assert PublishedAnswers("file", {}).count_tokens(text) == tokens


def test_a_server_gets_the_limits_of_the_stage() -> None:
    made: list[Any] = []
    context: Any = SimpleNamespace(
        config=small_config(answers={"kind": "openai"}, max_new_tokens=77, temperature=0.25),
        client=lambda openai, *place: made.append((openai.max_tokens, openai.temperature, *place)),
    )
    assert isinstance(make_chat_model(context), OpenAIChatModel)
    assert made == [(77, 0.25, "model", "slsm.answers.openai")]
