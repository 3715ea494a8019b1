"""Who may import whom. The table below is the authority; the planted trees prove that it bites.

The order of the table is the ladder: a package imports only what stands above it. Names are
without `kraftcheck.` where a rung lies inside that package (`ladder.BELOW`). Specs import nothing
and are imported by nothing; they meet the Python side in files and in tests/conformance.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality.ladder import (
    ANY,
    Rule,
    by_folder,
    cycles,
    find_modules,
    imports_of,
    tops_of,
    violations,
    within,
)

# Time, chance, disk and network are inputs of the protocol. `importlib` is here because it could
# fetch any of the others by name.
NO_IO = (
    *("random", "secrets", "uuid", "time", "datetime"),
    *("os", "pathlib", "shutil", "tempfile", "socket", "ssl", "select", "selectors"),
    *("asyncio", "threading", "concurrent", "multiprocessing", "subprocess", "signal"),
    "importlib",
)

# The one table of promises is read by the history checkers and the report as well as by the core.
PROMISES = "reference.clients.promises"

# What protocols are, and which there are.
PROTOCOLS = (
    *("reference.kit", "reference.clients", "reference.quorum", "reference.partition"),
    *(
        "reference.transactions",
        "reference.groups",
        "reference.groups.commits",
        "reference.groups.classic",
    ),
    "reference.quorum.voters",
    *(
        "reference.quorum.snapshots",
        "reference.partition.reassignment",
        "reference.partition.hosting",
    ),
    *(
        "reference.partition.moving",
        "reference.partition.directories",
        "reference.partition.compaction",
        "reference.shares",
    ),
    *("reference.shares.sessions", "reference.shares.sharegroup", "reference.controllers"),
    *("reference.cluster", "reference.protocols"),
)
BUGS = ("reference.bugs", "reference.bugs.catalog")
# Their worlds, and who runs them.
SIMS = (
    *("reference.sim", "reference.core", "reference.drivers"),
    *("reference.quorum.sim", "reference.quorum.snapshots.sim"),
    *(
        "reference.partition.sim",
        "reference.partition.moving.sim",
        "reference.partition.directories.sim",
    ),
    "reference.cluster.sim",
    *("reference.runner", "reference.steered", "reference.quorum.steered"),
    *("reference.quorum.snapshots.steered", "reference.partition.steered"),
    *("reference.cluster.steered", "reference.runner.scripted"),
)


# What is said in a counterexample of TLC, and of whom.
TOLD = ("reference.bugs.catalog", "tla_utils", "traces.counterexamples")


def _pure(*ours: str) -> Rule:
    """Functions of their arguments."""
    return Rule(ours=("reference.kit", *ours), third_party=("msgspec",), forbidden=NO_IO)


def _world(upto: str, *ours: str) -> Rule:
    """What may use the worlds that stand before this one."""
    below = SIMS[: SIMS.index(upto)]
    return Rule(ours=(*PROTOCOLS, *BUGS, *below, *ours), third_party=("msgspec",))


# What is about real Kafka, and the modules that lead there: the rest of the kit does without it.
OF_KAFKA = tuple(f"kraftcheck.kafka.{part}" for part in ("live", "observed", "disks"))
LEADING = tuple(f"kraftcheck.{part}" for part in ("api", "drive", "storage", "verbs"))
BELOW_VERBS = ("osutil", "specs", "tla_utils", "reference", "traces", *OF_KAFKA)

REPEATING = ("ended_by_marker", "late_end", "late_leave", "recorded_applications")
RULES = {
    # Files and children, for all: it loads nothing but the standard library.
    "osutil.*": Rule(),
    # The specifications as files of a package: where they lie, and nothing else.
    "specs": Rule(),
    "tla_utils.*": Rule(ours=("osutil",), third_party=("msgspec",)),
    # The package files of `reference` and `traces` are imported with anything below them, so they
    # must not pull in more than their lightest part does.
    "reference": Rule(),
    "reference.kit.*": _pure(),
    "reference.quorum.*": _pure(),
    "reference.partition.*": _pure(),
    "reference.transactions.*": _pure(),
    "reference.groups.*": _pure(),
    "reference.groups.commits.*": _pure("reference.groups"),
    "reference.groups.classic.*": _pure(),
    "reference.quorum.voters.*": _pure("reference.quorum"),
    "reference.quorum.snapshots.*": _pure("reference.quorum", "reference.quorum.voters"),
    "reference.partition.reassignment.*": _pure("reference.partition"),
    "reference.partition.moving.*": _pure(
        "reference.partition", "reference.partition.reassignment"
    ),
    "reference.partition.hosting.*": _pure(),
    "reference.partition.directories.*": _pure(
        *("reference.partition", "reference.partition.reassignment", "reference.partition.moving"),
        "reference.partition.hosting",
    ),
    "reference.partition.compaction.*": _pure(),
    "reference.shares.*": _pure(),
    "reference.shares.sessions.*": _pure(),
    "reference.shares.sharegroup.*": _pure(),
    "reference.controllers.*": _pure(),
    "reference.cluster.*": _pure(
        *(
            "reference.quorum",
            "reference.partition",
            "reference.quorum.voters",
            "reference.quorum.snapshots",
        ),
        *(
            "reference.partition.moving",
            "reference.partition.reassignment",
            "reference.partition.directories",
        ),
        *("reference.partition.compaction", "reference.controllers"),
    ),
    "reference.clients.*": _pure("reference.partition"),
    # The engine on disk: files are a value that it is given.
    "reference.storage.*": Rule(third_party=("cramjam", "google_crc32c", "msgspec"), forbidden=()),
    # It loads protocols of others, from the folders that the environment names.
    "reference.protocols.*": Rule(
        ours=(
            *("reference.kit", "reference.quorum", "reference.partition"),
            *("reference.transactions", "reference.groups", "reference.groups.commits"),
            "reference.quorum.voters",
            *(
                "reference.groups.classic",
                "reference.quorum.snapshots",
                "reference.partition.reassignment",
            ),
            *("reference.partition.hosting", "reference.partition.moving"),
            "reference.partition.directories",
            *("reference.partition.compaction", "reference.shares", "reference.shares.sessions"),
            *(
                "reference.shares.sharegroup",
                "reference.controllers",
                "reference.cluster",
                "osutil",
            ),
        )
    ),
    "reference.bugs.*": _pure(
        *("reference.partition", "reference.protocols"),
        *("reference.storage.rules", "reference.clients.rules"),
    ),
    "reference.quorum.bugs.*": _pure("reference.quorum", "reference.bugs"),
    "reference.partition.bugs.*": _pure(
        *("reference.partition", "reference.bugs", "reference.clients.rules")
    ),
    "reference.transactions.bugs.*": _pure("reference.transactions", "reference.bugs"),
    "reference.groups.bugs.*": _pure("reference.groups", "reference.bugs"),
    "reference.groups.commits.bugs.*": _pure(
        "reference.groups", "reference.groups.commits", "reference.bugs"
    ),
    "reference.groups.classic.bugs.*": _pure("reference.groups.classic", "reference.bugs"),
    "reference.storage.bugs.*": _pure("reference.storage", "reference.bugs"),
    "reference.quorum.voters.bugs.*": _pure("reference.quorum.voters", "reference.bugs"),
    "reference.quorum.snapshots.bugs.*": _pure(
        *("reference.quorum.snapshots", "reference.quorum.voters", "reference.quorum.messages"),
        "reference.bugs",
    ),
    "reference.partition.reassignment.bugs.*": _pure(
        "reference.partition.reassignment", "reference.bugs"
    ),
    "reference.partition.hosting.bugs.*": _pure("reference.partition.hosting", "reference.bugs"),
    "reference.partition.compaction.bugs.*": _pure(
        "reference.partition.compaction", "reference.bugs"
    ),
    "reference.shares.bugs.*": _pure("reference.shares", "reference.bugs"),
    "reference.shares.sessions.bugs.*": _pure("reference.shares.sessions", "reference.bugs"),
    "reference.shares.sharegroup.bugs.*": _pure("reference.shares.sharegroup", "reference.bugs"),
    "reference.controllers.bugs.*": _pure("reference.controllers", "reference.bugs"),
    # They find the modules and data of protocols by their names.
    "reference.bugs.reading.*": Rule(
        ours=("reference.bugs.bug",),
        third_party=("msgspec",),
        forbidden=tuple(name for name in NO_IO if name != "importlib"),
    ),
    "reference.bugs.catalog.*": Rule(
        ours=(*PROTOCOLS, "reference.bugs", "reference.bugs.reading"),
        forbidden=tuple(name for name in NO_IO if name != "importlib"),
    ),
    # The scheduler's rule books, for TLC's graphs.
    "reference.quorum.cover.*": _pure("reference.quorum", "tla_utils"),
    "reference.partition.cover.*": _pure("reference.partition", "tla_utils"),
    "reference.proofs.*": Rule(third_party=("msgspec", "z3")),
    "reference.quorum.proof.*": Rule(
        ours=("reference.kit", "reference.quorum", "reference.proofs"),
        third_party=("msgspec", "z3"),
    ),
    "reference.quorum.voters.proof.*": Rule(
        ours=(
            *("reference.kit", "reference.quorum", "reference.quorum.voters", "reference.proofs"),
            "reference.quorum.proof",
        ),
        third_party=("msgspec", "z3"),
    ),
    "reference.partition.proof.*": Rule(
        ours=("reference.kit", "reference.partition", "reference.proofs"),
        third_party=("msgspec", "z3"),
    ),
    "traces": Rule(),
    "traces.sealed.*": Rule(ours=("osutil",), third_party=("msgspec",)),
    "traces.collection.*": Rule(),
    "traces.lean.*": Rule(third_party=("pyarrow",)),
    "traces.schema.*": Rule(ours=("traces.lean",), third_party=("pyarrow",)),
    "traces.relation.*": Rule(third_party=("pyspark", "pyarrow", "numpy")),
    "traces.store.*": Rule(
        ours=("osutil", "traces.schema", "traces.sealed"), third_party=("pyarrow", "msgspec")
    ),
    "traces.values.*": Rule(third_party=("msgspec",)),
    "traces.history.*": Rule(
        ours=("traces.schema", "traces.values"), third_party=("pyarrow", "msgspec", "numpy")
    ),
    "traces.grouplog.*": Rule(ours=("traces.history",), third_party=("msgspec",)),
    "traces.rows.*": Rule(
        ours=("traces.history", "traces.lean", "traces.collection"),
        third_party=("msgspec", "pyarrow", "numpy"),
    ),
    "traces.formats.*": Rule(
        # Of protocols, what they say of themselves.
        ours=(
            *("osutil", "traces.schema", "traces.store", "traces.values", "traces.history"),
            *("traces.rows", "traces.collection", "reference.kit", "reference.protocols"),
        ),
        third_party=("pyarrow", "msgspec", "numpy"),
    ),
    "traces.checkers.*": Rule(
        ours=(
            *("traces.schema", "traces.values", "traces.history", "traces.grouplog"),
            *("traces.rows", "traces.collection", PROMISES),
        ),
        third_party=("numpy", "pyarrow", "msgspec", "networkx"),
    ),
    "reference.sim.*": _world("reference.sim", "traces.schema"),
    "reference.core.*": _world("reference.core", "traces.schema"),
    "reference.drivers.*": _world(
        "reference.drivers",
        "reference.steered.failures",
        "reference.steered.moves",
        "traces.schema",
    ),
    "reference.quorum.sim.*": _world("reference.quorum.sim", "traces.schema"),
    "reference.quorum.snapshots.sim.*": _world("reference.quorum.snapshots.sim", "traces.schema"),
    "reference.partition.sim.*": _world("reference.partition.sim", "traces.schema"),
    "reference.partition.moving.sim.*": _world("reference.partition.moving.sim"),
    "reference.partition.directories.sim.*": _world("reference.partition.directories.sim"),
    "reference.cluster.sim.*": _world("reference.cluster.sim", "traces.schema"),
    "reference.runner.*": _world("reference.runner", "traces.schema"),
    "reference.steered.*": _world("reference.steered"),
    "reference.quorum.steered.*": _world("reference.quorum.steered"),
    "reference.quorum.snapshots.steered.*": _world("reference.quorum.snapshots.steered"),
    "reference.partition.steered.*": _world("reference.partition.steered"),
    "reference.cluster.steered.*": _world("reference.cluster.steered"),
    "reference.runner.scripted.*": _world("reference.runner.scripted", "traces.schema"),
    "traces.steps.*": Rule(
        ours=(
            *("traces.schema", "traces.relation", "traces.store", "traces.jobs.backends"),
            *(*PROTOCOLS, *BUGS, *SIMS, "tla_utils", "osutil", "specs"),
        ),
        third_party=("pyarrow", "numpy", "msgspec"),
    ),
    "traces.jobs.*": Rule(
        ours=(
            *("traces.schema", "traces.relation", "traces.store", "traces.steps"),
            *("traces.history", "traces.rows", "traces.formats", "traces.checkers"),
            *(*PROTOCOLS, *BUGS, *SIMS, "tla_utils", "osutil"),
            *("traces.sealed", "specs"),
        ),
        third_party=("pyspark", "pyarrow", "numpy", "pandas", "msgspec"),
    ),
    # From what TLC found back to moves of the reference; how a protocol's models are read.
    "traces.counterexamples.*": Rule(
        ours=("traces.jobs", "traces.steps", *PROTOCOLS, *BUGS, *SIMS, "tla_utils", "osutil"),
        third_party=("msgspec",),
    ),
    "reference.quorum.counterexamples.*": _pure(
        *("reference.quorum", "reference.core", "reference.sim", *TOLD)
    ),
    "reference.partition.counterexamples.*": _pure(
        *("reference.partition", "reference.partition.sim", "reference.partition.steered"),
        *("reference.core", "reference.sim", *TOLD),
    ),
    "reference.transactions.counterexamples.*": _pure("reference.transactions", *TOLD),
    "reference.groups.counterexamples.*": _pure("reference.groups", *TOLD),
    "reference.groups.commits.counterexamples.*": _pure(
        "reference.groups.commits", "reference.groups.counterexamples", *TOLD
    ),
    "reference.groups.classic.counterexamples.*": _pure(
        "reference.groups.classic", "reference.groups.counterexamples", *TOLD
    ),
    # Traces of other implementations: judged without anything that runs ours.
    "traces.foreign.*": Rule(
        ours=(
            *("traces.schema", "traces.jobs", "traces.steps"),
            *(*PROTOCOLS, "tla_utils", "osutil", "specs"),
        ),
        third_party=("msgspec",),
    ),
    # What a real cluster wrote, held against the rules of the reference.
    "kraftcheck.kafka.observed.*": Rule(
        ours=("traces.schema", "traces.history", *PROTOCOLS, "osutil"), third_party=("msgspec",)
    ),
    # What brokers wrote: judged by what Kafka promises of it, without any protocol of ours.
    "kraftcheck.kafka.disks.*": Rule(
        ours=("osutil", "reference.storage.batches"),
        third_party=("google_crc32c", "msgspec", "numpy"),
    ),
    "traces.cover.*": Rule(
        ours=(
            *("traces.schema", "traces.store", "traces.jobs", "traces.steps"),
            *(*PROTOCOLS, *SIMS, "tla_utils", "traces.sealed", "osutil", "specs"),
        ),
        third_party=("pyarrow", "numpy", "msgspec"),
    ),
    # The report reads the artifacts of a run, so that a report can be made of any run's folder; of
    # a client history, what was recorded and what was found. It judges nothing itself.
    "traces.report.*": Rule(
        ours=(
            *(PROMISES, "traces.values", "traces.history", "traces.checkers.verdict"),
            *("traces.sealed", "osutil"),
        ),
        third_party=("jinja2", "markupsafe", "msgspec"),
    ),
    # Real clusters share nothing with what they are held against.
    "kraftcheck.kafka.live.*": Rule(
        ours=("osutil",), third_party=("msgspec", "confluent_kafka", "kafka")
    ),
    "experiments.*": Rule(
        ours=(*OF_KAFKA, *PROTOCOLS, *SIMS, "traces"),
        third_party=("click", "msgspec", "numpy", "confluent_kafka", "kafka"),
    ),
    # They share scenes and settings with each other.
    "finds.*": Rule(
        ours=(*OF_KAFKA, *PROTOCOLS, *SIMS, "traces", "experiments"),
        third_party=("click", "msgspec", "numpy", "confluent_kafka", "kafka"),
    ),
    # These repeat the scene of a find.
    **dict.fromkeys(
        (f"experiments.{each}.*" for each in REPEATING),
        Rule(ours=(*OF_KAFKA, *PROTOCOLS, "traces", "experiments", "finds"), third_party=(ANY,)),
    ),
    "kraftcheck.*": Rule(ours=BELOW_VERBS, third_party=(ANY,)),
    # What a witness says, and with which bugs it is compared.
    "experiments.reassigned_by_classes.*": Rule(
        ours=(
            *("experiments", "kraftcheck.kafka.live", "kraftcheck.kafka.witness"),
            *(*PROTOCOLS, *BUGS),
        ),
        third_party=("click", "msgspec"),
    ),
    # Runs before anything is installed.
    "tools.*": Rule(),
    "benchmarks.*": Rule(ours=(*BELOW_VERBS, "kraftcheck"), third_party=(ANY,)),
    "tests.*": Rule(
        ours=(*BELOW_VERBS, "kraftcheck", "tools", "benchmarks", "experiments", "finds"),
        third_party=(ANY,),
    ),
}

# One module that each rule refuses, for the plants: a library, and a package of ours.
STRANGER = "requests"
UPSTAIRS = {"tests.*": None, "kraftcheck.*": "tests.conftest", "benchmarks.*": "tests.conftest"}


def plant(root: Path, name: str, text: str) -> str:
    """Writes module `name`; returns its path as violations print it."""
    place = Path(*name.split(".")).with_suffix(".py")
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / place).write_text(text, encoding="utf-8")
    return str(place)


def plant_package(root: Path, key: str, text: str) -> str:
    """Writes a module that falls under the rule `key`."""
    if key.endswith(".*"):
        return plant(root, key.replace("*", "planted"), text)
    return plant(root, f"{key}.__init__", text)


# -- This repository


def test_no_module_imports_what_its_rule_refuses(repo_root: Path) -> None:
    assert violations(repo_root, RULES) == []


def test_no_modules_import_each_other(repo_root: Path) -> None:
    assert cycles(repo_root, tops_of(RULES)) == []


def test_no_module_imports_by_a_folder_of_the_checkout(repo_root: Path) -> None:
    assert by_folder(repo_root, tops_of(RULES)) == []


def test_the_core_does_without_real_kafka(repo_root: Path, tmp_path: Path) -> None:
    assert leading_to_kafka(repo_root) == []
    plant(tmp_path, "kraftcheck.kafka.serve.world", "")
    place = plant(tmp_path, "kraftcheck.campaigns", "from kraftcheck.kafka.serve import world\n")
    assert leading_to_kafka(tmp_path) == [f"{place}:1"]


def leading_to_kafka(root: Path) -> list[str]:
    """Imports of what is about real Kafka from elsewhere than `LEADING`, as `file:line`."""
    package = "kraftcheck.kafka"
    modules = find_modules(root, ("kraftcheck", "reference", "traces", "tla_utils", "specs"))
    return [
        f"{path.relative_to(root)}:{line}"
        for name, path in modules.items()
        if not any(within(name, each) for each in (package, *LEADING))
        for target, line in imports_of(name, path, modules)
        if within(target, package)
    ]


def test_the_modules_are_found(repo_root: Path) -> None:
    """The two tests above would hold of an empty list as well."""
    assert {"tests.conftest", "tests.quality.ladder"} <= set(find_modules(repo_root, ("tests",)))


def test_a_lower_rung_names_no_higher_one() -> None:
    """The table's own order: what is allowed stands above, so the rules admit no cycle."""
    seen: list[str] = []
    for key, rule in RULES.items():
        for package in rule.ours:
            whole = "." not in package and any(within(name, package) for name in seen)
            assert whole or any(within(package, name) for name in seen), (key, package)
        seen.append(key.removesuffix(".*"))


