"""`mtrain prepare`: raw parallel text in; clean, split and numbered sentence pairs out."""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, process_time
from typing import NamedTuple, TextIO

import numpy as np

from mtrain.batches.encoding import Encoder, Encoding, encode_split
from mtrain.batches.report import PrepareReport, render_report
from mtrain.batches.settings import SEED, Settings, changed_settings, in_short, prepare_settings
from mtrain.batches.store import CURE, REPORT, prepared_names, read_prepared, write_manifest
from mtrain.config.schema import Config, TokenizerConfig
from mtrain.console import say, warn
from mtrain.corpus.assemble import assemble, missing_splits
from mtrain.corpus.cleaning import nobody
from mtrain.corpus.inputs import Input, changed_inputs, describe_inputs
from mtrain.corpus.pair_files import written_blocks, written_pairs
from mtrain.corpus.report import cleaning_report, render_cleaning
from mtrain.corpus.sift import Means
from mtrain.corpus.sources import SIDES, SPLITS, Pair, Side, Split, tags
from mtrain.corpus.spelling import spellings
from mtrain.corpus.tally import Tally
from mtrain.errors import PreparedDataError
from mtrain.storage import Journal, folder_written_whole, held_alone, standing_folder
from mtrain.tokenizer import (
    SizeKey,
    Tokenizer,
    Tokenizers,
    load_tokenizers,
    normalising,
    save_tokenizers,
    train_tokenizer,
)
from mtrain.version import __version__

_JOURNAL = ".journal"
_VOCABULARY = "vocabulary"


class Lists(NamedTuple):
    """Files of the pairs dropped and kept, where somebody wants to look at them."""

    dropped: Path | None
    kept: Path | None


class _Work(NamedTuple):
    """What is prepared where, and what of it is done."""

    config: Config
    folder: Path
    journal: Journal


def prepare(config: Config, dry_run: bool = False, dropped: Path | None = None, kept: Path | None = None) -> None:
    """Read, normalise, clean, split, learn the vocabulary, write token ids, report; nothing where all this is done.

    What was prepared before stays as it is until the new is whole. A dry run only tells what it would keep and drop.
    `dropped` and `kept` are files to list these pairs in.
    """
    lists, folder = Lists(dropped, kept), Path(config.corpus.folder)
    if dry_run:
        _try(config, lists)
        return
    with held_alone(folder):
        reason = _reason(folder, _settings(config), config)
        say(f"preparing: {reason}" if reason else f"{folder}: already prepared, nothing to do")
        if reason:
            _prepare(config, folder, lists)
        elif dropped or kept:
            _try(config, lists)


def _try(config: Config, lists: Lists) -> None:
    """Read, clean and split as `prepare` does, but leave nothing behind save the lists."""
    # The system's own folder for such things is often in memory, or too small for a corpus.
    beside = next(above for above in Path(config.corpus.folder).absolute().parents if above.is_dir())
    with TemporaryDirectory(prefix=".mtrain-", dir=beside) as there:
        folder = Path(there)
        tally = _assemble(_Work(config, folder, Journal(folder / _JOURNAL)), lists)
        report = cleaning_report(config.corpus, tally, folder, config.run.threads)
    say("\n" + "\n\n".join(render_cleaning(report)))


def _assemble(work: _Work, lists: Lists) -> Tally:
    with _opened(lists.dropped) as dropped, _opened(lists.kept) as kept:
        means = Means(work.journal, work.config.run.threads, partial(_tell, dropped) if dropped else nobody)
        tally = assemble(work.config.corpus, work.config.run.seed, work.folder, means)
        if kept:
            kept.writelines(f"{pair.source}\t{pair.target}\n" for pair in written_pairs(work.folder, "train"))
    return tally


def _opened(file: Path | None) -> AbstractContextManager[TextIO | None]:
    """Return the list to be written: whether it can be is known before the work, not after it."""
    return file.open("w", encoding="utf-8", newline="\n") if file else nullcontext()


def _tell(dropped: TextIO, pair: Pair, rule: str) -> None:
    dropped.write(f"{rule}\t{pair.source}\t{pair.target}\n")  # normalised text has no tabs


def _prepare(config: Config, folder: Path, lists: Lists) -> None:
    taken_over = _taken_over(config.tokenizer.take_from)
    tags_of = {split: tags(config.corpus, split) for split in SPLITS}
    if taken_over:
        _check_tags(taken_over, tags_of, config.tokenizer.take_from)
    inputs = describe_inputs(config.corpus)
    # A list of what is dropped must be whole: where one is wanted, all begins anew.
    with folder_written_whole(folder, "" if lists.dropped else _key(config, inputs)) as making:
        work = _Work(config, making, Journal(making / _JOURNAL))
        tally = _assemble(work, lists)
        tokenizers = _tokenizers(work, taken_over, tags_of, tally.pairs["train"])
        encodings = {split: _encode(work, split, tokenizers, tags_of[split], tally.pairs[split]) for split in SPLITS}
        report = _report(work, tally, tokenizers, encodings)
        work.journal.end()
        (making / REPORT).write_text(render_report(report) + "\n", encoding="utf-8", newline="\n")
        figures = {"pairs": tally.pairs, "report": asdict(report)}
        write_manifest(making, _settings(config), inputs, figures)
    say(f"\n{render_report(report)}\n\nprepared in {folder}")


