"""Every way of saying it that the rules know: facts, small talk, instructions, edits, revocations, requests."""

from __future__ import annotations

import pytest

from engine.slsm.controllers.rule_reading import (
    is_request,
    read_assistant,
    read_edit,
    read_revocation,
    read_user,
    requested_subjects,
)


def read(said: str) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in read_user(said)]


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        *(
            (f"My dog is called Rex{end}.", "The user's dog is Rex")
            for end in (" now", " again", ", though", " too", " as well", ", by the way", ", actually")
        ),
        ("My dog has the name Rex", "The user's dog is Rex"),
        ("My dog is named Rex", "The user's dog is Rex"),
        ("My dog is now Rex", "The user's dog is Rex"),
        ("My keys are red", "The user's keys is red"),
        ("My party is at noon", "The user's party is noon"),
        ("My seat is number 12", "The user's seat is 12"),
        ("I have seat 12", "The user's seat is 12"),
        ("I am in room number 7", "The user's room is 7"),
        ("I was given locker 7", "The user's locker is 7"),
        ("Our boat is Vera", "Our boat is Vera"),
        ("Our boat is now Vera", "Our boat is Vera"),
        ("Our boats are blue", "Our boats is blue"),
        ("Our boat will be called Vera", "Our boat is called Vera"),
        ("Our boat shall be named Vera", "Our boat is called Vera"),
        ("I am a nurse", "The user is a nurse"),
        ("I've two cats", "The user has two cats"),
        ("I live in Rome", "The user lives in Rome"),
        ("I love tea", "The user loves tea"),
        ("I prefer tea", "The user prefers tea"),
        ("I hate rain", "The user hates rain"),
        ("I dislike rain", "The user dislikes rain"),
        ("I cannot swim", "The user cannot swim"),
        ("I need glasses", "The user needs glasses"),
        ("I want children", "The user wants children"),
        ("We are twins", "The user and others are twins"),
    ],
)
def test_a_fact(said: str, fact: str) -> None:
    assert read(said) == [("facts", fact)]


@pytest.mark.parametrize(
    "opening",
    [
        "Also,", "And", "Oh", "Well,", "Please", "Actually,", "From now on", "For this chat", "By the way,",
        "As you know,", "Just so you know,", "Remember", "Remember that", "Note that", "Keep in mind that",
        "You should know",
        "You should know that", "I should say that", "For the rest of our conversation", "Oh well,",
    ],
)  # fmt: skip
def test_what_a_sentence_opens_with_is_no_part_of_the_fact(opening: str) -> None:
    assert read(f"{opening} I live in Rome.") == [("facts", "The user lives in Rome")]


@pytest.mark.parametrize(
    "said",
    [
        *(
            f"My {thing} is here"
            for thing in (
                "point", "question", "guess", "bad", "problem", "idea", "turn", "fault", "mistake", "hope", "concern",
                "request",
            )
        ),
        *(
            f"I am {how}"
            for how in (
                "sure", "sorry", "fine", "good", "great", "ok", "okay", "glad", "happy", "curious", "confused",
                "back",
                "here", "done", "ready", "afraid", "wondering", "asking", "talking", "thinking", "trying", "saying",
                "interested", "right", "wrong", "impressed", "all ears", "not sure", "so glad", "very glad",
                "really glad", "just glad", "still glad", "quite glad",
            )
        ),
        *(
            f"I like {what} here"
            for what in (
                "it", "that", "this", "them", "these", "those", "you", "your", "how", "what", "to", "help", "more",
                "some", "another", "one", "a", "an", "the", "advice",
            )
        ),
        *(f"I {verb} it" for verb in ("love", "hate", "prefer", "need", "want")),
        *(
            f"I have {what}"
            for what in (
                "a question", "an idea", "another problem", "one more request", "some last questions",
                "no favor to ask", "a quick feeling", "an other idea", "to go", "been there", "heard of it",
                "read it", "got to go",
                "never been there", "no time",
            )
        ),
        *(
            f"I don't {what} it"
            for what in (
                "know", "understand", "think", "believe", "see", "remember", "get", "mind", "care", "agree",
                "want to",
                "tell", "say", "wait", "find", "need", "really know", "quite",
            )
        ),
        *(f"I never {what} so" for what in ("said", "told", "meant", "asked", "knew", "thought", "wanted", "worked")),
    ],
)  # fmt: skip
def test_small_talk(said: str) -> None:
    assert read(said) == []


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Please always be kind.", "Always be kind"),
        ("Never be rude.", "Never be rude"),
        ("Do not be rude.", "Do not be rude"),
        ("Avoid gossip.", "Avoid gossip"),
        ("Stop rambling.", "Stop rambling"),
        ("Make sure to be kind.", "Make sure to be kind"),
        ("Remember to be kind.", "Remember to be kind"),
        ("For this chat, be sure to be kind.", "Be sure to be kind"),
        ("Be kind in every answer.", "Be kind in every answer"),
        ("Be kind for each reply.", "Be kind for each reply"),
        ("Greet me with all of your responses.", "Greet me with all of your responses"),
        ("Add a joke to any message.", "Add a joke to any message"),
        ("Add a joke at the end of every one of your answers.", None),
        ("Add a joke at the end of all the replies.", "Add a joke at the end of all the replies"),
        ("I'd like you to be kind in every answer.", "Be kind in every answer"),
        ("I want you to be kind in every answer.", "Be kind in every answer"),
        *(
            (f"{said}.", None)
            for said in (
                "Never mind", "Always a pleasure", "Don't worry", "Don't bother", "Do not mind me", "Don't you dare",
                "Don't get me wrong", "Don't be sorry",
            )
        ),
    ],
)  # fmt: skip
def test_an_instruction_that_has_no_exact_check(said: str, kept: str | None) -> None:
    assert read(said) == ([] if kept is None else [("constraints", kept)])


