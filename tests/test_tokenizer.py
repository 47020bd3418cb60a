"""Text → ids → text changes nothing, whatever the text."""

import random
import re
from pathlib import Path

import pytest

from mtrain.config.schema import CorpusConfig, TokenizerConfig
from mtrain.corpus.lines import normalise
from mtrain.corpus.sources import SIDES
from mtrain.corpus.spelling import Spelling, Spellings, spellings
from mtrain.corpus.text_files import read_lines
from mtrain.errors import BundleError, ConfigError, PreparedDataError
from mtrain.tokenizer import (
    BOS,
    BYTES,
    EOS,
    PAD,
    TOKENIZER_NAMES,
    UNK,
    Tokenizer,
    load_tokenizers,
    normalising,
    save_tokenizers,
    train_tokenizer,
)

CORPORA = Path(__file__).parent.parent.parent / "shared" / "data"
CHINESE = ["你好，世界！今天天气不错。", "他说：“三千五百万”。"]
LINES = [*CHINESE, "Hello, world! It is 12:45 now.", "I said 35 million."] * 30
FULL_WIDTH = re.compile("[\uff01-\uff5e、。「」『』“”‘’—…]")
SECTION = TokenizerConfig(vocabulary_size=330, character_coverage=0.9995)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.model"
    train_tokenizer(LINES, SECTION).save(path)
    return path


@pytest.fixture(scope="module")
def tokenizer(file: Path) -> Tokenizer:
    return Tokenizer.load(file)


def assert_exact(tokenizer: Tokenizer, texts: list[str]) -> None:
    encoded = tokenizer.encode_batch(texts, threads=2)
    for text, ids in zip(texts, encoded, strict=True):
        assert tokenizer.decode(ids) == text
        assert not {PAD, UNK, BOS, EOS} & set(ids)


def test_special_symbols_come_first_and_the_vocabulary_is_as_large_as_asked(tokenizer: Tokenizer) -> None:
    assert (PAD, UNK, BOS, EOS) == (0, 1, 2, 3)
    assert tokenizer.vocabulary_size == 330


@pytest.mark.parametrize(
    "text",
    [
        *("", "<s>", "</s> <pad> <unk>", "<0x41>", normalise("▁a▁"), "5年前", "007 12"),
        *("𠮷野家𪚥", "👩\u200d🚀❤️", "é Ẽ̂", "，？！１Ａ", "▅ \ufffd \ue000"),
    ],
)
def test_odd_texts_come_back(tokenizer: Tokenizer, text: str) -> None:
    assert_exact(tokenizer, [text])


def test_every_character_comes_back(tokenizer: Tokenizer) -> None:
    points = (*range(0x21, 0xD800), *range(0xE000, 0x110000, 7))
    every = {normalise(f"好{chr(point)}a") for point in points}
    assert len(every) > 100_000
    assert_exact(tokenizer, sorted(every))


def test_spaces_come_back_where_none_was_learnt_from() -> None:
    spaceless = train_tokenizer(CHINESE * 30, TokenizerConfig(vocabulary_size=300))
    assert not spaceless.has_piece(" ")
    assert_exact(spaceless, ["一 二", *LINES[:4]])
    assert spaceless.encode_with_dropout("一 二", 0.0, 1) == spaceless.encode("一 二")


def test_random_text_comes_back(tokenizer: Tokenizer) -> None:
    generator = random.Random(1)
    planes = [range(0x20, 0x250), range(0x300, 0x370), range(0x2000, 0x2070), range(0x4E00, 0x9FFF)]
    planes += [range(0x20000, 0x2A6DF), range(0x1F300, 0x1FAFF), range(0x30, 0x3A), range(0xFF00, 0xFF60)]
    texts = [
        "".join(chr(generator.choice(generator.choice(planes))) for _ in range(generator.randrange(30)))
        for _ in range(3000)
    ]
    assert_exact(tokenizer, list(map(normalise, texts)))


@pytest.mark.skipif(not CORPORA.is_dir(), reason="the real corpora are not here")
@pytest.mark.parametrize(("corpus", "languages"), [("wenyan", ("lzh", "zh")), ("zh-en", ("zh", "en"))])
def test_real_text_comes_back(tokenizer: Tokenizer, corpus: str, languages: tuple[str, str]) -> None:
    import pyarrow.parquet as pq

    held_out = [CORPORA / corpus / f"{split}.{language}" for split in ("dev", "test") for language in languages]
    lines = [line for file in held_out for line in read_lines(file)]
    rows = next(pq.ParquetFile(CORPORA / corpus / "train.parquet").iter_batches(10_000, columns=list(languages)))
    lines += [line for language in languages for line in rows.column(language).to_pylist()]
    assert_exact(tokenizer, list(map(normalise, lines)))
    marks = sum(line.count(mark) for line in lines for mark in "，？！：；")
    assert sum(normalise(line).count(mark) for line in lines for mark in "，？！：；") == marks > 1000


