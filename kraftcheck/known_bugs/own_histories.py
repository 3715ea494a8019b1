"""Storage rules of one's own: histories of a log on a disk that crashes and fails, judged.

What a start makes of what crashes leave is held against the promises of the storage engine
(reference/storage). A history that breaks the same promise with the correct rules is not the
change's.
"""

from __future__ import annotations

from math import inf
from pathlib import Path
from time import monotonic
from typing import Final

from kraftcheck import artifacts
from kraftcheck.known_bugs.own_rules import OwnRules
from kraftcheck.known_bugs.own_runs import Finding, OfRuns, Wanted
from kraftcheck.reference.bugs.bug import BASES
from kraftcheck.reference.bugs.probing import Consulted, probed
from kraftcheck.reference.storage.judging import judge_all
from kraftcheck.screen import Screen

CRASHES: Final = "crashes"
STATES: Final = 100
"""States that crashes leave, judged of each history."""


def try_histories(
    own: OwnRules, wanted: Wanted, out: Path, screen: Screen, timeout_s: float = inf
) -> OfRuns:
    """Judge histories with the rules in them, `wanted.runs` of them or until the time is over."""
    consulted, over = Consulted(), monotonic() + timeout_s
    rules = probed(own.replacement, BASES[own.base].names, own.base, consulted)
    broken, shared = dict[str, Finding](), dict[str, Finding]()
    done = 0
    with screen.progress("histories", wanted.runs) as meter:
        while done < wanted.runs and monotonic() < over:
            seed = wanted.seed + done
            found = {each.promise: each for each in judge_all(rules, seed, STATES).found}
            control = judge_all(own.base, seed, STATES).found if found else []
            correct = {each.promise for each in control}
            for promise, each in found.items():
                of = shared if promise in correct else broken
                first = of.get(promise)
                if first is None and of is broken:
                    screen.note(f"violated: {promise} ({CRASHES}, first in history {seed})")
                    told = "\n".join(
                        [*each.operations, f"crash after {each.at} changes: {each.said}"]
                    )
                    artifacts.write_whole(out / f"{CRASHES}-run-{seed}.txt", told + "\n")
                of[promise] = Finding(
                    oracle=CRASHES,
                    what=promise,
                    runs=(first.runs if first else 0) + 1,
                    run=first.run if first else seed,
                    said=first.said if first else each.said,
                )
            done += 1
            meter.update(done, f"{len(broken)} promises broken")
            if broken and wanted.fail_fast:
                break
    ended = done == wanted.runs or bool(broken and wanted.fail_fast)
    asked = sum(consulted.asked.values())
    never = f"{', '.join(own.names)}, asked {asked:,} times in {done:,} histories, always answered "
    late = f"histories: {done:,} of {wanted.runs:,} were judged within {timeout_s:.0f} s"
    return OfRuns(
        scenario=own.scenario,
        seed=wanted.seed,
        runs=done,
        schedules=0,
        asked=dict(sorted(consulted.asked.items())),
        differed=dict(sorted(consulted.differed.items())),
        broken=[*broken.values()],
        forbidden=[],
        shared=[*shared.values()],
        undecided=[] if ended else [late],
        ended=ended,
        judges_steps=False,
        never="" if consulted.effective or broken else never + "alike",
    )
