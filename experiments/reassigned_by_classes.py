"""Kafka's controller moves replicas, by chance, and each of its steps is compared.

    .venv/bin/python -m experiments.reassigned_by_classes [--as kafka] [--runs N] [--jars DIR]

ReplicationControlManager and ClusterControlManager of Apache Kafka, unpatched, in one JVM without a
cluster (kraftcheck/kafka/live/witness/java/reassignment), take inputs of
docs/reference/reconfiguration.md that are drawn by chance: brokers that come and go, targets over
targets, proposals, elections, directories that fail. The same input is given to the reference, from
the same row. Topics are neither made nor deleted.

--as specs: the correct rules. What Kafka does otherwise is listed by action.
--as kafka: the rules of Z130, Z131, Z132, Z133 and Z160 in their places: what Kafka does is known.
--without ID: but for this one of them, which shows that it is needed.
--jars DIR: classes of Kafka that come first, as with a change that mends one of them.

Ends with 1 where Kafka does otherwise, with 0 where it does not, with 3 where it could not be
tried.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from experiments.tools import JARS, click_errors
from kraftcheck.kafka.live.artifacts import version
from kraftcheck.kafka.live.witness.host import REFUSED, THROWN, UNSENT, running
from kraftcheck.kafka.live.witness.jars import class_path
from kraftcheck.kafka.witness.speech import Speech
from kraftcheck.reference.bugs.catalog import replayable
from kraftcheck.reference.kit.fields import spec_name
from kraftcheck.reference.kit.protocol import HISTORY
from kraftcheck.reference.partition.reassignment.handlers import ReassignmentHandlers
from kraftcheck.reference.partition.reassignment.messages import (
    AssignDirectory,
    CreatePartition,
    CreateTopic,
    DeleteTopic,
    Reassign,
    RegisterBroker,
    ShutDownBroker,
    UnfenceBroker,
)
from kraftcheck.reference.partition.reassignment.properties import PROPERTIES
from kraftcheck.reference.partition.reassignment.protocol import REASSIGNMENT
from kraftcheck.reference.partition.reassignment.rules import ReassignmentRules
from kraftcheck.reference.partition.reassignment.types import CONTROLLER, Constants, TopicRow

(NEVER_LEADS,) = (each for each in PROPERTIES if each.name == "OfflineDirNeverLeads")
KAFKAS: Final = ("Z130", "Z131", "Z132", "Z133", "Z160")
NOT_HERE: Final = (CreateTopic, CreatePartition, DeleteTopic)
CONSTANTS: Final = (
    Constants((1, 2, 3, 4), (1, 2, 3), (1,), 2),
    Constants((1, 2, 3), (1, 2), (1, 2), 2),
    Constants((1, 2, 3, 4, 5), (1, 2, 3), (1,), 3),
    Constants((1, 2, 3, 4), (1, 2), (1,), 2, False, False),
    Constants((1, 2, 3), (1, 2), (1,), 1, True, True),
)


def rules_of(bugs: tuple[str, ...]) -> type[ReassignmentRules]:
    """The correct rules, with what these bugs replace."""
    replaced = [of for of in [replayable(bug).replacement for bug in bugs] if of is not None]
    return type("Replaced", (*replaced, ReassignmentRules), {"__slots__": ()})


def changes(path: str, one: Any, other: Any) -> Iterator[str]:
    """The fields in which two values differ."""
    if one == other:
        return
    if isinstance(one, msgspec.Struct) and type(one) is type(other):
        for name in one.__struct_fields__:
            yield from changes(f"{path}.{name}", getattr(one, name), getattr(other, name))
    elif isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        for at, (a, b) in enumerate(zip(one, other, strict=True), 1):
            yield from changes(f"{path}[{at}]", a, b)
    else:
        yield f"{path}: Kafka {other}, expected {one}"


def in_order(row: TopicRow) -> TopicRow:
    """Kafka lists those that are removed by their numbers, the reference as they were."""
    listed = []
    for p in row.partitions:
        stays = tuple([b for b in p.replicas if b not in p.removing])
        listed.append(msgspec.structs.replace(p, replicas=(*stays, *sorted(p.removing))))
    return msgspec.structs.replace(row, partitions=tuple(listed))


def differing(expected: Any, answer: str, speech: Speech) -> tuple[TopicRow | None, str]:
    """The row that Kafka came to, if it took a step, and how it is another step; empty: it is not.

    answer: of the host.
    """
    lines = answer.split("\t")
    if answer.startswith(REFUSED) or any(line.startswith((THROWN, UNSENT)) for line in lines):
        return None, answer
    if not answer:
        return None, "" if expected is None else "Kafka has no use for it"
    made = speech.taken(answer).outcome
    row: TopicRow = made.row
    if expected is None:
        return row, "Kafka has a use for it"
    wanted = in_order(expected.row)
    told = [
        *changes("row", wanted, in_order(row)),
        *changes("ignored", expected.ignored, made.ignored),
    ]
    return row, "; ".join(told)


def is_offline(constants: Constants, row: TopicRow, input: AssignDirectory) -> bool:
    """Kafka makes two changes of one then, and the reference one."""
    known = row.registrations[constants.brokers.index(input.broker)]
    return input.directory not in known.directories


def drawn(constants: Constants, row: TopicRow, stopped: set[int], draw: random.Random) -> Any:
    """An input; of targets few, for there are many of them.

    stopped: who was fenced while it stopped, and for Kafka is stopping still: no broker asks to be
    unfenced then.
    """
    assert REASSIGNMENT.world is not None
    local = REASSIGNMENT.world.local(constants, CONTROLLER, row)
    inputs = [
        each
        for each in local
        if not isinstance(each, NOT_HERE)
        and not (isinstance(each, UnfenceBroker) and each.broker in stopped)
        and not (isinstance(each, AssignDirectory) and is_offline(constants, row, each))
    ]
    targets = [each for each in inputs if isinstance(each, Reassign)]
    others = [each for each in inputs if not isinstance(each, Reassign)]
    return draw.choice(targets if draw.random() < 0.1 else others)


@click.command()
@click.option("--as", "known", type=click.Choice(["specs", "kafka"]), default="specs")
@click.option("--without", type=click.Choice(KAFKAS), help="Of Kafka's, this rule is not known.")
@click.option("--runs", type=click.IntRange(1), default=20, show_default=True)
@click.option("--moves", type=click.IntRange(1), default=200, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@JARS
@click_errors("reassigned_by_classes")
def main(
    known: str, without: str | None, runs: int, moves: int, seed: int, jars: Path | None
) -> None:
    """Compare steps of Kafka's controller with those of the reference."""
    rules = rules_of(tuple([b for b in KAFKAS if known == "kafka" and b != without]))
    path, steps, found = class_path(version(), jars, REASSIGNMENT.name), 0, Counter[str]()
    failed = 0
    first: dict[str, str] = {}
    for constants in CONSTANTS:
        speech, handlers = Speech(constants), ReassignmentHandlers(constants, rules(constants))
        fields = msgspec.structs.asdict(constants)
        told = msgspec.json.encode({spec_name(name): value for name, value in fields.items()})
        with running(path, told.decode()) as host:
            for run in range(runs):
                draw = random.Random(f"{seed} {run} {constants}")
                host.ask(["new"])
                row: TopicRow = REASSIGNMENT.kinds[0].initial(constants)
                stopped: set[int] = set()
                for _ in range(moves):
                    input = drawn(constants, row, stopped, draw)
                    expected = handlers.step(row, input)
                    [answer] = host.ask([f"{CONTROLLER} {speech.text(input)}"])
                    now, how = differing(expected, answer, speech)
                    steps += 1
                    if how:
                        name = type(input).__name__
                        found[name] += 1
                        first.setdefault(name, f"{input} in {row}: {how}")
                    if now is not None:
                        row = now
                        state = {CONTROLLER: now, HISTORY: ()}
                        failed += NEVER_LEADS.check(constants, state, state) is not None
                    if isinstance(input, ShutDownBroker):
                        stopped.add(input.broker)
                    if isinstance(input, RegisterBroker) and expected and not expected.ignored:
                        stopped.discard(input.broker)
    click.echo(f"{steps:,} inputs, {sum(found.values()):,} with another step")
    click.echo(f"{failed:,} steps to a leader in a directory that has failed (Z160)")
    for name, count in found.most_common():
        click.echo(f"{count:6,} {name}, first {first[name]}")
    sys.exit(int(bool(found)))


if __name__ == "__main__":
    main()
