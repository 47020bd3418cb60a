"""What dev and test were made of, and what training knew or knows of them, as text."""

from collections.abc import Sequence

from mtrain.console import table
from mtrain.corpus.audit import KINDS, Audit, Kind, SplitAudit
from mtrain.corpus.held_out import Leak
from mtrain.corpus.sources import Split

_MOST_NAMES = 12
_LONGEST_EXAMPLE = 30
_WORDS: dict[Kind, str] = {
    "pair": "the pair",
    "source": "the source",
    "target": "the target",
    "near_source": "nearly the source",
    "near_target": "nearly the target",
}


def render_near(leaks: Sequence[Leak]) -> str:
    """Return examples of training sentences that are nearly those of dev or test."""
    rows = [[f"  {_cut(leak.text)}", f"  {_cut(leak.held_out)}", f"{leak.overlap:.0%}"] for leak in leaks]
    return table(["  near_held_out: in train", "  in dev or test", "of its n-grams"], rows)


def render_short(split: Split, short: int, pairs: int) -> str:
    """Return how many sentences of a split nothing can be nearly."""
    of = f"{short:,} of {2 * pairs:,} sentences in {split}"
    return f"{of} are short (under 10 Han characters or 29 letters): what is nearly one of them is not looked for"


def render_groups(split: Split, groups: Sequence[str]) -> str:
    """Return which groups were held out for a split."""
    names = ", ".join(groups[:_MOST_NAMES]) + (", …" if len(groups) > _MOST_NAMES else "")
    return f"{split}, whole groups: {names} ({len(groups)})"


def render_audit(audit: Audit) -> str:
    """Return what training knows of dev and test, split by split, with examples and what it means."""
    return "\n\n".join(_split(split, found, audit.train) for split, found in audit.splits.items())


def _split(split: Split, found: SplitAudit, train: int) -> str:
    head = [f"{split}, train has", f"of {found.pairs:,} in {split}", "share", f"pairs of {train:,} in train", "share"]
    counts = {_WORDS[kind]: (len(found.leaked[kind].lines), found.leaked[kind].train) for kind in KINDS}
    counts["any of these"] = len(found.lines), found.train
    rows = [
        [name, f"{lines:,}", f"{lines / found.pairs:.2%}", f"{pairs:,}", f"{pairs / train:.2%}"]
        for name, (lines, pairs) in counts.items()
    ]
    examples = [
        [f"  {_WORDS[kind]}", f"  {_cut(leak.text)}", f"  {_cut(leak.held_out)}", f"{leak.overlap:.0%}"]
        for kind in KINDS
        for leak in found.leaked[kind].examples
    ]
    parts = [table(head, rows), _verdict(split, found)]
    if found.short:
        parts.append(render_short(split, found.short, found.pairs))
    if examples:
        parts.append(table(["  for example", "  in train", f"  in {split}", "of its n-grams"], examples))
    return "\n".join(parts)


# By the share of a split that train knows.
_CONSEQUENCES = (
    (0.1, ": scores there say little"),
    (0.0, ": that much of its score is remembered rather than translated"),
)


def _verdict(split: Split, found: SplitAudit) -> str:
    share = len(found.lines) / found.pairs
    consequence = next((words for least, words in _CONSEQUENCES if share > least), "")
    told = [f"{split}: train has {share:.2%} of it, or nearly{consequence}"]
    if found.groups:
        known = f"{found.known_groups} of its {found.groups} groups"
        told.append(f"train has other pairs of {known}, to which {found.known_pairs:,} of its pairs belong")
    return "; ".join(told)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_EXAMPLE else text[:_LONGEST_EXAMPLE] + "…"
