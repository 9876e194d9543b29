"""Instructions that can be checked: which are read, as what, and whether an answer keeps them."""

from __future__ import annotations

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.slsm.checks.checks import Check, _opposite, exclude, parse_check
from engine.slsm.checks.measures import gives_list, is_json, is_quoted, sentences_of, size_of, words_of


def check_of(text: str) -> Check:
    found = parse_check(text)
    assert found is not None, text
    return found


NO_WORDS = "a an the your my our some any no this that what how one two three"
"""Behind one of these stands what an answer ends with, not the word itself."""
OPENINGS = "And|Also,|But|So,|Oh,|Ok,|Okay,|Well,|By the way,|Yes,|No,"
FORBIDDING = (
    "Make sure it doesn't use|Make sure it mustn't use|The text shouldn't use|The text won't use|"
    "The text cannot use|The text can't use|Refrain from using|Stop using|Write without using|Do not use"
)
KEPT_AND_BROKEN = (
    *((f"{opening} the word moist is banned", "It is wet.", "A moist cake.") for opening in OPENINGS.split("|")),
    *((f"{words} the word tea", "Milk.", "Tea.") for words in FORBIDDING.split("|")),
    *((f"Make sure that it {uses} the word tea", "Tea.", "Milk.") for uses in ("uses", "writes", "says", "includes")),
    ("Never use the word apple", "I like plums.", "An Apple a day."),
    ("Please don't say \"sorry\"", "Here it is.", "Sorry, no."),
    ("Avoid the word very", "It is good.", "It is very good."),
    ("Avoid using the word “utilize”", "They use it.", "They utilize it."),
    ('Do not use the words "very" and "really"', "It is good.", "It is really good."),
    ("Don't ever use the words sorry, apologies or regret", "No.", "My apologies."),
    ("Never say 'don't' or 'can't'", "I cannot.", "I can't."),
    ('Make sure your responses never contain the word "but"', "It is buttered.", "Yes, but no."),
    ("Include the keywords waste, material and meal", "Waste material, one meal.", "Waste and material."),
    ('Do not include the following keywords: "field", "thanks"', "A meadow.", "Thanks, a meadow."),
    ('Always include the words "one" or "two"', "Two.", "Three."),
    ('Never say "one" and "two"', "Three.", "Two."),
    ("Make sure to use the word war at least 2 times", "War and war.", "A war."),
    ('Use the keyword "war" less than 2 times in every answer', "A war.", "War and war."),
    ('Wrap your entire response with double quotes', '"Yes."', "Yes."),
    ("Put double quotation marks around your entire response", '"Yes."', '"Yes'),
    ("Put double quotation marks around your entire response", '"Y"', '""'),
    ("Your answer must contain a title, wrapped in double angular brackets", "<<Yes>> it is", "Yes it is"),
    ("Use all lowercase letters", "yes.", "Yes."),
    ('End every answer with "Is it? Yes!"', "It is. Is it? Yes!", "It is. Is it? Yes."),
    ('End every answer with "Peace!"', "So be it. **Peace!**", "So be it. Peace"),
    ("Use exactly 2 bullet points", "- a\n- b", "1. a\n2. b"),
    ("The word moist is banned", "The cake is wet.", "The cake is moist."),
    ("Never use the word apple in any of your answers", "A pear.", "An apple."),
    ("Always include the word banana", "A banana!", "A pear."),
    ('Include the phrase "best regards" in every answer', "Yes. Best regards, A.", "Best and regards."),
    ("End every answer with the word maple", "A tree. Maple!", "A maple tree."),
    ('From now on, end each reply with "Over and out"', "Done, over and out.", "Over, done and out."),
    ("Close all your answers with the word zephyr!", "Wind: zephyr", "zephyr wind"),
    ("Finish all your responses by saying cheers", "Yes. Cheers.", "Cheers. Yes."),
    ('Every answer must end with "Amen"', "So be it, amen.", "Amen, so be it."),
    ('Always end with "谢谢"', "这是苹果。谢谢。", "谢谢，这是苹果。"),
    ("End every answer with 🙂", "Good 🙂", "🙂 Good"),
    ("End your answers with a question", "Is it?", "It is."),
    ("Don't end your answers with a question", "It is.", "Is it?"),
    ('Never end an answer with "bye"', "Bye for now.", "So, bye."),
    ('Your answers must not ever end with "bye"', "Bye for now.", "So, bye."),
    ('Your answers should never ever end with "bye"', "Bye for now.", "So, bye."),
    ('End every answer with "bye", now or later', "So, bye.", "Bye for now."),
    *((f'Do not worry{mark} end every answer with "bye"', "So, bye.", "Bye for now.") for mark in (*",;:", " but")),
    ('Include the words "red" and "blue" for me', "Red, blue.", "Red."),
    ('Include the words "red" and "blue" in order', "Red, blue.", "Blue."),
    ("Never say ‘tea’ or ‘milk’", "Rice.", "Milk."),
    ("Never say “tea” or “milk”", "Rice.", "Milk."),
    ("Don't forget to end every answer with the word maple", "Yes, maple.", "Yes."),
    ('Begin every answer with "Sure"', "Sure, here.", "Here, sure."),
    ("You must always start with the phrase thank you", "Thank you, yes.", "Yes, thank you."),
    ('Never start a reply with "I"', "You and I.", "I think so."),
    ("Answer in at most 3 sentences", "One. Two. Three.", "One. Two. Three. Four."),
    ("Answer in exactly two sentences", "One. Two.", "One."),
    ("Keep every answer under 4 words", "One two three.", "One two three four."),
    ("Your answers should be 3 words or less", "One two three.", "One two three four."),
    ("Limit your answers to 3 words", "One.", "One two three four."),
    ("Never use more than three words", "One two three.", "One two three four."),
    ("Do not exceed 3 words", "One two three.", "One two three four."),
    ("Reply with more than three words", "One two three four.", "One two three."),
    ("Use at least 3 words", "One two three.", "One two."),
    ("Your answers should be between 2 and 3 words", "One two.", "One."),
    ("Answer in a single word", "Yes.", "Yes indeed."),
    ("Use no more than 2 bullet points", "- a\n- b", "- a\n- b\n- c"),
    ("Write in all caps", "YES, 2 OF THEM.", "YES, two OF THEM."),
    ("No capital letters please", "yes, 2 of them.", "Yes, 2 of them."),
    ("Never write in capital letters", "Yes.", "YES."),
    ("Only use lowercase", "yes.", "Yes."),
    ("Respond in French", "Je ne sais pas où il habite.", "I do not know where he lives."),
    ("Please answer in German from now on", "Ich weiß nicht, wo er wohnt.", "Je ne sais pas où il habite."),
    ("Do not answer in French", "I do not know where he lives.", "Je ne sais pas où il habite."),
    ("Answer in Chinese", "我不知道他住在哪里。", "Ich weiß nicht, wo er wohnt."),
    ("Reply in JSON", '{"a": 1}', 'Here: {"a": 1}'),
    ("Answer in JSON", '\n```json\n{"a": 1}\n```\n', 'Here:\n```json\n{"a": 1}\n```'),
    ("Give your answers as bullet points", "- a\n- b", "a and b"),
    ("Do not use bullet points", "a - b", "- a\n- b"),
    ("Use a numbered list", "1. a\n2. b", "- a\n- b"),
    ("Keep it on a single line", "a b", "a\nb"),
    ("No emojis", "Good!", "Good 🎉"),
    ("Please don't use any exclamation marks", "Good.", "Good!"),
    ("Avoid commas in your answers", "One two.", "One, two."),
    ("Do not use em dashes", "One - two.", "One — two."),
    ("Write without parentheses", "One.", "One (1)."),
    ("Never use digits", "One.", "1."),
    ("Never use any emoji", "Good :)", "Good ☺"),
    ("Put an emoji in every answer", "Good 🎉", "Good!"),
    ('End every answer with "Is that clear?"', "Yes. Is that clear?", "Yes. Is that clear."),
    ('End every answer with "over and out."', "Yes, over and out.", "Yes, over and out"),
    ('End every answer with "over."', "Yes, over", "Yes, over and out."),
    ("Never use fewer than three words", "One two three.", "One two."),
    ("Write at most 5 characters", " Yes.\n\n", "Yes, it"),
    ("Answer in exactly two paragraphs", "One.\n\nTwo.\n\n", "One.\n\n"),
    ("Answer in exactly 2 lines", "a\n\nb", "a b"),
    ("Give at least 3 items", "- a\n1. b\n2. c", "- a\n- b"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "kept", "broken"), KEPT_AND_BROKEN)
