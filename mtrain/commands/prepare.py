"""`mtrain prepare`: raw parallel text in; clean, split and numbered sentence pairs out."""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import numpy as np

from mtrain.batches.report import PrepareReport, render_report
from mtrain.batches.store import (
    CURE,
    REPORT,
    SEED,
    TOKENIZER,
    Examples,
    Settings,
    changed_settings,
    prepare_settings,
    prepared_names,
    read_prepared,
    write_examples,
    write_manifest,
)
from mtrain.batches.survey import survey_side
from mtrain.config.schema import Config, TokenizerConfig
from mtrain.console import progress, say, warn
from mtrain.corpus.assemble import Tally, assemble, missing_splits
from mtrain.corpus.inputs import changed_inputs, describe_inputs
from mtrain.corpus.lines import normalise
from mtrain.corpus.pair_files import text_file, written_pairs
from mtrain.corpus.sources import SIDES, SPLITS, Side, Split, read_lines
from mtrain.errors import PreparedDataError
from mtrain.storage import folder_written_whole, held_alone
from mtrain.tokenizer import Tokenizer, train_tokenizer

_LINES_AT_ONCE = 20_000
_ALL_CORES = -1  # as SentencePiece says it


def prepare(config: Config) -> None:
    """Read, normalise, clean, split, learn the vocabulary, write token ids, report; nothing where all this is done.

    What was prepared before stays as it is until the new is whole.
    """
    folder = Path(config.corpus.folder)
    with held_alone(folder):
        reason = _reason(folder, _settings(config), config)
        say(f"preparing: {reason}" if reason else f"{folder}: already prepared, nothing to do")
        if reason:
            _prepare(config, folder)


def _prepare(config: Config, folder: Path) -> None:
    with folder_written_whole(folder) as making:
        inputs = describe_inputs(config.corpus)
        tally = assemble(config.corpus, config.run.seed, making)
        tokenizer = _learn_vocabulary(config.tokenizer, making, tally.pairs["train"])
        for split in SPLITS:
            for side in SIDES:
                _write_ids(making, split, side, tokenizer, tally.pairs[split], config.run.threads or _ALL_CORES)
        report = _report(config, tally, tokenizer, making)
        (making / REPORT).write_text(render_report(report) + "\n", encoding="utf-8", newline="\n")
        figures = {"vocabulary_size": tokenizer.vocabulary_size, "pairs": tally.pairs, "report": asdict(report)}
        write_manifest(making, _settings(config), inputs, figures)
    say(f"\n{render_report(report)}\n\nprepared in {folder}")


def _settings(config: Config) -> Settings:
    settings = prepare_settings(config.corpus, config.tokenizer)
    return {**settings, SEED: config.run.seed} if missing_splits(config.corpus) else settings


def _reason(folder: Path, settings: Settings, config: Config) -> str:
    """Return why there is something to do, empty where there is not."""
    if folder.exists() and not folder.is_dir():
        raise PreparedDataError(f"corpus.folder: {folder} is a file. Name a folder, which `mtrain prepare` makes")
    # Hidden files, such as .DS_Store, are left by systems; a hidden folder, such as .git, is somebody's work.
    there = [file for file in folder.iterdir() if file.is_dir() or file.name[0] != "."] if folder.is_dir() else []
    strangers = sorted({file.name for file in there} - prepared_names())
    if strangers:
        raise PreparedDataError(
            f"corpus.folder: {folder} holds {strangers[0]}, which `mtrain prepare` has not made, but it would replace "
            "the folder as a whole. Give corpus.folder a folder of its own"
        )
    try:
        manifest = read_prepared(folder).manifest
    except PreparedDataError as error:
        return str(error).removesuffix(CURE).strip()
    return "; ".join(changed_settings(manifest.settings, settings) + changed_inputs(manifest.inputs, config.corpus))


def _learn_vocabulary(section: TokenizerConfig, folder: Path, pairs: int) -> Tokenizer:
    lines = min(2 * pairs, section.train_lines)
    say(f"learning a vocabulary of {section.vocabulary_size:,} from {lines:,} lines ...")
    size = train_tokenizer(_sample(folder, pairs, section.train_lines), section, folder / TOKENIZER)
    if size < section.vocabulary_size:
        warn(
            f"these lines are too few for tokenizer.vocabulary_size = {section.vocabulary_size:,}; "
            f"the vocabulary has all the {size:,} pieces they yield"
        )
    return Tokenizer.load(folder / TOKENIZER)


def _sample(folder: Path, pairs: int, lines: int) -> Iterator[str]:
    """Give both sides of training pairs that are spread evenly over the corpus, `lines` lines at most."""
    chosen = min(pairs, max(1, lines // 2))
    for row, pair in enumerate(written_pairs(folder, "train")):
        if row * chosen // pairs != (row + 1) * chosen // pairs:
            yield from pair


def _write_ids(folder: Path, split: Split, side: Side, tokenizer: Tokenizer, pairs: int, threads: int) -> None:
    lines = progress(read_lines(text_file(folder, split, side)), f"encode {split} {side}", pairs, "line")
    texts = map(normalise, lines)
    blocks = iter(lambda: list(islice(texts, _LINES_AT_ONCE)), [])
    ids = (tokenizer.encode_batch(block, threads) for block in blocks)
    write_examples(ids, folder, split, side, tokenizer.vocabulary_size)


def _report(config: Config, tally: Tally, tokenizer: Tokenizer, folder: Path) -> PrepareReport:
    limit = config.batches.max_tokens_per_sentence
    train = Examples(folder, "train", tokenizer.vocabulary_size)
    return PrepareReport(
        languages={"source": config.corpus.source_language, "target": config.corpus.target_language},
        read=tally.read,
        mended=tally.mended,
        dropped=tally.dropped,
        pairs=tally.pairs,
        drawn=missing_splits(config.corpus),
        vocabulary_size=tokenizer.vocabulary_size,
        surveys={split: {side: survey_side(folder, split, side, tokenizer) for side in SIDES} for split in SPLITS},
        max_tokens_per_sentence=limit,
        over_limit=int(np.count_nonzero(np.maximum(train.source_lengths, train.target_lengths) > limit)),
    )
