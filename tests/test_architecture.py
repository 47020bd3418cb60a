"""The house, read from its source: imports go one way, what must start at once is free of torch, sizes stay small."""

import ast
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

import mtrain

PACKAGE = Path(mtrain.__file__).resolve().parent

# From left to right; a module imports from its own part or from a part further left, never from one beside it.
ORDER = [
    ["version", "errors", "console", "languages"], ["storage", "parallel"], ["runtime"], ["config"], ["corpus"],
    ["tokenizer"], ["batches"], ["model"], ["training", "decoding"], ["evaluation"],
    ["inspection", "diagnosis", "export"],
    ["api"], ["commands"], ["cli"], ["__main__"],
]  # fmt: skip
COLUMN = {part: column for column, parts in enumerate(ORDER) for part in parts}
COLUMN[""] = COLUMN["commands"]  # `import mtrain` is one more way to the api
FREE_OF_TORCH = ["", "config", "corpus", "tokenizer", "evaluation", "cli"]
MAX_FILE_LINES, MAX_FUNCTION_LINES = 300, 60


class Source:
    """One module: its name, and the names it imports, when it is loaded and later."""

    def __init__(self, package: Path, path: Path) -> None:
        parts = path.relative_to(package.parent).with_suffix("").parts
        self.is_package = parts[-1] == "__init__"
        self.name = ".".join(parts[:-1] if self.is_package else parts)
        self.part = self.name.split(".")[1] if "." in self.name else ""
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.imports = set(self._imported(ast.walk(self.tree)))
        self.imports_on_loading = set(self._imported(_run_on_loading(self.tree.body)))

    def _imported(self, nodes: Iterable[ast.AST]) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                here = self.name if self.is_package else self.name.rpartition(".")[0]
                origin = resolve_name("." * node.level + (node.module or ""), here)
                yield from (f"{origin}.{alias.name}" for alias in node.names)


def _run_on_loading(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Give every node but those in functions and under `if TYPE_CHECKING`."""
    for node in statements:
        typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if not typing_only and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            yield from _run_on_loading(ast.iter_child_nodes(node))


def read(package: Path) -> dict[str, Source]:
    sources = [Source(package, path) for path in sorted(package.rglob("*.py"))]
    return {source.name: source for source in sources}


def own(imported: Iterable[str], house: dict[str, Source]) -> set[str]:
    """Return the modules of the house among imported names; of `module.function` that is `module`."""
    candidates = {name if name in house else name.rpartition(".")[0] for name in imported}
    return candidates & house.keys()


def wrong_way_imports(house: dict[str, Source]) -> list[str]:
    return [
        f"{source.name} imports {target}"
        for source in house.values()
        for target in sorted(own(source.imports, house))
        if house[target].part != source.part
        and house[target].part
        and COLUMN[house[target].part] >= COLUMN[source.part]
    ]


def cycle(house: dict[str, Source]) -> list[str]:
    try:
        TopologicalSorter({name: own(source.imports, house) for name, source in house.items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def loading_torch(house: dict[str, Source], parts: list[str]) -> list[str]:
    """Return, for each module of `parts` that loads torch, the way by which it does."""

    def way(name: str, seen: set[str]) -> list[str]:
        seen.add(name)
        loaded = house[name].imports_on_loading
        if any(f"{found}.".startswith(("torch.", "safetensors.torch.")) for found in loaded):
            return [name, "torch"]
        parents = {name.rsplit(".", depth)[0] for depth in range(1, name.count(".") + 1)}
        for target in sorted((own(loaded, house) | parents) - seen):
            if further := way(target, seen):
                return [name, *further]
        return []

    ways = [way(source.name, set()) for source in house.values() if source.part in parts]
    return [" > ".join(steps) for steps in ways if steps]


def too_long(house: dict[str, Source]) -> list[str]:
    files = [name for name, source in house.items() if source.text.count("\n") > MAX_FILE_LINES]
    functions = [
        f"{name}.{node.name}"
        for name, source in house.items()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > MAX_FUNCTION_LINES
    ]
    return files + functions


HOUSE = read(PACKAGE)


def test_every_part_has_its_place_in_the_order() -> None:
    assert {source.part for source in HOUSE.values()} - {""} <= COLUMN.keys()


def test_imports_go_one_way() -> None:
    assert wrong_way_imports(HOUSE) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert cycle(HOUSE) == []


def test_what_must_start_at_once_does_not_load_torch() -> None:
    assert loading_torch(HOUSE, FREE_OF_TORCH) == []


def test_files_and_functions_are_short() -> None:
    assert too_long(HOUSE) == []


@pytest.fixture
def crooked(tmp_path: Path) -> dict[str, Source]:
    """A house in which every rule is broken, in each way that it can be."""
    files = {
        "__init__.py": "",
        "errors.py": "x = 1\n" * 301,
        "runtime.py": "import torch.nn\n",
        "config/__init__.py": "def f():\n" + "    x = 1\n" * 60,
        "config/load.py": "def f():\n    from crooked.cli import main\n",
        "corpus/__init__.py": "from crooked.runtime import x\n",
        "corpus/sources.py": "",
        "tokenizer.py": "def f():\n    import torch\n",
        "training/__init__.py": "from .. import decoding\n",
        "decoding/__init__.py": "",
        "evaluation/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n",
        "evaluation/a.py": "from crooked.evaluation import b\n",
        "evaluation/b.py": "from . import a\n",
        "cli.py": "try:\n    from safetensors.torch import save\nexcept ImportError:\n    pass\n",
    }
    for name, text in files.items():
        path = tmp_path / "crooked" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return read(tmp_path / "crooked")


def test_the_rules_can_be_broken(crooked: dict[str, Source]) -> None:
    assert wrong_way_imports(crooked) == [
        "crooked.config.load imports crooked.cli",
        "crooked.training imports crooked.decoding",
    ]
    assert set(cycle(crooked)) == {"crooked.evaluation.a", "crooked.evaluation.b"}
    assert loading_torch(crooked, FREE_OF_TORCH) == [
        "crooked.cli > torch",
        "crooked.corpus > crooked.runtime > torch",
        "crooked.corpus.sources > crooked.corpus > crooked.runtime > torch",
    ]
    assert too_long(crooked) == ["crooked.errors", "crooked.config.f"]
