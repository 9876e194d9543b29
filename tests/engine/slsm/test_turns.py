"""Messages as turns, and which turns nobody has answered."""

from __future__ import annotations

import pytest

from engine.slsm.turns import Conversation, Turn, turns_of


def test_an_earlier_turn_without_an_answer_is_open_the_last_never() -> None:
    talk = Conversation("a", (Turn("one"), Turn("two", "yes"), Turn("three"), Turn("four")))
    assert [talk.is_open(number) for number in range(4)] == [True, False, True, False]


def test_messages_of_one_role_are_joined_and_a_system_message_opens() -> None:
    said = [
        ("system", "Be kind."),
        ("user", "Hi"),
        ("user", "there"),
        ("assistant", "Hello"),
        ("user", "Bye"),
    ]
    turns = turns_of([{"role": role, "content": text} for role, text in said])
    assert turns == (Turn("Be kind.\n\nHi\n\nthere", "Hello"), Turn("Bye"))


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ("assistant", "message 0 is the assistant's, but the user has said nothing yet"),
        ("system assistant", "message 1 is the assistant's, but the user has said nothing yet"),
        ("user tool", "message 1 has the role 'tool'; it is user, assistant or system"),
        ("system", "no message of the user"),
        ("", "no message of the user"),
    ],
)
def test_messages_that_are_no_conversation(roles: str, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        turns_of([{"role": role, "content": "x"} for role in roles.split()])
    assert str(caught.value) == words


def test_the_note_stands_behind_the_last_message_and_an_open_turn_has_no_answer() -> None:
    talk = Conversation("a", (Turn("one"), Turn("two", ""), Turn("three")))
    said = [("user", "one"), ("user", "two"), ("assistant", ""), ("user", "three\n\nnote")]
    assert [(one["role"], one["content"]) for one in talk.messages("note")] == said
    assert [turn.text for turn in talk.turns] == ["one", "two\n", "three"]


def test_an_open_answer_that_is_gone_on_with_is_joined() -> None:
    said = [("user", "Hi"), ("assistant", None), ("assistant", "a"), ("assistant", "b"), ("user", "Bye")]
    turns = turns_of([{"role": role, "content": text} for role, text in said])
    assert turns == (Turn("Hi", "a\n\nb"), Turn("Bye"))
    assert turns_of([{"role": role, "content": text} for role, text in (*said[:2], said[4])])[0] == Turn("Hi")
