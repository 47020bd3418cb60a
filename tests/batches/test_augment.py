"""Augmented examples mean the same, are a function of (seed, epoch, example), and stay within the limits."""

import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest

from mtrain.batches.augment import EpochExamples, make_augmentation, without_punctuation
from mtrain.batches.store import Prepared
from mtrain.config.schema import BatchesConfig
from mtrain.corpus.sources import SIDES
from mtrain.tokenizer import Tokenizers


@pytest.fixture
def epoch_of(prepared: Prepared, tokenizers: Tokenizers):
    """Return a maker of the examples of an epoch."""

    def make(epoch: int = 0, seed: int = 1, **settings: float) -> EpochExamples:
        augmentation = make_augmentation(prepared, tokenizers, BatchesConfig(**settings), seed)
        return EpochExamples(prepared.examples("train"), augmentation, epoch)

    return make


def all_ids(examples: EpochExamples, count: int) -> list[list[list[int]]]:
    return [[list(examples.source(i)), list(examples.target(i))] for i in range(count)]


def texts(prepared: Prepared, tokenizers: Tokenizers, examples: EpochExamples):
    """Give (stored text, the text as this epoch has it) of each source."""
    sources = prepared.lines("train", "source")
    return [(text, tokenizers["source"].decode(list(map(int, examples.source(i))))) for i, text in enumerate(sources)]


def test_lines_are_found_one_by_one(prepared: Prepared, tmp_path) -> None:
    for side in SIDES:
        lines = prepared.text("train", side)
        assert [lines[i] for i in range(len(lines))] == prepared.lines("train", side)
    large = tmp_path / "dev.source.txt"
    expected = ["é" * (index % 50) for index in range(70_000)]  # more than one block
    large.write_text("".join(line + "\n" for line in expected), encoding="utf-8", newline="\n")
    lines = Prepared(tmp_path, prepared.manifest).text("dev", "source")
    assert [lines[i] for i in range(len(lines))] == expected
    large.write_bytes(b"")
    assert len(Prepared(tmp_path, prepared.manifest).text("dev", "source")) == 0


def test_nothing_is_opened_where_nothing_is_asked_for(prepared: Prepared, tokenizers: Tokenizers, tmp_path) -> None:
    elsewhere = Prepared(tmp_path, prepared.manifest)
    assert make_augmentation(elsewhere, tokenizers, BatchesConfig(), 1) is None
    with pytest.raises(FileNotFoundError):
        make_augmentation(elsewhere, tokenizers, BatchesConfig(bpe_dropout=0.1), 1)


def test_dropout_leaves_the_text_and_changes_most_encodings(
    prepared: Prepared, tokenizers: Tokenizers, epoch_of
) -> None:
    examples, stored = epoch_of(bpe_dropout=0.3), prepared.examples("train")
    changed = 0
    for side in SIDES:
        for index, text in enumerate(prepared.lines("train", side)):
            ids = list(map(int, getattr(examples, side)(index)))
            assert tokenizers[side].decode(ids) == text
            changed += ids != getattr(stored, side)(index).tolist()
    assert changed > 0.7 * 2 * len(stored)


def test_without_dropout_the_encoding_is_the_usual_one(prepared: Prepared, tokenizers: Tokenizers) -> None:
    odd = ["", " ", "a", "𠮷野家", "e\u0301 ☃☃", "<s> <0x41> ▁", "the teacher the  teacher", "２０ 20年前"]
    for side, tokenizer in tokenizers.items():
        for text in [*odd, *prepared.lines("train", side)]:
            assert tokenizer.encode_with_dropout(text, 0.0, 1) == tokenizer.encode(text)


def test_each_side_is_encoded_by_its_own_tokenizer(prepared: Prepared, epoch_of) -> None:
    nearly_none, stored = epoch_of(bpe_dropout=1e-12), prepared.examples("train")
    for index in range(100):
        assert list(nearly_none.source(index)) == list(stored.source(index))
        assert list(nearly_none.target(index)) == list(stored.target(index))


def test_with_nearly_all_merges_dropped_characters_remain(tokenizers: Tokenizers) -> None:
    tokenizer = tokenizers["target"]
    assert tokenizer.decode(ids := tokenizer.encode_with_dropout("the teacher", 1 - 1e-12, 1)) == "the teacher"
    assert len(ids) == len("the teacher")


