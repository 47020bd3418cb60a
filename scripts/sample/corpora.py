"""The two corpora of the sample: which grammar speaks, how a sentence is finished, how many pairs are drawn."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from sample.classical import CLASSICAL_QUANTITIES
from sample.grammar import Grammar
from sample.quantities import QUANTITIES
from sample.words import KINDS

_HERE = Path(__file__).parent


def modern_grammar() -> Grammar:
    """Read the grammar of Chinese and English."""
    grammar = Grammar(KINDS, QUANTITIES)
    for name in ("people", "things", "places", "doings", "phrases", "sentences"):
        grammar.read(_HERE / "zh_en" / f"{name}.txt")
    return grammar


def classical_grammar() -> Grammar:
    """Read the grammar of classical and modern Chinese."""
    grammar = Grammar({}, CLASSICAL_QUANTITIES)
    for name in ("words", "sentences"):
        grammar.read(_HERE / "lzh_zh" / f"{name}.txt")
    return grammar


def capitalized(sentence: str) -> str:
    """Begin every sentence with a capital."""
    return sentence[0].upper() + sentence[1:]


@dataclass(frozen=True)
class Sample:
    """One language pair: its grammar and the sizes of its splits."""

    source_language: str
    target_language: str
    grammar: Callable[[], Grammar]
    finish: Callable[[str], str]
    sizes: dict[str, int]

    def draw(self, seed: int) -> dict[str, list[tuple[str, str]]]:
        """Draw the splits; no source and no target occurs twice in all of them together."""
        rng, grammar = Random(seed), self.grammar()
        seen: set[str] = set()
        pairs: list[tuple[str, str]] = []
        while len(pairs) < sum(self.sizes.values()):
            drawn = grammar.draw("sentence", rng)
            source, target = str(drawn.source), self.finish(str(drawn.target))
            if seen.isdisjoint((source, "→" + target)):
                seen.update((source, "→" + target))
                pairs.append((source, target))
        splits: dict[str, list[tuple[str, str]]] = {}
        for split, size in self.sizes.items():
            splits[split], pairs = pairs[:size], pairs[size:]
        return splits


SAMPLES = (
    Sample("zh", "en", modern_grammar, capitalized, {"dev": 500, "test": 500, "train": 15000}),
    Sample("lzh", "zh", classical_grammar, str, {"dev": 200, "test": 200, "train": 4000}),
)
