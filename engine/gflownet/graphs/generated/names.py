"""Invented names of entities by kind, none of them twice."""

from __future__ import annotations

import numpy as np


def _split(*lines: str) -> list[str]:
    return " ".join(lines).split()


_STARTS = _split(
    "Al Bel Cor Dar El Fen Gar Hal Il Jor Kal Lor Mar Nor Or Pel Quin Ral Sel Tor Ul Ver Wil Yor Zel Bran Cas Dun Esk",
    "Fal Gren Hol Ist Kem Lund Mon Nev Ost Pra Rov Sten Tal Und Vel Wes",
)
_MIDDLES = _split("a e i o u an en in or ar el il ad est ond")
_ENDS = _split("dia ra na via mont stead by ton ford mar dor lin sk va reth quist berg wick holm dale")
_GIVEN = _split(
    "Ada Ben Cara Dan Eva Finn Gina Hugo Iris Jon Kira Leo Mara Nils Ola Pia Rolf Sara Tom Uma Vera Wim"
)
_FILM = _split(
    "Silent Last Golden Broken Hidden Distant Burning Lonely Second Winter Crimson Paper Secret Iron"
)
_FILM_NOUNS = _split(
    "River Road Letter Garden Station Island Summer Mirror Harbour Window Bridge Promise Night"
)
_SUFFIX = {
    "company": _split("Works Industries Group Systems Foods Air"),
    "university": _split("University Institute College"),
    "award": _split("Prize Medal Award"),
}
_FIXED = {
    "profession": _split(
        "actor author architect chemist composer economist engineer historian lawyer painter physician pilot poet",
        "politician singer surgeon",
    ),
    "genre": _split(
        "comedy drama thriller western musical documentary fantasy horror romance mystery satire noir"
    ),
    "industry": _split(
        "shipping mining banking farming printing brewing telecoms textiles energy insurance retail"
    ),
}


class NameGenerator:
    """Draws names; the same generator gives the same names."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._used: set[str] = set()

    def draw(self, kind: str) -> str:
        """A name that no other entity has."""
        left = [name for name in _FIXED.get(kind, []) if name not in self._used]
        name = left[0] if left else self._made(kind)
        while name in self._used:
            name = self._made(kind)
        self._used.add(name)
        return name

    def mediator(self) -> str:
        """An id without text."""
        letters = list("0123456789bcdfghjklmnpqrstvwxyz_")
        while (name := "m.0" + "".join(self._rng.choice(letters, size=6))) in self._used:
            pass
        self._used.add(name)
        return name

    def _made(self, kind: str) -> str:
        root = self._pick(_STARTS) + self._pick(_MIDDLES) + self._pick(_ENDS)
        if kind == "person":
            return f"{self._pick(_GIVEN)} {root}"
        if kind == "film":
            return f"The {self._pick(_FILM)} {self._pick(_FILM_NOUNS)} of {root}"
        if kind == "river":
            return f"{root} River"
        if kind == "language":
            return f"{root}ese"
        suffix = _SUFFIX.get(kind)
        return f"{root} {self._pick(suffix)}" if suffix else root

    def _pick(self, items: list[str]) -> str:
        return items[int(self._rng.integers(len(items)))]
