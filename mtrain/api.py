"""What a Python program has of a trained model, and the command line through it: translating and scoring.

    model = mtrain.load("runs/sample")
    for translation in model.translate(["我昨天买了三本书。"], beam=4, nbest=2):
        print(translation.text, translation.score, translation.flags, translation.alignment, translation.candidates)
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mtrain.config.load import change_decoding, load_config
from mtrain.config.schema import DecodingConfig
from mtrain.corpus.sources import SIDES
from mtrain.decoding.glossary import Glossary
from mtrain.decoding.glossary_search import GlossarySearch, check_glossary
from mtrain.decoding.scoring import PairScore, score_pairs
from mtrain.decoding.search import Search, Searching
from mtrain.decoding.translation import Translation
from mtrain.decoding.translator import Translator
from mtrain.errors import ExportError, InputError
from mtrain.export.engine import Engine
from mtrain.export.manifest import is_export, read_manifest
from mtrain.model.bundle import load_bundle, settings_file
from mtrain.model.transformer import Transformer
from mtrain.runtime import choose_device, is_out_of_memory, set_threads
from mtrain.tokenizer import Tokenizers, load_tokenizers

Setting = str | int | float | bool


def _nobody(_: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class LoadedModel:
    """A trained model, or several with the same vocabularies that work together, and how they translate.

    An export, which has no models of mtrain's, translates by its `engine`; alignments, scores of given pairs and
    glossaries are not to be had from it. `glossary` says how some terms are to be translated, see `with_glossary`.
    """

    models: Sequence[Transformer]
    tokenizers: Tokenizers
    decoding: DecodingConfig
    source_language: str
    target_language: str
    engine: Engine | None = None
    glossary: Glossary | None = None

    def with_glossary(self, terms: Mapping[str, str | Sequence[str]]) -> "LoadedModel":
        """Return the same model, to translate each of these source terms in the way, or any of the ways, given for it.

        `terms` of its translations tell which of them a line has, and how often they are obeyed.
        Raises: InputError for an empty term, and for an export.
        """
        if self.engine:
            raise InputError("an export does not obey a glossary; load the model that it was made of")
        ways = {source: [to] if isinstance(to, str) else to for source, to in terms.items()}
        return replace(self, glossary=Glossary(ways, self.tokenizers))

    def translate(
        self,
        lines: Iterable[str],
        *,
        nbest: int = 1,
        prefixes: Iterable[str] = (),
        tags: Iterable[str] = (),
        alignment: bool = True,
        progress: Callable[[int], object] = _nobody,
        **decoding: Setting,
    ) -> list[Translation]:
        """Return a translation a line, in order; an empty line gives an empty translation.

        `nbest` candidates of each are wanted; each begins with its prefix, where `prefixes` are given; `tags`, one a
        line or empty, say which of the corpora it was trained on a source is like; `alignment` is worked out unless
        that is not wanted; `progress` is told how many more lines, or parts of long ones, are done.
        Any setting of the config's `decoding` section can be changed for this call, such as beam=1.
        Raises: ConfigError for a setting that does not exist or cannot be so, InputError for what is not lines.
        """
        lines, prefixes, tags = _listed(lines), _listed(prefixes), _listed(tags)
        _check_each_has_one(lines, "prefixes", prefixes)
        _check_each_has_one(lines, "tags", tags)
        if nbest < 1:
            raise InputError(f"nbest={nbest}: a line has at least 1 candidate")
        changed = self._changed(decoding)
        search = self._search(changed)
        translator = Translator(self.models, self.tokenizers, changed, self.target_language, search)
        with _little_memory_told(changed):
            translations = translator.translate(lines, progress, nbest, prefixes, alignment and not self.engine, tags)
        if self.glossary is None:
            return translations
        return [replace(found, terms=self.glossary.compare(found.source, found.text)) for found in translations]

    def score(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        tags: Iterable[str] = (),
        progress: Callable[[int], object] = _nobody,
        **decoding: Setting,
    ) -> list[PairScore]:
        """Return how probable each target is as the translation of its source, as a search would report it.

        Raises: as `translate`, and InputError where there are more lines on one side.
        """
        sources, targets, tags = _listed(sources), _listed(targets), _listed(tags)
        if self.engine:
            raise InputError("an export does not score given pairs; load the model that it was made of")
        if len(sources) != len(targets):
            raise InputError(f"there are {len(sources)} sources and {len(targets)} targets: they go in pairs")
        _check_each_has_one(sources, "tags", tags)
        changed = self._changed(decoding)
        with _little_memory_told(changed):
            return score_pairs(self.models, self.tokenizers, changed, (sources, targets), progress, tags)

    def _search(self, config: DecodingConfig) -> Searching | None:
        """Return the search of the engine, or one that obeys the glossary; None: the model's own."""
        if self.engine:
            return self.engine.search(config)
        if self.glossary is None:
            return None
        check_glossary(config)
        return GlossarySearch(Search(self.models, config), self.glossary, self.tokenizers, self.target_language)

    def _changed(self, changes: Mapping[str, Setting]) -> DecodingConfig:
        changed = change_decoding(self.decoding, changes)
        own = self.decoding.length_penalty
        return changed if changed.length_penalty >= 0 else replace(changed, length_penalty=own)


