"""Text to token ids and back: SentencePiece BPE, one vocabulary for both languages or one for each.

The road is without loss: normalised text comes back as it was, characters never seen included, which are spelt in
UTF-8 bytes. So there are no unknowns, and ，？！ stay what they are. A tokenizer knows how text was normalised for it.
"""

import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Literal

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from mtrain.config.schema import TokenizerConfig
from mtrain.corpus.lines import without_controls
from mtrain.corpus.sources import SIDES, Side
from mtrain.corpus.spelling import Spelling, Spellings
from mtrain.errors import ConfigError, MtrainError, PreparedDataError

PAD, UNK, BOS, EOS = 0, 1, 2, 3
# SentencePiece puts the 256 bytes behind the special symbols.
BYTES = range(4, 260)

# A folder holds either the joint model or the two others.
_JOINT_NAME = "tokenizer.model"
_NAMES: dict[Side, str] = {side: f"tokenizer.{side}.model" for side in SIDES}
_SPELLING_NAME = "spelling.json"
TOKENIZER_NAMES = {_JOINT_NAME, *_NAMES.values(), _SPELLING_NAME}

# Constant, whatever the machine: it is written into the model, which must be the same everywhere.
_TRAINING_THREADS = 4
_ONLY_ERRORS = 2
_SPACE = "\u2581"
_TAG_END = f">{_SPACE}"
# Of SentencePiece's pieces, field 3 is the type, and type 3 that of control symbols.
_CONTROL_TYPE = bytes([3 << 3, 3])

SizeKey = Literal["vocabulary_size", "target_vocabulary_size"]


class Tokenizer:
    """A learnt vocabulary, and how text is to be written for it."""

    def __init__(self, processor: SentencePieceProcessor, spelling: Spelling | None = None) -> None:
        self._processor = processor
        self.normalise = spelling or Spelling()

    @classmethod
    def load(cls, file: Path, error: type[MtrainError] = PreparedDataError) -> "Tokenizer":
        """Return the tokenizer that lies in a file, which is part of prepared data and of bundles.

        Raises: `error` where it is absent, damaged or not of mtrain's making.
        """
        if not file.is_file():
            raise error(f"{file}: there is no such tokenizer")
        try:
            processor = SentencePieceProcessor(model_proto=file.read_bytes())
        except RuntimeError as found:
            raise error(f"{file}: damaged, not a whole SentencePiece model") from found
        special = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        if special != (PAD, UNK, BOS, EOS) or not all(map(processor.is_byte, BYTES)):
            raise error(f"{file}: a SentencePiece model, but not one that mtrain has trained")
        return cls(processor)

    def save(self, file: Path) -> None:
        """Write what `load` reads."""
        file.write_bytes(self._processor.serialized_model_proto())

    def normalising(self, spelling: Spelling) -> "Tokenizer":
        """Return the same vocabulary for text that is written in this way."""
        return Tokenizer(self._processor, spelling)

    def shares_vocabulary(self, other: "Tokenizer") -> bool:
        """Tell whether both are one vocabulary."""
        return self._processor is other._processor

    def with_tags(self, tags: Iterable[str]) -> "Tokenizer":
        """Return the same tokenizer with a symbol more for each of these tags, where it has not got it.

        They are control symbols behind all others: no text becomes one, decoding passes over them, and no other id
        changes. Source: protobuf's encoding, in which what is appended to a message goes on with it.
        """
        model = self._processor.serialized_model_proto()
        for tag in sorted(set(tags) - set(self.tags)):
            piece = _field(1, _tag_piece(tag).encode("utf-8")) + _CONTROL_TYPE
            model += _field(1, piece)
        return Tokenizer(SentencePieceProcessor(model_proto=model), self.normalise)

    @cached_property
    def tags(self) -> dict[str, int]:
        """The id of each tag."""
        ids = [id_ for id_ in range(BYTES.stop, self.vocabulary_size) if self._processor.is_control(id_)]
        names = (piece.removeprefix("<").removesuffix(_TAG_END) for piece in self.pieces(ids))
        return dict(zip(names, ids, strict=True))

    @property
    def vocabulary_size(self) -> int:
        """Pieces in the vocabulary, special symbols and bytes included."""
        return int(self._processor.get_piece_size())

    def encode(self, text: str) -> list[int]:
        """Return the ids of text that `normalise` has written, without begin and end of sentence."""
        return list(self._processor.encode(text))

    def encode_with_dropout(self, text: str, dropout: float, seed: int) -> list[int]:
        """Return ids of normalised text with each merge of pieces skipped with a probability of `dropout`.

        A pure function of its arguments, which SentencePiece's own sampling is not: its seed means something else in
        each process.
        Source: Provilkov et al. 2020, "BPE-Dropout: Simple and Effective Subword Regularization".
        """
        symbols = _merge(list(text.replace(" ", _SPACE)), self._merged, dropout, Random(seed).random)
        ids: list[int] = []
        for symbol in symbols:
            found = self._merged.get(symbol)
            ids += [BYTES[byte] for byte in symbol.encode("utf-8")] if found is None else [found]
        return ids

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> list[list[int]]:
        """Return the ids of many texts, the same as one by one."""
        return list(self._processor.encode(list(texts), num_threads=threads))

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, always one line: a model can spell a line feed in bytes, and other damage."""
        # A vocabulary learnt from text without spaces spells them in bytes, which SentencePiece leaves as U+2581.
        return without_controls(self._processor.decode(list(ids)).replace(_SPACE, " "))

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Return the piece of the vocabulary that each id stands for, as SentencePiece writes it: a space is U+2581."""
        return [str(self._processor.id_to_piece(int(id_))) for id_ in ids]

    def all_pieces(self) -> list[str]:
        """Return the whole vocabulary."""
        return self.pieces(range(self.vocabulary_size))

    def has_piece(self, character: str) -> bool:
        """Tell whether a character is in the vocabulary; if not, it is spelt in bytes."""
        piece = _SPACE if character == " " else character
        return int(self._processor.piece_to_id(piece)) != UNK

    @cached_property
    def _merged(self) -> dict[str, int]:
        """The id of each piece of text. SentencePiece numbers them as it learnt them: the least is merged first."""
        learnt = [id_ for id_ in range(BYTES.stop, self.vocabulary_size) if not self._processor.is_control(id_)]
        return dict(zip(self.pieces(learnt), learnt, strict=True))


