"""Verbs on a served cluster: run it for clients, and hurt it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from kraftcheck.screen import Screen
from kraftcheck.verbs.options import BUG, FOLDER, SEED, THERE, judged, shown

if TYPE_CHECKING:
    from kraftcheck.kafka.serve.plans import Plan


def _options_of(context: click.Context, _: click.Parameter, path: Path | None) -> Plan:
    """What a scenario says are the defaults of the other options. Returns its plan."""
    if path is None:
        return ()
    from kraftcheck.kafka.serve.plans import scenario

    known = {
        name.removeprefix("--"): each.name or ""
        for each in context.command.params
        for name in each.opts
        if each.name not in _NOT_OF_SCENARIOS
    }
    found = scenario(path, known.keys())
    context.default_map = {known[name]: value for name, value in found.options.items()}
    return found.plan


_OF_REPLAY = ("tape", "shrink", "out", "judge", "as_json", "quiet", "junit", "github")
_NOT_OF_SCENARIOS = ("scenario", "tape", "shrink", "until_eof", "as_json", "quiet")


@click.command()
@click.option(
    "--brokers", type=click.IntRange(1, 7), default=3, show_default=True, help="Number of brokers."
)
@SEED
@click.option(
    "--port", type=click.IntRange(0, 65000), default=0, help="Port of broker 0; 0: any free port."
)
@click.option(
    "--admin-port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port for `ctl`; 0: any free port.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--speed",
    type=click.IntRange(0, 100),
    default=20,
    show_default=True,
    help="Virtual seconds for each real second; 0: time passes only on `ctl step`.",
)
@click.option(
    "--partitions", type=click.IntRange(1, 100), default=1, help="Default number of partitions."
)
@click.option(
    "--min-insync-replicas",
    type=click.IntRange(1, 7),
    default=1,
    help="Default min.insync.replicas of topics.",
)
@click.option("--no-auto-create", is_flag=True, help="Create topics only on request.")
@click.option(
    "--out", type=FOLDER, help="The folder for recordings and the trace; default: a new one."
)
@click.option("--data", type=FOLDER, help="Keep logs in this folder, and start from them.")
@click.option(
    "--judge",
    type=click.IntRange(0),
    default=10_000,
    show_default=True,
    help="Number of distinct steps that TLC checks at the end; 0: none.",
)
@click.option(
    "--until-eof",
    is_flag=True,
    help="End without a check when standard input ends (for child processes).",
)
@click.option("--log", is_flag=True, help="Log why connections end, and unsupported requests.")
@click.option(
    "--user",
    "users",
    multiple=True,
    metavar="NAME:PASSWORD",
    help="A user that may log in by SASL.",
)
@click.option(
    "--super-user",
    "super_users",
    multiple=True,
    metavar="NAME",
    help="A user that may do anything; ACLs apply to others. Without --user: ANONYMOUS.",
)
@click.option(
    "--certificate", type=THERE, help="Certificate with its key, as PEM; clients use TLS."
)
@click.option("--plan", type=THERE, help="Faults: a TOML file (docs/reference/serve.md).")
@click.option(
    "--scenario",
    type=THERE,
    is_eager=True,
    callback=_options_of,
    help="A TOML file with options by name, topics and faults (docs/serve.md).",
)
@click.option("--shrink", is_flag=True, help="With --replay: leave out unneeded moves.")
@click.option(
    "--replay", "tape", type=THERE, help="Serve no clients; replay a recording and check it."
)
@BUG
@judged
def serve(
    shrink: bool,
    tape: Path | None,
    out: Path | None,
    judge: int,
    screen: Screen,
    **options: Any,
) -> int:
    """Serve a simulated cluster to Kafka's clients, and check it.

    \b
    Example: kraftcheck serve --brokers 3 --seed 7 --port 9092
    Example: kraftcheck serve --replay runs/serve/tape-1
    """
    from kraftcheck.kafka.serve import command as work

    if shrink and tape is None:
        raise click.UsageError("--shrink is for --replay")
    if tape is not None:
        _refuse_other_options(click.get_current_context())
    if tape is not None and shrink:
        return work.shrink(tape, out=out, screen=screen)
    if tape is not None:
        return work.replay(tape, out=out, judge=judge, screen=screen)
    options["users"] = _named(options["users"], options["super_users"])
    return work.serve(out=out, judge=judge, screen=screen, **options)


def _refuse_other_options(context: click.Context) -> None:
    """A recording says itself what was served."""
    for each in context.command.params:
        given = each.name and context.get_parameter_source(each.name) != ParameterSource.DEFAULT
        if given and each.name not in _OF_REPLAY:
            raise click.UsageError(f"{each.opts[0]} is not for --replay: the recording says it")


def _named(users: tuple[str, ...], super_users: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Users with their passwords."""
    named = [user.partition(":") for user in users]
    if wrong := [name for name, _, password in named if not (name and password)]:
        raise click.UsageError(f"{wrong[0]!r} is no NAME:PASSWORD")
    known = {name for name, _, _ in named} or {"ANONYMOUS"}
    if strangers := [name for name in super_users if name not in known]:
        there = ", ".join(sorted(known))
        raise click.UsageError(f"--super-user {strangers[0]}: no such user; there are: {there}")
    return tuple([(name, password) for name, _, password in named])


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), required=True, help="The admin port.")
@click.argument("do", metavar="COMMAND")
@click.argument("said", metavar="[NAME=VALUE]...", nargs=-1)
@shown
def ctl(port: int, do: str, said: tuple[str, ...], screen: Screen) -> int:
    """Send a command to a served cluster.

    COMMAND: describe, create, kill, restart, stop, pause, resume, cut, join, stale, fresh, expire,
    move, elect, reset, fire, step, deny, allow, end, quit (docs/serve.md).

    \b
    Example: kraftcheck ctl --port 9090 kill broker=1
    Example: kraftcheck ctl --port 9090 reset when=after api=Produce times=2
    """
    from kraftcheck.kafka.serve import command as work

    pairs = [each.partition("=") for each in said]
    if wrong := [name for name, equals, _ in pairs if not (name and equals)]:
        raise click.UsageError(f"{wrong[0]!r} is no NAME=VALUE")
    return work.command(port, do, {name: value for name, _, value in pairs}, screen)
