"""Words of the modern grammar: a Chinese and an English view each, which show their forms through str.format.

In a template, `{thing:这}` writes 这本书 and `{thing:the}` the book; `{who:{act}}` makes the verb agree: she swims.
"""

from dataclasses import dataclass
from random import Random

from sample.english import agree, comparative, inflect, plural, superlative, with_article
from sample.grammar import Entry, Grammar, Kind, Pair, word
from sample.numbers import english_count

_CHINESE_PRONOUNS = {"I": "我", "we": "我们", "you": "你", "he": "他", "she": "她", "they": "他们"}
_OBJECTS = {"I": "me", "we": "us", "you": "you", "he": "him", "she": "her", "they": "them"}
_POSSESSIVES = {"I": "my", "we": "our", "you": "your", "he": "his", "she": "her", "they": "their"}


@dataclass(frozen=True)
class ChinesePerson:
    """A person, and the pronoun that takes up the name again."""

    text: str
    pron: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class EnglishPerson:
    """A person as subject; a format spec is a verb phrase that agrees, and `?` in front of it swaps the two."""

    subject: str
    pronoun: str

    @property
    def obj(self) -> str:
        return _OBJECTS.get(self.subject, self.subject)

    @property
    def poss(self) -> str:
        return _POSSESSIVES.get(self.subject) or f"{self.subject}'{'' if self.subject.endswith('s') else 's'}"

    @property
    def pron(self) -> "EnglishPerson":
        return EnglishPerson(self.pronoun, self.pronoun)

    def __format__(self, spec: str) -> str:
        if spec.startswith("?"):
            return f"{agree(spec[1:], self.pronoun)} {self.subject}"
        return f"{self.subject} {agree(spec, self.pronoun)}" if spec else self.subject


def person(chinese: str, english: str, pronoun: str = "") -> Entry:
    """Make a person; a pronoun needs no third column."""
    pronoun = pronoun or english
    return word(ChinesePerson(chinese, _CHINESE_PRONOUNS[pronoun]), EnglishPerson(english, pronoun))


@dataclass(frozen=True)
class ChineseNoun:
    """A noun with its measure word; the format spec is what stands before the measure word (两, 这, 几)."""

    text: str
    measure: str

    def __str__(self) -> str:
        return self.text

    def __format__(self, spec: str) -> str:
        return f"{spec}{self.measure}{self.text}" if spec else self.text


@dataclass(frozen=True)
class EnglishNoun:
    """A noun; the format spec is a number or a determiner, and none asks for the bare plural or mass noun.

    Of tea, `one` is cup of tea, `many` cups of tea, `bare` and `whole` tea; of a book, `bare` is books, `whole` book.
    """

    one: str
    many: str
    bare: str
    whole: str

    def __format__(self, spec: str) -> str:
        if spec in ("", "many", "whole"):
            return str(getattr(self, spec or "bare"))
        if spec in ("1", "a"):
            return with_article(self.one)
        if spec in ("the", "this", "that"):
            return f"{spec} {self.one}"
        return f"{english_count(int(spec)) if spec.isdigit() else spec} {self.many}"


def noun(chinese: str, english: str, measure: str = "") -> Entry:
    """Make a noun; a measure word with an English unit (`杯 cup`) makes it a mass noun."""
    measure, _, unit = measure.partition(" ")
    one = f"{unit} of {english}" if unit else english
    bare = english if unit else plural(english)
    return word(ChineseNoun(chinese, measure), EnglishNoun(one, plural(one), bare, english))


@dataclass(frozen=True)
class EnglishPlace:
    """A place; the format spec says whether one is at it or goes to it."""

    text: str
    preposition: str

    def __format__(self, spec: str) -> str:
        if not spec:
            return self.text
        return f"{self.preposition if spec == 'at' else spec} {self.text}"


def place(chinese: str, english: str, preposition: str) -> Entry:
    """Make a place."""
    return word(chinese, EnglishPlace(english, preposition))


@dataclass(frozen=True)
class EnglishVerb:
    """A verb phrase; the format spec is past, done or ing."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __format__(self, spec: str) -> str:
        return inflect(self.text, spec) if spec else self.text


def verb(chinese: str, english: str) -> Entry:
    """Make a verb phrase."""
    return word(chinese, EnglishVerb(english))


@dataclass(frozen=True)
class EnglishAdjective:
    """An adjective; the format spec is er (colder), est (coldest) or growing (colder and colder)."""

    text: str

    def __format__(self, spec: str) -> str:
        more = comparative(self.text)
        growing = "more and " + more if more.startswith("more ") else f"{more} and {more}"
        return {"": self.text, "er": more, "est": superlative(self.text), "growing": growing}[spec]


def adjective(chinese: str, english: str) -> Entry:
    """Make an adjective."""
    return word(chinese, EnglishAdjective(english))


@dataclass(frozen=True)
class Deed:
    """One language's view of doing something to a thing at a place where one does so; `look` is what it is like."""

    verb: object
    obj: object
    place: object
    look: object


def deed(chinese: str, english: str, things: str, places: str, looks: str) -> Entry:
    """Make a verb that draws its object, place and the object's quality from categories that suit it."""

    def expand(grammar: Grammar, rng: Random) -> Pair:
        thing, where, look = (grammar.draw(category, rng) for category in (things, places, looks))
        return Pair(
            Deed(chinese, thing.source, where.source, look.source),
            Deed(EnglishVerb(english), thing.target, where.target, look.target),
        )

    return expand


KINDS: dict[str, Kind] = {
    "person": person,
    "noun": noun,
    "place": place,
    "verb": verb,
    "adjective": adjective,
    "deed": deed,
}
