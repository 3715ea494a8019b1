"""What works on every protocol names none: read from the syntax trees.

A module names a protocol if it imports from the folder of one, or has its name as a text. The
modules that still do are listed below; the list may only become shorter.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.quality.ladder import find_modules, imports_of, within

# "partition" is a column of tables as well, so that the text alone says nothing.
NAMES = ("quorum", "cluster")
TOPS = ("reference", "traces", "kraftcheck", "tla_utils", "system")

# The folders of protocols, of what is proved of them, and the places where they are listed.
OWN = (
    *("reference.core", "reference.sim.partition", "reference.sim.cluster", "reference.proofs"),
    *("reference.protocols", "reference.sim.scenario", "reference.sim.run"),
)
# What clients may count on is the same of every log.
PROMISES = "reference.core.promises"
# Parts of a protocol that have no folder yet.
PARTS = (
    *("reference.sim.scheduler", "reference.sim.quorum_machine", "reference.sim.clock"),
    *("reference.sim.faults", "reference.sim.progress", "reference.sim.trouble"),
    *("reference.sim.words", "reference.sim.workload", "reference.sim.steered"),
    *("traces.cover.quorum", "traces.cover.partition", "traces.cover.partition_mutation"),
    *("traces.cover.mutation", "traces.observed", "traces.jobs.cluster_checks"),
    *("traces.foreign.domains", "kraftcheck.retracing", "kraftcheck.prove"),
)
STILL = (
    "kraftcheck.bugs",
    "kraftcheck.campaign",
    "kraftcheck.docs",
    "kraftcheck.judging_logs",
    "kraftcheck.observing",
    "kraftcheck.returning",
    "kraftcheck.shrinking",
    "kraftcheck.steering",
    "kraftcheck.verbs.models",
    "kraftcheck.verbs.runs",
    "kraftcheck.verify",
    "kraftcheck.zoo.attempts",
    "kraftcheck.zoo.controls",
    "kraftcheck.zoo.departures",
    "kraftcheck.zoo.detecting",
    "kraftcheck.zoo.entries",
    "kraftcheck.zoo.own_runs",
    "kraftcheck.zoo.retelling",
    "kraftcheck.zoo.schedules",
    "reference.bugs.bug",
    "reference.bugs.catalog",
    "reference.sim.disk",
    "reference.sim.memo",
    "reference.sim.narrate",
    "reference.sim.network",
    "reference.sim.recorder",
    "traces.cover.models",
    "traces.cover.sieve",
    "traces.foreign.chain",
    "traces.foreign.provenance",
    "traces.foreign.reading",
    "traces.formats.trace",
    "traces.jobs.checks",
    "traces.jobs.promised",
    "traces.jobs.protocols",
    "traces.jobs.steered",
)


def names_of(path: Path, name: str, modules: dict[str, Path]) -> set[str]:
    """How a module names protocols."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    found = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in NAMES
    }
    for each in imports_of(name, path, modules):
        of_one = any(within(each.target, own) for own in (*OWN[:3], *PARTS))
        if of_one and each.target != PROMISES:
            found.add(each.target)
    return found


def naming(root: Path) -> dict[str, set[str]]:
    """The modules that name a protocol and are no part of one, each with what it names."""
    modules = find_modules(root, TOPS)
    found = {}
    for name, path in modules.items():
        is_bug = name.startswith("reference.bugs.z")
        own = is_bug or any(within(name, own) for own in (*OWN, *PARTS))
        if not own and (named := names_of(path, name, modules)):
            found[name] = named
    return found


def test_no_further_module_names_a_protocol(repo_root: Path) -> None:
    found = naming(repo_root)
    assert {name: found[name] for name in sorted(found) if name not in STILL} == {}
    assert [name for name in STILL if name not in found] == [], "take them off the list"


@pytest.mark.parametrize(
    "text",
    [
        "from reference.core.quorum import QuorumHandlers\n",
        "def f():\n    from reference.sim.partition import world\n",
        'def f(protocol):\n    return protocol == "quorum"\n',
    ],
)
def test_a_module_that_names_a_protocol_is_found(text: str, tmp_path: Path) -> None:
    for name in ("reference/core/quorum.py", "reference/sim/partition/world.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", "utf-8")
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces/planted.py").write_text(text, "utf-8")
    assert set(naming(tmp_path)) == {"traces.planted"}
    (tmp_path / "traces/planted.py").write_text('PARTITION = "partition"\n', "utf-8")
    assert naming(tmp_path) == {}
