"""A search that obeys a glossary, and leaves alone what obeys it anyway."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import torch

from mtrain.config.schema import DecodingConfig
from mtrain.decoding.automaton import PieceTexts, build_automaton
from mtrain.decoding.beam import Choice, Hypothesis
from mtrain.decoding.constraints import NEVER
from mtrain.decoding.demands import SayDemands, open_at_most
from mtrain.decoding.glossary import Demand, Glossary, says
from mtrain.decoding.search import Search
from mtrain.errors import InputError
from mtrain.languages import joins_without_space
from mtrain.tokenizer import Tokenizer, Tokenizers

Ids = Sequence[int]

# What pieces spell is worked out once for a model, however few lines are translated at a time.
_piece_texts: Callable[[Tokenizer, bool], PieceTexts] = lru_cache(maxsize=2)(PieceTexts)


class GlossarySearch:
    """Searches as `search` does, and again, with demands, where a hypothesis found does not obey the glossary.

    What obeys it in the first place is the best of all that do. Where no hypothesis says everything and comes to an end
    by itself, the longest demand is given up, at last all of them, rather than a translation that makes sense.
    """

    def __init__(self, search: Search, glossary: Glossary, tokenizers: Tokenizers, target_language: str) -> None:
        self._search = search
        self._glossary = glossary
        self._source, self._target = tokenizers["source"], tokenizers["target"]
        self._texts = _piece_texts(self._target, not joins_without_space(target_language))

    def __call__(
        self, sources: Sequence[Ids], prefixes: Sequence[Ids], best: int, progress: Callable[[int], object]
    ) -> list[list[Hypothesis]]:
        """Return up to `best` hypotheses of each source, best first, each beginning with its prefix."""
        found = self._search(sources, prefixes, best, progress)
        demands_of = self._demands(sources, self._search.longest(sources, prefixes).tolist())
        while open_ := [i for i, demands in demands_of.items() if demands and not self._obey(found[i], demands)]:
            nats = [-found[i][0].log_probability for i in open_]
            guide = _Guide(self._texts, [demands_of[i] for i in open_], nats, self._search.beam)
            again = self._search([sources[i] for i in open_], [prefixes[i] for i in open_], best, _nobody, guide)
            for i, hypotheses in zip(open_, again, strict=True):
                if whole := [one for one in hypotheses if one.score > NEVER and (found[i][0].cut or not one.cut)]:
                    found[i], demands_of[i] = whole, []
                else:
                    demands_of[i].remove(max(demands_of[i], key=self._texts.fewest))
        return found

    def _demands(self, sources: Sequence[Ids], longest: Sequence[int]) -> dict[int, list[Demand]]:
        """Return what each translation has to say, as far as there is room for it."""
        found = {i: self._glossary.demands(self._source.decode(ids)) for i, ids in enumerate(sources)}
        for i, demands in found.items():
            while demands and sum(map(self._texts.fewest, demands)) >= longest[i]:
                demands.remove(max(demands, key=self._texts.fewest))
        return found

    def _obey(self, hypotheses: list[Hypothesis], demands: list[Demand]) -> bool:
        return all(says(self._target.decode(hypothesis.tokens), demands) for hypothesis in hypotheses)


class _Guide:
    """Gives the choice for each batch of the sentences that have demands."""

    def __init__(
        self, texts: PieceTexts, demands: Sequence[list[Demand]], nats: Sequence[float], beam: int
    ) -> None:
        self._texts, self._demands, self._nats, self._beam = texts, demands, nats, beam
        self.width = max(
            open_at_most(sum(demand.times for demand in some), sum(map(texts.fewest, some)), beam) for some in demands
        )

    def choice(self, some: Sequence[int], device: torch.device) -> Choice:
        """Return the choice for these sentences."""
        automata = [build_automaton(self._demands[i], self._texts) for i in some]
        characters_VL = torch.from_numpy(self._texts.characters_VL).to(device)
        return SayDemands(automata, self._beam, [self._nats[i] for i in some], characters_VL)


def check_glossary(config: DecodingConfig) -> None:
    """Raise: InputError where translations are not searched for."""
    if config.method != "beam":
        raise InputError(
            f"a glossary needs a search, and decoding.method is {config.method}. Set decoding.method=beam"
        )


def _nobody(_: int) -> None:
    """Tell nobody."""