def test_more_dropout_makes_more_tokens(prepared: Prepared, epoch_of) -> None:
    def tokens(dropout: float) -> int:
        examples = epoch_of(bpe_dropout=dropout, strip_punctuation=1e-12)
        return sum(len(examples.source(i)) + len(examples.target(i)) for i in range(500))

    stored = prepared.examples("train")
    assert tokens(0.0) == stored.source_lengths[:500].sum() + stored.target_lengths[:500].sum()
    assert tokens(0.0) < tokens(0.1) < tokens(0.5) < tokens(0.99)


@pytest.mark.parametrize(
    "settings", [{"bpe_dropout": 0.2}, {"strip_punctuation": 0.5}, {"bpe_dropout": 0.2, "strip_punctuation": 0.5}]
)
def test_examples_are_a_function_of_seed_epoch_and_index(settings: dict[str, float], epoch_of) -> None:
    first = all_ids(epoch_of(3, **settings), 100)
    with ThreadPoolExecutor(4) as threads:  # at once, where another's seed could come between
        again = list(threads.map(lambda _: all_ids(epoch_of(3, **settings), 100), range(8)))
    assert again == [first] * 8
    backwards = epoch_of(3, **settings)
    assert [list(backwards.source(i)) for i in reversed(range(100))] == [source for source, _ in reversed(first)]
    assert all_ids(epoch_of(4, **settings), 100) != first
    assert all_ids(epoch_of(3, seed=2, **settings), 100) != first


def test_a_share_of_the_sources_loses_its_punctuation(prepared: Prepared, tokenizers: Tokenizers, epoch_of) -> None:
    stored, shares = prepared.examples("train"), []
    for epoch in range(3):
        examples = epoch_of(epoch, strip_punctuation=0.3)
        for index in range(len(stored)):
            assert list(examples.target(index)) == list(stored.target(index))
        found = texts(prepared, tokenizers, examples)
        stripped = [pair for pair in found if pair[0] != pair[1]]
        assert all(now == without_punctuation(text) for text, now in stripped)
        assert not any(unicodedata.category(c).startswith("P") for _, now in stripped for c in now)
        shares.append(len(stripped) / len(found))
    assert len(set(shares)) > 1  # not the same ones each time
    assert sum(shares) / 3 == pytest.approx(0.3, abs=0.04)


def test_all_sources_but_those_of_punctuation_only(prepared: Prepared, tokenizers: Tokenizers, epoch_of) -> None:
    found = texts(prepared, tokenizers, epoch_of(strip_punctuation=1.0))
    assert found[0] == ("……！", "……！")
    assert all(now == without_punctuation(text) for text, now in found)


def test_punctuation_of_either_script_goes_and_no_gap_remains() -> None:
    assert without_punctuation("子曰：「學而時習之，不亦說乎？」《論語》·卷一") == "子曰學而時習之不亦說乎論語卷一"
    assert without_punctuation("Hello , world ( 3 + 4 ) .") == "Hello world 3 + 4"
    assert without_punctuation("?!") == "?!"


def test_what_grows_beyond_the_limit_stays_as_it_is_stored(prepared: Prepared, epoch_of) -> None:
    stored = prepared.examples("train")
    limit = int(stored.target_lengths[:-1].max()) + 1
    examples = epoch_of(bpe_dropout=0.5, max_tokens_per_sentence=limit)
    lengths = [len(examples.target(i)) for i in range(len(stored) - 1)]
    assert max(lengths) < limit
    longest = int(stored.target_lengths[:-1].argmax())
    assert list(examples.target(longest)) == list(stored.target(longest))
    free = epoch_of(bpe_dropout=0.5, max_tokens_per_sentence=10 * limit)
    assert max(len(free.target(i)) for i in range(len(stored) - 1)) >= limit


def test_a_tag_stays_before_what_is_encoded_anew(prepared: Prepared, tokenizers: Tokenizers) -> None:
    tagged = {**tokenizers, "source": tokenizers["source"].with_tags(["news"])}
    tag = tagged["source"].tags["news"]
    augmentation = make_augmentation(prepared, tagged, BatchesConfig(bpe_dropout=0.9, strip_punctuation=0.5), 1)
    assert augmentation
    changed = 0
    for index in range(50):
        stored = prepared.examples("train").source(index).tolist()
        with_tag = list(augmentation.new_ids(0, "source", index, [tag, *stored]))
        assert with_tag == [tag, *augmentation.new_ids(0, "source", index, stored)]
        changed += with_tag != [tag, *stored]
    assert changed > 20
