"""`kraftcheck sql`: a question in SQL to the tables of recorded runs, answered by Spark."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from kraftcheck.exits import HOLDS, BadInput
from kraftcheck.screen import Columns, Screen
from kraftcheck.traces.jobs.backends import own_error
from kraftcheck.traces.jobs.session import DEFAULT_MASTER, spark_session
from kraftcheck.traces.jobs.tables import TABLES, tables
from kraftcheck.traces.schema import describe
from kraftcheck.traces.store import read_manifest


def describe_tables(screen: Screen) -> int:
    """Print every table with its columns."""
    screen.document(
        {name: [list(row) for row in describe(fields)] for name, fields in TABLES.items()}
    )
    for name, fields in TABLES.items():
        screen.line(name)
        rows = [(f"  {of}", kind, unit, says) for of, kind, unit, says in describe(fields)]
        columns = Columns(("column", "type", "unit", "meaning"), rows)
        for row in rows:
            screen.line(columns.row(row))
    return HOLDS


def ask(folder: Path, query: str, master: str | None, limit: int, screen: Screen) -> int:
    """Print the rows that answer a query.

    Raises BadInput: the query is not one, the folder holds no trace, or a part of it is damaged.
    """
    read_manifest(folder)  # It takes Spark half a minute to begin, on a busy machine.
    session = spark_session(master or DEFAULT_MASTER, queries=True)
    try:
        tables(session, folder).register()
        rows = _rows(session, query, limit)
    finally:
        session.stop()
    screen.document({"rows": rows[:limit], "more": len(rows) > limit})
    if rows:
        names = [*rows[0]]
        cells = [tuple(_cell(row[name]) for name in names) for row in rows[:limit]]
        screen.table(names, cells)
    shown = f"the first {limit:,} rows; --limit shows more" if len(rows) > limit else ""
    screen.line(shown or f"{len(rows):,} row{'s' * (len(rows) != 1)}")
    return HOLDS


def _rows(session: Any, query: str, limit: int) -> list[dict[str, Any]]:
    """At most one row more than the limit."""
    from pyspark.errors import AnalysisException, ParseException

    # Spark logs the error that is said here in one line.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    try:
        # Arrow gives lists and structs as JSON has them.
        found: list[dict[str, Any]] = session.sql(query).limit(limit + 1).toArrow().to_pylist()
    except (AnalysisException, ParseException) as error:
        said = str(error).split("\n\n")[0].split(" SQLSTATE")[0]
        raise BadInput(f"the query: {' '.join(said.split())}") from None
    except Exception as error:
        raise BadInput(str(own_error(error))) from None
    return found


def _cell(value: Any) -> str:
    return "-" if value is None else str(value)
