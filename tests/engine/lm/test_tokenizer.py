"""Texts and conversations as token ids."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from engine.errors import ModelError
from engine.lm.tokenizer import HfTokenizer
from tests.exactly import exactly
from tests.tiny_models import tiny_tokenizer

TEMPLATE = (
    "{% for m in messages %}<|user|>{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + TEMPLATE
)


@pytest.mark.parametrize(
    "text", ["", "a", "\n\n", "  two  spaces .  , n't", "1 . 2 ?\n\n\n 'll", "état\u2028\t—", "\n\nx \n\n"]
)
def test_text_comes_back_exactly(text: str) -> None:
    tokenizer = HfTokenizer(tiny_tokenizer())
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_special_tokens_are_no_text() -> None:
    tokenizer = HfTokenizer(tiny_tokenizer())
    assert tokenizer.decode([*tokenizer.encode("a\n\n"), 0]) == "a\n\n"


def test_pieces_are_what_each_token_adds() -> None:
    """Of letters in several tokens, the last one has the letter; special tokens have their names."""
    tokenizer = HfTokenizer(tiny_tokenizer())
    tokens = tokenizer.encode("état — x")
    alone = [tokenizer.decode([token]) for token in tokens]
    assert alone.count("\ufffd") == 3, "the dash has three bytes"
    pieces = tokenizer.pieces([*tokens, 0])
    name = pieces.pop()
    assert "".join(pieces) == "état — x" and len(pieces) == len(tokens)
    assert name and tokenizer.decode([0]) == ""
    dash = pieces.index("—")
    assert pieces[dash - 2 : dash] == ["", ""] and pieces.count("") == 2
    assert tokenizer.pieces([]) == [] and tokenizer.pieces(tokens[dash - 2 : dash]) == ["", "\ufffd"]


def test_a_piece_keeps_the_space_that_the_first_of_a_text_loses() -> None:
    """Some libraries take away the space before the first word of whatever is decoded."""
    words = {1: " One", 2: " two", 3: " three"}
    library = SimpleNamespace(
        eos_token_id=None,
        decode=lambda tokens, **settings: "".join(words[token] for token in tokens).removeprefix(" "),
    )
    assert HfTokenizer(library).pieces([1, 2, 3]) == ["One", " two", " three"]


def test_ends_come_from_tokenizer_and_generation_settings() -> None:
    assert HfTokenizer(tiny_tokenizer()).eos_token_ids == {0}
    assert HfTokenizer(tiny_tokenizer(), [5, 7]).eos_token_ids == {0, 5, 7}
    without = tiny_tokenizer()
    without.eos_token = None
    assert HfTokenizer(without).eos_token_ids == set() and HfTokenizer(without, [5]).eos_token_ids == {5}


def test_chat_by_template() -> None:
    tokenizer = HfTokenizer(tiny_tokenizer(TEMPLATE))
    assert tokenizer.encode_chat("hi") == [1, *tokenizer.encode("user: hi\nassistant:")]
    with_system = tokenizer.encode_chat("hi", "be kind")
    assert tokenizer.decode(with_system) == "system: be kind\nuser: hi\nassistant:"
    empty = tokenizer.encode_chat("hi", "")  # in place of one that the template would put there itself
    assert tokenizer.decode(empty) == "system: \nuser: hi\nassistant:"


def test_a_template_without_system_role() -> None:
    tokenizer = HfTokenizer(tiny_tokenizer(NO_SYSTEM))
    assert tokenizer.decode(tokenizer.encode_chat("hi", "be kind")) == "user: be kind\n\nhi\nassistant:"


def test_chat_without_template() -> None:
    tokenizer = HfTokenizer(tiny_tokenizer())
    assert tokenizer.decode(tokenizer.encode_chat("hi")) == "hi\n\n"
    assert tokenizer.decode(tokenizer.encode_chat("hi", "be kind")) == "be kind\n\nhi\n\n"


CONVERSATION = [
    {"role": "user", "content": "a"},
    {"role": "assistant", "content": "b"},
    {"role": "user", "content": "c"},
]
SYSTEM = {"role": "system", "content": "be kind"}


def test_a_conversation_by_template() -> None:
    tokenizer = HfTokenizer(tiny_tokenizer(TEMPLATE))
    tokens = tokenizer.encode_messages(CONVERSATION)
    assert tokenizer.decode(tokens) == "user: a\nassistant: b\nuser: c\nassistant:"
    assert tokens.count(1) == 3  # the template's special token is one, a turn
    told = tokenizer.decode(tokenizer.encode_messages([SYSTEM, *CONVERSATION]))
    assert told == "system: be kind\nuser: a\nassistant: b\nuser: c\nassistant:"


def test_a_conversation_without_template() -> None:
    tokenizer = HfTokenizer(tiny_tokenizer())
    assert (
        tokenizer.decode(tokenizer.encode_messages([SYSTEM, *CONVERSATION])) == "be kind\n\na\n\nb\n\nc\n\n"
    )
    assert tokenizer.encode_messages(CONVERSATION) == tokenizer.encode("a\n\nb\n\nc\n\n")


def test_a_conversation_where_a_system_role_is_refused() -> None:
    """It opens the first turn of the user; the others stay what they were."""
    tokenizer = HfTokenizer(tiny_tokenizer(NO_SYSTEM))
    told = tokenizer.decode(tokenizer.encode_messages([SYSTEM, *CONVERSATION]))
    assert told == "user: be kind\n\na\nassistant: b\nuser: c\nassistant:"
    assert tokenizer.decode(tokenizer.encode_messages(CONVERSATION)) == told.replace("be kind\n\n", "")


def test_one_turn_is_the_shortest_conversation() -> None:
    for template in (None, TEMPLATE, NO_SYSTEM):
        tokenizer = HfTokenizer(tiny_tokenizer(template))
        assert tokenizer.encode_chat("hi") == tokenizer.encode_messages([{"role": "user", "content": "hi"}])
        alone = tokenizer.encode_chat("hi", "be kind")
        assert alone == tokenizer.encode_messages([SYSTEM, {"role": "user", "content": "hi"}])


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{{ raise_exception('never') }}", "TemplateError: never"),
        ("{{ messages.__class__.__mro__ }}", "SecurityError"),
        ("{{ messages.append(1) }}", "SecurityError"),
        ("{% for i in range(1000000000) %}{{ i }}{% endfor %}", "OverflowError"),
        ("{{ 'x' * 3000000 }}", "3,000,000 characters of 2"),
        ("{{ messages[0].content + 1 }}", "TypeError"),
        ("{{ messages[0].nothing.more }}", "UndefinedError"),
        ("{% if %}", "TemplateSyntaxError"),
        ("{{ 1 // 0 }}", "ZeroDivisionError"),
    ],
)
@pytest.mark.parametrize("system", [None, "be kind"])
def test_a_template_that_fails_is_one_clear_error(template: str, why: str, system: str | None) -> None:
    with pytest.raises(ModelError, match="chat template fails") as caught:
        HfTokenizer(tiny_tokenizer(template)).encode_chat("hi", system)
    assert why.removesuffix(" of 2") in caught.value.what


@pytest.mark.parametrize(("why", "said"), [("first\\nsecond", "first"), ("a" * 300, "a" * 185)])
def test_of_a_long_error_of_a_template_one_line_is_said(why: str, said: str) -> None:
    with pytest.raises(ModelError) as caught:
        HfTokenizer(tiny_tokenizer(f"{{{{ raise_exception('{why}') }}}}")).encode_chat("hi")
    assert caught.value.what == f"the model's chat template fails: TemplateError: {said}"


def test_messages_without_a_template_are_those_that_say_something() -> None:
    plain = HfTokenizer(tiny_tokenizer())
    said, empty = {"role": "user", "content": "Two pens"}, {"role": "system", "content": ""}
    assert plain.decode(plain.encode_messages([empty, said, empty])) == "Two pens\n\n"
    assert plain.encode_messages([empty, said, empty]) == plain.encode_messages([said])


def test_the_longest_token_bounds_how_few_tokens_a_text_has() -> None:
    vocabulary = {"a": 0, "abcd": 1, "ab": 2}
    found = HfTokenizer(SimpleNamespace(eos_token_id=None, get_vocab=lambda: vocabulary))
    assert found.longest_token == 4
    vocabulary.clear()
    assert HfTokenizer(SimpleNamespace(eos_token_id=None, get_vocab=lambda: vocabulary)).longest_token == 1


class Library:
    """A library's tokenizer, a letter a token; `before` and `after` are the special tokens around a text."""

    eos_token_id = None
    chat_template: str | None = None

    def __init__(self, before: tuple[int, ...] = (), after: tuple[int, ...] = ()) -> None:
        self.before, self.after = before, after
        self.decoded: list[dict[str, bool]] = []

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        plain = [ord(letter) for letter in text]
        return [*self.before, *plain, *self.after] if add_special_tokens else plain

    def decode(self, tokens: list[int], **settings: bool) -> str:
        self.decoded.append(settings)
        return "".join(map(chr, tokens))

    def apply_chat_template(self, messages: list[dict[str, str]], **settings: bool) -> str:
        assert settings == {"tokenize": False, "add_generation_prompt": True}
        return "ab" * int(messages[-1]["content"].strip())


