"""What Kafka's group coordinator does in places where a group may come to harm, without a cluster.

    .venv/bin/python -m experiments.groups_by_classes [--case NAME]... [--repeat N] [--jars DIR]

Coordinators.java drives CoordinatorRuntime, its timers and GroupCoordinatorShard of Apache Kafka,
unpatched: logs, clocks, high watermarks and members are those of the program. Each case has one
control or more, which differ in what is held to be the cause. Most cases are harm; those of GUARDS
show what Kafka does right, where a mutant of the kit does not.

Ends with 1 if one of the cases is shown, with 0 if none is, with 3 if it could not be tried, or a
control came out as its case should.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from experiments import by_classes
from experiments.tools import JARS, click_errors
from kraftcheck.kafka.live.artifacts import version
from kraftcheck.kafka.live.cluster import ClusterError


class Case(NamedTuple):
    shows: str
    """What is shown then."""
    controls: dict[str, str]
    """By name in the program, how they differ."""
    since: str = ""
    """The first version in which the control is one."""


GUARDS: Final = {
    "spared": Case(
        "an offset does not expire while a transaction has sent another one (Z240 without)",
        {"spared-control": "nothing was sent"},
    ),
    "overtaken": Case(
        "an offset that was committed after a transaction's stays (Z241 without)",
        {"overtaken-control": "it was committed before"},
    ),
    "other-producer": Case(
        "a marker leaves what another producer has sent (Z242 without)",
        {"other-producer-control": "the producer's own marker"},
    ),
    "outdated-sends": Case(
        "offsets of a removed member's transaction are refused (Z243 without)",
        {"outdated-sends-control": "of a member"},
    ),
    "live-group": Case(
        "a group that has members is not deleted (Z244 without)",
        {"live-group-control": "it has none"},
    ),
    "new-topic": Case(
        "an offset of the new topic stays when the old one's deletion is heard of (Z245 without)",
        {"new-topic-control": "an offset of the old topic"},
    ),
    "other-topic": Case(
        "an offset of the old topic is not returned for the new one (Z246 without)",
        {"other-topic-control": "asked for by its own id"},
    ),
}
CASES: Final = {
    **GUARDS,
    "orphaned": Case(
        "nobody takes over what the last member of the consumer protocol leaves (Z107)",
        {"orphaned-control": "the default migration policy"},
    ),
    "stamped": Case(
        "a commit of before a removal goes back behind its successor's (Z108)",
        {"stamped-control": "with the epoch in which it was asked for"},
    ),
    "kept": Case(
        "a commit for a partition that was given up is accepted in the epoch that is kept (Z108)",
        {"kept-control": "the member owes nothing more, so its epoch moves on"},
    ),
    "expired": Case(
        "offsets of a group that has just become empty expire (Z102)",
        {"expired-control": "a classic group"},
    ),
    "downgraded": Case(
        "nobody takes over what the last member of the consumer protocol leaves, if the "
        "coordinator moves then (Z180)",
        {
            "downgraded-control": "it does not move",
            "downgraded-classic": "the group never was of the consumer protocol",
        },
    ),
    "released": Case(
        "what a member is about to take is given to another one (Z109)",
        {"released-control": "the member says what it is about to take"},
    ),
    "clock": Case(
        "no new assignment, as the clock of the coordinator before was fast",
        {"clock-control": "it was not"},
    ),
    "instance": Case(
        "a static member whose join was not answered is refused (Z100)",
        {"instance-control": "a dynamic one"},
    ),
    "deposed": Case(
        "a coordinator that was deposed keeps its member",
        {"deposed-control": "something else has been written, which is not committed"},
    ),
    "fenced-twice": Case(
        "a member is removed twice for one silence", {"fenced-twice-control": "commits are quick"}
    ),
    "late-join": Case(
        "a late join releases what the member fetches", {"late-control": "nothing is late"}
    ),
    "late-leave": Case(
        "a late leave removes a member that is there", {"late-control": "nothing is late"}
    ),
    "equal-epoch": Case(
        "a load fails: the log is cleaned meanwhile, and a static member is away",
        {
            "equal-epoch-control": "it is cleaned before",
            "equal-epoch-there": "the member is there",
        },
    ),
    "unheard": Case(
        "a heartbeat without a record is not answered after a load",
        {"unheard-control": "the high watermark is at the end when the load looks"},
    ),
    "replaced": Case(
        "two members have a partition after a static one was restarted as a classic one (Z181)",
        {"replaced-control": "the other one had given it up by then"},
    ),
    "upgraded": Case(
        "a member is given what a cooperative one has yet to give up, in a migration (Z210)",
        {
            "upgraded-control": "that one had given it up by then",
            "upgraded-eager": "it had given up all before it joined",
        },
    ),
    "tied": Case(
        "each heartbeat bumps the epoch, as two assignors are preferred by as many (Z211)",
        {
            "tied-control": "all prefer one",
            "tied-order": "the other assignor's name comes to lie elsewhere in a map",
        },
    ),
    "relabelled": Case(
        "a static member of a streams group loses all tasks by a request that is refused (Z212)",
        {
            "relabelled-control": "there is no such request",
            "relabelled-uncached": "group.streams.num.warmup.replicas=0: nothing is cached",
        },
    ),
    "told": Case(
        "a member is told what is not committed, and another one has the partition (Z185)",
        {
            "told-control": "the next coordinator has the assignment",
            "told-generation": "it says in which generation it was, as Kafka's own members do",
        },
    ),
    "renumbered": Case(
        "two members have a partition by two generations of one number, and both commit (Z186)",
        {
            "renumbered-control": "nobody is told of the one that is not committed",
            "renumbered-else": "they have two numbers",
        },
    ),
    "outlived": Case(
        "a topic's offsets outlive it, if it is deleted while the group's log is loaded (Z221)",
        {"outlived-control": "the log has been loaded by then"},
    ),
    "refused": Case(
        "a JoinGroup that is refused removes an empty group of the consumer protocol (K1)",
        {"refused-control": "there is no such request"},
    ),
    "reassigned": Case(
        "two members have a partition, as the leader's second SyncGroup is written, too (K2)",
        {"reassigned-control": "there is no second one"},
    ),
    "recommitted": Case(
        "what an administrator has just committed to an empty classic group expires (K3)",
        {"recommitted-control": "the group never had members"},
    ),
    "sessions": Case(
        "a classic member of a migrated group is removed early after a move (K4)",
        {"sessions-control": "the coordinator stays"},
    ),
    "unkept": Case(
        "a member whose leave was not written is never removed (K5)",
        {"unkept-control": "a heartbeat is not written"},
    ),
    "disturbed": Case(
        "a migration that is refused answers members that wait for a join (K9)",
        {"disturbed-control": "there is no such request"},
    ),
    "unresolved": Case(
        "offsets of a live group expire, as its new regular expression is not resolved yet (K12)",
        {"unresolved-control": "the expression before has been there for more than ten seconds"},
    ),
    "sent": Case(
        "a late deletion removes what a transaction sent for the topic of the same name (K13)",
        {"sent-control": "a plain commit, which has the topic's id"},
        since="4.3",  # Before, every deletion goes by the topic's name (Z245).
    ),
}


def runs(names: Sequence[str], jars: Path | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """What came of each."""
    return by_classes.runs("Coordinators.java", names, jars)


@click.command()
@click.option("--case", "names", type=click.Choice(list(CASES)), multiple=True, help="All unless.")
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True)
@JARS
@click_errors("groups_by_classes")
def main(names: tuple[str, ...], repeat: int, jars: Path | None) -> None:
    """Try what may go wrong in a group on Kafka's own coordinator."""
    wanted = {name: CASES[name] for name in names or CASES if version() >= CASES[name].since}
    asked = [of for name, case in wanted.items() for of in (name, *case.controls)]
    shown = dict.fromkeys(asked, 0)
    for at, (name, came) in enumerate(runs(asked * repeat, jars)):
        shown[name] += came["shown"]
        for step in came["steps"] if at < len(asked) and name in names else ():
            click.echo(f"         {step['what']}: {step['came']}")
    for name, case in wanted.items():
        click.echo(f"{name}: {shown[name]} of {repeat} runs: {case.shows}")
        for control, differs in case.controls.items():
            click.echo(f"    {shown[control]} of {repeat}: {differs}")
    bad = [control for case in wanted.values() for control in case.controls if shown[control]]
    if bad:
        raise ClusterError(f"{bad[0]}: the control shows it as well")
    sys.exit(int(any(shown[name] for name in wanted)))


if __name__ == "__main__":
    main()
