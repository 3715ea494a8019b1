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

GROUNDS: Mapping[str, dict[str, Any]] = {
    "Z10": {"voters": 1},
    "Z16": {"voters": 1},
    "Z40": {"elr": False, "crashes": 5, "lossy": 1000, "reckless": True},
    "Z53": {"unclean": True, "crashes": 5, "elections": 3},
    "Z54": {"acks": "1", "crashes": 5, "elections": 3},
    "Z309": {"idempotence": True, "acks": "all"},
    "Z310": {"idempotence": True, "acks": "all"},
    "Z61": {"version": 2, "initialize": 300},
    "Z63": {"version": 1, "late": 200, "doubled": 200, "ask": 600, "abort": 100},
    "Z65": {"late": 200, "doubled": 200, "elect": 300},
    "Z66": {"replicas": 2, "change_leader": 200},
    "Z71": {"elect": 300},
    "Z72": {"version": 1, "late": 200, "doubled": 200, "elect": 300},
    "Z73": {
        **{"version": 2, "late": 200, "doubled": 200, "max_epoch": 32766},
        **{"hears_errors": False, "replicas": 1, "sweep": 0, "retry": 200},
    },
    "Z76": {"version": 2, "late": 200, "doubled": 200},
    "Z77": {"version": 2, "max_epoch": 1, "transaction_timeout": 200},
    "Z78": {"version": 2, "max_epoch": 1},
    "Z79": {"version": 2, "hears_errors": True, "abort": 100},
    "Z80": {"version": 2, "hears_errors": True, "transaction_timeout": 200, "late": 200},
    "Z82": {"version": 1, "late": 0, "transaction_timeout": 200},
    "Z84": {"version": 2, "offsets": [12]},
    "Z87": {"version": 2, "offsets": [12], "late": 200, "doubled": 200},
    "Z89": {"version": 1, "late": 200, "doubled": 200, "sweep": 50},
    "Z163": {"version": 2, "late": 200, "doubled": 200},
    "Z165": {"markers_refused": True},
    "Z168": {"version": 2, "read_committed": [21], "read_uncommitted": [31]},
    "Z169": {"version": 2, "replicas": 2, "read_uncommitted": [31], "change_leader": 200},
    "Z172": {"ids_expire": True, "expire": 200, "initialize": 300},
    "Z173": {"recovers": True, "give_up": 200},
    "Z174": {"version": 1, "recovers": True, "give_up": 200},
    "Z175": {"ids_expire": True, "expire": 200},
    "Z176": {"recovers": True, "offsets": [12], "give_up": 200},
    "Z177": {"version": 1, "recovers": True, "give_up": 200, "retry": 200},
    "Z200": {"version": 2, "list_timed_out": 200},
    "Z247": {"version": 2, "late": 200, "doubled": 200, "send_more": 500},
    "Z248": {"version": 1, "late": 200, "doubled": 200, "send_more": 500},
    "Z249": {"version": 1, "max_epoch": 1, "transaction_timeout": 200, "append_timeout": 200},
    "Z95": {"move_coordinator": 100, "max_coordinators": 4, "heartbeat_timeout": 200},
    "Z99": {
        **{"members": [1, 2, 3], "partitions": [1, 2, 3], "cooperative": True},
        **{"request_rejoin": 200, "classic_request_timeout": 200},
    },
    "Z185": {"max_coordinators": 12, "move_classic_coordinator": 200},
    "Z180": {"members": [1, 2], "partitions": [1, 2]},
    "Z181": {"members": [1, 2], "partitions": [1, 2]},
    "Z215": {"static": [[1, 2]], "unsubscribe": 200},
    "Z216": {"static": [[1, 2]], "unsubscribe": 200, "members": [1, 2, 3]},
    "Z217": {"growing": [2]},
    "Z218": {"static": [[1], [2]]},
    "Z219": {"growing": [2]},
    "Z220": {"growing": [1, 2, 3], "partitions": [1, 2, 3]},
    "Z221": {"growing": [1, 2, 3], "partitions": [1, 2, 3]},
    "Z241": {"alter_offset": 500},
    "Z242": {"others_send": 500},
    "Z243": {"ask_txn_offsets": 1000, "fence_consumer": 500, "members": [1], "partitions": [1]},
    "Z244": {"delete_group": 200},
    "Z245": {"growing": [1, 2, 3], "partitions": [1, 2, 3], "renew_topic": 30},
    "Z246": {"growing": [1], "renew_topic": 50},
    "Z123": {"auto_join": True, "remove_voter": 200, "add_voter": 200},
    "Z47": {"leader_notes": True},
    "Z128": {
        **{"state_machines": True, "first_voters": [1], "create_snapshot": 200},
        **{"crash": 200, "resign": 100, "replace_disk": 0},
    },
    "Z190": {"listeners_change": True},
    "Z191": {"kraft_version": 0},
    "Z192": {"kraft_version": 0},
    "Z201": {"first_voters": [1, 2], "unformatted": [3]},
    "Z193": {"brokers": [1, 2, 3, 4], "second_rack": [3, 4], "place_partition": 50},
    "Z132": {"brokers": [1, 2, 3, 4, 5], "min_insync_replicas": 3, "cancel_reassignment": 50},
    "Z136": {"topic_deleted": 300, "host_crash": 300},
    "Z301": {"sole": True, "directories": [1, 2], "host_crash": 300},
}
"""Options that every run of a bug's hunt has; what is not named is drawn."""
LATER: Mapping[str, dict[str, Any]] = {
    "transactions": {
        **{"recovers": False, "ids_expire": False},
        **{"read_committed": [], "read_uncommitted": []},
    },
}
"""Of a protocol, what its runs have only where a bug asks for it: no other bug needs it."""


class Hunt(msgspec.Struct, frozen=True, kw_only=True):
    """Where a bug is looked for: a campaign, but for the number of its runs.

    bug: an id, or whatever else names a substitution. options: those that every run has; the
    others are drawn.
    """

    scenario: str
    bug: str | None
    seed: int = 1
    options: dict[str, Any] = {}

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
    options = {**LATER.get(entry.protocol, {}), **GROUNDS.get(entry.id, {})}
    return Hunt(scenario=scenario, bug=bug, seed=seed, options=options)


class Witness(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run of a bug's hunt in which an oracle found it. options: beside those of the hunt.

    schedule: the name of the schedule of moves that it is instead (schedules.py); its run is 0.
    """

    seed: int
    run: int
    options: dict[str, Any] = {}
    schedule: str = ""

    def of(self, hunt: Hunt) -> Hunt:
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