def test_an_instruction_tells_a_kept_answer_from_a_broken_one(text: str, kept: str, broken: str) -> None:
    check = check_of(text)
    assert check.holds(kept)
    assert not check.holds(broken)


FAULTS = {
    'Do not use the words "very" and "really"': "says “very” or “really”",
    "Include the keywords waste, material and meal": "does not say “waste” and “material” and “meal”",
    'Always include the words "one" or "two"': "does not say “one” or “two”",
    "Make sure to use the word war at least 2 times": "does not say “war” 2 times",
    'Use the keyword "war" less than 2 times': "says “war” more than 1 time",
    'Use the keyword "war" less than 1 time': "says “war” more than 0 times",
    "Put double quotation marks around your entire response": "is not in double quotation marks",
    "Your answer must contain a title, wrapped in double angular brackets": "has no <<title>>",
    "Write in all caps": "is not in capital letters only",
    "Use all lowercase letters": "has capital letters",
    "Never write in capital letters": "is in capital letters",
    'End every answer with "Amen"': "does not end with “Amen”",
    'Never end an answer with "bye"': "ends with “bye”",
    "End your answers with a question": "does not end with “?”",
    'Begin every answer with "Sure"': "does not begin with “Sure”",
    'Never start a reply with "I"': "begins with “I”",
    "Answer in at most 3 sentences": "has not at most 3 sentences",
    "Your answers should be between 2 and 3 words": "has not 2 to 3 words",
    "Answer in a single word": "has not exactly 1 word",
    "Answer in exactly 21 words": "has not exactly 21 words",
    "Use at least 3 words": "has not at least 3 words",
    "Respond in French": "is not in French",
    "Do not answer in French": "is in French",
    "Reply in JSON": "is not valid JSON",
    "Give your answers as bullet points": "has no bullet points",
    "Do not use bullet points": "has bullet points",
    "Use a numbered list": "has no numbered list",
    "Keep it on a single line": "has more than one line",
    "No emojis": "has an emoji",
    "Put an emoji in every answer": "has no emoji",
    "Avoid commas in your answers": "has commas",
    "Do not keep it on a single line": "is one line",
    "Avoid titles in double angular brackets in every answer": "has a <<title>>",
    "Never use JSON": "is JSON",
    "Do not use a numbered list": "has a numbered list",
    "Do not answer in exactly 3 words": "has exactly 3 words",
    "Never write fewer than 3 words": "has not at least 3 words",
    "Never use the word war at least 2 times": "says “war” 2 times",
    "Never use the word war less than 2 times": "says “war” at most 1 time",
    "Use the keyword war more than 2 times": "does not say “war” 3 times",
    "Answer in twenty words or less": "has not at most 20 words",
    "Use at least fifty words": "has not at least 50 words",
    "Write at most a hundred characters": "has not at most 100 characters",
}


