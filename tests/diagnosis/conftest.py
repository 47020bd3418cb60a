"""Something to examine: a model of the world of digits, healthy, into which each test puts its fault."""

from pathlib import Path

import pytest

from mtrain.commands.diagnose import make_subject
from mtrain.commands.prepare import prepare
from mtrain.diagnosis.examination import examine


@pytest.fixture(scope="session")
def prepared_digits(tmp_path_factory, digits_in):
    """Return the YAML of a prepared corpus; tests do not write to it."""
    from mtrain.config.load import load_config

    file = digits_in(tmp_path_factory.mktemp("digits"), pairs=500)
    prepare(load_config(str(file)))
    return file


@pytest.fixture
def subject(prepared_digits, load):
    """Return a maker of what is examined; settings are changed as on the command line."""

    def make(*overrides, file=prepared_digits, trained=None):
        return make_subject(load(Path(file), *overrides), trained)

    return make


@pytest.fixture
def causes():
    """Return the causes that an examination names, of all that is not well."""

    def found(subject):
        return [finding.cause for _, finding in examine(subject) if finding.cause]

    return found
