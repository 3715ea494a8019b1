"""What Kafka's group coordinator does in places where a group may come to harm, without a cluster.

    .venv/bin/python -m experiments.groups_by_classes [--case NAME]... [--repeat N] [--jars DIR]

Coordinators.java drives CoordinatorRuntime, its timers and GroupCoordinatorShard of Apache Kafka,
unpatched: logs, clocks, high watermarks and members are those of the program. Each case has one
control or more, which differ in what is held to be the cause. Most cases are harm; guards show what
Kafka does right, where a mutant of the kit does not. by_classes.toml has them.

Ends with 1 if one of the cases is shown, with 0 if none is, with 3 if it could not be tried, or a
control came out as its case should.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from experiments import by_classes
from experiments.tools import JARS, click_errors
from kraftcheck.kafka.live.artifacts import version
from kraftcheck.kafka.live.cluster import ClusterError


class Case(msgspec.Struct, frozen=True):
    shows: str
    """What is shown then."""
    controls: dict[str, str]
    """By name in the program, how they differ."""
    since: str = ""
    """The first version in which the control is one."""
    guard: bool = False
    """Whether Kafka does right in it, where a mutant of the kit does not."""


CASES: Final = msgspec.convert(by_classes.TABLE["groups_by_classes"], dict[str, Case])


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
