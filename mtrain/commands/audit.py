"""`mtrain prepare --audit`: what training knows of the dev and test that somebody has given it."""

from mtrain.config.schema import Config
from mtrain.corpus.audit import audit
from mtrain.corpus.leak_report import render_audit


def audit_splits(config: Config) -> None:
    """Print what train has of the given dev and test, which are read as they are."""
    print(render_audit(audit(config.corpus)))
