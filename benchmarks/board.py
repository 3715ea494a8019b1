"""Each figure of docs/measured/figures.md, measured now, against what is written there.

Machines differ, and a busy one is slower than a quiet one. So a loop of plain Python is timed
before and after each figure, and a figure is compared by what it would be on a machine on which the
loop takes as long as on that of the table. Ratios are of goodness: 1 is as written, 2 is twice as
good, and what is below 0.75 has become worse by a third; then the exit code is 1. Times are of the
processor, of all processes, but for what a client waits for.

    python -m benchmarks board [FIGURE ...] [--write]

--write puts what was measured into the table.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from benchmarks._measure import apart
from benchmarks._processes import KRAFTCHECK
from kraftcheck.osutil.children import processor_seconds

FIGURES_PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "measured" / "figures.md"
WORSE: Final = 0.75
"""Of what is written: a third more time."""
LOOP: Final = 2_000_000
ROW: Final = re.compile(r"^\| (?P<what>[^|]+) \| (?P<figure>[\d,.]+) (?P<unit>[^|]+) \|", re.M)
UNIT: Final = re.compile(r"loop\s+of\s+`benchmarks/board\.py`\s+takes\s+(?P<seconds>[\d.]+)\s+s")


Servers: TypeAlias = dict[str, Any]
"""What librdkafka wants to be told of where a cluster is."""


class Figure(NamedTuple):
    unit: str
    more: bool
    """Whether more of it is better."""
    measure: Callable[[], float]
    """The number, in a process of its own."""


class Written(NamedTuple):
    """What the page has: numbers by figure, and seconds of the loop where they were measured."""

    figures: dict[str, tuple[float, str]]
    loop: float


def written(text: str) -> Written:
    """Raises ValueError: there is no table, or not what the loop took."""
    table = {
        row["what"].strip(): (float(row["figure"].replace(",", "")), row["unit"].strip())
        for row in ROW.finditer(text)
    }
    unit = UNIT.search(text)
    if not table or unit is None:
        raise ValueError(
            "docs/measured/figures.md: no table of figures, or nothing of what the loop takes"
        )
    return Written(table, float(unit["seconds"]))


def loop() -> float:
    """Seconds of the processor of a loop that does what an interpreter does all day."""
    begin = time.process_time()
    counts: dict[int, int] = {}
    for at in range(LOOP):
        key = at * 7919 % 1021
        counts[key] = counts.get(key, 0) + 1
    return time.process_time() - begin


# -- What is measured. Imports are inside: each process loads what it measures, and no more.


def simulated(scenario: str, runs: int) -> float:
    from benchmarks.simulator import measure

    return measure(scenario, 0, runs).rate


def campaign(runs: int) -> float:
    """Milliseconds of a run, from nothing to the report."""
    from benchmarks.campaign import measure

    with redirect_stdout(None):
        return 1000 * measure("examples/campaigns/saturating.toml", runs).spent.cpu / runs


def judged(steps: int) -> float:
    """Distinct steps of quorums, by each second of TLC."""
    from benchmarks.conformance import in_chunks, record

    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
        return in_chunks(record(Path(folder), steps), steps).rate


def edges(graph: str) -> float:
    """A minute, TLC's part included."""
    from benchmarks.cover import measured, per_minute
    from kraftcheck.traces.cover.models import read_covers

    model = read_covers()[graph]
    return per_minute(model.edges, measured(model, -1).covering)


def log_operations() -> float:
    """Millions a second, in logs of a thousand operations, some of unknown outcome."""
    from benchmarks._log_runs import rate

    return 2000 * 1000 / rate(2000, 1000, 10, 0.01) / 1e6


def of_history(module: str, operations: int) -> float:
    """Thousands of operations a second, from operations to the verdict."""
    import importlib

    cost = importlib.import_module(f"benchmarks.{module}").cost(operations)
    return float(cost.operations / (cost.columns + cost.verdict) / 1000)


def crash_states(states: int) -> float:
    from kraftcheck.reference.storage.crashing import CrashTally
    from kraftcheck.reference.storage.judging import judge_all
    from kraftcheck.reference.storage.rules import StorageRules

    total, seed, begin = CrashTally(), 1000, time.process_time()
    while total.states < states:
        total.add(judge_all(StorageRules, seed, 100))
        seed += 1
    assert not total.found
    return total.states / (time.process_time() - begin)


