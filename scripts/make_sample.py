"""Compose the embedded sample corpora from grammars of our own: the same bytes on every machine.

python scripts/make_sample.py [--out data/sample]
"""

import argparse
from pathlib import Path

from sample.corpora import SAMPLES, Sample

SEED = 20170612  # the day "Attention Is All You Need" appeared


def write(sample: Sample, folder: Path) -> None:
    """Write each split as two aligned text files, named after their languages."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, pairs in sample.draw(SEED).items():
        for side, language in enumerate((sample.source_language, sample.target_language)):
            text = "".join(f"{pair[side]}\n" for pair in pairs)
            (folder / f"{split}.{language}").write_bytes(text.encode("utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description="Compose the embedded sample corpora.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "data" / "sample")
    out: Path = parser.parse_args().out
    for sample in SAMPLES:
        write(sample, out / f"{sample.source_language}-{sample.target_language}")


if __name__ == "__main__":
    main()