@pytest.mark.parametrize(
    ("before", "after", "opening"),
    [((), (), []), ((1,), (), [1]), ((1, 2), (3,), [1, 2]), ((), (3,), [])],
)
def test_without_a_template_a_conversation_opens_as_every_text(
    before: tuple[int, ...], after: tuple[int, ...], opening: list[int]
) -> None:
    tokenizer = HfTokenizer(Library(before, after))
    assert tokenizer.encode_chat("hi") == [*opening, *map(ord, "hi\n\n")]


def test_a_text_that_the_library_writes_otherwise_has_no_opening() -> None:
    library = Library((1,))
    library.encode = lambda text, add_special_tokens: [5, 6] if add_special_tokens else [7]  # type: ignore[method-assign]
    assert HfTokenizer(library).encode_chat("hi") == [7]


def test_white_space_is_never_cleaned_up() -> None:
    """Some libraries take away the space before a full stop: a text would then have other characters than tokens."""
    library = Library()
    tokenizer = HfTokenizer(library)
    assert tokenizer.decode([97]) == "a" and tokenizer.pieces([97]) == ["a"]
    kept = {"clean_up_tokenization_spaces": False}
    assert library.decoded[0] == kept | {"skip_special_tokens": True}
    assert len(library.decoded) > 1 and all(settings == kept for settings in library.decoded[1:])


