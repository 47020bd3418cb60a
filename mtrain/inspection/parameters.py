"""Where a model's parameters are: a row for each module, layers that are alike in one, shared matrices counted once."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from torch import nn

from mtrain.console import table


@dataclass
class Row:
    """Modules that differ in nothing but their layer. `parameters` are those of all `layers`, shared ones apart."""

    place: str  # as in "encoder.layers.{}.attention.query"
    kind: str
    shapes: str
    parameters: int = 0
    layers: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the modules, such as encoder.layers.0…4.attention.query."""
        return self.place.format(_ranges(self.layers))


def parameter_rows(model: nn.Module) -> list[Row]:
    """Return a row for all modules of the same place, kind and shapes, in the model's order."""
    first_names: dict[int, str] = {}
    rows: dict[tuple[str, str, str], Row] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        own = list(module.named_parameters(recurse=False))
        if not own:
            continue
        shapes, parameters = [], 0
        for key, parameter in own:
            if id(parameter) in first_names:
                shapes.append(f"= {first_names[id(parameter)]}")
            else:
                first_names[id(parameter)] = name or key
                shapes.append(f"{key} {'×'.join(map(str, parameter.shape))}")
                parameters += parameter.numel()
        layer = re.search(r"\.(\d+)\.", name)
        place = f"{name[: layer.start(1)]}{{}}{name[layer.end(1) :]}" if layer else name or "(itself)"
        kind, shape = type(module).__name__, ", ".join(shapes)
        row = rows.setdefault((place, kind, shape), Row(place, kind, shape))
        row.parameters += parameters
        row.layers += [int(layer[1])] if layer else []
    return list(rows.values())


def render_rows(rows: Sequence[Row]) -> str:
    """Return the rows as a table, those of each part of the model under a sum."""
    total = sum(row.parameters for row in rows)
    lines = [[*line[:3], f"{line[3]:,}", f"{line[3] / total:.1%}"] for line in _lines(rows)]
    lines.append(["total, shared matrices counted once", "", "", f"{total:,}", "100.0%"])
    return table(["module", "  kind", "  shapes", "parameters", "share"], lines)


def _lines(rows: Sequence[Row]) -> Iterator[tuple[str, str, str, int]]:
    """Give name, kind, shapes and parameters of each line."""
    parts = dict.fromkeys(row.place.partition(".")[0] for row in rows)
    for part in parts:
        inner = [row for row in rows if row.place.partition(".")[0] == part]
        if len(inner) > 1:
            yield part, "", "", sum(row.parameters for row in inner)
        for row in inner:
            name = f"  {row.name.removeprefix(part + '.')}" if len(inner) > 1 else row.name
            times = f"  {len(row.layers)} times" if len(row.layers) > 1 else ""
            yield name, f"  {row.kind}", f"  {row.shapes}{times}", row.parameters


def _ranges(layers: Sequence[int]) -> str:
    """Return 0…2,5 for [0, 1, 2, 5]."""
    runs: list[list[int]] = []
    for layer in layers:
        if runs and layer == runs[-1][-1] + 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    return ",".join(f"{run[0]}…{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
