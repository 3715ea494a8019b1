"""`make attack`: the kit is attacked with a seed of one's own. Every part prints how many cases it
tried and what went wrong.

    python -m tests.mutation.attack --seed S [--part NAME ...] [--scale X] [--minutes M]

    histories  client histories, small enough for every order to be tried, and logs that are valid
               or have one change: a checker that says otherwise than another one, a false alarm,
               and a fault that is missed are wrong
    damages    damages of the disks of six releases: silence without a reason is wrong
    frames     altered frames to served clusters: an exception, and a violation, are wrong
    faults     one-sided faults: a rule of the reference altered, none in the specs. Found by runs
               (steps, invariants) or by the questions that TLC is asked; else it is wrong, unless
               rules.toml has why
    mutants    altered checkers of newer areas: one that no test notices, without a reason, is wrong
    runs       runs of every scenario: a violation is wrong

--scale: this share of the cases. --minutes: of `mutants`, which take longest; those that are left
make the part unknown.

Exit codes: 0 nothing is wrong; 1 something is; 2 something was not tried.
"""

from __future__ import annotations

import random
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count, product
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple

import click
import google_crc32c
from msgspec.structs import replace

from kraftcheck import exits
from kraftcheck.kafka.serve import codec
from kraftcheck.kafka.serve.apis import SERVED
from kraftcheck.kafka.serve.judging import judged
from kraftcheck.known_bugs.hunting import hunt_down
from kraftcheck.known_bugs.oracles import NOTHING, Oracle, judge as judge_runs
from kraftcheck.known_bugs.witnesses import Hunt
from kraftcheck.reference.bugs.bug import Bug
from kraftcheck.reference.bugs.catalog import known
from kraftcheck.reference.protocols import PROTOCOLS
from kraftcheck.reference.runner.scenarios import SCENARIOS
from kraftcheck.screen import Screen
from kraftcheck.traces.checkers.verdict import VIOLATED
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.simulate import simulate
from kraftcheck.traces.store import Campaign
from tests.conformance.test_plain import EACH
from tests.kafka.disks import damages as of_disks
from tests.kraftcheck.serve.test_codec import made
from tests.kraftcheck.serve.wire import PORTS, Wire, batch, frame
from tests.mutation import reasons, search
from tests.mutation.hunted import mutants_of
from tests.reference.vocabulary import snake
from tests.traces.checkers import made_objects, valid_objects
from tests.traces.checkers.agreement import judge
from tests.traces.checkers.log_world import SETTINGS
from tests.traces.checkers.valid_logs import tally

CASES: Final = {"histories": 300, "damages": 5000, "frames": 20_000, "faults": 25, "mutants": 60}
RUNS: Final = {"partition": 3000, "quorum": 1500}
OTHER_RUNS: Final = 200
"""Of each other scenario."""
FAULT_RUNS: Final = 100
"""So many runs look for a one-sided fault."""
RULES: Final = Path(__file__).with_name("rules.toml")
SESSION: Final = 250
"""So many frames reach one cluster."""
NEWER: Final = (
    *("traces/checkers/", "kraftcheck/kafka/serve/wire_members.py", "reference/groups/classic/"),
    *(
        "reference/groups/commits/",
        "reference/partition/compaction/",
        "reference/groups/",
        "reference/partition/hosting/",
    ),
    *(
        "reference/partition/reassignment/",
        "reference/quorum/snapshots/",
        "reference/transactions/",
    ),
    "reference/quorum/voters/",
)
"""Where the mutants of checkers are."""


class Figures(NamedTuple):
    """tried: how many cases. told: how they ended. wrong: those that should have ended otherwise.
    left: cases that were not tried."""

    tried: int
    told: Counter[str]
    wrong: list[str]
    left: int = 0


class Asked(NamedTuple):
    seed: int
    cases: int
    """Of runs: in hundredths of RUNS and OTHER_RUNS."""
    folder: Path
    minutes: float