@pytest.mark.slow
@pytest.mark.skipif(not CORPORA.is_dir(), reason="the real corpora are not here")
@pytest.mark.parametrize(("corpus", "languages"), [("wenyan", ("lzh", "zh")), ("zh-en", ("zh", "en"))])
def test_all_of_a_real_corpus_comes_back_and_chinese_keeps_its_width(corpus: str, languages: tuple[str, str]) -> None:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(CORPORA / corpus / "train.parquet")
    config = CorpusConfig(source_language=languages[0], target_language=languages[1])
    some = next(file.iter_batches(20_000, columns=list(languages)))
    lines = [normalise(line) for language in languages for line in some.column(language).to_pylist()]
    tokenizers = normalising(
        dict.fromkeys(SIDES, train_tokenizer(lines, TokenizerConfig(vocabulary_size=8000, character_coverage=0.999))),
        spellings(config),
    )
    for rows in file.iter_batches(50_000, columns=list(languages)):
        for side, language in zip(SIDES, languages, strict=True):
            raw = [line or "" for line in rows.column(language).to_pylist()]
            texts = list(map(tokenizers[side].normalise, raw))
            assert_exact(tokenizers[side], texts)
            assert list(map(tokenizers[side].normalise, texts)) == texts
            if language != "en":
                assert [wide(text) for text in texts] == [wide(line) for line in raw]


def wide(text: str) -> str:
    return "".join(FULL_WIDTH.findall(text))


