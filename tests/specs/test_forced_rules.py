"""Every rule decides something: forced to a wrong value, a model gives another answer."""

from __future__ import annotations

import functools
import re

import pytest

from kraftcheck.known_bugs.entries import manifest_of
from kraftcheck.reference.protocols import folder_of
from kraftcheck.specs import SPECS
from tests.specs.cfgs import check, fingerprint, run
from tests.specs.forced import TABLES, Forced, Table
from tla_utils.config import cfg_text

pytestmark = pytest.mark.tlc

MANIFEST = manifest_of()
_OPERATOR = re.compile(r"^(\w+)(\([^)]*\))? ==", re.MULTILINE)

of_each = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.protocol)


@functools.cache
def answered(table: Table, model: str, forced: Forced | None = None) -> tuple[object, ...]:
    """What TLC says of a model, with a rule forced."""
    definition = override = ""
    if forced is not None:
        name = f"Forced_{forced.rule}"
        parameters = f"({forced.parameters})" if forced.parameters else ""
        definition = f"{name}{parameters} == {forced.value}"
        override = f"  {forced.rule} <- [{table.module}] {name}\n"
    if table.cfgs:
        return fingerprint(check(model, definition, override))
    known = MANIFEST.models[model]
    return fingerprint(run(known.module, cfg_text(known.config), definition, override))


@of_each
def test_the_table_names_every_rule(table: Table) -> None:
    text = (SPECS / folder_of(table.protocol) / f"{table.module}.tla").read_text("utf-8")
    rules = [match[1] for match in _OPERATOR.finditer(text)]
    assert sorted([*(each.rule for each in table.forced), *table.beside]) == sorted(rules)


@pytest.mark.parametrize(
    ("table", "forced"),
    [pytest.param(t, each, id=f"{t.protocol}-{each.rule}") for t in TABLES for each in t.forced],
)
def test_a_forced_rule_shows(table: Table, forced: Forced) -> None:
    assert answered(table, forced.model, forced) != answered(table, forced.model)


@of_each
def test_a_rule_forced_to_itself_shows_nothing(table: Table) -> None:
    """The canary: the comparison is exact, so that a change in it means something."""
    assert answered(table, table.same.model, table.same) == answered(table, table.same.model)