# -- Planted violations: each rule refuses something, and says where


@pytest.mark.parametrize("key", [key for key in RULES if ANY not in RULES[key].third_party])
def test_a_foreign_library_is_reported(key: str, tmp_path: Path) -> None:
    place = plant_package(tmp_path, key, f"import json\nimport {STRANGER}.adapters\n")
    home = key.removesuffix(".*")
    assert violations(tmp_path, RULES) == [f"{place}:2: {home} must not import {STRANGER}.adapters"]


@pytest.mark.parametrize("key", [key for key in RULES if UPSTAIRS.get(key, "") is not None])
def test_a_higher_rung_is_reported(key: str, tmp_path: Path) -> None:
    target = UPSTAIRS.get(key) or "kraftcheck.cli"
    plant(tmp_path, target, "")
    place = plant_package(tmp_path, key, f"def f():\n    from {target} import g\n    g()\n")
    home = key.removesuffix(".*")
    assert violations(tmp_path, RULES) == [f"{place}:2: {home} must not import {target}"]


@pytest.mark.parametrize("module", NO_IO)
@pytest.mark.parametrize("package", ["reference.quorum", "reference.bugs"])
def test_io_in_the_core_is_reported(package: str, module: str, tmp_path: Path) -> None:
    place = plant(tmp_path, f"{package}.planted", f"from {module} import anything\n")
    assert violations(tmp_path, RULES) == [f"{place}:1: {package} must not import {module}"]


