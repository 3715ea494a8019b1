"""Kafka's own producer, told every error of X36 in both versions: it becomes what the rules say.

Where it does not, docs/reference/witness-classes.md has it in a table, which is held to what was
seen here.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from kraftcheck.kafka.live.witness.jars import DEFAULT, class_path, program
from kraftcheck.osutil.java import BRIEF
from tests.live.patched import Plant, compiled, sources
from tests.reference.transactions.test_errors import RULES, told_by_rule

pytestmark = [pytest.mark.slow, pytest.mark.kafka]

OF: Final = "producers"
BEGIN, END = "<!-- producers otherwise -->", "<!-- end of producers -->"
RULE: Final[dict[str, Callable[[str], str]]] = {
    "INITIALIZE": RULES.after_init_error,
    "BUMP": RULES.after_init_error,
    "ADD_PARTITIONS": lambda error: RULES.after_add_error(False, error),
    "ADD_OFFSETS": lambda error: RULES.after_add_error(True, error),
    "PRODUCE": RULES.after_batch_error,
    "OFFSETS": RULES.after_offsets_error,
    "COMMIT": lambda error: RULES.after_end_error("Commit", error),
    "ABORT": lambda error: RULES.after_end_error("Abort", error),
}
"""By what was asked."""
MANAGER: Final = "org/apache/kafka/clients/producer/internals/TransactionManager.java"
PLANTS: Final = {
    Plant(
        "a member that is fenced ends its producer",
        MANAGER,
        "                } else if (error == Errors.FENCED_INSTANCE_ID ||\n",
        "                } else if (\n",
        "OFFSETS",
        "FENCED_INSTANCE_ID",
    ): "Unusable",
    Plant(
        "an abort that failed may be asked for again",
        MANAGER,
        "PREPARED_TRANSACTION || source == ABORTABLE_ERROR;\n",
        "PREPARED_TRANSACTION || source == ABORTABLE_ERROR || source == ABORTING_TRANSACTION;\n",
        "ABORT",
        "UNKNOWN_PRODUCER_ID",
    ): "ABORTING_TRANSACTION",
    Plant(
        "who is not authorised may not initialise again: a call is left that nobody answers",
        MANAGER,
        "pendingTransition.result.fail(exception);\n        }\n        lastError = null;\n",
        """pendingTransition = new PendingStateTransition(
                new TransactionalRequestResult("nothing"), State.ABORTING_TRANSACTION, "nothing");
        }
        lastError = null;
""",
        "INITIALIZE, BUMP",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED",
    ): "UNINITIALIZED",
}
"""What becomes of the producer that is told its errors."""


class ProducerAnswer(NamedTuple):
    """What was asked, the error, and what became of the producer."""

    asked: str
    error: str
    becomes: str


def seen(repo_root: Path, own: Path | None = None) -> dict[int, list[ProducerAnswer]]:
    """By version; own: a folder of classes that come before Kafka's."""
    errors = dict.fromkeys(error for error, _, _ in told_by_rule(repo_root))
    path = class_path(DEFAULT, own, OF)
    words = [program("java"), *BRIEF, "-cp", ":".join(path.entries), path.host, *errors]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[int, list[ProducerAnswer]] = {1: [], 2: []}
    for line in done.stdout.splitlines():
        said = json.loads(line)
        assert not said["thrown"], line
        found[said["version"]].append(ProducerAnswer(said["asked"], said["error"], said["becomes"]))
    return found


def otherwise(told: list[ProducerAnswer]) -> set[ProducerAnswer]:
    return {each for each in told if RULE[each.asked](each.error) != each.becomes}


def written(repo_root: Path) -> set[ProducerAnswer]:
    """What the table has."""
    text = (repo_root / "docs/reference/witness-classes.md").read_text("utf-8")
    lines = text.partition(BEGIN)[2].partition(END)[0].strip().splitlines()[2:]
    cells = [[each.strip() for each in line.strip("|").split("|")] for line in lines]
    return {
        ProducerAnswer(asked, error, becomes)
        for asks, errors, becomes, *_ in cells
        for asked in asks.split(", ")
        for error in errors.split(", ")
    }


def test_kafkas_producer_becomes_what_the_rules_say(repo_root: Path) -> None:
    found = seen(repo_root)
    assert {version: len(told) for version, told in found.items()} == {1: 225, 2: 141}
    known = written(repo_root)
    assert otherwise(found[1]) == known
    asked = {each.asked for each in found[2]}
    assert otherwise(found[2]) == {each for each in known if each.asked in asked}


def test_a_producer_that_does_otherwise_is_seen(repo_root: Path, tmp_path: Path) -> None:
    changed = compiled([*PLANTS], sources(tmp_path / "kafka", "kafka-clients"), tmp_path, OF)
    known = written(repo_root)
    for (plant, becomes), classes in zip(PLANTS.items(), changed, strict=True):
        errors = plant.field.split(", ")
        for version, told in seen(repo_root, classes).items():
            asks = {each.asked for each in told} & set(plant.action.split(", "))
            planted = {ProducerAnswer(asked, error, becomes) for asked in asks for error in errors}
            assert otherwise(told) - known == planted, (plant.name, version)
