"""Everything mtrain can complain about to a person.

    MtrainError                     one clear line: where, what was found, what to do
    ├── ConfigError                 the YAML or --set: all mistakes at once, one a line
    ├── CorpusError                 a text, TSV, JSONL or parquet file that cannot be read as parallel text
    ├── PreparedDataError           the prepared folder: absent, damaged, or made with other settings
    ├── BundleError                 the model folder: absent, incomplete, damaged, or of another version
    ├── CheckpointError             a checkpoint that cannot be gone on from
    ├── TrainingError               training cannot go on (a non-finite loss, nothing to train on)
    ├── Interrupted                 a signal asked training to end, and it has, with everything saved
    ├── BusyError                   another process works on the same folder
    ├── WorkerError                 one of the processes that share a work has died
    ├── InspectionError             what was to be looked at is not there, or cannot be drawn
    ├── ExportError                 a model that a format cannot hold, or an export that does not translate as it
    └── InputError                  what was given to translate or score

The command line prints the message and exits with 1; `--debug` shows the traceback as well.
A programming mistake raises Python's own exceptions instead and is never caught.
"""


class MtrainError(Exception):
    """The root: its text is written for the person at the keyboard."""


class ConfigError(MtrainError):
    """The settings are wrong; the text lists every mistake, one a line."""


class CorpusError(MtrainError):
    """Raw parallel text cannot be read."""


class PreparedDataError(MtrainError):
    """The prepared folder cannot be used."""


class BundleError(MtrainError):
    """The model folder cannot be used."""


class CheckpointError(MtrainError):
    """A checkpoint cannot be written or gone on from."""


class TrainingError(MtrainError):
    """Training cannot go on."""


class Interrupted(MtrainError):  # noqa: N818  not an error, but on the same road to the terminal
    """Training has ended because a signal asked for it; nothing is lost."""

    def __init__(self, text: str, signal: int) -> None:
        super().__init__(text)
        self.exit_status = 128 + signal  # as shells have it


class BusyError(MtrainError):
    """Another process works on the same folder."""


class WorkerError(MtrainError):
    """A process that helped has died."""


class InspectionError(MtrainError):
    """There is nothing to look at, or no picture of it can be drawn."""


class ExportError(MtrainError):
    """A model cannot be exported, or what was written does not translate as it does."""


class InputError(MtrainError):
    """What was given to translate or to score cannot be used."""