def test_a_type_only_import_is_reported(tmp_path: Path) -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import os.path\n"
    place = plant(tmp_path, "reference.quorum.planted", text)
    assert violations(tmp_path, RULES) == [f"{place}:3: reference.quorum must not import os.path"]


def test_a_relative_import_is_resolved(tmp_path: Path) -> None:
    plant(tmp_path, "reference.runner.run", "")
    place = plant(tmp_path, "reference.quorum.planted", "from ..runner import run\n")
    assert violations(tmp_path, RULES) == [
        f"{place}:1: reference.quorum must not import reference.runner.run"
    ]


def test_a_package_without_a_rule_is_reported(tmp_path: Path) -> None:
    place = plant(tmp_path, "reference.elsewhere.planted", "")
    assert violations(tmp_path, RULES) == [
        f"{place}:1: reference.elsewhere.planted has no rule in the table of imports"
    ]


def test_promises_do_not_open_the_core_to_checkers(tmp_path: Path) -> None:
    plant(tmp_path, PROMISES, "")
    plant(tmp_path, "reference.clients.producer", "")
    text = "from reference.clients import promises\nfrom reference.clients import producer\n"
    place = plant(tmp_path, "traces.checkers.planted", text)
    assert violations(tmp_path, RULES) == [
        f"{place}:2: traces.checkers must not import reference.clients.producer"
    ]


