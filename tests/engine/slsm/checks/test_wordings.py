"""Every wording of an instruction that has an exact check."""

from __future__ import annotations

import pytest

from engine.slsm.checks.checks import Check, parse_check


def check_of(text: str) -> Check:
    found = parse_check(text)
    assert found is not None, text
    return found


@pytest.mark.parametrize(
    "text",
    [
        "Conclude every answer with the word maple",
        "Sign off each reply with the word maple",
        "Finish your answers on the word maple",
        'Close all answers by writing "maple"',
        'End any response by saying "maple"',
        "End both replies using the word maple",
        *(
            f"{whose} end with the word maple"
            for whose in (
                "Your answers should always", "Answers have to", "Your reply has to", "Replies need to",
                "Every response needs to",
                "Your posts shall", "Your messages will", "Outputs must",
            )
        ),
        "Each message ends with the word maple",
        "Be sure to end with the word maple",
        "Make sure you end with the word maple",
        "You should end with the word maple",
        "Never fail to end every answer with the word maple",
        "Do not hesitate to end every answer with the word maple",
    ],
)  # fmt: skip
def test_the_end_of_an_answer(text: str) -> None:
    check = check_of(text)
    assert (check.family, check.value) == ("end", "maple")


@pytest.mark.parametrize(
    "text",
    ["Open every answer with the word Sure", "Start each reply using the word Sure", "Do begin with: Sure"],
)
def test_the_beginning_of_an_answer(text: str) -> None:
    found = parse_check(text)
    assert (found and (found.family, found.value)) == (None if ":" in text else ("begin", "Sure"))


@pytest.mark.parametrize(
    ("text", "kept", "broken"),
    [
        ("End every answer with a question mark", "Is it?", "It is!"),
        ("End every answer with an exclamation mark", "It is!", "Is it?"),
        ("End every answer with an exclamation point", "It is!", "Is it?"),
        ("End every answer with a period", "It is.", "It is!"),
        ("End every answer with a full stop", "It is.", "It is!"),
        ("Avoid semicolons", "a, b", "a; b"),
        ("Never use colons", "a; b", "a: b"),
        ("Never use question marks", "Is it.", "Is it?"),
        ("Avoid exclamation points", "Yes?", "Yes!"),
        ("Never use brackets", "a b", "a [b]"),
        ("Never use brackets", "a b", "a (b)"),
        ("Never use asterisks", "a", "*a*"),
        ("Never use hashtags", "a", "#a"),
        ("No em-dashes", "a - b", "a — b"),
        ("Respond as valid JSON", "[1]", "one"),
        ("Use only JSON", "[1]", "one"),
        ("Answer in bullets", "- a", "1. a"),
        ("Use a bulleted list", "* a", "a"),
        ("Write with bullet lists", "• a", "a"),
        ("Write everything on one line", "a b", "a\nb"),
        ("Write everything in upper case", "A 1", "a 1"),
        ("Reply in uppercase", "A 1", "a 1"),
        ("Write only all capitals", "A 1", "a 1"),
        ("No lower case", "A 1", "a 1"),
        ("Avoid small letters", "A 1", "a 1"),
        ("Write in small letters", "a 1", "A 1"),
        ("Without any capitals", "a 1", "A 1"),
        *(
            (f"The {what} tea is {so}", "milk", "tea")
            for what, so in (
                ("word", "forbidden"), ("phrase", "off-limits"), ("term", "off limits"), ("word", "not allowed"),
                ("word", "taboo"),
            )
        ),
        ("These words are banned: tea", "milk", None),
        ("Use the expression “so be it”", "So be it.", "Be it so."),
        ("Avoid any of the following keywords: tea or milk", "rice", "milk"),
        ("Avoid 'tea'", "milk", "tea"),
        ("Say *tea*", "tea", "milk"),
    ],
)  # fmt: skip
def test_marks_forms_and_words(text: str, kept: str, broken: str | None) -> None:
    if broken is None:
        assert parse_check(text) is None
        return
    check = check_of(text)
    assert (check.holds(kept), check.holds(broken)) == (True, False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Answer with less than 5 words", "at most 4"),
        ("Answer with fewer than 5 words", "at most 4"),
        ("Stay below 5 words", "at most 4"),
        ("Keep answers shorter than 5 words", "at most 4"),
        ("Write over 5 words", "at least 6"),
        ("Write answers longer than 5 words", "at least 6"),
        ("A minimum of 5 words", "at least 5"),
        ("A maximum of 5 words", "at most 5"),
        ("Answer within 5 words", "at most 5"),
        ("Write up to 5 words", "at most 5"),
        ("Restrict answers to 5 words", "at most 5"),
        ("Cap your answers to 5 words", "at most 5"),
        ("Keep your answers to 5 words", "at most 5"),
        ("Write only 5 words", "exactly 5"),
        ("Write just 5 words", "exactly 5"),
        ("Your answers must be 5 words", "exactly 5"),
        ("Answer with 5 words", "exactly 5"),
        ("Answer in 5 words or fewer", "at most 5"),
        ("Answer in 5 words or more", "at least 5"),
        ("Answer in 5 words max", "at most 5"),
        ("Answer in 5 words maximum", "at most 5"),
        ("Answer in 5 words minimum", "at least 5"),
        ("Answer in 5 words at most", "at most 5"),
        ("Answer in two short sentences", "exactly 2"),
        ("Answer in two brief sentences", "exactly 2"),
        ("Answer in two full sentences", "exactly 2"),
        ("Answer in two complete sentences", "exactly 2"),
        ("Answer in 2-3 sentences", "2 to 3"),
        ("Answer in 2 to 3 sentences", "2 to 3"),
        ("Answer in two words from now on", "exactly 2"),
        ("Use two lines of code", None),
        ("Use three items on the list", None),
        ("Answer with two words that rhyme", None),
        ("Answer with two words which rhyme", None),
        ("Answer with two words you know", None),
        ("Answer with two words I know", None),
    ],
)
def test_lengths(text: str, value: str | None) -> None:
    found = parse_check(text)
    assert (found and found.value) == value


