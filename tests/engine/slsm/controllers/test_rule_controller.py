"""The offline controller: what it reads of generated dialogues, exactly, and of English that nobody generated."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from engine.slsm.controllers.controller import Update
from engine.slsm.controllers.diff import normalized
from engine.slsm.controllers.rule_controller import FAR, RuleController, subject_of
from engine.slsm.controllers.rule_reading import read_edit, sentences
from engine.slsm.state import (
    KINDS,
    LONGEST_MEMORY,
    LONGEST_TEXT,
    Constraint,
    Edit,
    Fact,
    FlatState,
    Item,
    MissingFact,
    SemanticState,
    empty_state,
)
from engine.slsm.turns import Turn
from engine.tasks.generated.dialogues.dialogue import Dialogue
from engine.tasks.generated.dialogues.records import generate_dialogues
from engine.tasks.generated.dialogues.words import Side
from tests.training.dialogue_answers import answer_to, notes_of

CONTROLLER = RuleController()
SIDES: tuple[Side, ...] = ("train", "test")
MANY = 240


def turns_of(dialogue: Dialogue) -> list[Turn]:
    return [*(Turn(user, assistant) for user, assistant in dialogue.turns), Turn(dialogue.question)]


def followed(turns: list[Turn]) -> list[SemanticState]:
    """The state after each turn."""
    states: list[SemanticState] = []
    for count in range(1, len(turns) + 1):
        found = CONTROLLER.update(states[-1] if states else SemanticState(), turns[:count]).state
        assert isinstance(found, SemanticState)
        states.append(found)
    return states


def texts(state: SemanticState, *kinds: str) -> list[str]:
    return [item.text for kind in kinds or KINDS for item in state.items(kind)]


def after(*said: str | tuple[str, str]) -> SemanticState:
    """The last state of a conversation, in which the assistant says “Okay.” where nothing else is given."""
    turns = [Turn(*one) if isinstance(one, tuple) else Turn(one, "Okay.") for one in said[:-1]]
    last = said[-1]
    return followed([*turns, Turn(*last) if isinstance(last, tuple) else Turn(last)])[-1]


# ---------------------------------------------------------------- generated dialogues


@pytest.mark.parametrize("side", SIDES)
def test_the_last_state_says_what_a_perfect_note_says(side: Side) -> None:
    for dialogue in generate_dialogues(MANY, 5, side):
        state = followed(turns_of(dialogue))[-1]
        assert sorted(texts(state)) == sorted(notes_of(dialogue)), dialogue
        assert [state.plan.mode] == ["verify"] or dialogue.memory.axis == "INSTRUCTION_RETENTION"


@pytest.mark.parametrize("side", SIDES)
def test_the_flat_memory_says_the_same(side: Side) -> None:
    for dialogue in generate_dialogues(60, 6, side):
        turns = turns_of(dialogue)
        found = CONTROLLER.update(FlatState(), turns).state
        assert isinstance(found, FlatState)
        assert sorted(found.memory_text.rstrip(".").split(". ")) == sorted(notes_of(dialogue))
        assert found.plan == followed(turns)[-1].plan


@pytest.mark.parametrize("side", SIDES)
def test_every_quote_occurs_in_the_turn_it_came_from(side: Side) -> None:
    for dialogue in generate_dialogues(MANY, 7, side):
        turns = turns_of(dialogue)
        for turn, (before, state) in zip(turns, pairwise([SemanticState(), *followed(turns)]), strict=True):
            for kind in KINDS:
                for item in state.items(kind):
                    old = before.find(item.id)
                    quoted = old is not None and old.evidence == item.evidence
                    assert quoted or normalized(item.evidence) in normalized(turn.text)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("memory", ("structured", "flat"))
def test_detection_finds_every_forgotten_answer_and_no_kept_one(side: Side, memory: str) -> None:
    forgotten = 0
    for number, dialogue in enumerate(generate_dialogues(MANY, 8, side)):
        turns, rng = turns_of(dialogue), random.Random(number)
        state = followed(turns)[-1] if memory == "structured" else CONTROLLER.update(FlatState(), turns).state
        kept, lost = answer_to(dialogue, rng, remembers=True), answer_to(dialogue, rng, remembers=False)
        assert not CONTROLLER.detect(state, turns, kept).conflicts, (notes_of(dialogue), kept)
        assert CONTROLLER.detect(state, turns, lost).conflicts, (notes_of(dialogue), lost)
        forgotten += 1
    assert forgotten == MANY


def test_an_update_is_its_diff() -> None:
    for dialogue in generate_dialogues(40, 9):
        turns, state = turns_of(dialogue), SemanticState()
        for count in range(1, len(turns) + 1):
            found = CONTROLLER.update(state, turns[:count])
            assert found.diff is not None and not found.failure
            ids = [change.item.id for change in found.diff.changes]
            assert len(ids) == len(set(ids))
            assert isinstance(found.state, SemanticState)
            state = found.state


# ---------------------------------------------------------------- English that nobody generated

REAL = (
    ("I'm allergic to peanuts, so keep that in mind.", "facts", "The user is allergic to peanuts"),
    ("My name is Sarah and I live in Boston.", "facts", "The user's name is Sarah|The user lives in Boston"),
    ("Please call me Captain from now on.", "facts", "The user wants to be called Captain"),
    ("I have two kids, Tom and Mia.", "facts", "The user has two kids, Tom and Mia"),
    ("I always carry tea.", "facts", "The user always carries tea"),
    ("The name of my best friend is Whiskers.", "facts", "The user's best friend is Whiskers"),
    ("I forgot to say that the name of my cat is Tom, by the way.", "facts", "The user's cat is Tom"),
    ("I never say grace.", "facts", "The user never says grace"),
    ("I own a dog.", "facts", "The user owns a dog"),
    ("I do not wash dishes.", "facts", "The user does not wash dishes"),
    ("I always wash dishes.", "facts", "The user always washes dishes"),
    ("I always go home.", "facts", "The user always goes home"),
    ("I always pay my rent.", "facts", "The user always pays their rent"),
    ("We have two cats.", "facts", "The user and others have two cats"),
    ("They gave me room number 12.", "facts", "The user's room is 12"),
    ("My room number is 12.", "facts", "The user's room is 12"),
    ("I don't eat pork.", "facts", "The user does not eat pork"),
    ("By the way, I can't stand horror movies.", "facts", "The user cannot stand horror movies"),
    ("My favorite color is teal.", "facts", "The user's favorite color is teal"),
    ("My wife's birthday is on May 5th.", "facts", "The user's wife's birthday is May 5th"),
    ("My dog's name is Biscuit.", "facts", "The user's dog is Biscuit"),
    ("The name of my cat is Whiskers.", "facts", "The user's cat is Whiskers"),
    ("My phone number is 555-1234.", "facts", "The user's phone number is 555-1234"),
    ("I work as a nurse at a children's hospital.", "facts", "The user works as a nurse at a children's hospital"),
    ("I was born in 1990 in Lisbon.", "facts", "The user was born in 1990 in Lisbon"),
    ("I prefer tea over coffee.", "facts", "The user prefers tea over coffee"),
    ("I'm planning a party for my daughter.", "facts", "The user is planning a party for their daughter"),
    ("Remember that I am left-handed.", "facts", "The user is left-handed"),
    ("Our meeting is at 3pm tomorrow.", "facts", "Our meeting is at 3pm tomorrow"),
    ("We are flying to Rome on Friday.", "facts", "The user and others are flying to Rome on Friday"),
    ("My goal is to run a marathon by June.", "facts", "The user's goal is to run a marathon by June"),
    ("For the rest of this conversation, please respond only in Spanish.", "constraints", "Respond only in Spanish"),
    ("Don't use any emojis in your responses.", "constraints", "Don't use any emojis in your responses"),
    ("Keep all of your answers under 50 words.", "constraints", "Keep all of your answers under 50 words"),
    ("Always address me as Your Majesty.", "constraints", "Always address me as Your Majesty"),
    ('From now on, start every reply with "Ahoy".', "constraints", "Begin every answer with the word Ahoy"),
    ("Never give me more than three options.", "constraints", "Never give me more than three options"),
    ("Do not mention my brother.", "constraints", "Do not mention my brother"),
    ("Avoid sugar in all the recipes you give me.", "constraints", "Avoid sugar in all the recipes you give me"),
    ("Make sure the tone stays formal.", "constraints", "Make sure the tone stays formal"),
    ("In every response, include a fun fact.", "constraints", "In every response, include a fun fact"),
    ("I'd like you to write in British English.", "constraints", "Write in British English"),
    ("Here is my packing list: socks, shirts and a tent.", "edits", "The list is socks, shirts, a tent"),
)  # fmt: skip


@pytest.mark.parametrize(("said", "kind", "known"), REAL)
def test_it_reads_real_english(said: str, kind: str, known: str) -> None:
    state = after(said)
    assert texts(state) == known.split("|")
    assert texts(state, kind) == known.split("|")
    assert all(item.evidence == said for item in state.items(kind))


@pytest.mark.parametrize(
    "said",
    (
        "Thanks, that's great!",
        "Hello, how are you?",
        "What is the capital of France?",
        "Can you recommend a good book?",
        "That is interesting. Tell me a joke.",
        "It is raining today.",
        "I see. I am not sure.",
        "I have a question.",
        "I love it! I want to know more.",
        "I don't understand.",
        "I'm sorry, I never said that.",
        "I will never forget this.",
        "I am fine, thanks.",
        "My question is this: why is the sky blue?",
        "My point is that it is hard.",
        "My goodness, it is late!",
        "Every dog has its day.",
        "The capital of France is Paris.",
        "Write a poem in French about the sea.",
        "Summarize it in two sentences.",
        "Name three rivers in Europe.",
        "Make a list of fruits.",
        "Say hello to my friend.",
        "Don't worry about it.",
        "Never mind.",
    ),
)
def test_small_talk_and_single_requests_leave_the_state_alone(said: str) -> None:
    assert after(said) == SemanticState()
    known = after("My dog is called Rex.", said)
    assert texts(known) == ["The user's dog is Rex"]
    assert known.plan.mode == "proceed"


@pytest.mark.parametrize(
    ("first", "then"),
    (
        ("Write in capital letters.", "You can stop writing in capital letters."),
        ("Always reply in French.", "You no longer have to reply in French."),
        ("Write in capital letters.", "You can write in lowercase again."),
        ("Make sure the tone stays formal.", "You can use a formal tone no more, so forget about the tone."),
        ("Don't use any emojis.", "You can use emojis again."),
        ("Keep all of your answers under 50 words.", "Forget about the 50 words."),
        ("Never use the word apple.", "You may use the word apple again."),
        ("End every answer with the word maple.", "No need to say maple any more."),
    ),
)
def test_a_revoked_instruction_is_resolved_and_no_other(first: str, then: str) -> None:
    turns = [Turn("Begin every answer with the word Sure.", "Okay."), Turn(first, "Okay."), Turn(then)]
    states = followed(turns)
    assert len(states[1].constraints) == 2
    assert texts(states[2]) == ["Begin every answer with the word Sure"]
    diff = CONTROLLER.update(states[1], turns).diff
    assert diff is not None
    assert [change.operation for change in diff.changes] == ["resolved"]


def test_a_release_in_passing_revokes_nothing_else() -> None:
    state = after("Do not mention my brother.", "Ignore my last message.")
    assert texts(state) == ["Do not mention my brother"]


@pytest.mark.parametrize(
    ("first", "then", "known"),
    (
        ("My dog is called Rex.", "Actually, my dog is called Max now.", "The user's dog is Max"),
        ("My budget is $500.", "I changed my mind, my budget is $800.", "The user's budget is $800"),
        ("Always reply in French.", "From now on, reply in German.", "Reply in German"),
        ("No emojis, please.", "Please use emojis in every answer.", "Use emojis in every answer"),
        ("Write in capital letters.", "Please write in lowercase only from now on.", "Write in lowercase"),
        ("My list is tea, milk.", "Replace tea with rice.", "The list is rice, milk"),
        ("My list is tea, milk.", "Add salt to the list.", "The list is tea, milk, salt"),
        ("My list is tea, milk, salt.", "Remove milk.", "The list is tea, salt"),
    ),
)
def test_what_is_said_anew_takes_the_place_and_the_id_of_the_old(first: str, then: str, known: str) -> None:
    turns = [Turn(first, "Okay."), Turn(then)]
    states = followed(turns)
    assert texts(states[1]) == [known]
    diff = CONTROLLER.update(states[0], turns).diff
    assert diff is not None
    (change,) = diff.changes
    assert change.operation == "changed" and change.before == states[0].find(change.item.id)
    assert change.item.evidence == then


@pytest.mark.parametrize(
    ("said", "items"),
    [
        ("Please replace milk with rice.", ["tea", "rice"]),
        ("Change tea into oat milk!", ["oat milk", "milk"]),
        ("Instead of tea, put salt.", ["salt", "milk"]),
        ("Put in place of milk now salt.", ["tea", "salt"]),
        ("Take tea out and put rice in.", ["rice", "milk"]),
        ("Drop tea from the list.", ["milk"]),
        ("Take milk off the list.", ["tea"]),
        ("Put salt onto the list.", ["tea", "milk", "salt"]),
        ("Remove rice and add salt.", ["tea", "milk", "salt"]),  # no rice is there to remove
        ("Remove rice.", None),
        ("Replace rice with salt.", None),
        ("Add milk to the list.", None),
        ("Tea is fine.", None),
    ],
)
def test_a_sentence_edits_what_is_on_the_list(said: str, items: list[str] | None) -> None:
    assert read_edit(said, ["tea", "milk"]) == items


def test_a_sentence_that_edits_the_list_is_nothing_else() -> None:
    state = after("My list is tea, milk.", "Please always put salt onto the list.")
    assert texts(state) == ["The list is tea, milk, salt"]
    assert state.edits[0].evidence == "Please always put salt onto the list."


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Hi.  Is it? Yes!\n\n \tB\n", ["Hi.", "Is it?", "Yes!", "B"]),
        ('Say "Is it? Yes!" now. Then go.', ['Say "Is it? Yes!" now.', "Then go."]),
        ('Say "a. b" or "c! d"? No.', ['Say "a. b" or "c! d"?', "No."]),
        ('Say "Is it? Yes! Go. Then "stop" it.', ['Say "Is it?', "Yes!", "Go.", 'Then "stop" it.']),
        ('Say "Is it?\nYes!" now.', ['Say "Is it?', 'Yes!" now.']),
        (f"{'a' * 399}. {'b' * 400}. No.", [f"{'a' * 399}.", "No."]),
        (" \n", []),
    ],
)
def test_sentences_end_with_their_sign_their_quotation_or_their_line(text: str, read: list[str]) -> None:
    assert sentences(text) == read


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Please avoid the word SORRY.", "Never use the word SORRY"),
        ("Always use the word Sir.", "Always use the word Sir"),
        ("Please write in CAPITAL letters.", "Write in capital letters"),
        ("End every answer with Over.", "End every answer with the word Over"),
    ],
)  # fmt: skip
def test_an_instruction_is_kept_in_few_words_and_in_the_users_letters(said: str, kept: str) -> None:
    assert texts(after(said), "constraints") == [kept]


@pytest.mark.parametrize(
    ("item", "subject"),
    [
        (MissingFact(id="U1", text="What the user's Sister is"), "user's sister"),
        (Fact(id="F1", text="The user's Sister is Ann"), "user's sister"),
        (Edit(id="E1", text="The list is tea"), "list"),
        (Constraint(id="C1", text="Be KIND"), "instruction be kind"),
        (Constraint(id="C2", text="Never use the word sorry"), "word sorry"),
        (Fact(id="F2", text="Tea is Nice"), "about tea is nice"),
    ],
)
def test_a_new_item_takes_the_place_of_the_one_about_the_same(item: Item, subject: str) -> None:
    assert subject_of(item) == subject


def test_what_is_said_twice_is_kept_once() -> None:
    assert texts(after("I like tea.", "As I said: hm. I like tea.")) == ["The user likes tea"]


def test_the_assistants_commitments_are_kept() -> None:
    state = after(("What should our boat be called?", "Our boat is called Vera."), "Nice!")
    assert texts(state) == ["Our boat is called Vera"]
    assert state.facts[0].evidence == "Our boat is called Vera."


def test_what_is_asked_and_not_known_has_to_be_clarified_until_it_is_said() -> None:
    asked = Turn("What is my sister called?")
    unknown = followed([Turn("Hi!", "Hello."), asked])[-1]
    assert texts(unknown) == ["What the user's sister is"]
    assert unknown.plan.mode == "clarify"
    assert unknown.plan.reasons == ("not known: what the user's sister is",)
    answered = followed([Turn("Hi!", "Hello."), asked, Turn("Thanks.", "You are welcome.")])[-1]
    assert texts(answered) == ["What the user's sister is"] and answered.plan.mode == "proceed"
    told = followed([Turn("Hi!", "Hello."), asked, Turn("My sister is Ann.")])[-1]
    assert texts(told) == ["The user's sister is Ann"]
    known = followed([Turn("Hi!", "Hello."), Turn(asked.user, "I do not know."), Turn("My sister is Ann.")])[
        -1
    ]
    assert texts(known) == ["The user's sister is Ann"]
    assert known.plan.mode == "proceed"


def test_a_question_is_found_among_other_sentences() -> None:
    state = after("Thanks a lot. What is my sister called? I forgot.")
    assert texts(state, "unknowns") == ["What the user's sister is"]


def test_what_is_asked_and_known_has_to_be_verified() -> None:
    state = after("My phone number is 555-1234.", "Can you tell me my phone number?")
    assert texts(state) == ["The user's phone number is 555-1234"]
    assert state.plan.mode == "verify"
    assert state.plan.reasons == ("asked for F1: The user's phone number is 555-1234",)


def test_a_status_follows_the_assistants_last_answer() -> None:
    told = "Never use the word apple."
    turns = [Turn(told, "Okay."), Turn("A fruit?", "An apple."), Turn("Another?", "A pear."), Turn("Thanks")]
    assert [state.constraints[0].status for state in followed(turns)] == [
        "satisfied", "violated", "satisfied", "satisfied",
    ]  # fmt: skip
    assert after(told).constraints[0].status == "active"
    broken = followed([*turns[:2], Turn("Another?")])[-1]
    assert broken.plan.mode == "verify"
    assert broken.plan.reasons == ("C1 was not kept in the last answer: Never use the word apple",)
    assert broken.constraints[0].evidence == told
    flat = CONTROLLER.update(FlatState(), [*turns[:2], Turn("Another?")]).state
    assert isinstance(flat, FlatState) and flat.mismatch


def test_what_was_said_long_ago_has_to_be_verified() -> None:
    turns = [Turn("Never use the word apple.", "Okay."), *[Turn("A fruit?", "A pear.")] * 4]
    modes = [state.plan.mode for state in followed(turns)]
    assert FAR == 2 and modes == ["proceed"] * FAR + ["verify"] * (5 - FAR)
    assert followed(turns)[-1].plan.reasons == ("C1 was said 4 turns ago: Never use the word apple",)


def test_a_conflict_says_what_is_not_said() -> None:
    turns = [
        Turn("My sister is Ann. Never use the word soup.", "Okay."), Turn("My list is tea, milk.", "Okay."),
        Turn("What is my sister called, and what is on my list?"),
    ]  # fmt: skip
    found = CONTROLLER.detect(followed(turns)[-1], [turns[0], Turn("What is my sister called?")], "A soup.")
    assert [(one.item, one.why, one.exact) for one in found.conflicts] == [
        ("C1", "says “soup”: Never use the word soup", True),
        ("F1", "does not say it: The user's sister is Ann", True),
    ]
    asked = [*turns[:2], Turn("What is on my list?")]
    (conflict,) = CONTROLLER.detect(followed(turns)[-1], asked, "Tea, rice.").conflicts
    assert (conflict.item, conflict.why) == ("E1", "the list is not the latest: The list is tea, milk")
    flat = FlatState(memory_text="The user's sister is Ann.")
    (conflict,) = CONTROLLER.detect(flat, [turns[0], Turn("What is my sister called?")], "No idea.").conflicts
    assert (conflict.item, conflict.why) == (
        "The user's sister is Ann",
        "does not say it: The user's sister is Ann",
    )


@pytest.mark.parametrize(("answer", "conflicts"), [("I have no idea.", 1), ("It is the last.", 0)])
def test_a_value_of_common_words_alone_is_looked_for_by_them(answer: str, conflicts: int) -> None:
    turns = [Turn("My number is the last.", "Okay."), Turn("What is my number?")]
    found = CONTROLLER.detect(followed(turns)[-1], turns, answer).conflicts
    assert [one.why for one in found] == ["does not say it: The user's number is the last"] * conflicts


@pytest.mark.parametrize(("answer", "conflicts"), [("It is in the house.", 1), ("In a garden!", 0)])
def test_a_common_word_of_a_value_does_not_say_it(answer: str, conflicts: int) -> None:
    turns = [Turn("My place is in the garden.", "Okay."), Turn("What is my place?")]
    assert len(CONTROLLER.detect(followed(turns)[-1], turns, answer).conflicts) == conflicts


def test_an_answer_need_not_mention_what_is_not_asked_back() -> None:
    turns = [Turn("My sister is Ann.", "Okay."), Turn("What should I cook for my sister?")]
    state = followed(turns)[-1]
    assert not CONTROLLER.detect(state, turns, "Perhaps a soup.").conflicts
    asked = [turns[0], Turn("What is my sister called?")]
    (conflict,) = CONTROLLER.detect(state, asked, "I do not know.").conflicts
    assert (conflict.item, conflict.exact) == ("F1", True)
    assert not CONTROLLER.detect(state, asked, "She is Ann.").conflicts


@pytest.mark.parametrize("mode", ("structured", "flat"))
def test_nothing_that_is_typed_breaks_it(mode: str) -> None:
    rng = random.Random(0)
    letters = "abc my our is I you list name , . ? ! \n\" '漢🙂 never add remove replace with the word"
    state, turns = empty_state("structured" if mode == "structured" else "flat"), []
    for _ in range(150):
        words = [rng.choice(letters.split(" ")) for _ in range(rng.randint(0, 9))]
        turns.append(Turn(" ".join(words), " ".join(reversed(words))))
        found = CONTROLLER.update(state, turns[-6:])
        assert isinstance(found, Update) and not found.failure
        state = found.state
        CONTROLLER.detect(state, turns, turns[-1].user)


def test_a_list_grows_up_to_the_longest_text_of_an_item() -> None:
    """`The list is tea, milk` has 21 letters, and 6 further items with their commas 6 * 302: 167 are left of 2000."""
    further = [f"Add {letter * 300}." for letter in "abcdef"]
    for letters, known in ((165, 2000), (166, 1833)):
        (text,) = texts(after("My list is tea, milk.", *further, f"Add {'x' * letters}."))
        assert len(text) == known


def test_long_texts_break_nothing() -> None:
    for said in ("my dog is " * 300, "my dog is a, " * 300, f"My list is {'a, ' * 900}b."):
        assert after(said, said) == SemanticState()
    turns = [
        Turn("My list is a, b.", "Okay."),
        *[Turn(f"Add {'x' * 300}{count}.", "Okay.") for count in range(9)],
    ]
    assert len(texts(followed(turns)[-1])[0]) <= LONGEST_TEXT
    many = [
        Turn(" ".join(f"I like {'x' * 50}{count}{more}." for more in range(40)), "Okay.")
        for count in range(10)
    ]
    flat = CONTROLLER.update(FlatState(), many).state
    assert isinstance(flat, FlatState)
    assert 19_000 < len(flat.memory_text) <= LONGEST_MEMORY
    assert f"{'x' * 50}939" in flat.memory_text  # the newest stay