def test_what_the_rules_allow_is_not_reported(tmp_path: Path) -> None:
    """The negative twin of all plants above: a check that reports everything is no check."""
    for key, rule in RULES.items():
        lines = ["import json", *(f"import {name}" for name in rule.third_party if name != ANY)]
        lines += [f"import {package}" for package in rule.ours]
        plant_package(tmp_path, key, "\n".join(lines) + "\n")
    assert violations(tmp_path, RULES) == []


def test_an_import_by_a_folder_of_the_checkout_is_reported(tmp_path: Path) -> None:
    plant(tmp_path, "reference.kit.log", "import kraftcheck.reference.quorum\nimport traces.rows\n")
    found = ["reference/kit/log.py:2: import kraftcheck.traces.rows"]
    assert by_folder(tmp_path, ("reference",)) == found


# -- Planted cycles


def test_a_cycle_is_reported_with_its_path(tmp_path: Path) -> None:
    plant(tmp_path, "reference.quorum.a", "from reference.quorum import b\n")
    plant(tmp_path, "reference.quorum.b", "def late():\n    from .c import thing\n    thing()\n")
    plant(tmp_path, "reference.quorum.c", "import reference.quorum.a\n")
    (circle,) = cycles(tmp_path, ("reference",))
    names = circle.split(" -> ")
    assert names[0] == names[-1]
    assert set(names) == {"reference.quorum.a", "reference.quorum.b", "reference.quorum.c"}


def test_a_package_that_re_exports_is_no_cycle(tmp_path: Path) -> None:
    plant(tmp_path, "reference.quorum.__init__", "from reference.quorum.a import thing\n")
    plant(tmp_path, "reference.quorum.a", "from reference.quorum import b\n")
    plant(tmp_path, "reference.quorum.b", "")
    assert cycles(tmp_path, ("reference",)) == []