def test_what_is_said_of_an_answer_that_breaks_an_instruction() -> None:
    assert {text: check_of(text).fault for text in FAULTS} == FAULTS


NUMBERS = {
    "a single": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "a hundred": 100, "one hundred": 100, "hundred": 100, "17": 17,
}  # fmt: skip


@pytest.mark.parametrize(("word", "number"), NUMBERS.items())
def test_numbers_in_words(word: str, number: int) -> None:
    check = check_of(f"Answer in exactly {word} words")
    assert check.value == f"exactly {number}"
    assert check.holds("a " * number) and not check.holds("a " * (number + 1))


@pytest.mark.parametrize(("length", "read"), [(300, True), (301, False)])
def test_an_instruction_that_is_too_long_is_none(length: int, read: bool) -> None:
    said = "Never use the word apple, "
    assert (parse_check(said + "x" * (length - len(said))) is not None) is read


@pytest.mark.parametrize(
    "text",
    ["End every answer with one or two", "Never use the word"],
)
def test_words_that_are_not_said_plainly_are_no_check(text: str) -> None:
    assert parse_check(text) is None


@pytest.mark.parametrize(
    "text",
    (
        "Use simple words",
        "Be brief",
        "Keep your answers short",
        "Answer in detail",
        "Begin your answer with a greeting",
        "Start the meeting with a joke",
        *(f"End every answer with {kind} farewell" for kind in NO_WORDS.split()),
        "Never use jargon",
        "Never mention my ex",
        "Write a haiku",
        "use the metric system",
        "use three items from the list",
        "Reply in French or German",
        "Without using the letter e",
        # statements
        "I have two sentences to write",
        "My name is in capital letters on the door",
        "I want to talk in French tomorrow with my teacher",
        "I live in all the capitals of Europe",
        "The sign is in capital letters",
        "She writes in capital letters",
        "My list is milk, eggs and bread",
        "Remember that my dog is called Rex",
        # what is asked
        "What is the word for apple in French?",
        "Do you always answer in English?",
        "Can you end a letter with the word love?",
        # what is let go
        "You no longer need to answer in French",
        "You can stop using capital letters",
        "",
        "!!!",
    ),
)
def test_what_cannot_be_checked_or_is_no_instruction_is_no_check(text: str) -> None:
    assert parse_check(text) is None


