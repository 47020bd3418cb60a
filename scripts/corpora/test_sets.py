"""Public test sets of Chinese and English: WMT's newstest and FLORES-200."""

import re
import tarfile
import zlib
from collections.abc import Iterable
from pathlib import Path

from corpora.downloads import Download, Shelf
from corpora.splits import write_lines
from corpora.text import Pair
from sacrebleu.dataset import DATASETS

from mtrain.console import say
from mtrain.errors import MtrainError

LANGUAGES = ("zh", "en")

# The hash stands in MLCommons' description of the data set (Croissant), among others.
FLORES = Download(
    name="flores200_dataset.tar.gz",
    url="https://dl.fbaipublicfiles.com/nllb/flores200_dataset.tar.gz",
    sha256="b8b0b76783024b85797e5cc75064eb83fc5288b41e9654dabc7be6ae944011f6",
    licence="FLORES-200: CC BY-SA 4.0 (NLLB Team 2022)",
)


def _wmt(year: int) -> Download:
    """Return WMT's archive as sacreBLEU knows it, under the name that it has in sacreBLEU's own cache."""
    known = DATASETS[f"wmt{year}"]
    return Download(
        name=f"wmt{year}.test.tgz",
        url=known.data[0],
        md5=known.md5[0],
        licence=f"newstest20{year}: WMT's test data, for research; publishers keep their rights",
    )


WMT = {f"newstest20{year}": _wmt(year) for year in (17, 18)}
DOWNLOADS = (*WMT.values(), FLORES)

_SEGMENT = re.compile(r"<seg [^>]*>(.*)</seg>")


def build(shelf: Shelf, to: Path) -> None:
    """Write each set as NAME.zh and NAME.en. Raises: MtrainError."""
    for name, pairs in read_all(shelf.files(DOWNLOADS)).items():
        if name != "flores200_dev":
            write_lines(to, name, LANGUAGES, pairs)
            say(f"{to / name}.{{zh,en}}: {len(pairs):,} pairs")


def read_all(files: dict[str, Path]) -> dict[str, list[Pair]]:
    """Return the pairs of each set, white space folded as sacreBLEU does and nothing else. Raises: MtrainError."""
    sets = {}
    for name, download in WMT.items():
        members = [f"test/{name}-zhen-src.zh.sgm", f"test/{name}-zhen-ref.en.sgm"]
        sides = (_SEGMENT.findall(text) for text in _members(files[download.name], members))
        sets[name] = _paired(name, sides)
    for split in ("dev", "devtest"):
        members = [f"{split}/{language}.{split}" for language in ("zho_Hans", "eng_Latn")]
        sides = (text.removesuffix("\n").split("\n") for text in _members(files[FLORES.name], members))
        sets[f"flores200_{split}"] = _paired(f"flores200_{split}", sides)
    return sets


def _members(archive: Path, wanted: list[str]) -> list[str]:
    """Return the texts of these files of an archive, which may lie deeper in it."""
    try:
        with tarfile.open(archive, "r:gz") as files:
            names = {end: name for name in files.getnames() for end in wanted if f"/{name}".endswith(f"/{end}")}
            if missing := [end for end in wanted if end not in names]:
                raise MtrainError(f"{archive} has no {missing[0]}: is it the right file?")
            return [files.extractfile(names[end]).read().decode("utf-8-sig") for end in wanted]
    except (tarfile.TarError, zlib.error, EOFError, OSError, UnicodeDecodeError) as error:
        raise MtrainError(f"{archive} cannot be read: {error}") from error


def _paired(name: str, sides: Iterable[list[str]]) -> list[Pair]:
    sources, targets = ([" ".join(line.split()) for line in side] for side in sides)
    if len(sources) != len(targets):
        raise MtrainError(f"{name}: {len(sources)} sources and {len(targets)} translations")
    return [Pair(source, target, name) for source, target in zip(sources, targets, strict=True)]