def test_a_template_may_make_sixteen_times_as_many_characters_and_a_million_beside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.lm.tokenizer._BESIDE", 10)
    library = Library()
    library.chat_template = "a template"
    user, system = {"role": "user", "content": "45 "}, {"role": "system", "content": "so"}
    tokenizer = HfTokenizer(library)
    assert len(tokenizer.encode_messages([system, user])) == 90 == 16 * 5 + 10
    said = (
        "the model's chat template fails: ValueError: it makes 90 characters of 3 (chat_template in the folder of the "
        "model): copy the model's tokenizer files again, or take a model whose template takes such conversations"
    )
    with pytest.raises(ModelError, match=exactly(said)):
        tokenizer.encode_messages([user])
    with pytest.raises(ModelError, match="it makes 92 characters of 5"):
        tokenizer.encode_messages([system, user | {"content": "46 "}])


def test_a_system_message_alone_is_the_users_where_its_role_is_refused() -> None:
    tokenizer = HfTokenizer(tiny_tokenizer(NO_SYSTEM))
    assert tokenizer.decode(tokenizer.encode_messages([SYSTEM])) == "user: be kind\nassistant:"


def test_messages_of_one_role_in_a_row_are_one_where_a_template_refuses_them() -> None:
    refuses = (
        "{% for m in messages %}{% if loop.index0 and m['role'] == messages[loop.index0 - 1]['role'] %}"
        "{{ raise_exception('roles must alternate') }}{% endif %}{% endfor %}"
    )
    said = [SYSTEM, *CONVERSATION, {"role": "user", "content": "d"}]
    taken = HfTokenizer(tiny_tokenizer(TEMPLATE))
    assert taken.decode(taken.encode_messages(said)) == (
        "system: be kind\nuser: a\nassistant: b\nuser: c\nuser: d\nassistant:"
    )
    strict = HfTokenizer(tiny_tokenizer(refuses + TEMPLATE))
    assert strict.decode(strict.encode_messages(said)) == (
        "user: be kind\n\na\nassistant: b\nuser: c\n\nd\nassistant:"
    )
    assert strict.encode_messages([SYSTEM, *CONVERSATION]) == taken.encode_messages([SYSTEM, *CONVERSATION])


def test_several_templates_by_name_are_left_to_the_library() -> None:
    library = Library()
    library.chat_template = {"default": "a template"}  # type: ignore[assignment]
    assert HfTokenizer(library).encode_messages([{"role": "user", "content": "2"}]) == [*map(ord, "abab")]
