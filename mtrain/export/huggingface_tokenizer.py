"""SentencePiece's pieces as a tokenizer.json, mtrain's normalisation of lines included: the same ids, the same text."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtrain.corpus.lines import CONTROL, INVISIBLE, STRAY
from mtrain.export.target import POSITIONS
from mtrain.tokenizer import BOS, BYTES, EOS, PAD, UNK, Tokenizer, Tokenizers

if TYPE_CHECKING:
    from tokenizers import Tokenizer as FastTokenizer

# Where each side has a vocabulary of its own, the folder's tokenizer reads sources, and this one in it says targets.
_TARGET_FOLDER = "target"
_SPACE = "\u2581"
# What Python's `str.split` takes for space, but for what is stray anyway.
_SPACES = "\t \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"


def write_tokenizers(tokenizers: Tokenizers, folder: Path) -> None:
    """Write what AutoTokenizer loads."""
    _write(tokenizers["source"], folder)
    if tokenizers["source"] is not tokenizers["target"]:
        _write(tokenizers["target"], folder / _TARGET_FOLDER)


def target_tokenizer(folder: Path) -> Any:
    """Return the tokenizer for translations, which is that of the sources where they share one."""
    from transformers import AutoTokenizer  # noqa: PLC0415  optional

    return AutoTokenizer.from_pretrained(folder / _TARGET_FOLDER if (folder / _TARGET_FOLDER).is_dir() else folder)


def _write(tokenizer: Tokenizer, folder: Path) -> None:
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415  optional

    pieces, tags = tokenizer.all_pieces(), tokenizer.pieces(tokenizer.tags.values())
    PreTrainedTokenizerFast(
        tokenizer_object=_fast(pieces, len(pieces) - len(tags)),
        pad_token=pieces[PAD],
        unk_token=pieces[UNK],
        bos_token=pieces[BOS],
        eos_token=pieces[EOS],
        extra_special_tokens=tags,
        model_max_length=POSITIONS,
        clean_up_tokenization_spaces=False,
        split_special_tokens=True,  # a line may have </s> in it, which is text
    ).save_pretrained(folder)


def _fast(pieces: list[str], learnt: int) -> "FastTokenizer":
    from tokenizers import Regex, decoders, models, normalizers, processors  # noqa: PLC0415  optional
    from tokenizers import Tokenizer as Fast  # noqa: PLC0415

    ids = {piece: id_ for id_, piece in enumerate(pieces)}
    merges = _merges(pieces[BYTES.stop : learnt])
    fast = Fast(models.BPE(vocab=ids, merges=merges, unk_token=pieces[UNK], byte_fallback=True))
    fast.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(f"[{CONTROL}]"), " "),
            normalizers.Replace(Regex(f"[{INVISIBLE}]"), ""),
            normalizers.NFC(),
            normalizers.Replace(_SPACE, "_"),
            normalizers.Replace(Regex(f"[{_SPACES}]+"), " "),
            normalizers.Strip(),
            normalizers.Replace(" ", _SPACE),
        ]
    )
    fast.decoder = decoders.Sequence(
        [
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Replace(_SPACE, " "),
            decoders.Replace(Regex(f"[{STRAY}]"), " "),
        ]
    )
    fast.post_processor = processors.TemplateProcessing(single=f"$A {pieces[EOS]}", special_tokens=[(pieces[EOS], EOS)])
    return fast


def _merges(learnt: list[str]) -> list[tuple[str, str]]:
    """Return which pieces join to which, first those that SentencePiece joins first, which has numbered them so.

    It joins the leftmost pair that makes the piece, whatever its parts. Where two overlap, as in a run of one
    character, the left one has the longer first part.
    """
    known = set(learnt)
    return [
        (piece[:cut], piece[cut:])
        for piece in learnt
        for cut in range(len(piece) - 1, 0, -1)
        if piece[:cut] in known and piece[cut:] in known
    ]
