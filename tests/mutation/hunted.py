"""Mutants that nobody looked at, as bugs that guided and plain campaigns are to find.

    python -m tests.mutation.hunted [--scenario S] [--mutants N] [--seconds N] [--seeds N]

How it is measured: benchmarks/guided.py.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.guided import GENERATION, GUIDED, PLAIN, campaign_of, detect
from kraftcheck.reference.bugs.bug import Bug
from kraftcheck.reference.bugs.catalog import known
from kraftcheck.reference.protocols import parts_of
from tests.mutation.mutants import Mutant, chosen, mutants


def mutants_of_rules(scenario: str) -> list[Mutant]:
    """All of them."""
    rules = parts_of(scenario)[0].rules[0]
    source = Path(inspect.getfile(rules)).read_text("utf-8")
    return [
        each
        for each in mutants(rules.__module__, source)
        if each.function.rpartition(".")[0] == rules.__name__
    ]


def mutants_of(scenario: str, count: int, seed: int | None = None) -> Iterator[Bug]:
    """So many mutants of a scenario's rules, which nobody chose: as tests/mutation spreads them
    over functions, by a hash of their names. Some may change nothing: rules.toml has why. source of
    each: its name there. seed: others than without."""
    rules = parts_of(scenario)[0].rules[0]
    source = Path(inspect.getfile(rules)).read_text("utf-8")
    own = mutants_of_rules(scenario)
    path = "" if seed is None else f"{rules.__module__}#{seed}"
    for number, mutant in enumerate(chosen(own, count, path), 1):
        module: dict[str, Any] = {"__name__": rules.__module__}
        exec(compile(mutant.put_into(source.encode()), rules.__module__, "exec"), module)
        name = mutant.function.rpartition(".")[2]
        decision = vars(module[rules.__name__])[name]
        yield Bug(
            id=f"M{number}",
            title=f"{name}: {mutant.change}",
            story="",
            source=mutant.id,
            protocol=scenario,
            replacement=type(f"M{number}", (rules,), {"__slots__": (), name: decision}),
            property="",
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.mutation.hunted")
    parser.add_argument("--scenario", default="partition")
    parser.add_argument("--mutants", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--seeds", type=int, default=1)
    asked = parser.parse_args()
    campaign = campaign_of(asked.scenario, None, GENERATION)
    for mutant in mutants_of(asked.scenario, asked.mutants):
        sys.stdout.write(f"{mutant.id}: {mutant.title}\n")
        with known(mutant):
            detect(campaign, [mutant.id], (PLAIN, GUIDED), asked.seconds, asked.seeds)


if __name__ == "__main__":
    main()
