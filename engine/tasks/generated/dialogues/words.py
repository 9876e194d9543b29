"""The words that have to be remembered, each in the training or the test split, never in both."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, TypeVar

from engine.tasks.generated.splits import text_digest

Side = Literal["train", "test"]
"""Which dialogues a word or a wording may occur in."""
T = TypeVar("T")

CLOSING_WORDS = (
    "maple", "harbor", "lantern", "velvet", "ember", "meadow", "cobalt", "willow", "saffron", "pebble", "thunder",
    "orchid", "marble", "falcon", "cedar", "ribbon", "compass", "amber", "glacier", "violet", "anchor", "pepper",
    "sunset", "copper", "feather", "island", "jasmine", "kettle", "lemonade", "mirror", "nutmeg", "olive", "paper",
    "quartz", "river", "silver", "timber", "umbrella", "valley", "window", "yellow", "zephyr", "bamboo", "candle",
    "dolphin", "engine", "forest", "garden", "honey", "indigo", "jungle", "kernel", "ladder", "magnet", "needle",
    "ocean", "planet", "rocket", "shadow", "temple", "tulip", "wagon", "winter", "bridge", "castle", "desert",
)  # fmt: skip
NAMES = (
    "Zoe", "Marco", "Lena", "Oscar", "Priya", "Tomas", "Greta", "Hugo", "Ines", "Jonas", "Keiko", "Liam", "Mira",
    "Nora", "Otto", "Paula", "Quentin", "Rosa", "Stefan", "Tara", "Ugo", "Vera", "Wanda", "Xaver", "Yusuf", "Zelda",
    "Anton", "Bella", "Carlos", "Dina", "Elias", "Fiona", "Gavin", "Hanna", "Igor", "Julia", "Karim", "Laura",
    "Milan", "Nina", "Pablo", "Ruth", "Simon", "Tilda", "Viktor", "Walter", "Amir", "Bruno", "Clara", "Diego",
)  # fmt: skip
ITEMS = (
    "milk", "rice", "eggs", "corn", "salt", "soap", "bread", "tea", "nails", "rope", "paint", "glue", "socks",
    "map", "torch", "tent", "boots", "gloves", "beans", "flour", "butter", "honey", "pasta", "sugar", "yeast",
    "string", "tape", "chalk", "pens", "cups", "plates", "forks", "towels", "batteries", "matches", "candles",
    "jam", "juice", "cheese", "onions", "carrots", "garlic", "lemons", "mustard", "vinegar", "buttons", "thread",
)  # fmt: skip
_CONSONANTS, _VOWELS = "bcdfghjklmnpqrstvwxyz", "aeiou"


def of_side(options: Sequence[T], side: Side) -> list[T]:
    """The part of `options` that dialogues of `side` may use: every fifth goes to test, in an order that only the
    options' texts decide."""
    ordered = sorted(options, key=lambda option: text_digest(str(option)))
    return [option for place, option in enumerate(ordered) if (place % 5 == 4) == (side == "test")]


def draw_word(words: Sequence[str], side: Side, rng: random.Random) -> str:
    """A word of `side`. In training most are made up, so that copying is learned and not a list of words."""
    if side == "train" and rng.random() < 0.65:
        made = _made_up(rng)
        return made.capitalize() if words[0][0].isupper() else made
    return rng.choice(of_side(words, side))


def _made_up(rng: random.Random) -> str:
    """Four to seven letters that could be a word, vowels and consonants in turn with now and then two of them."""
    letters, vowel = "", rng.random() < 0.3
    while len(letters) < rng.randint(4, 7):
        letters += "".join(
            rng.choice(_VOWELS if vowel else _CONSONANTS) for _ in range(1 + (rng.random() < 0.25))
        )
        vowel = not vowel
    return letters