def load_models(folders: Sequence[Path], device: str, threads: int) -> LoadedModel:
    """Return the models of these folders, or the one that is exported, to translate as the first one's settings say."""
    decoding = load_config(str(settings_file(folders[0]))).decoding
    if len(folders) == 1 and is_export(folders[0]):
        return open_export(folders[0], decoding, device, threads)
    return open_models(folders, decoding, device, threads)


def open_models(folders: Sequence[Path], decoding: DecodingConfig, device: str, threads: int) -> LoadedModel:
    """Return the models of these folders, which translate as `decoding` says.

    Raises: BundleError where one is no whole model, InputError where one is an export or their vocabularies differ.
    """
    for folder in folders:
        if is_export(folder):
            raise InputError(f"{folder}: is an export, which works alone, by --engine ctranslate2")
    set_threads(threads)
    bundles = [load_bundle(folder) for folder in folders]
    first = bundles[0]
    for folder, bundle in zip(folders[1:], bundles[1:], strict=True):
        pairs = [(bundle.tokenizers[side], first.tokenizers[side]) for side in SIDES]
        if any(one.all_pieces() != other.all_pieces() for one, other in pairs):
            raise InputError(f"{folder}: has another vocabulary than {folders[0]}; models that work together share one")
    there = choose_device(device)
    return LoadedModel(
        [bundle.model.to(there) for bundle in bundles],
        first.tokenizers,
        with_own_penalty(decoding, folders[0]),
        first.source_language,
        first.target_language,
    )


def open_export(folder: Path, decoding: DecodingConfig, device: str, threads: int) -> LoadedModel:
    """Return the model that has been exported to CTranslate2, which translates as `decoding` says.

    Raises: ExportError where there is none, or no CTranslate2.
    """
    manifest = read_manifest(folder)
    tokenizers = load_tokenizers(folder, ExportError)
    return LoadedModel(
        [],
        tokenizers,
        with_own_penalty(decoding, folder),
        manifest.source_language,
        manifest.target_language,
        Engine(folder, tokenizers, choose_device(device).type, set_threads(threads)),
    )


def with_own_penalty(decoding: DecodingConfig, folder: Path) -> DecodingConfig:
    """Return `decoding` with the length penalty that `fit` has found for the model, where it names none itself."""
    if decoding.length_penalty >= 0:
        return decoding
    own = load_config(str(settings_file(folder))).decoding.length_penalty
    return replace(decoding, length_penalty=own)


@contextmanager
def _little_memory_told(config: DecodingConfig) -> Iterator[None]:
    """Raise: InputError, with its cure, where the memory is too small for a batch."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise InputError(
            f"out of memory. Lower decoding.max_tokens_per_batch (now {config.max_tokens_per_batch})"
        ) from error


def _listed(lines: Iterable[str]) -> list[str]:
    if isinstance(lines, str):
        raise InputError(f"expects a list of lines, found one text; write [{lines[:20]!r}]")
    return list(lines)


def _check_each_has_one(lines: Sequence[str], what: str, given: Sequence[str]) -> None:
    if given and len(given) != len(lines):
        raise InputError(f"there are {len(lines)} lines and {len(given)} {what}: each line needs one")
