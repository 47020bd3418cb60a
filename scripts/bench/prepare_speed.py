"""Measure `mtrain prepare` on corpora of growing size: pairs a second, processor time, and memory of all processes.

    python scripts/bench/prepare_speed.py --config wenyan-small --set corpus.root=my/wenyan --millions 1 3 10

The corpora are copies of the config's train in which numbers make every pair another one. They need some 200 bytes a
pair, the prepared data twice that; both are removed again. The last two columns are without learning the vocabulary,
which takes as long for any size. Memory is read from /proc: Linux only.
"""

import argparse
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import chain, count, islice
from pathlib import Path
from tempfile import mkdtemp

import pyarrow as pa
from pyarrow.parquet import ParquetWriter

from mtrain.config.load import load_config
from mtrain.config.schema import CorpusConfig
from mtrain.config.shipped import find_data
from mtrain.corpus.sources import Block, entries, read_corpora

_LEARNT = re.compile(r"learnt in (\d+) s, which one core would do in (\d+) s")
# Digits of the usual kind would be cut one by one; these are Han characters like the text they stand in.
_DIGITS = str.maketrans("0123456789", "〇一二三四五六七八九")


def main() -> None:
    """Make each corpus, prepare it, print a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="wenyan-small")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 3, 10])
    parser.add_argument("--folder", help="where there is room")
    asked = parser.parse_args()
    config = load_config(asked.config, asked.set)
    print("      pairs    wall     cpu  learn:w learn:c  peak MiB   pairs/s cpu µs/pair", flush=True)
    for millions in asked.millions:
        folder = Path(mkdtemp(dir=asked.folder, prefix="prepare-speed-"))
        try:
            _measure(asked, config.corpus, folder, round(millions * 1e6))
        finally:
            shutil.rmtree(folder)


def _measure(asked: argparse.Namespace, corpus: CorpusConfig, folder: Path, pairs: int) -> None:
    _write(islice(_changed(corpus), pairs), folder / "train.parquet", corpus)
    given = find_data(corpus.root).absolute()
    settings = [f"corpus.{split}=[{', '.join(_absolute(corpus, split, given))}]" for split in ("dev", "test")]
    settings += [f"corpus.train=[{folder / 'train.parquet'}]", f"corpus.folder={folder / 'prepared'}"]
    sets = [word for one in [*asked.set, *settings] for word in ("--set", one)]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "mtrain", "prepare", "--config", asked.config, *sets]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        peak = [0]
        watch = threading.Thread(target=_watch, args=(process, peak))
        watch.start()
        said = process.stderr.read() if process.stderr else ""
        watch.join()
    wall = time.monotonic() - begin
    if process.returncode:
        sys.exit(said)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    learnt, learnt_cpu = (sum(map(int, column)) for column in zip(*_LEARNT.findall(said), strict=True))
    rest, rest_cpu = wall - learnt, cpu - learnt_cpu
    figures = f"{pairs:>11,} {wall:>7.0f} {cpu:>7.0f} {learnt:>7} {learnt_cpu:>7} {peak[0] >> 10:>9,}"
    print(f"{figures} {pairs / rest:>9,.0f} {1e6 * rest_cpu / pairs:>11.1f}", flush=True)


def _absolute(corpus: CorpusConfig, split: str, root: Path) -> list[str]:
    (one,) = entries(corpus, "dev" if split == "dev" else "test")
    return [str(root / name) for name in one.files]


def _changed(corpus: CorpusConfig) -> Iterator[tuple[str, str]]:
    """Give the pairs of train again and again, from the second time on with a number behind both sides."""
    for copy in count():
        number = str(copy).translate(_DIGITS) if copy else ""
        blocks: Iterator[Block] = chain.from_iterable(pairs.blocks() for pairs in read_corpora(corpus, "train"))
        for block in blocks:
            yield from ((a + number, b + number) for a, b in zip(block.sources, block.targets, strict=True))


def _write(pairs: Iterator[tuple[str, str]], file: Path, corpus: CorpusConfig) -> None:
    names = [corpus.source_column or corpus.source_language, corpus.target_column or corpus.target_language]
    with ParquetWriter(file, pa.schema([(name, pa.string()) for name in names])) as writer:
        while some := list(islice(pairs, 100_000)):
            writer.write_table(pa.table(dict(zip(names, map(list, zip(*some, strict=True)), strict=True))))


def _watch(process: "subprocess.Popen[str]", peak: list[int]) -> None:
    while process.poll() is None:
        peak[0] = max(peak[0], sum(map(_proportional_set, _tree(process.pid))))
        time.sleep(0.3)


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = file.read_text().split()
        except OSError:  # it has ended meanwhile
            continue
        for child in children:
            yield from _tree(int(child))


def _proportional_set(pid: int) -> int:
    """Return the KiB of a process, memory shared with others counted by its share."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().split("\n")
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    main()