def histories(asked: Asked) -> Figures:
    """A third each: logs, registers and maps, and logs of a world with the fault of a setting."""
    told: Counter[str] = Counter()
    wrong: list[str] = []
    first = asked.seed % 1_000_003 * 1_000
    third = max(asked.cases // 3, 1)
    logs = judge(first, first + third)
    wrong += logs.disagreements
    for (_, verdict), times in logs.verdicts.items():
        told[f"logs {verdict}"] += times
    # A tally is of a valid history and a changed one.
    kinds = [*product(made_objects.KINDS, made_objects.FAULTS)]
    for number in range(third // 2):
        kind, faults = kinds[(asked.seed + number) % len(kinds)]
        found, mistaken = valid_objects.judge(kind, faults, first + number, first + number + 1)
        wrong += mistaken
        for (_, _, _, verdict), times in found.items():
            told[f"objects {verdict}"] += times
    # Likewise.
    for number in range((asked.cases - 2 * third + 1) // 2):
        setting = SETTINGS[(asked.seed + number) % len(SETTINGS)]
        of = tally(setting, first + number, first + number + 1)
        told.update({f"valid log {each}": times for each, times in of.valid.items()})
        told.update({f"changed log {each}": times for each, times in of.changed.items()})
        wrong += [f"{setting.level}, {setting.fault}: {each}" for each in of.wrong]
    return Figures(told.total(), told, wrong)


def damages(asked: Asked) -> Figures:
    found = of_disks.run(asked.folder, asked.seed, asked.cases)
    told = Counter({f"exit code {code}": times for code, times in found.codes.items()})
    told["of these silent, with a reason"] = found.silent.total() - found.silent["without a reason"]
    return Figures(found.codes.total(), told, found.wrong)


# -- Frames


def _bodies(chance: random.Random) -> Iterator[tuple[bytes, bool]]:
    """Frames of every API that is served, and whether a batch of records ends in it."""
    producers = count(7, 1 << 16)
    while True:
        match chance.randrange(4):
            case 0:
                # Whoever uses a number twice, for another batch, loses that, and rightly hears so.
                numbers = next(producers), 0, 0
                data = batch(b"a", b"b", producer=chance.choice((numbers, (-1, -1, -1))))
                topic = {"name": "t", "partition_data": [{"index": 0, "records": data}]}
                body: dict[str, Any] = {"acks": chance.choice((-1, 0, 1)), "timeout_ms": 100}
                yield frame("Produce", 3, {**body, "topic_data": [topic]}), True
            case 1:
                fetched = {"partition": 0, "fetch_offset": chance.randrange(4)}
                topics = [{"topic": "t", "partitions": [fetched | {"partition_max_bytes": 999}]}]
                waits = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 1}
                yield frame("Fetch", 11, waits | {"topics": topics}), False
            case _:
                api = chance.choice(sorted(SERVED))
                versions = codec.description(f"{api}Request").valid
                version = chance.randint(versions.first, versions.last)
                fields = codec.description(f"{api}Request").fields
                yield frame(api, version, made(chance, fields, version)), False


def altered(data: bytes, ends_in_batch: bool, chance: random.Random) -> bytes:
    """One to three changes; half of the batches get the checksum of what they are then."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(out)) if out else 0
        match chance.randrange(6):
            case 0 if out:
                out[at] ^= 1 << chance.randrange(8)
            case 1:
                size = chance.choice((1, 2, 4, 8))
                out[at : at + size] = chance.choice((b"\0", b"\xff", b"\x7f", b"\x80")) * size
            case 2:
                del out[at:]
            case 3:
                out[at:at] = chance.randbytes(chance.choice((1, 4, 30)))
            case 4:
                out[at:at] = out[at : at + chance.choice((1, 8, 40))]
            case _ if out:
                out[at] = chance.randrange(256)
    start = len(data) - len(batch(b"a", b"b"))
    if ends_in_batch and len(out) == len(data) and chance.random() < 0.5:
        struct.pack_into(">I", out, start + 17, google_crc32c.value(bytes(out[start + 21 :])))
    return bytes(out)


def frames(asked: Asked) -> Figures:
    told: Counter[str] = Counter()
    wrong: list[str] = []
    for first in range(0, asked.cases, SESSION):
        chance = random.Random(f"frames {asked.seed} {first}")
        wire, bodies = Wire(), _bodies(chance)
        wire.create()
        for number in range(first, min(first + SESSION, asked.cases)):
            broker = chance.randrange(len(PORTS))
            data = altered(*next(bodies), chance)
            try:
                wire.taped.arrive("frame", wire.now, broker, data)
                wire.wait(0.05)
                left = wire.taped.left()
            except Exception as error:  # Whatever it is, it should not be.
                wrong.append(f"frame {number}: {type(error).__name__}: {error}: {data.hex()}")
                told["an exception"] += 1
                break
            ended = [each for each in left if each.data is None]
            told["the connection ends" if ended else "answered" if left else "waits"] += 1
            for each in ended:
                wire.connect(each.connection)
        wrong += [f"frames from {first}: {each}" for each in _session_is_wrong(wire, asked.folder)]
    return Figures(told.total(), told, wrong)


def _session_is_wrong(wire: Wire, folder: Path) -> Iterator[str]:
    """A cluster that was sent nonsense has still to keep what it promises."""
    path = folder / "tape"
    try:
        wire.taped.finish(wire.now)
        path.write_bytes(wire.sink.getvalue())
        found = judged(path)
    except Exception as error:
        yield f"{type(error).__name__}: {error}"
        return
    if found.verdict == VIOLATED:
        yield "; ".join(found.reasons)


# -- One-sided faults


def told_by_questions(fault: Bug) -> set[str]:
    """The rules that answer otherwise, somewhere, than the operators that TLC is asked about."""
    found: set[str] = set()
    for of in EACH:
        if of.planted.protocol.name != fault.protocol:
            continue
        for constants in of.settings:
            [base] = of.planted.protocol.rules
            assert fault.replacement is not None
            correct, other = base(constants), fault.replacement(constants)
            for rule, arguments in of.questions():
                if rule not in found and not _same(correct, other, snake(rule), arguments):
                    found.add(rule)
    return found


def _same(correct: Any, other: Any, rule: str, arguments: tuple[Any, ...]) -> bool:
    try:
        return bool(getattr(correct, rule)(*arguments) == getattr(other, rule)(*arguments))
    except Exception:  # An altered rule may raise anything, which is an answer.
        return False


def faults(asked: Asked) -> Figures:
    told: Counter[str] = Counter()
    wrong: list[str] = []
    newer = [
        each.name for each in PROTOCOLS if each.name in {e.planted.protocol.name for e in EACH}
    ]
    share = -(-asked.cases // len(newer))
    some = [fault for name in newer for fault in mutants_of(name, share, asked.seed)]
    given = reasons.read(RULES)
    for number, fault in enumerate(some[: asked.cases]):
        fault = replace(fault, id=f"FAULT-{number}")
        with known(fault):
            hunt = Hunt(scenario=fault.protocol, bug=fault.id, seed=asked.seed)
            try:
                found = [*hunt_down(hunt, ("invariants", "steps"), FAULT_RUNS)]
            except Exception:  # An altered rule may raise anything, which ends the run.
                found = ["an exception"]
        asked_about = told_by_questions(fault)
        end = " and ".join([*sorted(found), *["questions"] * bool(asked_about)])
        end = end or search.REASONED * (fault.source in given)
        told[end or "nobody"] += 1
        if not end:
            wrong.append(f"{fault.protocol}: {fault.title}")
    return Figures(told.total(), told, wrong)


# -- Mutants, runs


class _Kept(Screen):
    """Says nothing, and keeps what is said at the end."""

    kept: Any = None

    def line(self, text: str = "") -> None: ...

    def document(self, value: Any) -> None:
        self.kept = value


def mutants(asked: Asked) -> Figures:
    every: list[Any] = []
    settings = search.Settings(each=1, seed=asked.seed, jobs=2, minutes=asked.minutes)
    there = [each.mutant.id for each in search._asked(settings, every)]
    some = [each for each in there if each.startswith(NEWER)]
    random.Random(asked.seed).shuffle(some)
    chosen = tuple(some[: asked.cases])
    screen = _Kept()
    search.run(settings._replace(named=chosen), screen)
    outcomes = {id: screen.kept["outcomes"][id] for id in chosen}
    told = Counter(outcomes.values())
    wrong = [id for id, outcome in outcomes.items() if outcome == search.OPEN]
    left = told.pop(search.NOT_JUDGED, 0) + asked.cases - len(chosen)
    return Figures(told.total(), told, wrong, left)


def runs(asked: Asked) -> Figures:
    told: Counter[str] = Counter()
    wrong: list[str] = []
    for scenario in SCENARIOS:
        count = max(RUNS.get(scenario, OTHER_RUNS) * asked.cases // 100, 1)
        campaign = Campaign(scenario=scenario, seed=asked.seed, runs=count)
        simulate(asked.folder / scenario, campaign, backend=Pool())
        told[scenario] = count
        of_runs: tuple[Oracle, ...] = ("invariants", "progress", "histories")
        for oracle in of_runs:
            found = judge_runs(oracle, asked.folder / scenario)
            if found.verdict != NOTHING:
                wrong.append(f"{scenario}, {oracle}, run {found.run}: {found.verdict} {found.said}")
    return Figures(told.total(), told, wrong)


# -- All of it


PARTS: Final[dict[str, Callable[[Asked], Figures]]] = {
    "histories": histories,
    "damages": damages,
    "frames": frames,
    "faults": faults,
    "mutants": mutants,
    "runs": runs,
}
SHOWN: Final = 20


def run(part: str, seed: int, scale: float = 1.0, minutes: float = 60.0) -> Figures:
    count = max(round(CASES.get(part, 100) * scale), 1)
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
        return PARTS[part](Asked(seed, count, Path(folder), minutes))


@click.command(help=(__doc__ or "").partition("\n\n")[0])
@click.option("--seed", type=int, required=True)
@click.option("--part", "parts", type=click.Choice(list(PARTS)), multiple=True)
@click.option("--scale", type=click.FloatRange(0, min_open=True), default=1.0)
@click.option("--minutes", type=click.FloatRange(0, min_open=True), default=60.0)
def command(seed: int, parts: tuple[str, ...], scale: float, minutes: float) -> int:
    code = exits.HOLDS
    for part in parts or PARTS:
        begin = monotonic()
        found = run(part, seed, scale, minutes)
        ends = ", ".join(f"{end} {times:,}" for end, times in sorted(found.told.items()))
        click.echo(
            f"{part:<10} {found.tried:>7,} tried, {len(found.wrong)} wrong, {found.left} left, "
            f"{monotonic() - begin:,.0f} s: {ends}"
        )
        for each in found.wrong[:SHOWN]:
            click.echo(f"  WRONG {each}")
        if found.wrong:
            code = exits.VIOLATED
        elif found.left and code == exits.HOLDS:
            code = exits.UNKNOWN
    return code


if __name__ == "__main__":
    sys.exit(exits.guarded(lambda: command.main(standalone_mode=False)))
