"""`mtrain bleu`: what translations are worth, of given files or of a run's test split."""

from collections.abc import Sequence
from pathlib import Path

from mtrain.config.schema import Config
from mtrain.console import say
from mtrain.errors import InputError
from mtrain.evaluation.groups import GroupTable, Texts, score_groups
from mtrain.evaluation.lines import read_aligned, read_to_score
from mtrain.evaluation.metrics import Scores, score
from mtrain.evaluation.report import (
    comparison_to_json,
    render,
    render_comparison,
    render_groups,
    render_samples,
    to_json,
)
from mtrain.evaluation.significance import compare
from mtrain.languages import complaint
from mtrain.storage import write_whole

_GROUP = "group"  # what `--by` calls the groups of a corpus whose config gives their column no name


def score_files(
    files: Sequence[Path], sources: Path | None, language: str, config: Config | None, as_json: bool, by: str = ""
) -> None:
    """Score a file of translations against the last file, the references; with several, compare them with the first.

    An empty language is the config's target; `by` a file that names the group of each sentence.
    """
    if not language and config is None:
        raise InputError("which language are the translations in? Say --language zh (or en, ...), or give --config")
    if language and complaint(language):
        raise InputError(f"--language: {complaint(language)}")
    lines = read_aligned([*files, sources] if sources else files)  # all at once, for a pipe cannot be read again
    *hypotheses, references = lines[: len(files)]
    source = lines[-1] if sources else None
    tokenizer = "auto" if config is None else config.evaluation.bleu_tokenizer
    target_language = language or (config.corpus.target_language if config else "")
    scores = [score(lines, references, source, target_language, tokenizer) for lines in hypotheses]
    if len(hypotheses) == 1:
        groups = _groups_of_file(Path(by), len(references)) if by else None
        _print(scores[0], _table(Texts(hypotheses[0], references, source), groups, by, scores[0]), as_json)
        return
    names = [str(file) for file in files[:-1]]
    comparison = compare(list(zip(names, hypotheses, strict=True)), references, scores[0].tokenizer)
    if as_json:
        print(comparison_to_json(comparison))
        return
    print(render_comparison(comparison))
    for name, found in zip(names, scores, strict=True):
        for warning in found.warnings.values():
            print(f"{name}: {warning}")


def score_run(config: Config, as_json: bool, by: str = "", strip_punctuation: bool = False) -> None:
    """Translate the test split with the run's model, score it, and keep both in the run's folder.

    `by` is the prepared data's column of groups, or a file that names the group of each sentence.
    """
    from mtrain.commands.translate import translate_split  # it needs torch, which scoring files does without

    groups = _groups_of_run(config, by) if by else None
    sources, hypotheses, references = translate_split(config, "test", strip_punctuation)
    scores = score(hypotheses, references, sources, config.corpus.target_language, config.evaluation.bleu_tokenizer)
    table = _table(Texts(hypotheses, references, sources), groups, by, scores)
    folder, kind = Path(config.run.folder), ".unpunctuated" if strip_punctuation else ""
    write_whole(folder / f"test{kind}.hypotheses.txt", "".join(f"{line}\n" for line in hypotheses))
    write_whole(folder / f"scores{kind}.json", f"{to_json(scores, table)}\n")
    say(f"{render_samples(sources, references, hypotheses)}\n")
    if strip_punctuation:
        say("the test sources without their punctuation, the references as they are:")
    _print(scores, table, as_json)


def _groups_of_file(file: Path, sentences: int) -> list[str]:
    groups = read_to_score(file)
    if len(groups) != sentences:
        raise InputError(
            f"--by: {file} has {len(groups)} lines, but there are {sentences} sentences; line N must name the group of "
            "sentence N"
        )
    return groups


def _groups_of_run(config: Config, by: str) -> list[str]:
    """Return the group of each test pair, from the prepared data or else from a file."""
    from mtrain.batches.store import open_prepared

    prepared = open_prepared(Path(config.corpus.folder), config.corpus, config.tokenizer)
    groups, name = prepared.groups("test"), config.corpus.group_column or _GROUP
    if by == name and groups:
        return groups
    if Path(by).is_file():
        return _groups_of_file(Path(by), prepared.manifest.pairs["test"])
    there = f"the prepared test split is grouped by {name} only" if groups else "the prepared test split has no groups"
    cure = "Name a file with a line per sentence, or set corpus.group_column and prepare again"
    raise InputError(f"--by {by}: {there}, and there is no such file. {cure}")


def _table(texts: Texts, groups: Sequence[str] | None, by: str, scores: Scores) -> GroupTable | None:
    return score_groups(texts, groups, Path(by).name, scores.tokenizer) if groups else None


def _print(scores: Scores, groups: GroupTable | None, as_json: bool) -> None:
    if as_json:
        print(to_json(scores, groups))
        return
    print(render(scores))
    if groups:
        print(f"\n{render_groups(groups)}")