LANGUAGES = {
    "English": "en", "French": "fr", "German": "de", "Spanish": "es", "Italian": "it", "Portuguese": "pt",
    "Dutch": "nl",
    "Polish": "pl", "Russian": "ru", "Chinese": "zh", "Japanese": "ja", "Korean": "ko", "Arabic": "ar",
    "Turkish": "tr",
    "Swedish": "sv", "Greek": "el", "Czech": "cs", "Hindi": "hi",
}  # fmt: skip


@pytest.mark.parametrize(("name", "code"), LANGUAGES.items())
def test_languages_have_their_codes(name: str, code: str) -> None:
    assert check_of(f"Answer in {name}").value == code


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(
            (text, "fr")
            for text in (
                "Use French", "Speak only French", "Switch to French", "Stick to French only", "Use French, please",
                "And answer in French", "Also, answer in French", "But answer in French", "So answer in French",
                "Oh, answer in French", "Ok, answer in French", "Okay, answer in French", "Well, answer in French",
                "By the way, answer in French", "Yes, answer in French", "No, answer in French",
                "I want all your answers in French", "I need your answers in French",
                "I'd like every reply in French",
                "I really prefer replies in French", "We expect responses in French",
                "We'd ask you to answer in French",
                "I asked you to answer in French", "I told you to answer in French", "I said all answers in French",
            )
        ),
        *(
            (text, "not fr")
            for text in (
                "You mustn't answer in French", "You shouldn't answer in French", "You won't answer in French",
                "You cannot answer in French", "You can't answer in French", "Stop all answers in French",
                "Refrain from any answer in French", "Avoid answers in French",
                "Your answers should not be in French", "Replies must never be in French",
            )
        ),
        *(
            (text, None)
            for text in (
                "No need to answer in French", "You no longer have to answer in French",
                "You don't have to answer in French",
                "You do not need to answer in French", "You may stop an answer in French",
                "Not necessarily answer in French",
                *(
                    f"{who} answer in French"
                    for who in (
                        "I", "I'm to", "I've to", "I'll", "I'd", "We", "We're to", "He will", "She will", "They",
                        "It is an",
                        "It's an", "My students", "Our guests", "His guests", "Her guests", "Their guests",
                        "There is an",
                        "Someone may", "Somebody may",
                    )
                ),
            )
        ),
    ],
)  # fmt: skip
def test_demands_prohibitions_and_statements(text: str, value: str | None) -> None:
    found = parse_check(text)
    assert (found and found.value) == value