def disk(megabytes: int) -> float:
    """Of a log in batches of 16 kB that is judged, MB a second."""
    from kraftcheck.kafka.disks.found import Common
    from kraftcheck.kafka.disks.partition import judge
    from kraftcheck.reference.storage.batches import data_batch, moved

    one = data_batch([(None, bytes(16_000))], 1000)
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as name:
        folder = Path(name) / "t-0"
        folder.mkdir()
        with (folder / f"{0:020}.log").open("wb") as log:
            for at in range(megabytes * 10**6 // len(one)):
                log.write(moved(one, at, 0))
            size = log.tell()
        begin = time.process_time()
        found = judge(folder, Common())
    assert found.end == size // len(one)
    return size / (time.process_time() - begin) / 1e6


@contextmanager
def served() -> Iterator[Servers]:
    """A cluster in a process of its own, with two topics, and how a client finds it."""
    from kraftcheck.kafka.serve.admin import Process

    process = Process("--judge", "0")
    for topic in ("batches", "single"):
        process.cluster.create_topic(topic)
    yield {"bootstrap.servers": process.cluster.bootstrap_servers}
    process.close()


def batches() -> float:
    """16 kB batches a second, by those of librdkafka's mock."""
    from benchmarks import serving

    with served() as servers:
        # By turns: what else the machine does comes and goes.
        turns = [serving.batches(servers) / serving.batches(serving.MOCK) for _ in range(3)]
    return statistics.median(turns)


def one_record() -> float:
    """Milliseconds from a record to its acknowledgement."""
    from benchmarks import serving

    with served() as servers:
        return statistics.median(serving.single(servers))


def start() -> float:
    """Seconds until a served cluster answers."""
    taken = []
    for _ in range(3):
        begin = time.perf_counter()
        with served():
            taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def verb() -> float:
    """Milliseconds of the processor until `kraftcheck check` has judged a small history."""
    before = processor_seconds()
    command = [KRAFTCHECK, "check", "traces/samples/histories/kv.jsonl"]
    for _ in range(3):
        subprocess.run(command, capture_output=True, cwd=FIGURES_PAGE.parents[2], check=False)
    return 1000 * (processor_seconds() - before) / 3


FIGURES: Final = {
    "simulator, a quorum": Figure("steps/s", True, partial(simulated, "quorum", 1000)),
    "simulator, a partition": Figure("steps/s", True, partial(simulated, "partition", 1000)),
    "a campaign, to its report": Figure("ms a run", False, partial(campaign, 3000)),
    "steps judged by TLC": Figure("distinct steps/s", True, partial(judged, 10_000)),
    "a graph's edges taken": Figure("a minute", True, partial(edges, "quorum-retries-twice")),
    "histories of logs": Figure("million operations/s", True, log_operations),
    "histories of groups": Figure(
        "thousand operations/s", True, partial(of_history, "history_groups", 200_000)
    ),
    "histories of transactions": Figure(
        "thousand operations/s", True, partial(of_history, "history_transactions", 200_000)
    ),
    "crash states of an engine": Figure("states/s", True, partial(crash_states, 4000)),
    "a broker's disk": Figure("MB/s", True, partial(disk, 500)),
    "`serve`, batches": Figure("of librdkafka's mock", True, batches),
    "`serve`, one record": Figure("ms", False, one_record),
    "`serve`, start": Figure("s", False, start),
    "a verb": Figure("ms", False, verb),
}
RATIOS: Final = frozenset({"`serve`, batches"})
"""Against something else on the same machine: the loop has nothing to say of them."""


# -- Against what is written


class Now(NamedTuple):
    """What was measured."""

    value: float
    loop: float
    """What the loop took around it."""

    def ratio(self, name: str, was: float, loop: float) -> float:
        """How good it is by what is written."""
        slower = 1.0 if name in RATIOS else self.loop / loop
        better = self.value / was if FIGURES[name].more else was / self.value
        return better * slower


def measured(name: str) -> Now:
    before = min(loop() for _ in range(3))
    value = FIGURES[name].measure()
    return Now(value, (before + min(loop() for _ in range(3))) / 2)


def shown(value: float) -> str:
    """With three digits that count."""
    digits = 2 if value < 10 else 1 if value < 100 else 0
    rounded = value if value < 1000 else float(f"{value:.3g}")
    return f"{rounded:,.{digits}f}"


def rewritten(text: str, found: dict[str, Now], loop_s: float) -> str:
    """The page with what was measured. loop_s: what the loop takes where the table is of."""
    for name, now in found.items():
        figure = FIGURES[name]
        slower = 1.0 if name in RATIOS else now.loop / loop_s
        value = now.value * slower if figure.more else now.value / slower
        row = re.compile(rf"^\| {re.escape(name)} \| [\d,.]+ ", re.M)
        text = row.sub(f"| {name} | {shown(value)} ", text)
    return text


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks board")
    parser.add_argument("figures", nargs="*", metavar="FIGURE")
    parser.add_argument("--write", action="store_true", help="into docs/measured/figures.md")
    options = parser.parse_args(arguments)
    for name in options.figures:
        if name not in FIGURES:
            parser.exit(3, f"board: no figure {name!r}; there are: {', '.join(FIGURES)}\n")
    text = FIGURES_PAGE.read_text(encoding="utf-8")
    table = written(text)
    found: dict[str, Now] = {}
    worse: list[str] = []
    print(f"{'figure':<28}{'now':>12}{'written':>12}  {'unit':<24}{'ratio':>6}")
    for name in options.figures or FIGURES:
        found[name] = now = apart(measured, name)
        was, unit = table.figures[name]
        ratio = now.ratio(name, was, table.loop)
        mark = "" if ratio >= WORSE else "  worse by a third"
        worse += [name] * bool(mark)
        line = f"{name:<28}{shown(now.value):>12}{shown(was):>12}  {unit:<24}{ratio:>6.2f}{mark}"
        print(f"\033[31m{line}\033[0m" if mark and sys.stdout.isatty() else line, flush=True)
    loops = statistics.median(now.loop for now in found.values())
    print(f"the loop took {loops:.3f} s, {table.loop:.3f} where the table was made")
    if options.write:
        FIGURES_PAGE.write_text(rewritten(text, found, table.loop), encoding="utf-8")
    elif worse:
        raise SystemExit(1)
