"""Mutants of the specs, listed with what models and steps say of each.

    python -m tests.mutation.specs [--module QuorumRules] [--minutes N] [--store]

--minutes judges, for that time, the mutants that have no verdict yet; --store keeps the verdicts in
mutants.json. The exit code is 0 if each mutant is caught, refused or equivalent, 1 if some are not,
2 if some are not judged.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from time import monotonic

from kraftcheck import exits
from kraftcheck.screen import Columns, Screen
from kraftcheck.specs import SPECS
from tests.mutation.specs import mutants, trials
from tests.mutation.specs.mutants import Mutant, Result
from tla_utils import RunOptions, find_jar, find_java, read_manifest


def run(modules: Sequence[str], *, minutes: float, store: bool, screen: Screen) -> int:
    """Judge mutants of these modules for so long, and list them; of none named, all."""
    manifest = read_manifest(SPECS / "models.toml")
    results = mutants.load()
    wanted = [each for each in mutants.MODULES if not modules or each in modules]
    begin = monotonic()
    missing = trials.left(manifest, results)
    if minutes > 0:
        done = 0
        with screen.progress("mutants", missing) as meter:

            def told(mutant: Mutant, found: Result) -> bool:
                nonlocal done
                done += 1
                meter.update(done, f"{mutant.id}: {mutants.verdict_of(mutant, found)}")
                if store:
                    mutants.store(results)
                return monotonic() - begin < minutes * 60

            options = RunOptions(jar=find_jar(), java=find_java())
            trials.judge_all(manifest, wanted, options, results, told)
    lines = [line for line in mutants.rows(manifest, results) if _module(line[0]) in wanted]
    columns = Columns(mutants.HEAD, lines)
    screen.line(columns.head)
    for line in lines:
        screen.line(columns.row(line))
    verdicts = {line[0]: line[2] for line in lines}
    if mutants.NOT_JUDGED in verdicts.values():
        return exits.UNKNOWN
    is_open = verdicts.keys() & {*mutants.open_questions(manifest, results)}
    return exits.VIOLATED if is_open else exits.HOLDS


def _module(id: str) -> str:
    return id.partition(".")[0]


def main(*words: str) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.specs")
    parser.add_argument("--module", action="append", default=[], choices=mutants.MODULES)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--store", action="store_true")
    asked = parser.parse_args(words)
    return run(asked.module, minutes=asked.minutes, store=asked.store, screen=Screen())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
