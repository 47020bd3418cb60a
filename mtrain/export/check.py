"""Does an export translate as mtrain does? Real lines through both, texts and scores side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mtrain.config.schema import DecodingConfig
from mtrain.console import table
from mtrain.decoding.search import Search
from mtrain.errors import ExportError
from mtrain.evaluation.metrics import score
from mtrain.export.target import Runtime
from mtrain.model.bundle import Bundle

LINES = 100


class Limits(NamedTuple):
    """The least share of equal texts by greedy search, and how far scores of equal texts may lie apart (nats a token).

    A token that two candidates nearly tie for can turn out otherwise even in fp32, by another order of additions.
    Measured on wenyan-small: fp32 99 % and 0.0009, float16 99 % and 0.001, int8 87 % and 0.03; bfloat16 96 % and
    0.004 as CTranslate2's weights, 86 % and 0.01 where Hugging Face computes in it too.
    """

    same: float
    difference: float


LIMITS = {
    "": Limits(0.95, 0.005),
    "float16": Limits(0.90, 0.02),
    "bfloat16": Limits(0.75, 0.1),
    "int8": Limits(0.60, 0.2),
}


class Pairs(NamedTuple):
    """Lines to translate, and how they should come out; no references where that is not known."""

    sources: list[str]
    references: list[str]


@dataclass(frozen=True)
class Row:
    """One search by both: lines, texts that are the same, the largest difference of their scores, BLEU where known."""

    search: str
    lines: int
    same: int
    difference: float
    bleu: float | None
    exported_bleu: float | None


def spread(pairs: Pairs, bundle: Bundle, longest: int) -> Pairs:
    """Return up to LINES pairs, evenly spread over those whose source has text and at most `longest` tokens."""
    source = bundle.tokenizers["source"]
    fitting = [i for i, line in enumerate(pairs.sources) if 0 < len(source.encode(source.normalise(line))) <= longest]
    count = min(LINES, len(fitting))
    chosen = [fitting[i * len(fitting) // count] for i in range(count)]
    return Pairs(*([side[i] for i in chosen] if side else [] for side in pairs))


def compare(bundle: Bundle, runtime: Runtime, pairs: Pairs, decoding: DecodingConfig) -> list[Row]:
    """Translate greedily and by a beam, with mtrain and with the export; that is one row for each."""
    return [_compare(bundle, runtime, pairs, decoding, beam) for beam in dict.fromkeys((1, decoding.beam))]


def _compare(bundle: Bundle, runtime: Runtime, pairs: Pairs, decoding: DecodingConfig, beam: int) -> Row:
    """Search by mean log-probability of a token, the one way to compare lengths that all programs know.

    Of translations that had to be cut only the texts are compared: mtrain's score is that of an end put to them.
    """
    source, target = bundle.tokenizers["source"], bundle.tokenizers["target"]
    lines = [source.normalise(line) for line in pairs.sources]
    ids = [source.encode(line) for line in lines]
    longest = int(max(map(len, ids)) * decoding.max_length_factor) + decoding.max_length_extra + 1
    alike = DecodingConfig(
        beam=beam,
        length_normalization="average",
        length_penalty=1.0,
        max_length_factor=0.0,
        max_length_extra=longest,
        max_tokens_per_batch=decoding.max_tokens_per_batch,
    )
    found = Search([bundle.model], alike)(ids, [[]] * len(ids), 1, lambda _: None)
    ours = [best for (best,) in found]
    theirs = runtime(lines, beam, longest - 1)
    texts = [target.decode(best.tokens) for best in ours]
    same = [i for i, text in enumerate(texts) if text == theirs[i].text]
    differences = [abs(ours[i].score - theirs[i].score) for i in same if not ours[i].cut]
    return Row(
        search="greedy" if beam == 1 else f"beam {beam}",
        lines=len(texts),
        same=len(same),
        difference=max(differences, default=0.0),
        bleu=_bleu(texts, pairs.references, bundle),
        exported_bleu=_bleu([said.text for said in theirs], pairs.references, bundle),
    )


def _bleu(texts: Sequence[str], references: Sequence[str], bundle: Bundle) -> float | None:
    return score(texts, references, None, bundle.target_language).bleu if references else None


def render(title: str, rows: Sequence[Row]) -> str:
    """Return the rows as a table."""
    head = ("", "same text", "largest difference of scores", "BLEU of mtrain", f"of {title}")
    return table(head, [_cells(row) for row in rows])


def _cells(row: Row) -> tuple[str, ...]:
    mtrain, exported = ("" if bleu is None else f"{bleu:.2f}" for bleu in (row.bleu, row.exported_bleu))
    return row.search, f"{row.same} of {row.lines}", f"{row.difference:.6f}", mtrain, exported


def judge(title: str, rows: Sequence[Row], quantization: str) -> None:
    """Raise ExportError where the export differs by more than its type of numbers explains.

    By a beam only scores are judged: programs end the search by rules of their own.
    """
    limits, greedy = LIMITS[quantization], rows[0]
    if greedy.same < limits.same * greedy.lines:
        found = f"{greedy.same} of {greedy.lines} texts are the same, at least {limits.same:.0%} should be"
    elif (difference := max(row.difference for row in rows)) > limits.difference:
        found = f"scores differ by up to {difference:.4f} nats a token, at most {limits.difference} is explained"
    else:
        return
    raise ExportError(f"{title}, {quantization or 'not quantised'}: {found}. Nothing was written.")
