"""All that going on with training needs, one folder a checkpoint, never half-written.

    checkpoints/update-00001000/
        model.safetensors      weights
        optimizer.safetensors  what the optimiser remembers
        average.safetensors    the moving average of the weights, where there is one
        state.json             format version, training state, fingerprint of the settings, hashes of the others

Random numbers are not in it: they are a function of the seed and the update. Nothing is unpickled.

Training also saves between the regular updates: when it is interrupted, or every so many minutes. Such a checkpoint is
called `passing-…` and goes when the next one is written, so that a run that was interrupted ends with the same
checkpoints, and the same mean of them, as its twin that was not.
"""

import json
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from mtrain.console import warn
from mtrain.errors import CheckpointError
from mtrain.model.weights import save_tensors
from mtrain.storage import folder_written_whole, sha256
from mtrain.training.state import TrainingState

FORMAT_VERSION = 1

# The tensors of each file of a checkpoint, by the file's name: model, optimizer and perhaps average.
TensorFiles = dict[str, dict[str, Tensor]]
Fingerprint = dict[str, str | int | float | bool]


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of one run. `fingerprint` names every setting that going on must not change; empty: none."""

    folder: Path
    fingerprint: Fingerprint
    keep: int

    def all(self) -> list[Path]:
        """Return the whole regular checkpoints, oldest first."""
        return self._whole("update-*")

    def path(self, update: int) -> Path:
        """Return the folder of the checkpoint made after `update`."""
        return self.folder / f"update-{update:08d}"

    def latest(self) -> Path | None:
        """Return the checkpoint to go on from, regular or passing."""
        return max(self._any(), key=_update_of, default=None)

    def save(self, tensors: TensorFiles, state: TrainingState, passing: bool = False) -> None:
        """Write a checkpoint, then remove those that are neither among the latest nor the best."""
        outdated = self._whole("passing-*")
        where = self.folder / f"passing-{state.update:08d}" if passing else self.path(state.update)
        try:
            self._clear_up()
            with folder_written_whole(where) as partial:
                for name, part in tensors.items():
                    save_tensors(part, partial / f"{name}.safetensors")
                hashes = {part.name: sha256(part) for part in sorted(partial.iterdir())}
                description = {
                    "format_version": FORMAT_VERSION,
                    "state": asdict(state),
                    "threads": torch.get_num_threads(),
                    "fingerprint": self.fingerprint,
                    "sha256": hashes,
                }
                (partial / "state.json").write_text(json.dumps(description, indent=2), encoding="utf-8")
        except OSError as error:
            raise CheckpointError(f"{where}: cannot be written: {error}. {self._still_there()}") from error
        outdated += self.all()[: -self.keep]
        self._remove(path for path in outdated if path not in (where, self.path(state.best_update)))

    def rehearse(self, tensors: TensorFiles) -> None:
        """Write and read what a checkpoint will be, and leave nothing of it.

        Raises: CheckpointError where the disk is too full or what is read is not what was written.
        """
        place = self.folder / "rehearsal"
        rehearsal = Checkpoints(place, self.fingerprint, keep=1)
        try:
            rehearsal.save(tensors, TrainingState())
            rehearsal.load_latest()
        except CheckpointError as error:
            raise CheckpointError(f"a checkpoint cannot be saved: {error.__cause__}. {self._still_there()}") from error
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def load_latest(self) -> tuple[TensorFiles, TrainingState] | None:
        """Return the tensors and the state of the latest checkpoint; None where there is none.

        Raises: CheckpointError where it is damaged, of another format, or made with other settings.
        """
        latest = self.latest()
        if latest is None:
            return None
        description = self._description(latest)
        tensors = {Path(part).stem: self._tensors(latest, part, description) for part in description["sha256"]}
        if description["threads"] != torch.get_num_threads():
            warn(
                f"{latest} was made with {description['threads']} threads, this run has {torch.get_num_threads()}: "
                "it goes on, but not bit for bit as it would have."
            )
        return tensors, TrainingState(**description["state"])

    def weights(self, checkpoints: Iterable[Path], file: str = "model") -> Iterable[dict[str, Tensor]]:
        """Yield the verified weights of each of these checkpoints, or their moving average (file `average`)."""
        for checkpoint in checkpoints:
            yield self._tensors(checkpoint, f"{file}.safetensors", self._description(checkpoint))

    def _any(self) -> list[Path]:
        return [*self._whole("passing-*"), *self.all()]

    def _whole(self, pattern: str) -> list[Path]:
        return sorted(path for path in self.folder.glob(pattern) if path.suffix == "")

    def _remove(self, checkpoints: Iterable[Path]) -> None:
        for checkpoint in checkpoints:
            removed = checkpoint.with_suffix(".removed")  # no longer a checkpoint, should a kill come half-way
            checkpoint.rename(removed)
            shutil.rmtree(removed)

    def _clear_up(self) -> None:
        """Remove what kills have left, half-written and half-removed."""
        for pattern in ("*.mtrain-partial", "*.removed"):
            for left in self.folder.glob(pattern):
                shutil.rmtree(left)

    def _description(self, checkpoint: Path) -> dict:  # type: ignore[type-arg]
        try:
            description = json.loads((checkpoint / "state.json").read_text("utf-8"))
            version = description["format_version"]
        except (OSError, ValueError, KeyError) as error:
            raise self._damaged(checkpoint, "state.json", error) from error
        if version != FORMAT_VERSION:
            raise CheckpointError(
                f"{checkpoint}: has format version {version}, this mtrain goes on from version {FORMAT_VERSION}. "
                "Choose another run.folder, or use the mtrain that made it."
            )
        self._check_settings(checkpoint, description["fingerprint"])
        return description  # type: ignore[no-any-return]

    def _check_settings(self, checkpoint: Path, then: Fingerprint) -> None:
        now = self.fingerprint
        changes = [
            f"{key} was {then.get(key)}, is now {now.get(key)}"
            for key in sorted(then.keys() | now.keys())
            if then.get(key) != now.get(key)
        ]
        if self.fingerprint and changes:
            raise CheckpointError(
                f"{checkpoint}: made with other settings: {'; '.join(changes)}. "
                "Set them back to go on, or start afresh in another run.folder."
            )

    def _tensors(self, checkpoint: Path, name: str, description: dict) -> dict[str, Tensor]:  # type: ignore[type-arg]
        part = checkpoint / name
        try:
            if sha256(part) != description["sha256"][name]:
                raise ValueError("its contents are not what was written")
            return load_file(part)
        except (OSError, ValueError, KeyError) as error:
            raise self._damaged(checkpoint, name, error) from error

    def _damaged(self, checkpoint: Path, part: str, error: Exception) -> CheckpointError:
        others = sorted((path for path in self._any() if path != checkpoint), key=_update_of)
        cure = f"Delete that folder to go on from {others[-1]}." if others else "Delete that folder to start afresh."
        return CheckpointError(f"{checkpoint}: {part} is damaged or missing ({error}). {cure}")

    def _still_there(self) -> str:
        latest = f"The latest checkpoint, {self.latest()}, is whole" if self.latest() else "There is no checkpoint yet"
        return f"{latest}; run the same command again when the cause is gone."


def _update_of(checkpoint: Path) -> int:
    return int(checkpoint.name.partition("-")[2])
