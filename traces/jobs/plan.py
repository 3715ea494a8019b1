"""What a campaign is asked to do: its configurations, seed and runs, as `campaign.json` keeps it.

A campaign has one configuration or several, which are simulated with the same seed and compared
side by side. Each is a trace in a folder of its name. How runs are cut into ranges is decided once,
so that a campaign that is extended is cut as one that was longer from the beginning.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import msgspec

from kraftcheck.osutil.files import read_toml, replace_file
from kraftcheck.reference.runner.run import simulate_run
from kraftcheck.traces.jobs.ranges import reference_digest
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.sealed import sealed
from kraftcheck.traces.store import Campaign, read_versioned, version
from tla_utils.errors import ToolError

PLAN: Final = "campaign.json"
PLAN_VERSION: Final = 2
NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,59}")
"""A configuration's name is a folder's."""

KEYS: Final = "runs, seed, scenario, bug, [options] and [configuration.NAME], with the last three"
SAID_MAX: Final = 120
"""Characters of what another campaign is."""
RANGE_RUNS: Final = 1000
FEWEST_RANGES: Final = 16
"""A range is so many runs at most, and a small campaign has so many ranges at least: enough for
several processors, and little lost when one is killed."""
MANY_RANGES: Final = 250
LONG_RANGE_RUNS: Final = 4000
"""A campaign of more ranges than these has longer ones, up to this: what runs have in common is
written, read and named once in each range. Longer ones yet take memory."""

RANGES: Final = 8
GENERATIONS: Final = 40
LEAST_RANGE: Final = 4
"""A generation has so many ranges, and a guided campaign about so many generations: a long one has
more, since a range has RANGE_RUNS at most, and a short one fewer, since it has LEAST_RANGE."""


class Configuration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One family of runs."""

    name: str
    scenario: str
    bug: str | None = None
    options: dict[str, Any] = {}
    """Those that are fixed; the others are drawn for each run."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    plan_version: int = PLAN_VERSION
    kraftcheck_version: str
    recorded_with: str
    """sha256 of the reference that simulates."""
    seed: int
    runs: int
    """Of each configuration."""
    range_runs: int
    guided: int = 0
    """So many runs are a generation, 0: of none."""
    reported: int = 0
    """How many of them the report speaks of, 0 before the first one."""
    configurations: tuple[Configuration, ...]

    def campaign(self, configuration: Configuration) -> Campaign:
        return Campaign(
            scenario=configuration.scenario,
            seed=self.seed,
            runs=self.runs,
            bug=configuration.bug,
            options=configuration.options,
            guided=self.guided,
        )


def plan_of(
    configurations: tuple[Configuration, ...], runs: int, seed: int, guided: bool = False
) -> Plan:
    """Raises ToolError: no configuration; one that cannot be simulated."""
    if not configurations:
        raise ToolError("a campaign without a configuration is none")
    for each in configurations:
        _try(each, seed)
    return Plan(
        kraftcheck_version=version(),
        recorded_with=reference_digest(),
        seed=seed,
        runs=runs,
        range_runs=generation_range(runs) if guided else range_runs(runs),
        guided=RANGES * generation_range(runs) if guided else 0,
        configurations=configurations,
    )


def range_runs(runs: int) -> int:
    """How many runs a range has in a plain campaign of so many."""
    usual = min(RANGE_RUNS, -(-runs // FEWEST_RANGES))
    return max(1, usual, min(LONG_RANGE_RUNS, runs // MANY_RANGES))


def generation_range(runs: int) -> int:
    """How many runs a range has in a guided campaign of so many."""
    return max(LEAST_RANGE, min(RANGE_RUNS, -(-runs // (RANGES * GENERATIONS))))


def _try(configuration: Configuration, seed: int) -> None:
    """One run, so that a wrong option is said before anything is written."""
    try:
        simulate_run(
            configuration.scenario,
            seed,
            0,
            bug=configuration.bug,
            options=configuration.options or None,
        )
    except ValueError as error:
        raise ToolError(f"configuration {configuration.name}: {error}") from None


# --- On disk ---


def read_plan(directory: Path) -> Plan:
    """Raises TraceError: no campaign was begun there, or it is damaged or of another version."""
    return read_versioned(directory / PLAN, Plan, "plan", PLAN_VERSION, "not a campaign")


def write_plan(directory: Path, plan: Plan) -> None:
    """Raises TraceError: it cannot be written."""
    data = sealed(msgspec.json.format(msgspec.json.encode(plan), indent=1))
    try:
        directory.mkdir(parents=True, exist_ok=True)
        replace_file(directory / PLAN, data)
    except OSError as error:
        raise TraceError(f"{error.filename or directory}: {error.strerror}") from None


def begin(directory: Path, plan: Plan) -> Plan:
    """The plan as it stands in the folder, which is begun with it or holds the same one.

    Raises TraceError: the folder holds another campaign, or one of another version of the
    reference.
    """
    if not (directory / PLAN).exists():
        write_plan(directory, plan)
        return plan
    there = read_plan(directory)
    check_version(directory, there)
    if msgspec.structs.replace(there, reported=0) != plan:
        words = [
            f"{name} {_said(getattr(there, name))} and not {_said(getattr(plan, name))}"
            for name in ("runs", "seed", "guided", "configurations")
            if getattr(there, name) != getattr(plan, name)
        ]
        what = words[0] if words else "its version"
        more = ", or add runs with `campaign extend`" if what.startswith("runs ") else ""
        raise TraceError(
            f"{directory / PLAN}: holds another campaign: {what}; name another folder{more}"
        )
    return there


def _said(value: int | tuple[Configuration, ...]) -> str:
    if not isinstance(value, tuple):
        return str(value)
    whole = ", ".join(
        " ".join(
            [
                each.name,
                *([f"of {each.scenario}"] if each.scenario != each.name else []),
                *([f"with {each.bug}"] if each.bug else []),
                *(f"{name}={option}" for name, option in each.options.items()),
            ]
        )
        for each in value
    )
    return whole if len(whole) <= SAID_MAX else f"{whole[:SAID_MAX]} ..."


def check_version(directory: Path, plan: Plan) -> None:
    """Runs of two versions must not stand in one campaign as if they were of one."""
    if plan.recorded_with != reference_digest() or plan.kraftcheck_version != version():
        raise TraceError(
            f"{directory / PLAN}: begun by another version of the reference; name a new folder"
        )


def extended(directory: Path, plan: Plan, more: int) -> Plan:
    """The plan with so many runs more than were reported of; the same again if it was interrupted.

    Raises TraceError: nothing was reported yet.
    """
    if not plan.reported:
        raise TraceError(
            f"{directory / PLAN}: the campaign is not finished: run it again, then extend it"
        )
    if plan.runs not in (plan.reported, plan.reported + more):
        asked = plan.runs - plan.reported
        raise TraceError(
            f"{directory / PLAN}: an extension by {asked} runs is not finished: ask for it again"
        )
    longer = msgspec.structs.replace(plan, runs=plan.reported + more)
    write_plan(directory, longer)
    return longer


# --- From a file ---


class _Own(msgspec.Struct, forbid_unknown_fields=True):
    scenario: str | None = None
    bug: str | None = None
    options: dict[str, Any] = {}


class _File(msgspec.Struct, forbid_unknown_fields=True):
    configuration: dict[str, _Own]
    scenario: str = "partition"
    bug: str | None = None
    options: dict[str, Any] = {}
    runs: int | None = None
    seed: int | None = None


class Asked(msgspec.Struct, frozen=True):
    """What a file asks for; runs and seed where it says them."""

    configurations: tuple[Configuration, ...]
    runs: int | None
    seed: int | None


def read_file(path: Path) -> Asked:
    """The configurations of a TOML file: what stands at its top is common to all of them.

    Raises TraceError: no such file, no TOML, an unknown key, a name that is no folder's.
    """
    try:
        found = msgspec.convert(read_toml(path), _File)
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        # No UTF-8, no TOML, a number of too many digits; or tables that are not a plan's.
        raise TraceError(f"{path}: {error}; there are {KEYS}") from None
    for name in found.configuration:
        if not NAME.fullmatch(name):
            raise TraceError(f"{path}: configuration {name!r}: letters, digits, . _ and - only")
    configurations = tuple(
        Configuration(
            name=name,
            scenario=own.scenario or found.scenario,
            bug=own.bug or found.bug,
            options={**found.options, **own.options},
        )
        for name, own in found.configuration.items()
    )
    return Asked(configurations, found.runs, found.seed)
