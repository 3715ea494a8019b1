"""The contract of recorded campaigns says of each column what it means."""

from __future__ import annotations

from kraftcheck.traces import schema


def test_every_field_says_what_it_means() -> None:
    for name, fields in schema.TABLES.items():
        lines = list(schema.describe(fields))
        assert [line[0] for line in lines if "." not in line[0]] == schema.SCHEMAS[name].names
        assert all(meaning and kind for _, kind, _, meaning in lines)


def test_what_names_rows_by_id_says_so() -> None:
    for name, column, target in schema.REFERENCES:
        field = next(f for f in schema.TABLES[name] if f.name == column)
        assert field.unit == f"id in `{target}`"


def test_lists_are_columns() -> None:
    lists = schema.Lists("i", [1, 2], [2, 0])
    lists.items.append(3)
    lists.close()
    kind = schema.SCHEMAS["steps"].field("sent").type
    assert lists.arrow(kind).to_pylist() == [[1, 2], [], [3]]
    assert len(lists) == 3