@pytest.mark.parametrize(
    ("said", "stands"),
    [
        *(
            (said, True)
            for said in (
                "Answer in French", "Reply in French", "Respond in French", "Write in French", "Speak French",
                "Use a bullet list", "Use a single line",
                "Answer this in French from now on", "Keep it under 50 words for this chat",
                "Keep it under 50 words for the rest of our conversation", "Keep it under 50 words throughout",
            )
        ),
        *(
            (said, False)
            for said in (
                "Write a poem in French", "Make it under 50 words", "Draft one in under 50 words",
                "Answer this in French", "Compose some verses in under 50 words", "Keep it under 50 words",
                "Use two sentences",
                "Write me the summary in French", "This time answer in French", "Answer in French just now",
                "Answer in French once",
            )
        ),
    ],
)  # fmt: skip
def test_whether_an_instruction_holds_for_more_than_one_answer(said: str, stands: bool) -> None:
    assert [kind for kind, _ in read(said)] == ["constraints"] * stands


@pytest.mark.parametrize(
    ("said", "items"),
    [
        ("Swap tea for salt", ["salt", "milk"]),
        ("Exchange tea by salt", ["salt", "milk"]),
        ("Change milk to rice", ["tea", "rice"]),
        ("Delete tea", ["milk"]),
        ("Take tea from the list", ["milk"]),
        ("Put salt on the list", ["tea", "milk", "salt"]),
    ],
)
def test_an_edit_of_tea_and_milk(said: str, items: list[str]) -> None:
    assert read_edit(said, ["tea", "milk"]) == items


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("You may now use Emojis again.", "use emojis"),
        ("You may stop rhyming", "rhyming"),
        ("No need to rhyme!", "rhyme"),
        ("You no longer need to rhyme", "rhyme"),
        ("You don't need to rhyme", "rhyme"),
        ("You don't have to rhyme", "rhyme"),
        ("Never mind the rhymes", "the rhymes"),
        ("You can rhyme", None),
    ],
)
def test_a_revocation(said: str, what: str | None) -> None:
    assert read_revocation(said) == what


@pytest.mark.parametrize(
    ("asked", "subject"),
    [
        ("Who is my sister?", "user's sister"),
        ("Where are my keys?", "user's keys"),
        ("When was our wedding?", "our wedding"),
        ("What were my scores?", "user's scores"),
        ("Which is my seat again?", "user's seat"),
        ("What's my budget now?", "user's budget"),
        ("Tell me my budget.", "user's budget"),
        ("Remind me of my budget.", "user's budget"),
        ("Give me my budget please.", "user's budget"),
        ("Show my budget.", "user's budget"),
        ("Read my budget to me.", "user's budget"),
        ("Repeat again my budget.", "user's budget"),
        ("Say what my budget is.", "user's budget"),
        ("Do you know where our boat is?", "our boat"),
        ("Do you remember when our wedding was?", "our wedding"),
        ("Can you recall who my sister is?", "user's sister"),
        ("What did I call my dog?", "user's dog"),
        ("What did I say that my dog is called?", "user's dog"),
        ("What did I tell you my dog is named?", "user's dog"),
        ("What did we name our boat?", "our boat"),
        ("How did you call our boat?", "our boat"),
        ("Which name did our boat get?", "our boat"),
        ("What is the name of my dog's vet?", "user's dog's vet"),
        ("Which locker is mine?", "user's locker"),
        ("Who am I?", "user's name"),
        ("What does my dog eat?", ""),
    ],
)
def test_what_is_asked_back(asked: str, subject: str) -> None:
    assert requested_subjects(asked) == ([subject] if subject else [])


@pytest.mark.parametrize(
    ("said", "asks"),
    [
        *(
            (f"{word} my list", True)
            for word in ("Tell", "Say", "Show", "Remind", "Repeat", "Read", "Give", "What", "Which", "Who", "Name")
        ),
        ("Please tell it", True),
        ("Can you tell it", True),
        ("Could you please tell it", True),
        ("Is it so?", True),
        ("I tell it", False),
    ],
)  # fmt: skip
def test_a_request(said: str, asks: bool) -> None:
    assert is_request(said) is asks


@pytest.mark.parametrize("said", ["Our boat will be called Vera.", "So our Boat is named Vera!"])
def test_the_assistant_agrees_to_a_name(said: str) -> None:
    assert [(one.kind, one.text, one.quote) for one in read_assistant(said)] == [
        ("facts", "Our boat is called Vera", said)
    ]
    assert list(read_assistant("Shall our boat be called Vera?")) == []
