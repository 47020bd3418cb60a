"""The table of parameters, against counts by hand."""

from torch import nn

from mtrain.inspection.parameters import parameter_rows, render_rows
from mtrain.model.build import build_model

V, D, F = 40, 32, 64
ATTENTION = 4 * (D * D + D)
FEED_FORWARD = 2 * D * F + F + D
NORM = 2 * D


def total(model):
    return sum(row.parameters for row in parameter_rows(model))


def test_the_counts_are_those_by_hand(model_config):
    encoder = 2 * (ATTENTION + FEED_FORWARD + 2 * NORM) + NORM
    decoder = 2 * (2 * ATTENTION + FEED_FORWARD + 3 * NORM) + NORM
    assert total(build_model(model_config(tied="three_way"), V, V)) == V * D + encoder + decoder
    assert total(build_model(model_config(tied="none"), V, V)) == 3 * V * D + encoder + decoder


def test_each_parameter_is_counted_exactly_once(model):
    assert total(model) == sum(parameter.numel() for parameter in model.parameters())


def test_a_shared_matrix_is_counted_where_it_first_stands_and_named_where_it_stands_again(model_config):
    rows = {row.name: row for row in parameter_rows(build_model(model_config(tied="three_way"), V, V))}
    assert rows["source_embedding"].parameters == V * D
    assert (rows["output"].parameters, rows["output"].shapes) == (0, "= source_embedding")


def test_layers_that_are_alike_share_a_row_and_others_do_not():
    layers = [nn.ModuleDict({"inner": nn.Linear(2, width, bias=False)}) for width in (3, 3, 5, 3)]
    rows = parameter_rows(nn.ModuleDict({"stack": nn.ModuleList(layers)}))
    assert [(row.name, row.parameters) for row in rows] == [("stack.0…1,3.inner", 18), ("stack.2.inner", 10)]


def test_the_table_sums_up_the_parts_and_the_whole(model_config):
    text = render_rows(parameter_rows(build_model(model_config(tied="three_way"), V, V)))
    lines = {line.split()[0]: line.split()[-2:] for line in text.split("\n")}
    encoder = 2 * (ATTENTION + FEED_FORWARD + 2 * NORM) + NORM
    whole = V * D + encoder + 2 * (2 * ATTENTION + FEED_FORWARD + 3 * NORM) + NORM
    assert lines["source_embedding"] == [f"{V * D:,}", f"{V * D / whole:.1%}"]
    assert lines["encoder"][0] == f"{encoder:,}"
    assert lines["total,"] == [f"{whole:,}", "100.0%"]