def _tag_piece(tag: str) -> str:
    # With a space at its end, which no piece that is learnt has: a text full of <tag> may well teach that one.
    return f"<{tag}{_TAG_END}"


def _field(number: int, content: bytes) -> bytes:
    """Return a field of a protobuf message that holds less than 128 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content


# The tokenizer of each side; they may share a vocabulary.
Tokenizers = Mapping[Side, Tokenizer]


def load_tokenizers(folder: Path, error: type[MtrainError] = PreparedDataError) -> Tokenizers:
    """Return the tokenizers that lie in a folder. Raises: `error` where one is absent or damaged."""
    spellings = _load_spellings(folder / _SPELLING_NAME, error)
    joint = folder / _JOINT_NAME
    if joint.is_file():
        return normalising(dict.fromkeys(SIDES, Tokenizer.load(joint, error)), spellings)
    return normalising({side: Tokenizer.load(folder / _NAMES[side], error) for side in SIDES}, spellings)


def normalising(tokenizers: Tokenizers, spellings: Spellings) -> Tokenizers:
    """Return the same vocabularies for sides that are written in these ways."""
    return {side: tokenizers[side].normalising(spellings[side]) for side in SIDES}


def _load_spellings(file: Path, error: type[MtrainError]) -> Spellings:
    if not file.is_file():  # models from before there were any
        return dict.fromkeys(SIDES, Spelling())
    try:
        content = json.loads(file.read_bytes())
        return {side: Spelling(**content[side]) for side in SIDES}
    except (ValueError, TypeError, KeyError) as found:
        raise error(f"{file}: damaged, it does not say how both sides are written") from found


def save_tokenizers(tokenizers: Tokenizers, folder: Path) -> None:
    """Write what `load_tokenizers` reads."""
    written = {side: asdict(tokenizers[side].normalise) for side in SIDES}
    (folder / _SPELLING_NAME).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8", newline="\n")
    if tokenizers["source"].shares_vocabulary(tokenizers["target"]):
        tokenizers["source"].save(folder / _JOINT_NAME)
    else:
        for side in SIDES:
            tokenizers[side].save(folder / _NAMES[side])


def _merge(symbols: list[str], ranks: dict[str, int], dropout: float, draw: Callable[[], float]) -> list[str]:
    """Join neighbours that make a piece, lowest rank first and then leftmost, skipping a share of the merges."""
    end = len(symbols)
    before, after = list(range(-1, end - 1)), list(range(1, end + 1))
    pairs = enumerate(pairwise(symbols))
    agenda = [(ranks[a + b], left) for left, (a, b) in pairs if a + b in ranks]
    heapify(agenda)
    while agenda:
        rank, left = heappop(agenda)
        right = after[left]
        if not symbols[left] or right == end or ranks.get(symbols[left] + symbols[right]) != rank:
            continue  # one of the two has meanwhile been merged with another
        if draw() < dropout:
            continue
        symbols[left] += symbols[right]
        symbols[right] = ""
        following = after[left] = after[right]
        if following < end:
            before[following] = left
            if (joined := ranks.get(symbols[left] + symbols[following])) is not None:
                heappush(agenda, (joined, left))
        if before[left] >= 0 and (joined := ranks.get(symbols[before[left]] + symbols[left])) is not None:
            heappush(agenda, (joined, before[left]))
    return [symbol for symbol in symbols if symbol]


def train_tokenizer(
    lines: Iterable[str], section: TokenizerConfig, size_key: SizeKey = "vocabulary_size"
) -> Tokenizer:
    """Learn a vocabulary from normalised lines, as large as the setting `size_key` says.

    It is smaller where the text is too small to fill it: no user could know the right number beforehand, and a smaller
    vocabulary is what such a text needs.
    Raises: ConfigError where that size has no room for the characters to be covered, or SentencePiece gives up.
    """
    size: int = getattr(section, size_key)
    model = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type="bpe",
            vocab_size=size,
            hard_vocab_limit=False,
            character_coverage=section.character_coverage,
            split_digits=section.split_digits,
            byte_fallback=True,
            # The defaults would fold full-width punctuation, put a space before each line and skip long ones silently.
            normalization_rule_name="identity",
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
            max_sentence_length=1 << 30,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            num_threads=_TRAINING_THREADS,
            minloglevel=_ONLY_ERRORS,
        )
    except RuntimeError as error:
        needed = re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error))
        if needed is None:
            reason = " ".join(str(error).split())
            raise ConfigError(f"tokenizer: SentencePiece learns no vocabulary from this corpus: {reason}") from error
        raise ConfigError(
            f"tokenizer.{size_key}: {size:,} is too small for the characters of this corpus. "
            f"Give at least {int(needed[1]):,} (more, to have pieces of several characters), or lower "
            f"tokenizer.character_coverage, now {section.character_coverage}"
        ) from error
    return Tokenizer(SentencePieceProcessor(model_proto=model.getvalue()))
