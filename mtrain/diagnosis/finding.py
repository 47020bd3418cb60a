"""What one check has found out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "suspicious", "broken"]


@dataclass(frozen=True)
class Finding:
    """One line of the report: what was tested, and what was measured beside the limit it was held against.

    `cause` is a name in `causes.CAUSES`, where all is not well.
    """

    tested: str
    measured: str
    verdict: Verdict = "ok"
    cause: str = ""


Findings = Iterator[Finding]


def judged(tested: str, measured: str, cause: str, verdict: Verdict = "broken") -> Finding:
    """Return a finding that is well where `cause` is empty."""
    return Finding(tested, measured, verdict, cause) if cause else Finding(tested, measured)