@pytest.mark.parametrize(
    ("text", "other"),
    (
        ("Answer in French", "Reply in German"),
        ("Answer in French", "Do not answer in French"),
        ("Write in capital letters", "Use only lowercase"),
        ("No emojis", "Put an emoji in every answer"),
        ("Never use the word tea", "Always use the word tea"),
        ("Answer in two sentences", "Answer in at least 5 sentences"),
        ('End every answer with "a"', 'End every answer with "b"'),
    ),
)
def test_two_that_cannot_both_be_kept_exclude_each_other(text: str, other: str) -> None:
    first, second = check_of(text), check_of(other)
    assert exclude(first, second) and exclude(second, first)


@pytest.mark.parametrize(
    ("text", "other"),
    (
        ("Do not answer in French", "Do not answer in German"),
        ("Do not answer in French", "Answer in English"),
        ("Never use the word tea", "Never use the word milk"),
        ('End every answer with "a"', 'Begin every answer with "a"'),
        ("Use bullet points", "Do not reply in JSON"),
    ),
)
def test_two_that_can_both_be_kept_do_not(text: str, other: str) -> None:
    assert not exclude(check_of(text), check_of(other))


WORD = st.text(string.ascii_lowercase, min_size=1, max_size=8)
WORDS = st.lists(WORD, min_size=1, max_size=12)


@given(WORD, WORDS)
def test_answers_built_to_end_begin_use_or_avoid_a_word(word: str, others: list[str]) -> None:
    assume(word not in others)
    text = " ".join(others)
    for instruction, kept, broken in (
        (f"End every answer with the word {word}", f"{text}. {word.title()}!", f"{word}, {text}."),
        (f'Begin every reply with "{word}"', f"{word.title()}: {text}.", f"{text} {word}"),
        (f"Always use the word {word}", f"{text}, {word} {text}", text),
        (f"Never use the word {word} in your answers", text, f"{text} {word.upper()}."),
    ):
        check = check_of(instruction)
        assert check.holds(kept), instruction
        assert not check.holds(broken), instruction


@given(st.integers(1, 40), WORDS)
def test_answers_built_to_a_length(number: int, words: list[str]) -> None:
    has = len(words)
    text = " ".join(words)
    assert check_of(f"Answer in at most {number} words").holds(text) == (has <= number)
    assert check_of(f"Use at least {number} words").holds(text) == (has >= number)
    assert check_of(f"Answer in exactly {number} words").holds(text) == (has == number)
    assert check_of(f"Keep every answer under {number} words").holds(text) == (has < number)
    assert check_of(f"Never use more than {number} words").holds(text) == (has <= number)
    lines = "\n".join(f"- {word}" for word in words)
    assert check_of(f"Use exactly {number} bullet points").holds(lines) == (has == number)


@given(st.text(max_size=60))
def test_case_follows_from_the_letters(text: str) -> None:
    assert check_of("Write in capital letters").holds(text.upper())
    assert check_of("Write in lowercase").holds(text.lower())
    assert check_of("Never write in capital letters").holds(text) != check_of("Write in capitals").holds(text)


@given(st.text(max_size=200))
def test_any_text_can_be_read_and_answered(text: str) -> None:
    """Whatever a user types or a model says."""
    check = parse_check(text)
    if check is not None:
        assert isinstance(check.holds(text), bool)
    for instruction, *_ in KEPT_AND_BROKEN:
        if "French" not in instruction:
            assert isinstance(check_of(instruction).holds(text), bool)
    assert words_of(text) == [word.casefold() for word in words_of(text)]


@pytest.mark.parametrize("short", ("Oui.", "OK", "42"))
def test_a_language_is_not_guessed_from_a_word_or_two(short: str) -> None:
    assert check_of("Answer in English").holds(short)


