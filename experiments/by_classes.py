"""What Kafka's own classes make of a case and of its control, as a program in Java tells it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

import click

from kraftcheck.kafka.live.artifacts import class_path, version
from kraftcheck.kafka.live.cluster import ClusterError
from kraftcheck.kafka.live.witness.jars import DEFAULT, as_of, program

Outcome = Mapping[str, Any]
"""case, found, control."""


_CALLED: Final = (
    ("4.3", "GroupConfigManager(Map.of())", "GroupConfigManager(Map.of(), config, share)"),
    ("4.3", "List.of(0));", "List.of(0)).setAssignmentEpochs(List.of(Math.max(since, 0)));"),
    ("4.3", ".withDefaultWriteTimeOut(", ".withWriteTimeout("),
    ("4.3", "(AT_ONCE)", "(AT_ONCE).withCachedBufferMaxBytesSupplier(() -> 1 << 20)"),
    ("4.3", "Operation(name, at, WRITE, operation)", "Operation(name, at, operation)"),
    ("4.3", "NewMetadataImage(this, NO_DELTA)", "MetadataUpdate(NO_DELTA, this)"),
    ("4.3", "NewMetadataImage(next, NO_DELTA)", "MetadataUpdate(NO_DELTA, next)"),
    ("4.3", '("deletion", WRITE, shard', '("deletion", shard'),
    ("4.3", "producer, (short) 0, WRITE,\n", "producer, (short) 0,\n"),
    ("4.3", "told.apply(CollectionConverters.asScala(answer))", "told.apply(answer)"),
    ("4.3", "COMMIT, (short) 1, WRITE);", "COMMIT, (short) 1);"),
    (
        "4.3",
        "onPartitionsDeleted(List.of(new TopicPartition(TOPIC, 0), new TopicPartition(TOPIC, 1)))",
        "onTopicsDeleted(List.of(new GroupCoordinatorShard.DeletedTopic(TOPIC_ID, TOPIC)))",
    ),
    ("4.4", "GroupConfigManager(Map.of(), ", "GroupConfigManager("),
    ("4.4", "named()).setGenerationId(epoch)", "named()).setGenerationIdOrMemberEpoch(epoch)"),
    ("4.4", "Serde(), BufferSupplier.NO_CACHING, ", "Serde(), "),
    (
        "4.4",
        "GroupConfigManager.class, groups);",
        "org.apache.kafka.coordinator.group.modern.share.ShareGroupConfigProvider.class, "
        "new org.apache.kafka.coordinator.group.modern.share.ShareGroupConfigProvider(groups), "
        "java.util.function.Supplier.class, (java.util.function.Supplier<Boolean>) () -> false, "
        "java.util.function.Consumer.class, (java.util.function.Consumer<Object>) key -> { });",
    ),
    ("4.4", "request, joining));", "request, joining, false));"),  # of a streams group's topology
)
"""Calls that changed: since when, and as they are written before and since then."""


def run_java(
    java: str, words: Sequence[str], jars: Path | None, entries: Sequence[str] = ()
) -> list[Any]:
    """Run a program of this folder against a version of Kafka; give what it says in JSON.

    words: its arguments. jars: what comes before Kafka's. entries: of the class path, beside the
    broker's jars. Raises ClusterError: it failed.
    """
    text = as_of(version(), (Path(__file__).resolve().parent / java).read_text(encoding="utf-8"))
    here, written = version().split("."), DEFAULT.split(".")
    for since, before, then in _CALLED:
        if here < since.split(".") <= written:
            text = text.replace(then, before)
        elif written < since.split(".") <= here:
            text = text.replace(before, then)
    path = ":".join([class_path(jars), *entries])
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
        source = Path(folder) / java
        source.write_text(text, encoding="utf-8")
        options = ["-XX:TieredStopAtLevel=1", f"-Djava.io.tmpdir={folder}", "-cp", path]
        call = [program("java"), *options, str(source), *words]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"{java}: {' '.join(done.stderr.split())[-300:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(("{", "[{"))]


def runs(
    java: str, cases: Sequence[str], jars: Path | None, *words: str
) -> Iterator[tuple[str, Any]]:
    """The cases, each with what came of it. words: before them. The rest as `run_java` has it."""
    lines = run_java(java, [*words, *cases], jars)
    if len(lines) != len(cases):
        raise ClusterError(f"{java}: {len(lines)} cases of {len(cases)}")
    return zip(cases, lines, strict=True)


def outcomes(
    java: str, cases: Mapping[str, str], jars: Path | None, entries: Sequence[str] = ()
) -> list[Outcome]:
    """Of each case, what came out and what its control gives.

    cases: by name, what they are; the rest as `run_java` has it. Raises ClusterError: it failed.
    """
    found = run_java(java, [], jars, entries)
    if [each["case"] for each in found] != [*cases]:
        raise ClusterError(f"{java}: other cases than {', '.join(cases)}")
    return found


def tell(
    cases: Mapping[str, str],
    of: Callable[[Path | None], list[Outcome]],
    repeat: int,
    jars: Path | None,
) -> NoReturn:
    """Says each case, and ends with 1 if any came out otherwise than its control."""
    runs = [of(jars) for _ in range(repeat)]
    for each in zip(*runs, strict=True):
        found, control = ({run[name] for run in each} for name in ("found", "control"))
        differs = sum(run["found"] != run["control"] for run in each)
        text = f"{cases[each[0]['case']]}: {found}, control {control}"
        click.echo(f"{text}; otherwise in {differs} of {repeat} runs")
    sys.exit(int(any(each["found"] != each["control"] for run in runs for each in run)))
