"""Messages as turns, and which turns nobody has answered."""

from __future__ import annotations

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
