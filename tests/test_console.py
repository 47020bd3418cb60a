"""Tables in a terminal, in which Chinese characters take two columns."""

from mtrain.console import columns, table


def test_columns_stand_below_each_other_with_wide_characters():
    text = table(["piece", "count", "  note"], [["天地", "1", "  a"], ["a", "12,345", "  天"]])
    assert text == "piece   count    note\n天地        1    a\na      12,345    天"
    assert columns("天a，") == 5
