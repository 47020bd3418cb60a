"""The journal's numbers as curves for TensorBoard, an optional package."""

from pathlib import Path
from typing import Any

from mtrain.errors import TrainingError


class TensorBoard:
    """Writes event files into `folder`; what stands there of updates after `update`, which come again, is withdrawn.

    Raises: TrainingError where the package is not installed.
    """

    def __init__(self, folder: Path, update: int) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415  optional, and slow to load
        except ImportError as error:
            raise TrainingError(
                'training.tensorboard: TensorBoard is not installed. Run pip install "mtrain[tensorboard]", '
                "or set training.tensorboard=false."
            ) from error
        self._writer = SummaryWriter(str(folder), purge_step=update + 1)

    def write(self, kind: str, update: int, record: dict[str, Any]) -> None:
        """Add one point to the curve `kind/name` of every number in the record."""
        for name, number in record.items():
            if number is not None:
                self._writer.add_scalar(f"{kind}/{name}", number, update)
        self._writer.flush()  # as the journal does: a kill after this loses nothing

    def close(self) -> None:
        """Close the event file."""
        self._writer.close()