def _key(config: Config, inputs: list[Input]) -> str:
    """Return what an interrupted work must have in common with this one, to be gone on with."""
    settings = {**_settings(config), "max_tokens_per_sentence": config.batches.max_tokens_per_sentence}
    return json.dumps([__version__, settings, [asdict(one) for one in inputs]], ensure_ascii=False)


def _tokenizers(
    work: _Work, taken_over: Tokenizers | None, tags_of: dict[Split, list[str]], pairs: int
) -> Tokenizers:
    if work.journal.done(_VOCABULARY):
        return load_tokenizers(work.folder)
    learnt = taken_over or _learn_vocabularies(work.config.tokenizer, work.folder, pairs)
    tokenizers = normalising(_with_tags(learnt, tags_of), spellings(work.config.corpus))
    save_tokenizers(tokenizers, work.folder)
    work.journal.note(_VOCABULARY, True)
    return tokenizers


def _encode(work: _Work, split: Split, tokenizers: Tokenizers, tags: list[str], pairs: int) -> Encoding:
    step = f"ids of {split}"
    if done := work.journal.done(step):
        return Encoding.from_json(done)
    heads = [[tokenizers["source"].tags[tag]] if tag else [] for tag in tags]
    encoder = Encoder(tokenizers, heads, normalised=split == "train")
    limit = work.config.batches.max_tokens_per_sentence
    encoding = encode_split(work.folder, split, encoder, pairs, limit, work.config.run.threads)
    work.journal.note(step, encoding.as_json())
    return encoding


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
    return in_short(changed_settings(manifest.settings, settings) + changed_inputs(manifest.inputs, config.corpus))


def _taken_over(run: str) -> Tokenizers | None:
    if not run:
        return None
    if not (folder := standing_folder(Path(run) / "model")).is_dir():
        raise PreparedDataError(f"tokenizer.take_from: there is no model in {run}. Name the folder of a finished run")
    say(f"taking over the vocabulary of {run}")
    return load_tokenizers(folder)


def _learn_vocabularies(section: TokenizerConfig, folder: Path, pairs: int) -> Tokenizers:
    """Return the tokenizer of each side, learnt from the `pairs` of training that lie in `folder`."""
    if section.joint:
        return dict.fromkeys(SIDES, _learn_vocabulary(section, "vocabulary_size", folder, pairs, SIDES))
    target_key: SizeKey = "target_vocabulary_size" if section.target_vocabulary_size else "vocabulary_size"
    return {
        "source": _learn_vocabulary(section, "vocabulary_size", folder, pairs, ["source"]),
        "target": _learn_vocabulary(section, target_key, folder, pairs, ["target"]),
    }


def _learn_vocabulary(
    section: TokenizerConfig, size_key: SizeKey, folder: Path, pairs: int, sides: Sequence[Side]
) -> Tokenizer:
    size: int = getattr(section, size_key)
    chosen = min(pairs, max(1, section.train_lines // 2))
    say(f"learning a vocabulary of {size:,} from {len(sides) * chosen:,} lines of {' and '.join(sides)} ...")
    begin, begin_work = monotonic(), process_time()
    tokenizer = train_tokenizer(_sample(folder, pairs, chosen, sides), section, size_key)
    say(f"learnt in {monotonic() - begin:.0f} s, which one core would do in {process_time() - begin_work:.0f} s")
    if tokenizer.vocabulary_size < size:
        warn(
            f"these lines are too few for tokenizer.{size_key} = {size:,}; "
            f"the vocabulary has all the {tokenizer.vocabulary_size:,} pieces they yield"
        )
    return tokenizer


def _sample(folder: Path, pairs: int, chosen: int, sides: Sequence[Side]) -> Iterator[str]:
    """Give these sides of `chosen` training pairs that are spread evenly over the corpus."""
    start = 0
    for block in written_blocks(folder, "train"):
        before = np.arange(start, start + block.size + 1) * chosen // pairs
        some = block.only(np.flatnonzero(np.diff(before)).tolist())
        columns = [some.sources if side == "source" else some.targets for side in sides]
        yield from chain.from_iterable(zip(*columns, strict=True))
        start += block.size


def _check_tags(tokenizers: Tokenizers, tags_of: dict[Split, list[str]], run: str) -> None:
    missing = sorted({tag for tags in tags_of.values() for tag in tags if tag} - set(tokenizers["source"].tags))
    if missing:
        raise PreparedDataError(
            f"tokenizer.take_from: the vocabulary of {run} has no tag {missing[0]}, and it cannot grow. Leave the tag "
            "out of corpus, or train that model with it"
        )


def _with_tags(tokenizers: Tokenizers, tags_of: dict[Split, list[str]]) -> Tokenizers:
    joint = tokenizers["target"].shares_vocabulary(tokenizers["source"])
    source = tokenizers["source"].with_tags(tag for tags in tags_of.values() for tag in tags if tag)
    return {"source": source, "target": source if joint else tokenizers["target"]}


def _report(work: _Work, tally: Tally, tokenizers: Tokenizers, encodings: dict[Split, Encoding]) -> PrepareReport:
    shared = tokenizers["source"].shares_vocabulary(tokenizers["target"])
    return PrepareReport(
        **vars(cleaning_report(work.config.corpus, tally, work.folder, work.config.run.threads)),
        vocabulary_sizes=[tokenizers[side].vocabulary_size for side in (SIDES[:1] if shared else SIDES)],
        surveys={split: encoding.surveys for split, encoding in encodings.items()},
        max_tokens_per_sentence=work.config.batches.max_tokens_per_sentence,
        over_limit=encodings["train"].over_limit,
    )