def test_a_batch_gives_the_same_ids_as_one_by_one(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode_batch(LINES, threads=2) == [tokenizer.encode(line) for line in LINES]


def test_digits_stay_single_only_if_wanted(tokenizer: Tokenizer) -> None:
    assert len(tokenizer.encode("1245")) == 4
    joined = train_tokenizer(LINES, TokenizerConfig(vocabulary_size=330, split_digits=False))
    assert len(joined.encode("35")) == 1


def test_ids_never_make_more_than_one_line(tokenizer: Tokenizer) -> None:
    line_feed, carriage_return = BYTES[0x0A], BYTES[0x0D]
    separator = [BYTES[byte] for byte in "\u2028".encode()]
    assert tokenizer.decode([*tokenizer.encode("a"), line_feed, carriage_return, *separator]) == "a   "
    assert tokenizer.decode([BYTES[0xE4], BOS, PAD, EOS]) == "\ufffd"


def test_which_characters_have_pieces(tokenizer: Tokenizer) -> None:
    assert all(map(tokenizer.has_piece, "你，a 3"))
    assert not any(map(tokenizer.has_piece, "𪚥龘"))


def test_training_again_gives_the_same_bytes_and_says_nothing(
    file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    train_tokenizer(LINES, SECTION).save(tmp_path / "again.model")
    assert (tmp_path / "again.model").read_bytes() == file.read_bytes()
    assert capfd.readouterr() == ("", "")


def test_long_lines_are_learnt_from() -> None:
    assert train_tokenizer(["长" * 5000, "短"], SECTION).has_piece("长")


def test_too_little_text_gives_a_smaller_vocabulary() -> None:
    assert 330 < train_tokenizer(LINES, TokenizerConfig(vocabulary_size=8000)).vocabulary_size < 8000


def test_a_vocabulary_too_small_is_told_its_least_size(capfd: pytest.CaptureFixture[str]) -> None:
    many = ["".join(map(chr, range(0x4E00, 0x4E00 + 200)))]
    section = TokenizerConfig(vocabulary_size=300, target_vocabulary_size=301, character_coverage=1.0)
    with pytest.raises(ConfigError, match=r"^tokenizer.vocabulary_size: 300 is too small .* at least 46\d .* or lower"):
        train_tokenizer(many, section)
    with pytest.raises(ConfigError, match=r"^tokenizer.target_vocabulary_size: 301 is too small .* at least 46\d "):
        train_tokenizer(many, section, "target_vocabulary_size")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("damage", [lambda whole: whole[:2000], lambda whole: b"", lambda whole: b"no model" * 9])
def test_a_damaged_file_is_named(file: Path, tmp_path: Path, damage: object) -> None:
    bad = tmp_path / "bad.model"
    bad.write_bytes(damage(file.read_bytes()))  # type: ignore[operator]
    with pytest.raises(PreparedDataError, match=r"bad.model: "):
        Tokenizer.load(bad)
    with pytest.raises(BundleError, match=r"nowhere: there is no such tokenizer"):
        Tokenizer.load(tmp_path / "nowhere", BundleError)


def test_a_joint_vocabulary_is_one_file_and_one_vocabulary(tokenizer: Tokenizer, file: Path, tmp_path: Path) -> None:
    save_tokenizers({"source": tokenizer, "target": tokenizer}, tmp_path)
    assert {part.name for part in tmp_path.iterdir()} == {"tokenizer.model", "spelling.json"}
    assert (tmp_path / "tokenizer.model").read_bytes() == file.read_bytes()
    loaded = load_tokenizers(tmp_path)
    assert loaded["source"].shares_vocabulary(loaded["target"])


def test_each_side_keeps_how_it_is_written(tokenizer: Tokenizer, tmp_path: Path) -> None:
    spellings: Spellings = {"source": Spelling("keep", script="simplified"), "target": Spelling("half", "full", "half")}
    save_tokenizers(normalising({"source": tokenizer, "target": tokenizer}, spellings), tmp_path)
    loaded = load_tokenizers(tmp_path)
    assert {side: loaded[side].normalise for side in SIDES} == spellings
    assert loaded["source"].shares_vocabulary(loaded["target"])
    assert loaded["target"].normalise("Ａ，b「c」") == "A,b“c”"
    (tmp_path / "spelling.json").write_text('{"source": {"width": "keep"}}', encoding="utf-8")
    with pytest.raises(BundleError, match=r"spelling\.json: damaged, it does not say how both sides are written"):
        load_tokenizers(tmp_path, BundleError)
    (tmp_path / "spelling.json").unlink()  # as in models from before there was a choice
    assert load_tokenizers(tmp_path)["target"].normalise("Ａ，b") == "Ａ，b"


def test_each_side_gets_its_own_tokenizer_back(tokenizer: Tokenizer, tmp_path: Path) -> None:
    chinese = train_tokenizer(CHINESE * 30, TokenizerConfig(vocabulary_size=300))
    save_tokenizers({"source": chinese, "target": tokenizer}, tmp_path)
    assert TOKENIZER_NAMES - {"tokenizer.model"} == {part.name for part in tmp_path.iterdir()}
    loaded = load_tokenizers(tmp_path)
    assert (loaded["source"].vocabulary_size, loaded["target"].vocabulary_size) == (300, 330)
    for side, own in (("source", chinese), ("target", tokenizer)):
        assert loaded[side].encode(CHINESE[1]) == own.encode(CHINESE[1])  # type: ignore[index]
        assert_exact(loaded[side], LINES[:4])  # type: ignore[index]
    (tmp_path / "tokenizer.target.model").unlink()
    with pytest.raises(BundleError, match=r"tokenizer\.target\.model: there is no such tokenizer"):
        load_tokenizers(tmp_path, BundleError)


def test_what_else_sentencepiece_does_not_like_is_one_line() -> None:
    with pytest.raises(ConfigError, match=r"^tokenizer: SentencePiece learns no vocabulary from this ") as caught:
        train_tokenizer([], SECTION)
    assert "\n" not in str(caught.value)


def test_no_text_becomes_a_tag_and_no_tag_becomes_text(tmp_path: Path) -> None:
    lines = [f"<news> {number} <news>▁新闻" for number in range(300)]
    plain = train_tokenizer([line.replace("▁", "_") for line in lines], TokenizerConfig(vocabulary_size=400))
    tokenizer = plain.with_tags(["news", "新闻", "x" * 24, "𠮷" * 24])
    assert tokenizer.all_pieces()[: plain.vocabulary_size] == plain.all_pieces()
    assert tokenizer.tags.keys() == {"news", "新闻", "x" * 24, "𠮷" * 24}
    assert sorted(tokenizer.tags.values()) == list(range(plain.vocabulary_size, plain.vocabulary_size + 4))
    for text in (*lines[:3], "<news>", "<news> ", "<news>▁", "<新闻>▁", "< news >"):
        for ids in (tokenizer.encode(text), tokenizer.encode_with_dropout(text, 0.0, 1)):
            assert ids == plain.encode(text)
            assert tokenizer.decode([tokenizer.tags["news"], *ids]) == plain.decode(ids)
    assert tokenizer.with_tags(["news"]).all_pieces() == tokenizer.all_pieces()
    tokenizer.save(tmp_path / "tagged.model")
    assert Tokenizer.load(tmp_path / "tagged.model").tags == tokenizer.tags
