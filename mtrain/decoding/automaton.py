"""What a sentence's translation has to say, as an automaton over characters, however a vocabulary cuts words.

A state is what stands undecided at the end of a hypothesis: the beginning of a text that may still become whole. Texts
are found as `glossary.Finder` finds them, from the left, the longest first, in whatever pieces they come.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mtrain.decoding.glossary import Demand, in_word
from mtrain.tokenizer import BYTES, Tokenizer

Ints = NDArray[np.int64]

# A byte that spells part of a character counts as one: for private use, which no word has.
_FIRST_BYTE = 0xF0000
# Any character that no text of a sentence has, not of a word and of a word: classes 1 and 2 of the tables. Class 0 is
# no character at all; those of the texts come behind. Unicode promises never to give these two to a character.
_OTHER, _OTHER_IN_WORD = "\U000ffffe", "\U000fffff"
_CLASSES = 3
_SPACE = "\u2581"


class PieceTexts:
    """Which characters each piece of a vocabulary stands for, and in which pieces a text can be said.

    `spaced` says that the language parts words by spaces.
    """

    def __init__(self, tokenizer: Tokenizer, spaced: bool) -> None:
        self._encode, self._spaced = tokenizer.encode, spaced
        self._texts = [piece.replace(_SPACE, " ") for piece in tokenizer.all_pieces()]
        for special in (*range(BYTES.start), *tokenizer.tags.values()):
            self._texts[special] = ""
        for byte, piece in enumerate(BYTES):
            self._texts[piece] = chr(byte if byte < 128 else _FIRST_BYTE + byte)

    @cached_property
    def characters(self) -> dict[str, int]:
        """All characters, numbered from 1."""
        return {c: i for i, c in enumerate(sorted({c for text in self._texts for c in text}), start=1)}

    @cached_property
    def characters_VL(self) -> Ints:
        """The number of each character of each piece; 0 behind them."""
        longest = max(map(len, self._texts))
        rows = [[self.characters[c] for c in text] + [0] * (longest - len(text)) for text in self._texts]
        return np.array(rows, dtype=np.int64)

    @cached_property
    def class_U(self) -> Ints:
        """The class of each character where no text has it."""
        return np.array([0, *(2 if _in_word(c) else 1 for c in self.characters)])

    def ways(self, text: str) -> list[list[tuple[int, str]]]:
        """Return the pieces of a text, and what each one spells; also of it behind a space where it may have one."""
        forms = [text, " " + text] if self._spaced or in_word(text[0]) else [text]
        return [[(piece, self._texts[piece]) for piece in self._encode(form)] for form in forms]

    def fewest(self, demand: Demand) -> int:
        """Return how many pieces it takes at least to say what is demanded."""
        return demand.times * min(len(way) for text in demand.texts for way in self.ways(text))


@dataclass(frozen=True)
class Automaton:
    """Tables of one sentence. S states, C classes of characters, K demands, A pieces that bring a demand nearer.

    `class_U` is the class of each character of the vocabulary; a character leads from a state to `next_SC`, and
    completes the texts counted in `said_SCK`; `pending_SK` are those that are whole unless more follows. A demand is to
    be met `times_K`, and takes `far_K` pieces each time, of which a state has already said `near_SK`. `piece_SA` begin
    or go on with a demand; -1 where there are fewer.
    """

    class_U: Ints
    next_SC: Ints
    said_SCK: NDArray[np.int8]
    pending_SK: Ints
    near_SK: Ints
    piece_SA: Ints
    times_K: Ints
    far_K: Ints

@dataclass(frozen=True)
class _Way:
    """One way to say a text: its pieces, and which of them comes after so many characters of it."""

    demand: int
    text: str
    pieces: tuple[int, ...]
    after: dict[int, int]


def build_automaton(demands: Sequence[Demand], texts: PieceTexts) -> Automaton:
    """Return the automaton for demands that share no text."""
    ways = [
        _way(number, cut)
        for number, demand in enumerate(demands)
        for text in sorted(demand.texts)
        for cut in texts.ways(text)
    ]
    reader = _Reader(ways, len(demands))
    characters = sorted({c for way in ways for c in way.text})
    classes = [_OTHER, _OTHER_IN_WORD, *characters]
    # The shorter a state, the earlier: what is read after a longer one is known from the shorter ones.
    moves = [[reader.read(state, c) for c in classes] for state in reader.states]
    nothing = [0] * len(demands)
    far = [min(len(way.pieces) for way in ways if way.demand == number) for number in range(len(demands))]
    onward = [_onward(state, ways) for state in reader.states]
    width = max(map(len, onward))
    class_U = texts.class_U.copy()
    class_U[[texts.characters[c] for c in characters]] = np.arange(len(characters)) + _CLASSES
    return Automaton(
        class_U=class_U,
        next_SC=np.array([[s, *(reader.states[to] for to, _ in row)] for s, row in enumerate(moves)]),
        said_SCK=np.array([[nothing, *(said for _, said in row)] for row in moves], dtype=np.int8),
        pending_SK=np.array([reader.at_the_end(state) for state in reader.states]),
        near_SK=np.array([_near(state, ways, far) for state in reader.states]),
        piece_SA=np.array([[*pieces, *[-1] * (width - len(pieces))] for pieces in onward]),
        times_K=np.array([demand.times for demand in demands]),
        far_K=np.array(far),
    )


def _way(demand: int, cut: list[tuple[int, str]]) -> _Way:
    begins = accumulate((len(spelt) for _, spelt in cut[:-1]), initial=0)
    after = {begin: place for place, begin in enumerate(begins)}
    return _Way(demand, "".join(spelt for _, spelt in cut), tuple(piece for piece, _ in cut), after)


@lru_cache(maxsize=1 << 15)
def _in_word(character: str) -> bool:
    return character == _OTHER_IN_WORD or in_word(character)


class _State(NamedTuple):
    """What stands undecided, and, where nothing does, whether a word stands before."""

    text: str
    after_word: bool


# How many texts of each demand have become whole.
Said = tuple[int, ...]


class _Reader:
    """Reads character by character, and counts the texts of each demand that have become whole."""

    def __init__(self, ways: list[_Way], demands: int) -> None:
        self._whole = {way.text: way.demand for way in ways}
        self._nothing = (0,) * demands
        self._beginnings = {way.text[:end] for way in ways for end in range(1, len(way.text) + 1)}
        empty = [_State("", after_word=False), _State("", after_word=True)]
        begun = [_State(text, after_word=False) for text in sorted(sorted(self._beginnings), key=len)]
        self.states = {state: number for number, state in enumerate(empty + begun)}
        self._known: dict[tuple[_State, str], tuple[_State, Said]] = {}

    def read(self, state: _State, character: str) -> tuple[_State, Said]:
        """Return the state after one more character, and what has become whole by it."""
        if (state, character) not in self._known:
            self._known[state, character] = self._read(state, character)
        return self._known[state, character]

    def at_the_end(self, state: _State) -> Said:
        """Return what becomes whole where the translation ends."""
        said = self._nothing
        while state.text:
            state, more = self._decide(state, before_word=False)
            said = _sum(said, more)
        return said

    def _read(self, state: _State, character: str) -> tuple[_State, Said]:
        within = state.after_word and _in_word(character)
        if state.text + character in self._beginnings and not within:
            return _State(state.text + character, after_word=False), self._nothing
        if not state.text:
            return _State("", _in_word(character)), self._nothing
        shorter, said = self._decide(state, _in_word(character))
        after, more = self.read(shorter, character)
        return after, _sum(said, more)

    def _decide(self, state: _State, before_word: bool) -> tuple[_State, Said]:
        """Take a whole text from the left, or else one character, and read the others again.

        `before_word` says that what follows is of a word.
        """
        text = state.text
        length = self._longest(text, before_word)
        said, taken = self._nothing, max(length, 1)
        if length:
            demand = self._whole[text[:length]]
            said = (*said[:demand], 1, *said[demand + 1 :])
        state = _State("", _in_word(text[taken - 1]))
        for character in text[taken:]:
            state, more = self.read(state, character)
            said = _sum(said, more)
        return state, said

    def _longest(self, text: str, before_word: bool) -> int:
        for length in range(len(text), 0, -1):
            word_follows = _in_word(text[length]) if length < len(text) else before_word
            if text[:length] in self._whole and not (_in_word(text[length - 1]) and word_follows):
                return length
        return 0

def _sum(said: Said, more: Said) -> Said:
    return tuple(map(operator.add, said, more)) if any(more) else said


def _onward(state: _State, ways: list[_Way]) -> list[int]:
    """Return the pieces that go on with what is undecided, or begin anew."""
    after_word = state.after_word or bool(state.text and _in_word(state.text[-1]))
    anew = {way.pieces[0] for way in ways if not (after_word and _in_word(way.text[0]))}
    return sorted(anew | {way.pieces[place] for way in ways if (place := _place(state, way))})


def _near(state: _State, ways: list[_Way], far: list[int]) -> list[int]:
    """Return how many of the pieces that each demand takes a state has behind it."""
    near = [0] * len(far)
    for way in ways:
        if place := _place(state, way):
            near[way.demand] = max(near[way.demand], far[way.demand] - (len(way.pieces) - place))
    return near


def _place(state: _State, way: _Way) -> int:
    """Return how many pieces of this way a state has said; 0 where it has said something else."""
    said = len(state.text)
    return way.after[said] if said in way.after and way.text.startswith(state.text) else 0
