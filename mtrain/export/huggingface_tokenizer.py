"""SentencePiece's pieces as a tokenizer.json, mtrain's normalisation of lines included: the same ids, the same text."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtrain.console import warn
from mtrain.corpus.lines import CONTROL, INVISIBLE
from mtrain.corpus.spelling import HALF_WIDTH, LONG_DASH, SHORT_DASH, STRAIGHT_QUOTES, Spelling
from mtrain.export.target import POSITIONS
from mtrain.tokenizer import BOS, BYTES, EOS, PAD, UNK, Tokenizer, Tokenizers

if TYPE_CHECKING:
    from tokenizers import Tokenizer as FastTokenizer
    from tokenizers.normalizers import Normalizer

# Where each side has a vocabulary of its own, the folder's tokenizer reads sources, and this one in it says targets.
_TARGET_FOLDER = "target"
_SPACE = "\u2581"
# What Python's `str.split` takes for space, but for what is stray anyway.
_SPACES = "\t \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"


def write_tokenizers(tokenizers: Tokenizers, folder: Path) -> None:
    """Write what AutoTokenizer loads."""
    _write(tokenizers["source"], folder)
    if not tokenizers["source"].shares_vocabulary(tokenizers["target"]):
        _write(tokenizers["target"], folder / _TARGET_FOLDER)


def target_tokenizer(folder: Path) -> Any:
    """Return the tokenizer for translations, which is that of the sources where they share one."""
    from transformers import AutoTokenizer  # noqa: PLC0415  optional

    return AutoTokenizer.from_pretrained(folder / _TARGET_FOLDER if (folder / _TARGET_FOLDER).is_dir() else folder)


def _write(tokenizer: Tokenizer, folder: Path) -> None:
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415  optional

    pieces, tags = tokenizer.all_pieces(), tokenizer.pieces(tokenizer.tags.values())
    PreTrainedTokenizerFast(
        tokenizer_object=_fast(pieces, len(pieces) - len(tags), tokenizer.normalise),
        pad_token=pieces[PAD],
        unk_token=pieces[UNK],
        bos_token=pieces[BOS],
        eos_token=pieces[EOS],
        extra_special_tokens=tags,
        model_max_length=POSITIONS,
        clean_up_tokenization_spaces=False,
        split_special_tokens=True,  # a line may have </s> in it, which is text
    ).save_pretrained(folder)


def _fast(pieces: list[str], learnt: int, spelling: Spelling) -> "FastTokenizer":
    from tokenizers import Regex, decoders, models, processors  # noqa: PLC0415  optional
    from tokenizers import Tokenizer as Fast  # noqa: PLC0415

    ids = {piece: id_ for id_, piece in enumerate(pieces)}
    merges = _merges(pieces[BYTES.stop : learnt])
    fast = Fast(models.BPE(vocab=ids, merges=merges, unk_token=pieces[UNK], byte_fallback=True))
    fast.normalizer = _normalizer(spelling)
    fast.decoder = decoders.Sequence(
        [
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Replace(_SPACE, " "),
            decoders.Replace(Regex(f"[{CONTROL}]"), " "),
        ]
    )
    fast.post_processor = processors.TemplateProcessing(single=f"$A {pieces[EOS]}", special_tokens=[(pieces[EOS], EOS)])
    return fast


def _normalizer(spelling: Spelling) -> "Normalizer":
    """Return what writes a line as mtrain does; what has no place in it is left to whoever hands over the line."""
    from tokenizers import Regex  # noqa: PLC0415  optional
    from tokenizers.normalizers import NFC, Replace, Sequence, Strip  # noqa: PLC0415

    halves: dict[str, list[tuple[str | Regex, str]]] = {
        "width": [(chr(code), _text(half)) for code, half in HALF_WIDTH.items()],
        "quotes": [(chr(code), _text(straight)) for code, straight in STRAIGHT_QUOTES.items()],
        "dashes": [(Regex(LONG_DASH.pattern), "--"), (Regex(SHORT_DASH.pattern), "-")],
    }
    wanted = {name: how for name, how in asdict(spelling).items() if how != "keep"}
    changes = [change for name, how in wanted.items() if how == "half" for change in halves[name]]
    others = ", ".join(f"{name} {how}" for name, how in wanted.items() if how != "half")
    if others:
        warn(f"the exported tokenizer does not write text as this model reads it ({others}): do that before it")
    spaces = [Replace(Regex(f"[{_SPACES}]+"), " "), Strip(), Replace(" ", _SPACE)]
    return Sequence(
        [
            Replace(Regex(f"[{CONTROL}]"), " "),
            Replace(Regex(f"[{INVISIBLE}]"), ""),
            NFC(),
            Replace(_SPACE, "_"),
            *[Replace(found, written) for found, written in changes],
            NFC(),
            *spaces,
        ]
    )


def _text(written: int | str) -> str:
    return chr(written) if isinstance(written, int) else written


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
