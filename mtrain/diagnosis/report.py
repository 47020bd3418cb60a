"""What the report looks like: a line a check, below it cause and cure where all is not well."""

from collections.abc import Sequence
from typing import get_args

from mtrain.diagnosis.causes import CAUSES
from mtrain.diagnosis.finding import Finding, Verdict

_INDENT = " " * 12


def render(finding: Finding) -> str:
    """Return one finding as text."""
    lines = [f"{finding.verdict:<10}  {finding.tested}: {finding.measured}"]
    if finding.cause:
        cause = CAUSES[finding.cause]
        lines += [f"{_INDENT}cause: {cause.meaning} [{finding.cause}]", f"{_INDENT}cure: {cause.cure}"]
    return "\n".join(lines)


def render_summary(findings: Sequence[Finding], seconds: float) -> str:
    """Return the last line; where something is broken, with what to begin with."""
    verdicts = [found.verdict for found in findings]
    told = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in get_args(Verdict))
    lines = [f"{len(findings)} checks in {seconds:.0f} s: {told}"]
    if root := root_cause(findings):
        lines.append(f"begin with: {CAUSES[root].meaning} [{root}]")
    return "\n".join(lines)


def root_cause(findings: Sequence[Finding]) -> str:
    """Return the cause of the first broken check, on which later ones depend; empty where none is broken."""
    return next((found.cause for found in findings if found.verdict == "broken"), "")
