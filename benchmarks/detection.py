"""Runs and CPU seconds until a campaign finds each known bug, beside another version of the kit.

A bug is searched for by plain runs, one after the other, until one violates a property or makes no
progress. Both versions take turns, bug by bug, so that a busy machine slows both alike.

    python -m benchmarks detection [--against DIR] [--seeds 5] [--seconds 4] [SCENARIO ...]

DIR is a checkout of another version. Without it the table has one side.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec

from kraftcheck.reference.bugs.catalog import bugs_of
from kraftcheck.reference.runner.run import forget, simulate_run
from kraftcheck.reference.runner.shrink import failure_of

HERE: Final = Path(__file__).resolve()
SCENARIOS: Final = ("quorum", "partition")


def search(scenario: str, bug: str, seed: int, seconds: float) -> dict[str, Any]:
    """One campaign, for so many CPU seconds at most."""
    forget()
    begin, runs, steps, how = time.process_time(), 0, 0, ""
    while not how and time.process_time() - begin < seconds:
        run = simulate_run(scenario, seed, runs, bug)
        runs, steps, how = runs + 1, steps + len(run.steps), failure_of(run.result)
    return {"found": how, "runs": runs, "steps": steps, "cpu": time.process_time() - begin}


def searched(tree: Path, *asked: str) -> list[dict[str, Any]]:
    """By seed, what another process finds, which imports the kit from this checkout."""
    call = [sys.executable, str(HERE), "--search", *asked]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(call, env=environment, cwd=tree, stdout=subprocess.PIPE, check=True)
    found: list[dict[str, Any]] = msgspec.json.decode(done.stdout)
    return found


def cells(sides: list[list[dict[str, Any]]]) -> list[str]:
    """Of each version: seeds that found the bug, median runs, median seconds."""
    return [
        f"{sum(bool(each['found']) for each in side)} {median(each['runs'] for each in side):,.0f} "
        f"{median(each['cpu'] for each in side):.2f}"
        for side in sides
    ]


def main(arguments: Sequence[str]) -> None:
    asked = argparse.ArgumentParser(description="Searches for known bugs by plain runs.")
    asked.add_argument("--against", type=Path, metavar="DIR", help="a checkout to compare with")
    asked.add_argument("--seeds", type=int, default=5)
    asked.add_argument("--seconds", type=float, default=4.0)
    asked.add_argument("--search", action="store_true", help=argparse.SUPPRESS)
    asked.add_argument("names", nargs="*", metavar="SCENARIO")
    options = asked.parse_args(arguments)
    if options.search:
        scenario, bug = options.names
        seeds = range(1, options.seeds + 1)
        found = [search(scenario, bug, seed, options.seconds) for seed in seeds]
        print(msgspec.json.encode(found).decode())
        return
    trees = [*filter(None, [options.against]), HERE.parent.parent]
    print(
        f"| scenario | bug |{' found, runs, CPU s |' * len(trees)}\n|---|---|{'---|' * len(trees)}"
    )
    limits = ("--seeds", str(options.seeds), "--seconds", str(options.seconds))
    for scenario in options.names or SCENARIOS:
        for bug in bugs_of(scenario):
            if bug.in_scope and not bug.configuration:
                sides = [searched(tree, *limits, scenario, bug.id) for tree in trees]
                print(f"| {' | '.join([scenario, bug.id, *cells(sides)])} |", flush=True)


if __name__ == "__main__":  # Of another checkout, whose `benchmarks` it is not.
    main(sys.argv[1:])
