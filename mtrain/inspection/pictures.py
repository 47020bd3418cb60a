"""A figure into a file: Matplotlib where it is installed, and a font that has Chinese characters."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtrain.console import warn
from mtrain.errors import InspectionError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
# Told apart in print, and by those who do not see red or green: Okabe & Ito 2008, "Color Universal Design".
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
PALE = "#D9D9D9"

# With simplified shapes first; the collections of Noto and Source Han know every shape in each of their faces.
_CHINESE_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "PingFang SC",
    "Hiragino Sans GB",
    "Heiti SC",
    "STHeiti",
    "Microsoft YaHei",
    "SimHei",
    "SimSun",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Noto Sans CJK JP",
    "Noto Sans CJK TC",
    "Noto Serif CJK SC",
    "Arial Unicode MS",
)
_CURE_FOR_BOXES = "Install one, such as Noto Sans CJK (Debian, Ubuntu: apt install fonts-noto-cjk)"


def check_picture(file: Path) -> None:
    """Raise InspectionError where no picture could be drawn into `file`: better now than after the work."""
    if file.suffix.lower() not in SUFFIXES:
        raise InspectionError(f"--plot {file}: ends in neither {' nor '.join(SUFFIXES)}. Give it one of these endings")
    if file.is_dir():
        raise InspectionError(f"--plot {file}: is a folder. Name a file in it")
    if find_spec("matplotlib") is None:
        raise InspectionError('--plot needs Matplotlib, which is not installed. Run pip install "mtrain[plot]"')


@contextmanager
def picture(file: Path, width: float, height: float) -> Iterator["Figure"]:
    """Give an empty figure to draw on, and write it at the end. Units: width and height in inches."""
    from matplotlib import rc_context  # noqa: PLC0415  optional, and slow to load
    from matplotlib.figure import Figure  # noqa: PLC0415

    font = chinese_font()
    style: dict[Any, Any] = {
        "font.family": ["DejaVu Sans", *([font] if font else [])],
        "font.size": 10,
        "axes.grid": True,
        "grid.color": "#E6E6E6",
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titleweight": "bold",
        "legend.frameon": False,
        "figure.constrained_layout.h_pad": 0.1,
        "savefig.dpi": 130,
        "text.parse_math": False,  # a $ among pieces is a dollar
    }
    with rc_context(style):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        file.parent.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            figure.savefig(file)
    _tell_missing_glyphs([str(warning.message) for warning in noted], font)


def chinese_font() -> str | None:
    """Return the name of an installed font that has Chinese characters."""
    from matplotlib.font_manager import findSystemFonts, fontManager  # noqa: PLC0415

    if font := _first_of(set(fontManager.get_font_names())):
        return font
    # Matplotlib remembers what was installed when it first ran; a font may have come since.
    known = {entry.fname for entry in fontManager.ttflist}
    for path in findSystemFonts():
        if path not in known:
            fontManager.addfont(path)
    return _first_of(set(fontManager.get_font_names()))


def _first_of(installed: set[str]) -> str | None:
    return next((font for font in _CHINESE_FONTS if font in installed), None)


def _tell_missing_glyphs(warned: list[str], font: str | None) -> None:
    """Say in one line what Matplotlib says once a character."""
    missing = len({text for text in warned if text.startswith("Glyph ")})
    if missing and font is None:
        warn(f"no font with Chinese characters was found, {missing} of them are boxes. {_CURE_FOR_BOXES}")
    elif missing:
        warn(f"{missing} characters that the font {font} does not have are boxes in the picture")
