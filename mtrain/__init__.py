"""mtrain: from raw parallel text to a trained, scored, usable translation model.

    from mtrain import load
    load("runs/sample").translate(["我昨天买了三本书。"])[0].text
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mtrain.version import __version__ as __version__

if TYPE_CHECKING:
    from mtrain.api import LoadedModel

# Read by GNU OpenMP when torch is first imported. Its threads wait for each other by spinning, by default so long that
# beside one other busy process training was measured to be twenty times slower; with a short spin it is a third slower,
# and alone on the machine hardly at all.
os.environ.setdefault("GOMP_SPINCOUNT", "2000")
# Read by oneDNN and by PyTorch's bridge to it: how many compiled matrix products each keeps, by default 1,024. Nearly
# every batch has another shape and needs some thirty of its own, so that old ones are kept for nothing, in thousands of
# small pieces all over the memory: a training of half an hour held five gigabytes and spent a sixth of its time in
# malloc, looking for gaps.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "96")
os.environ.setdefault("LRU_CACHE_CAPACITY", "96")


def load(model: str | Path, *others: str | Path, device: str = "auto", threads: int = 0) -> "LoadedModel":
    """Return the model of a run's, a model's or an export's folder, with its own settings, ready to be used.

    `others` are models with the same vocabulary that work together with it; `device` is auto, cpu or cuda; `threads`
    are those of the CPU, 0 for all cores. See `mtrain.api`.
    Raises: BundleError where a folder holds no whole model, ExportError where no export for CTranslate2.
    """
    from mtrain.api import load_models  # noqa: PLC0415  it needs torch, which takes seconds to import

    return load_models([Path(model), *map(Path, others)], device, threads)
