"""Where each bug is looked for, and the stored runs in which each oracle found it.

witnesses.json beside this file holds the runs, one for each bug and oracle, so that `bugs run`
takes seconds and needs no luck. hunting.py searches for them: have it do so again when the
simulator changes what a seed means. Rare ones were found with options that make their kind of
trouble frequent; a stored run has these with it.

Law of this file: options narrow where chance looks (a configuration, a kind of trouble); nothing
here makes a rule misbehave.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from kraftcheck import artifacts
from kraftcheck.known_bugs.entries import scenario_of
from kraftcheck.reference.bugs.bug import Bug

if TYPE_CHECKING:
    from kraftcheck.reference.runner.run import Run
    from kraftcheck.traces.store import Campaign

STORED = Path(__file__).resolve().with_name("witnesses.json")
SCHEDULES = Path(__file__).resolve().with_name("schedules")
"""The folder of schedules.py."""

WATCHED, UNWATCHED = "watched", "unwatched"
"""The two kinds of run (runs.py)."""

LATER: Mapping[str, dict[str, Any]] = {
    "transactions": {
        **{"recovers": False, "ids_expire": False},
        **{"read_committed": [], "read_uncommitted": []},
    },
}
"""Of a protocol, what its runs have only where a bug asks for it: no other bug needs it."""


class Hunt(msgspec.Struct, frozen=True, kw_only=True):
    """Where a bug is looked for: a campaign, but for the number of its runs."""

    scenario: str
    bug: str | None
    """An id, or whatever else names a substitution."""
    seed: int = 1
    options: dict[str, Any] = {}
    """Those that every run has; the others are drawn."""

    def campaign(self, kind: str, runs: int) -> Campaign:
        """The campaign of so many runs; `kind` is WATCHED or UNWATCHED."""
        # Late, as below: `bugs show` only names the hunt.
        from kraftcheck.traces.store import Campaign

        options = {**self.options, "watched": kind == WATCHED}
        return Campaign(
            scenario=self.scenario, seed=self.seed, runs=runs, bug=self.bug, options=options
        )

    def run(self, kind: str, number: int) -> Run:
        """One run alone, by content."""
        from kraftcheck.reference.runner.run import simulate_run

        campaign = self.campaign(kind, number + 1)
        return simulate_run(self.scenario, self.seed, number, self.bug, campaign.options)


def hunt_of(entry: Bug, seed: int = 1) -> Hunt | None:
    """Where this bug is looked for; None while its protocol has no scenario."""
    scenario = scenario_of(entry)
    if scenario is None:
        return None
    bug = entry.id if entry.in_scope else None
    options = {**LATER.get(entry.protocol, {}), **entry.options}
    return Hunt(scenario=scenario, bug=bug, seed=seed, options=options)


class Witness(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run of a bug's hunt in which an oracle found it."""

    seed: int
    run: int
    options: dict[str, Any] = {}
    """Beside those of the hunt."""
    schedule: str = ""
    """The name of the schedule of moves that it is instead (schedules.py); its run is 0."""

    def hunt_of(self, hunt: Hunt) -> Hunt:
        """The hunt whose run of this number it is."""
        options = {**hunt.options, **self.options}
        return msgspec.structs.replace(hunt, seed=self.seed, options=options)


class Stored(msgspec.Struct, frozen=True):
    """The file: by bug, by oracle."""

    witnesses: dict[str, dict[str, Witness]] = {}


def stored(path: Path = STORED) -> dict[str, dict[str, Witness]]:
    """The stored runs. Raises BadInput: the file is damaged."""
    return artifacts.stored(path, Stored).witnesses


def store(witnesses: Mapping[str, Mapping[str, Witness]], path: Path = STORED) -> None:
    """Write the file, one run a line, in order."""
    text = msgspec.json.Encoder(order="sorted").encode
    bugs = []
    for bug, found in sorted(witnesses.items()):
        runs = [f'    "{oracle}": {text(one).decode()}' for oracle, one in sorted(found.items())]
        bugs.append(f'  "{bug}": {{\n' + ",\n".join(runs) + "\n  }")
    body = ",\n".join(bugs)
    path.write_text(f'{{"witnesses": {{\n{body}\n}}}}\n', encoding="utf-8")
