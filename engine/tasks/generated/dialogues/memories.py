"""Facts and rules that a dialogue asks the assistant to remember: how they are introduced and asked for.

`note` is the memory as a line of a memory note. A rule controller that reads the dialogue should arrive at it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from engine.tasks.generated.dialogues.small_talk import TOPICS, draw_small_talk
from engine.tasks.generated.dialogues.words import CLOSING_WORDS, ITEMS, NAMES, Side, draw_word, of_side

INSTRUCTION, INFERENCE = "INSTRUCTION_RETENTION", "INFERENCE_MEMORY"
EDITING, COHERENCE = "RELIABLE_VERSION_EDITING", "SELF_COHERENCE"
AXES = (INSTRUCTION, INFERENCE, EDITING, COHERENCE)
"""MultiChallenge's."""


@dataclass(frozen=True)
class Memory:
    """`opening`: user's and assistant's words by which it came up, turn by turn. `question`: small talk for an
    instruction. `rule`: what an instruction makes of any answer while it is remembered. `check`, `passes`:
    MultiChallenge's TARGET_QUESTION and PASS_CRITERIA."""

    axis: str
    kind: str
    opening: tuple[tuple[str, str], ...]
    question: str
    note: str
    check: str
    passes: str
    rule: Callable[[str], str] = lambda answer: answer


def _wordings(*parts: Sequence[str]) -> list[str]:
    return ["".join(choice) for choice in product(*parts)]


_POLITE = ("", "Please ", "From now on, ", "For this chat, ")
_EVERY = ("every answer", "each answer", "every reply", "each reply", "all your answers")
_END = _wordings(_POLITE, ("end ", "finish ", "close "), _EVERY, (" with the word {}.",))
_AVOID = _wordings(
    ("Never ", "Please never ", "From now on, never ", "Please do not "), ("use", "say", "write", "mention"),
    (" the word {}.", " the word {} in this chat."),
)  # fmt: skip
_CAPITALS = _wordings(
    _POLITE,
    ("write ", "answer ", "reply "),
    ("in capital letters.", "only in capital letters.", "in capitals."),
)
_ACCEPTED = ("Understood.", "Okay.", "All right.")
_HEARD = ("Noted.", "Thank you.", "Good to know.")


def _instruct(wordings: Sequence[str], side: Side, rng: random.Random, word: str = "") -> str:
    text = rng.choice(of_side(wordings, side)).format(word)
    return text[0].upper() + text[1:]


def _ending(side: Side, rng: random.Random) -> Memory:
    word = draw_word(CLOSING_WORDS, side, rng)
    return _on_every_answer(
        "end", _instruct(_END, side, rng, word), f"End every answer with the word {word}",
        f'Does the answer end with the word "{word}"?', lambda answer: f"{answer} {word}", side, rng,
    )  # fmt: skip


def _capitals(side: Side, rng: random.Random) -> Memory:
    return _on_every_answer(
        "capitals", _instruct(_CAPITALS, side, rng), "Write in capital letters",
        "Is the answer written in capital letters only?", str.upper, side, rng,
    )  # fmt: skip


def _on_every_answer(
    kind: str, opening: str, note: str, check: str, rule: Callable[[str], str], side: Side, rng: random.Random
) -> Memory:
    talk = draw_small_talk(side, rng)
    return Memory(
        INSTRUCTION, kind, ((opening, rule(rng.choice(_ACCEPTED))),), talk.question,
        note=note, check=check, passes="YES", rule=rule,
    )  # fmt: skip


def _avoiding(side: Side, rng: random.Random) -> Memory:
    topic = rng.choice(list(TOPICS))
    word = rng.choice(of_side(TOPICS[topic], side))
    talk = draw_small_talk(side, rng, topic)
    return Memory(
        INSTRUCTION, "avoid", ((_instruct(_AVOID, side, rng, word), rng.choice(_ACCEPTED)),), talk.question,
        note=f"Never use the word {word}", check=f'Does the answer contain the word "{word}"?', passes="NO",
    )  # fmt: skip


_NAMED = ("dog", "cat", "sister", "brother", "boss", "teacher", "neighbor", "doctor", "horse", "friend")
_NUMBERED = ("room", "locker", "seat", "ticket", "gate", "table")
_STATED_NAME = ("My {} is {}.", "My {} is called {}.", "The name of my {} is {}.", "By the way, my {} is {}.",
              "I should say that my {} is {}.", "As you know, my {} is {}.", "Please remember that my {} is {}.",
              "My {} has the name {}.", "You should know that my {} is {}.", "Note that my {} is {}.")  # fmt: skip
_STATED_NUMBER = ("My {} is number {}.", "My {} number is {}.", "I have {} number {}.", "By the way, my {} is {}.",
                "They gave me {} {}.", "Remember that my {} is {}.", "I am in {} {}.", "I was given {} {}.",
                "You should know that my {} is {}.", "Note that my {} is {}.")  # fmt: skip
_ASKED_BACK = ("What is my {}?", "Which {} is mine?", "Do you remember my {}?", "Tell me my {}.", "Remind me of my {}.",
               "Can you tell me my {}?", "Please tell me my {}.", "What did I say my {} is?", "Say what my {} is.",
               "Do you know my {}?")  # fmt: skip