@pytest.mark.parametrize(("words", "told"), ((3, True), (4, False)))
def test_a_language_is_told_from_four_words_on(words: int, told: bool) -> None:
    german = " ".join(["ich", "weiß", "nicht", "wo"][:words])
    assert check_of("Answer in English").holds(german) is told


def test_a_language_without_spaces_is_told_from_one_long_word() -> None:
    assert words_of("我今天在学校学习中文") == ["我今天在学校学习中文"]
    assert check_of("Answer in Chinese").holds("我今天在学校学习中文")
    assert not check_of("Answer in English").holds("我今天在学校学习中文")


@pytest.mark.parametrize(
    ("answer", "given"),
    (
        ("The list is tea, milk.", True), ("It has tea, milk: no more.", True), ("Tea, Milk", True),
        ("Salt, tea, milk.", False), ("Tea, milk, salt.", False), ("Tea, milk and salt.", False), ("Tea.", False),
    ),
)  # fmt: skip
def test_a_list_is_given_without_an_item_before_or_behind_it(answer: str, given: bool) -> None:
    assert gives_list(answer, "tea, milk") is given


@pytest.mark.parametrize(
    ("text", "quoted"),
    [('"a"', True), (" “a”\n", True), ('""', False), ('"', False), ('"a', False), ("a", False)],
)
def test_quotes_around_nothing_quote_nothing(text: str, quoted: bool) -> None:
    assert is_quoted(text) == quoted


def test_sentences_end_with_their_sign_or_their_line() -> None:
    """One without a word is none; a sign inside a word ends nothing."""
    text = " It costs 3.5 euros.  Really?! \n\nNo… wait\nはい。 いいえ！ ... "
    assert sentences_of(text) == ["It costs 3.5 euros.", "Really?!", "No… wait", "はい。", "いいえ！"]


@pytest.mark.parametrize(
    ("said", "same"),
    [
        ("Answer in AT LEAST three words", "Answer in at least three words"),
        ("Answer in exactly TWO WORDS", "Answer in exactly two words"),
        ("Answer in Two Words Or Less", "Answer in two words or less"),
        ("END every ANSWER with A Question Mark", "End every answer with a question mark"),
        ("ANSWER IN FRENCH", "Answer in French"),
        (" \nUse  the phrase\tbest regards.!. \n", "Use the phrase best regards"),
        ("Use LESS THAN two sentences", "Use less than two sentences"),
        ("Use no Exclamation Marks", "Use no exclamation marks"),
    ],
)
def test_capital_letters_in_an_instruction_change_nothing(said: str, same: str) -> None:
    one, other = check_of(said), check_of(same)
    assert (one.family, one.value, one.fault) == (other.family, other.value, other.fault)
    for answer in ("One.", "One two.", "One two three.", "One! Two! Three!"):
        assert one.holds(answer) == other.holds(answer)


@pytest.mark.parametrize(
    "text", ["Include the words red and blue", "Answer in two words", "Answer in French"]
)
def test_to_forbid_what_forbids_something_demands_it(text: str) -> None:
    """Of several words the opposite of all is none; that of some is nothing that anybody asks for."""
    check = check_of(text)
    again = _opposite(_opposite(check))
    for answer in ("Red.", "Red and blue.", "Green grass.", "Il ne sait pas ce que vous dites."):
        assert again.holds(answer) == check.holds(answer)
    assert (again.fault, again.opposite) == (check.fault, check.opposite)


def test_items_begin_with_a_bullet_or_a_number_and_spaces() -> None:
    text = "10.  a\n 2)\tb\n-  c\n\t* d\n• e\n3.\nno. 4\n-5\n"
    assert (size_of(text, "item"), size_of(text, "bullet")) == (5, 3)


def test_lines_without_a_word_do_not_count() -> None:
    assert size_of("One\n \t\n\ntwo three\n-\n", "line") == 3
    assert size_of("One,\nstill one.\n \t\n\nTwo.\n\n", "paragraph") == 2, "a line end alone begins none"


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ('{"a": [1, 2]}', True), ('```json\n{\n  "a": 1\n}\n```', True), ("```JSON\n[\n]\n```", True),
        (" ```\n1\n```\n", True), ("Here: {}", False), ("```js\n1\n```", False), ("```\n1\n2\n```", False), ("", False),
    ],
)  # fmt: skip
def test_a_text_is_json_and_nothing_else(text: str, right: bool) -> None:
    assert is_json(text) is right
