"""`mtrain bleu`: what translations are worth, of given files or of a run's test split."""

from pathlib import Path

from mtrain.config.schema import Config
from mtrain.console import say
from mtrain.errors import InputError
from mtrain.evaluation.lines import read_aligned
from mtrain.evaluation.metrics import Scores, score
from mtrain.evaluation.report import render, render_samples, to_json
from mtrain.languages import complaint
from mtrain.storage import write_whole


def score_files(
    hypotheses: Path, references: Path, sources: Path | None, language: str, config: Config | None, as_json: bool
) -> None:
    """Score a file of translations against a file of references; an empty language is the config's target."""
    if not language and config is None:
        raise InputError("which language are the translations in? Say --language zh (or en, ...), or give --config")
    if language and complaint(language):
        raise InputError(f"--language: {complaint(language)}")
    files = read_aligned([hypotheses, references] if sources is None else [hypotheses, references, sources])
    tokenizer = "auto" if config is None else config.evaluation.bleu_tokenizer
    target_language = language or (config.corpus.target_language if config else "")
    _print_scores(score(files[0], files[1], files[2] if sources else None, target_language, tokenizer), as_json)


def score_run(config: Config, as_json: bool) -> None:
    """Translate the test split with the run's model, score it, and keep both in the run's folder."""
    from mtrain.commands.translate import translate_split  # it needs torch, which scoring files does without

    sources, hypotheses, references = translate_split(config, "test")
    scores = score(hypotheses, references, sources, config.corpus.target_language, config.evaluation.bleu_tokenizer)
    folder = Path(config.run.folder)
    write_whole(folder / "test.hypotheses.txt", "".join(f"{line}\n" for line in hypotheses))
    write_whole(folder / "scores.json", f"{to_json(scores)}\n")
    say(f"{render_samples(sources, references, hypotheses)}\n")
    _print_scores(scores, as_json)


def _print_scores(scores: Scores, as_json: bool) -> None:
    print(to_json(scores) if as_json else render(scores))