def _number(side: Side, rng: random.Random) -> str:
    return str(rng.choice(of_side(range(10, 100), side)))


def _fact(side: Side, rng: random.Random) -> Memory:
    if rng.random() < 0.7:
        thing, value, wordings = rng.choice(_NAMED), draw_word(NAMES, side, rng), _STATED_NAME
    else:
        thing, value, wordings = rng.choice(_NUMBERED), _number(side, rng), _STATED_NUMBER
    sentence = rng.choice(of_side(wordings, side)).format(thing, value)
    return Memory(
        INFERENCE, "fact", ((sentence, rng.choice(_HEARD)),), rng.choice(of_side(_ASKED_BACK, side)).format(thing),
        note=f"The user's {thing} is {value}", check=f'Does the answer contain the word "{value}"?', passes="YES",
    )  # fmt: skip


_AGREED = ("boat", "team", "band", "plan", "cafe", "robot", "club", "shop")
_PICK = ("Pick a name for our {}.", "Choose a name for our {}.", "Find a name for our {}.", "Please name our {}.",
         "What should our {} be called?", "Our {} needs a name.", "Suggest a name for our {}.", "Let us name our {}.",
         "Please pick a name for our {}.", "Give our {} a name.")  # fmt: skip
_ASKED_OURS = ("What is our {} called?", "What is the name of our {}?", "Tell me the name of our {}.",
               "How did you name our {}?", "What did we name our {}?", "Remind me what our {} is called.",
               "Which name did our {} get?", "Say the name of our {}.", "Do you remember the name of our {}?",
               "Please tell me what our {} is called.")  # fmt: skip


def _agreement(side: Side, rng: random.Random) -> Memory:
    thing, value = rng.choice(_AGREED), draw_word(NAMES, side, rng)
    sentence = f"Our {thing} is called {value}."
    return Memory(
        COHERENCE, "agreed", ((rng.choice(of_side(_PICK, side)).format(thing), sentence),),
        rng.choice(of_side(_ASKED_OURS, side)).format(thing),
        note=f"Our {thing} is called {value}", check=f'Does the answer contain the word "{value}"?', passes="YES",
    )  # fmt: skip


_LISTED = ("My list is {}.", "Here is my list: {}.", "I have this list: {}.", "My list has {}.", "Take this list: {}.",
           "Please keep this list: {}.", "Remember this list: {}.", "Write down this list: {}.",
           "My shopping list is {}.", "Note my list: {}.")  # fmt: skip
_REPLACED = ("Replace {} with {}.", "Change {} to {}.", "Swap {} for {}.", "Instead of {} put {}.",
             "Please replace {} with {}.", "Please change {} to {}.", "Please swap {} for {}.",
             "Put in place of {} now {}.", "Take {} out and put {} in.", "Exchange {} for {}.")  # fmt: skip
_ADDED = ("Add {}.", "Also add {}.", "Please add {}.", "Put {} on the list.", "Add {} to the list.")
_REMOVED = ("Remove {}.", "Delete {}.", "Please remove {}.", "Take {} off the list.", "Drop {}.")
_SHOWN = ("Show my list.", "What is on my list?", "Tell me my list.", "Read my list to me.", "Please show my list.",
          "What does my list say?", "Repeat my list.", "Give me my list.", "Can you show my list?",
          "What is my list now?")  # fmt: skip


def _edited_list(side: Side, rng: random.Random) -> Memory:
    first: list[str] = []
    while len(first) < 3:
        item = draw_word(ITEMS, side, rng)
        if item not in first:
            first.append(item)
    latest, turns = (
        list(first),
        [(rng.choice(of_side(_LISTED, side)).format(", ".join(first)), rng.choice(_HEARD))],
    )
    edits = rng.randint(1, 2)
    while len(turns) <= edits or latest == first:
        turns.append((_edit(latest, side, rng), rng.choice(_ACCEPTED)))
    written = ", ".join(latest)
    return Memory(
        EDITING, "list", tuple(turns), rng.choice(of_side(_SHOWN, side)),
        note=f"The list is {written}", check=f'Does the answer give exactly the list "{written}"?', passes="YES",
    )  # fmt: skip


def _edit(items: list[str], side: Side, rng: random.Random) -> str:
    """Change `items`; returns the user's message that asks for this edit."""
    new = draw_word(ITEMS, side, rng)
    while new in items:
        new = draw_word(ITEMS, side, rng)
    what = rng.choice(("replace", "replace", "add", "remove"))
    if what == "add":
        items.append(new)
        return rng.choice(of_side(_ADDED, side)).format(new)
    place = rng.randrange(len(items))
    old = items[place]
    if what == "remove" and len(items) > 2:
        del items[place]
        return rng.choice(of_side(_REMOVED, side)).format(old)
    items[place] = new
    return rng.choice(of_side(_REPLACED, side)).format(old, new)


_DRAW: dict[str, Sequence[Callable[[Side, random.Random], Memory]]] = {
    INSTRUCTION: (_ending, _ending, _capitals, _avoiding),
    INFERENCE: (_fact,),
    EDITING: (_edited_list,),
    COHERENCE: (_agreement,),
}


def draw_memory(axis: str, side: Side, rng: random.Random) -> Memory:
    """A memory of `axis`, in words of `side`."""
    return rng.choice(_DRAW[axis])(side, rng)
