"""What works on every protocol names none: read from the syntax trees.

A module names a protocol if it imports from the folder of one, or has its name as a text.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.quality.ladder import find_modules, imports_of, within

# "partition", "transactions", "groups" and "voters" name columns, tables and options as well, so
# that the text alone says nothing.
NAMES = (
    *("quorum", "quorum41", "cluster", "commits", "classic", "snapshots", "reassignment"),
    *("hosting", "moving", "shares"),
)
TOPS = ("reference", "traces", "kraftcheck", "tla_utils")

# The folders of protocols, and the places where they are listed.
FOLDERS = (
    *("reference.quorum", "reference.partition", "reference.transactions"),
    *(
        "reference.groups",
        "reference.groups.commits",
        "reference.groups.classic",
        "reference.quorum.voters",
    ),
    *("reference.quorum.snapshots", "reference.partition.reassignment"),
    *(
        "reference.partition.hosting",
        "reference.partition.moving",
        "reference.partition.directories",
        "reference.partition.compaction",
    ),
    *("reference.shares", "reference.shares.sessions", "reference.shares.sharegroup"),
    *("reference.controllers", "reference.cluster"),
)
OWN = (
    *(*FOLDERS, "reference.clients", "reference.protocols"),
    *("reference.runner.scenarios", "reference.runner.scripted", "kraftcheck.kafka.serve"),
    # Real clusters: the roles of their nodes, and the classes of Kafka in the host.
    "kraftcheck.kafka.live",
    # Who plays the peers of a node: of which protocols there are movers of their own.
    "kraftcheck.drive.peers",
    # Of which protocols Kafka's classes are driven, and whose schedules show a find.
    "kraftcheck.kafka.witness.releases",
    # What clients of a recording do.
    "kraftcheck.verbs.clusters",
    # Which protocol's schedules become tests of Kafka's.
    "kraftcheck.kafka.witness.junit",
)
# Parts of a protocol that lie elsewhere yet.
PARTS = (
    "traces.steps.cluster",
    *(
        f"kraftcheck.kafka.observed.{name}"
        for name in [
            "answers",
            "cluster",
            "controller",
            "directories",
            "image",
            "marks",
            "moves",
            "views",
        ]
    ),
    "kraftcheck.kafka.observed.transaction_answers",
    *("kraftcheck.kafka.witness.schedule", "kraftcheck.kafka.witness.partition"),
    *("kraftcheck.kafka.witness.quorum", "kraftcheck.kafka.witness.quorum_graphs"),
    *("kraftcheck.kafka.witness.cluster", "kraftcheck.kafka.witness.groups"),
    *("kraftcheck.kafka.witness.shares", "kraftcheck.kafka.witness.controllers"),
    *("kraftcheck.kafka.witness.transactions", "kraftcheck.kafka.witness.coordinator_graphs"),
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
        if any(within(each.target, own) for own in (*FOLDERS, *PARTS)):
            found.add(each.target)
    return found


def naming(root: Path) -> dict[str, set[str]]:
    """The modules that name a protocol and are no part of one, each with what it names."""
    modules = find_modules(root, TOPS)
    found = {}
    for name, path in modules.items():
        own = any(within(name, own) for own in (*OWN, *PARTS))
        if not own and (named := names_of(path, name, modules)):
            found[name] = named
    return found


def test_no_other_module_names_a_protocol(repo_root: Path) -> None:
    assert naming(repo_root) == {}


@pytest.mark.parametrize(
    "text",
    [
        "from reference.quorum.handlers import QuorumHandlers\n",
        "def f():\n    from reference.partition.sim import run\n",
        'def f(protocol):\n    return protocol == "quorum"\n',
    ],
)
def test_a_module_that_names_a_protocol_is_found(text: str, tmp_path: Path) -> None:
    for name in ("reference/quorum/handlers.py", "reference/partition/sim/run.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", "utf-8")
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces/planted.py").write_text(text, "utf-8")
    assert set(naming(tmp_path)) == {"traces.planted"}
    (tmp_path / "traces/planted.py").write_text('PARTITION = "partition"\n', "utf-8")
    assert naming(tmp_path) == {}
