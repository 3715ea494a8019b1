"""`storage crash`, `storage kafka`: the engine, judged by crashes and by Kafka's classes."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kraftcheck import exits
from kraftcheck.exits import BadInput
from kraftcheck.known_bugs.own_rules import substitution
from kraftcheck.reference.bugs.catalog import replayable
from kraftcheck.reference.storage.as_kafka import AsKafka
from kraftcheck.reference.storage.crashing import CrashTally
from kraftcheck.reference.storage.disk import Mode
from kraftcheck.reference.storage.judging import judge_all
from kraftcheck.reference.storage.rules import StorageRules
from kraftcheck.screen import Screen

if TYPE_CHECKING:
    from kraftcheck.live.witness.host import Host

TOLD = 5
PER_HISTORY = 100


def crash(
    states: int,
    seed: int,
    as_kafka: bool,
    mode: Mode,
    bug: str | None,
    own: Path | None,
    screen: Screen,
) -> int:
    """Start from so many states that crashes leave of a disk, and judge each.

    Exit code 1: a promise does not hold. own: a file with rules of one's own. Raises BadInput,
    UnknownBug.
    """
    rules: type[StorageRules] = AsKafka if as_kafka else StorageRules
    if bug is not None and own is None:
        replayable(bug, "storage")
    if found := substitution(bug, own):
        if as_kafka:
            raise BadInput("--as-kafka excludes --bug and --rules")
        if found.protocol != "storage" or found.replacement is None:
            raise BadInput(f"{own or bug} replaces nothing of the storage engine")
        rules = found.replacement
    total = CrashTally()
    with screen.progress("states", states) as meter:
        while total.states < states:
            total.add(judge_all(rules, seed, min(PER_HISTORY, states), mode))
            seed += 1
            meter.update(min(total.states, states), f"{len(total.found)} broken")
    broken = Counter(each.promise for each in total.found)
    verdict = "violated" if broken else "holds"
    screen.facts(
        [
            ("states", f"{total.states:,}"),
            ("crashes at", f"{total.moments:,} moments of {total.histories:,} histories"),
            (
                "operations",
                ", ".join(f"{n:,} {what}" for what, n in sorted(total.operations.items())),
            ),
            *[(name, f"broken in {count:,} states") for name, count in broken.most_common()],
        ]
    )
    for each in total.found[:TOLD]:
        screen.line(f"{each.promise}: seed {each.seed}, after {each.at} changes: {each.said}")
    screen.line(f"verdict  {verdict}")
    screen.document(
        {
            "verdict": verdict,
            "states": total.states,
            "moments": total.moments,
            "histories": total.histories,
            "operations": dict(total.operations),
            "broken": dict(broken),
            "found": msgspec.to_builtins(total.found[:100]),
        }
    )
    return exits.code_of(verdict)


def kafka(histories: int, seed: int, crashes: int, screen: Screen) -> int:
    """The same operations on the engine and on Kafka's classes.

    Exit code 1: they came to other states, or other bytes. Raises ArtifactError, WitnessError.
    """
    from kraftcheck.witness.storage import Compared, hosted

    total = Compared()
    folder = Path(tempfile.mkdtemp(prefix="kraftcheck-storage-"))
    try:
        with hosted() as host, screen.progress("histories", histories) as meter:
            for number in range(histories):
                _one(host, folder, seed + number, crashes, total)
                meter.update(number + 1, f"{len(total.differ)} differ")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    verdict = "violated" if total.differ else "holds"
    screen.facts(
        [
            ("histories", f"{total.histories:,}"),
            ("operations", f"{total.operations:,}, each compared byte for byte"),
            ("crashed", f"{total.crashed:,} directories recovered by both"),
            ("not started", f"{total.refused:,} of them by either"),
            ("dumped", f"{total.dumped:,} files accepted by DumpLogSegments"),
            ("at work", f"{total.complained:,} indexes, of which it complains as of Kafka's own"),
            ("differ", f"{len(total.differ):,}"),
        ]
    )
    for said in total.differ[:TOLD]:
        screen.line(said)
    for why, count in sorted(total.why.items()):
        screen.line(f"Kafka does not start from {count:,} of what power losses leave: {why}")
    screen.line(f"verdict  {verdict}")
    screen.document({"verdict": verdict, **msgspec.to_builtins(total)})
    return exits.code_of(verdict)


def _one(host: Host, folder: Path, seed: int, crashes: int, total: object) -> None:
    from kraftcheck.witness.storage import Compared, compare, compare_crashes

    assert isinstance(total, Compared)
    compare(host, folder / "t", seed, total)
    if crashes:
        compare_crashes(host, folder / "c", seed, crashes, total)
