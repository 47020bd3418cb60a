"""English word forms: plurals, tenses, agreement, articles, comparison."""

_PLURALS = {
    "child": "children", "fish": "fish", "loaf": "loaves", "person": "people", "scarf": "scarves", "sheep": "sheep",
}  # fmt: skip

# base: past, past participle
_VERBS = {
    "be": ("was", "been"), "bring": ("brought", "brought"), "build": ("built", "built"),
    "buy": ("bought", "bought"), "come": ("came", "come"), "do": ("did", "done"), "draw": ("drew", "drawn"),
    "drink": ("drank", "drunk"), "drive": ("drove", "driven"), "eat": ("ate", "eaten"), "fall": ("fell", "fallen"),
    "fly": ("flew", "flown"), "forget": ("forgot", "forgotten"), "get": ("got", "gotten"),
    "give": ("gave", "given"), "go": ("went", "gone"), "have": ("had", "had"), "know": ("knew", "known"),
    "lend": ("lent", "lent"), "make": ("made", "made"), "plan": ("planned", "planned"), "put": ("put", "put"),
    "read": ("read", "read"), "ride": ("rode", "ridden"), "run": ("ran", "run"), "say": ("said", "said"),
    "see": ("saw", "seen"), "send": ("sent", "sent"), "sing": ("sang", "sung"), "sleep": ("slept", "slept"),
    "speak": ("spoke", "spoken"), "stop": ("stopped", "stopped"), "swim": ("swam", "swum"),
    "take": ("took", "taken"), "think": ("thought", "thought"), "write": ("wrote", "written"),
}  # fmt: skip

_DOUBLED_BEFORE_ING = {"forget", "get", "plan", "put", "run", "sit", "stop", "swim", "chat"}
_ADVERBS = {"often", "always", "never", "usually", "sometimes", "rarely", "also", "still", "really", "already"}

# base: with I, with you/we/they, with he/she/it
_AGREEMENT = {
    "be": ("am", "are", "is"),
    "isn't": ("am not", "aren't", "isn't"),
    "was": ("was", "were", "was"),
    "wasn't": ("wasn't", "weren't", "wasn't"),
    "have": ("have", "have", "has"),
    "haven't": ("haven't", "haven't", "hasn't"),
    "don't": ("don't", "don't", "doesn't"),
}
_PLURAL_SUBJECTS = ("you", "we", "they")

_COMPARATIVES = {"good": "better", "bad": "worse", "far": "farther", "quiet": "quieter"}


def _ends_in_a_hiss(text: str) -> bool:
    return text.endswith(("s", "x", "z", "ch", "sh"))


def _ends_in_consonant_y(text: str) -> bool:
    return text.endswith("y") and text[-2] not in "aeiou"


def _with_s(text: str) -> str:
    if _ends_in_consonant_y(text):
        return text[:-1] + "ies"
    return text + ("es" if _ends_in_a_hiss(text) or text in ("go", "do", "potato", "tomato") else "s")


def plural(noun: str) -> str:
    """Put the head of a noun phrase into the plural: `cup of tea` gives `cups of tea`."""
    head, of, rest = noun.partition(" of ")
    first, space, last = head.rpartition(" ")
    return first + space + (_PLURALS.get(last) or _with_s(last)) + of + rest


def with_article(noun: str) -> str:
    """Put `a` or `an` before a noun phrase."""
    return f"{'an' if noun[0] in 'aeiou' or noun.startswith('hour') else 'a'} {noun}"


def _past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if _ends_in_consonant_y(verb):
        return verb[:-1] + "ied"
    return verb + ("ted" if verb == "chat" else "ed")


def _ing(verb: str) -> str:
    if verb in _DOUBLED_BEFORE_ING:
        return verb + verb[-1] + "ing"
    if verb.endswith("e") and verb != "be":
        return verb[:-1] + "ing"
    return verb + "ing"


def inflect(phrase: str, form: str) -> str:
    """Put the verb that opens a phrase into a form: `past`, `done` (participle) or `ing`."""
    verb, space, rest = phrase.partition(" ")
    past, done = _VERBS.get(verb) or (_past(verb), _past(verb))
    return {"past": past, "done": done, "ing": _ing(verb)}[form] + space + rest


def agree(phrase: str, subject: str) -> str:
    """Put the verb of a phrase (behind adverbs like `often`) into the present that goes with the pronoun `subject`."""
    verb, space, rest = phrase.partition(" ")
    if verb in _ADVERBS:
        return verb + space + agree(rest, subject)
    person = 0 if subject == "I" else 1 if subject in _PLURAL_SUBJECTS else 2
    forms = _AGREEMENT.get(verb) or (verb, verb, _with_s(verb))
    return forms[person] + space + rest


def comparative(adjective: str) -> str:
    """Compare: `cold` gives `colder`, `expensive` gives `more expensive`."""
    if adjective in _COMPARATIVES:
        return _COMPARATIVES[adjective]
    if adjective.endswith("y") and len(adjective) <= 6:
        return adjective[:-1] + "ier"
    if len(adjective) > 5:
        return f"more {adjective}"
    if adjective in ("big", "hot", "thin", "fat"):
        return adjective + adjective[-1] + "er"
    return adjective + ("r" if adjective.endswith("e") else "er")


def superlative(adjective: str) -> str:
    """Raise to the highest degree: `cold` gives `coldest`, `expensive` gives `most expensive`."""
    more = comparative(adjective)
    if more.startswith("more "):
        return f"most {adjective}"
    return {"better": "best", "worse": "worst"}.get(more) or more[:-2] + "est"
