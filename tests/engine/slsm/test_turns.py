"""Messages as turns, and which turns nobody has answered."""

from __future__ import annotations

import pytest

from engine.slsm.turns import Conversation, Turn, turns_of

SILENT = {"role": "user", "content": None}


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
    ("roles", "turns"),
    [
        ("system user user assistant user", (Turn("0\n\n1\n\n2", "3"), Turn("4"))),
        ("user assistant assistant system user", (Turn("0", "1\n\n2"), Turn("3\n\n4"))),
        ("user system assistant user", (Turn("0\n\n1", "2"), Turn("3"))),
        ("user assistant user system", (Turn("0", "1"), Turn("2\n\n3"))),
    ],
)
def test_the_messages_stay_as_they_were_given_but_for_the_note(roles: str, turns: tuple[Turn, ...]) -> None:
    given = [{"role": role, "content": str(number)} for number, role in enumerate(roles.split())]
    talk = Conversation("a", turns_of(given))
    assert talk.turns == turns and talk.messages() == given
    last = max(number for number, message in enumerate(given) if message["role"] == "user")
    noted = given[last] | {"content": f"{last}\n\nN"}
    assert talk.messages("N") == [*given[:last], noted, *given[last + 1 :]]


def test_another_answer_takes_the_place_of_a_turns_own() -> None:
    given = [("system", "S"), ("user", "Hi"), ("assistant", "Hello"), ("assistant", "there"), ("user", "Bye")]
    first, last = turns_of([{"role": role, "content": text} for role, text in given])
    other, none = first.answered("Ho"), first.answered(None)
    assert (other, none) == (Turn("S\n\nHi", "Ho"), Turn("S\n\nHi"))
    assert [one["content"] for one in Conversation("a", (other, last)).messages()] == ["S", "Hi", "Ho", "Bye"]
    assert [one["content"] for one in Conversation("a", (none,)).messages()] == ["S", "Hi"]
    assert Turn("a").answered("b") == Turn("a", "b") and Turn("a", "b").answered("c").as_given[1] == (
        "assistant",
        "c",
    )


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ("assistant", "message 0 is the assistant's, but the user has said nothing yet"),
        ("system assistant", "message 1 is the assistant's, but the user has said nothing yet"),
        ("user tool", "message 1 has the role 'tool'; it is user, assistant or system"),
        ("user none assistant", "message 1 has no `content`"),
        ("system", "no message of the user"),
        ("", "no message of the user"),
    ],
)
def test_messages_that_are_no_conversation(roles: str, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        turns_of([SILENT if role == "none" else {"role": role, "content": "x"} for role in roles.split()])
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
