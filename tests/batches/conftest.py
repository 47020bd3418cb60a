"""A small prepared corpus of made-up sentences, half of them Chinese, with a vocabulary for each side."""

import numpy as np
import pytest

from mtrain.batches.id_files import write_examples
from mtrain.batches.settings import prepare_settings
from mtrain.batches.store import Prepared, read_prepared, write_manifest
from mtrain.config.schema import CorpusConfig, TokenizerConfig
from mtrain.corpus.pair_files import write_pairs
from mtrain.corpus.sources import SIDES, Pair
from mtrain.tokenizer import Tokenizers, save_tokenizers, train_tokenizer

SOURCE_WORDS = ["学而时习之", "不亦说乎", "人不知而不愠", "三人行", "必有我师焉", "𠮷", "温故而知新"]
TARGET_WORDS = ["learning", "and", "practising", "the teacher", "pleasure", "friends", "from afar", "élan", "☃"]
COUNT = 600


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Return prepared data of 600 training pairs: the first source is of punctuation only, the last pair is long."""
    generator = np.random.default_rng(0)

    def sentence(words: list[str], between: str, mark: str) -> str:
        return between.join(generator.choice(words, generator.integers(1, 9))) + mark

    pairs = [Pair(sentence(SOURCE_WORDS, "，", "。"), sentence(TARGET_WORDS, ", ", ".")) for _ in range(COUNT)]
    pairs[0], pairs[-1] = Pair("……！", "…!"), Pair("三人行" * 40, "the teacher " * 40 + "and")
    folder = tmp_path_factory.mktemp("prepared")
    settings = CorpusConfig(train=("a.tsv",)), TokenizerConfig(joint=False, vocabulary_size=400)
    write_pairs(pairs, folder, "train")
    texts = {side: [getattr(pair, side) for pair in pairs] for side in SIDES}
    tokenizers = {side: train_tokenizer(texts[side], settings[1]) for side in SIDES}
    save_tokenizers(tokenizers, folder)
    for side, tokenizer in tokenizers.items():
        ids = tokenizer.encode_batch(texts[side])
        write_examples([ids], folder, "train", side, tokenizer.vocabulary_size)
    write_manifest(folder, prepare_settings(*settings), [], {"pairs": {"train": COUNT}, "report": {}})
    return read_prepared(folder)


@pytest.fixture(scope="session")
def tokenizers(prepared: Prepared) -> Tokenizers:
    """Return the tokenizers of the prepared data."""
    return prepared.tokenizers()
