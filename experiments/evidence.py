"""What an experiment leaves behind: a recording like those of `kraftcheck record`, to be judged."""

from __future__ import annotations

import inspect
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import click
import msgspec

from experiments.power import disk
from experiments.tools import JARS, TOPIC, click_errors
from kraftcheck.live import datalog, facts, grouplog, metadata, txnlog
from kraftcheck.live.cluster import Cluster, ClusterError
from kraftcheck.live.journal import ANSWERS, HISTORY, RECORDING, Journal
from kraftcheck.live.polling import Poller
from kraftcheck.reference.clients.promises import Configuration

Run = Callable[[Cluster, Path], bool]
Option = Callable[[Callable[..., None]], Callable[..., None]]
"""As `click.option` makes it."""


def write(
    cluster: Cluster,
    folder: Path,
    configuration: Configuration,
    cut: Sequence[txnlog.Cut] = (),
    moves: Sequence[facts.Move] | None = None,
) -> list[datalog.Replica]:
    """Beside the history: what is on disks, and what promises depend on. Returns the disks.

    cut: what was seen of the transaction log and is gone (txnlog.Watch). moves: of leaders, where
    the metadata log has lost its beginning, and is not kept.
    """
    records = metadata.dump(cluster) if moves is None else []
    if moves is None:
        metadata.write(records, folder / metadata.METADATA)
        moves = facts.moves_of(TOPIC, records)
        configuration = msgspec.structs.replace(configuration, elr=facts.eligible_leaders(records))
    replicas = datalog.dump(cluster, TOPIC)
    metadata.write(replicas, folder / datalog.LOGS)
    entries = grouplog.dump(cluster, TOPIC, records)
    if entries:
        metadata.write(entries, folder / grouplog.GROUPS)
    if configuration.transactions:
        metadata.write(txnlog.dump(cluster, cut), folder / txnlog.TRANSACTIONS)
    told = {
        "kafka": cluster.state.version,
        "settings": cluster.state.settings,
        "configuration": configuration,
        "envelope": facts.envelope(moves, begun(folder / HISTORY), [], cluster.session_ms),
        "envelope_is": "read from the metadata log" if records else "as the script says",
        "complete": True,
    }
    data = msgspec.json.format(msgspec.json.encode(told), indent=1)
    (folder / RECORDING).write_bytes(data + b"\n")
    return replicas


@contextmanager
def asked(
    cluster: Cluster, folder: Path, names: Sequence[str], *, partitions: int
) -> Iterator[None]:
    """Meanwhile each of these brokers is asked what it knows of so many partitions of the topic,
    whether it leads them, and what it hears of the quorum.
    """
    brokers = {}
    for name in names:
        host, _, port = cluster.node(name).listener.rpartition(":")
        brokers[cluster.node(name).number] = (host, int(port))
    with (
        Journal(folder / "clock.jsonl") as journal,
        Poller(journal, folder / ANSWERS, brokers, TOPIC, partitions),
    ):
        yield


def begun(history: Path) -> list[str]:
    """Kinds of the faults that a history tells of."""
    lines = [msgspec.json.decode(line) for line in history.read_bytes().splitlines()]
    prefix = "start-"
    return [line["f"].removeprefix(prefix) for line in lines if line["f"].startswith(prefix)]


def judge(folder: Path) -> None:
    """Prints what `kraftcheck check` says of a history, and `conform` of the transaction log and of
    answers of brokers, where those are there."""
    verbs = {"check": folder / HISTORY} if (folder / HISTORY).exists() else {}
    if any((folder / name).exists() for name in (txnlog.TRANSACTIONS, ANSWERS)):
        verbs["conform"] = folder
    for verb, path in verbs.items():
        words = [str(Path(sys.executable).with_name("kraftcheck")), verb, str(path)]
        said = subprocess.run(words, capture_output=True, text=True, check=False)
        click.echo((said.stdout + said.stderr).rstrip())
        click.echo(f"kraftcheck {verb} ends with {said.returncode}")


def repeated(
    run: Run,
    times: int,
    out: Path,
    layout: str,
    settings: Mapping[str, str],
    reasons: Sequence[str],
    guests: Sequence[str] = (),
    disks: Sequence[str] = (),
    jars: Path | None = None,
) -> int:
    """Runs on so many new clusters, one after the other. Returns how often the find showed.

    guests: hosts for clients; where there are some, each node has a host of its own. disks: nodes
    that have a disk of their own, whose power can be cut (power.py). jars: these come
    before Kafka's.

    Raises ClusterError: there are recordings in that folder already.
    """
    if jars is not None:
        click.echo(f"not Kafka's own: what is in {jars}")
    for reason in reasons:
        click.echo(f"not Kafka's default: {reason}")
    shown = 0
    for turn in range(1, times + 1):
        folder = out / str(turn)
        if folder.exists():
            raise ClusterError(f"{folder} is there already")
        folder.mkdir(parents=True)
        where = out / f"cluster-{turn}"
        with ExitStack() as closing:
            for node in disks:
                closing.enter_context(disk(where / node))
            islands = bool(guests)
            cluster = Cluster.up(where, layout, islands, settings, guests, 120, own=jars)
            closing.callback(cluster.down)
            found = run(cluster, folder)
        judge(folder)
        shown += found
        click.echo(f"run {turn} of {times}: {'shown' if found else 'not shown'}\n")
    click.echo(f"shown in {shown} of {times} runs; recordings in {out}")
    return shown


def options(name: str, control: str | None) -> Callable[[Callable[..., None]], click.Command]:
    """The command line of an experiment, with what all of them have; what `settle` does not know
    is the script's own. control: in what its control differs; None: it says so itself.
    """
    folder = click.Path(path_type=Path)
    common = [
        JARS,
        click.option("--out", type=folder, help="A new folder for the recordings."),
        click.option("--repeat", type=click.IntRange(1), default=1, show_default=True),
    ]
    if control is not None:
        common.append(click.option("--control", is_flag=True, help=control))

    def decorated(main: Callable[..., None]) -> click.Command:
        wrapped = click_errors(name)(main)
        for option in common:
            wrapped = option(wrapped)
        return click.command()(wrapped)

    return decorated


def settle(
    run: Run,
    layout: str,
    settings: Mapping[str, str],
    reasons: Sequence[str],
    *,
    shown: str,
    otherwise: str,
    repeat: int,
    out: Path | None,
    **how: Any,
) -> NoReturn:
    """Runs as `repeated`, says what came out, and ends with 1 if it was shown, else with 0."""
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as name:
        count = repeated(run, repeat, out or Path(name), layout, settings, reasons, **how)
    click.echo(f"VIOLATED: {shown}" if count else otherwise)
    sys.exit(int(count > 0))


def experiment(
    run: Callable[..., bool],
    says: str,
    *,
    control: str | None,
    more: Sequence[Option] = (),
    layout: str = "one-controller",
    settings: Mapping[str, str] = MappingProxyType({}),
    reasons: Sequence[str] = (),
    **ends: Any,
) -> click.Command:
    """The command of a script. run: is told, behind cluster and folder, of those options that it
    names. says: its help. control: as `options` has it; more: options of the script's own. ends: as
    `settle` has it, and guests and disks as `repeated`.
    """
    _, _, *wanted = inspect.signature(run).parameters

    def main(**how: Any) -> None:
        own = {name: how.pop(name) for name in wanted}
        settle(partial(run, **own), layout, settings, reasons, **ends, **how)

    main.__doc__ = says
    for option in reversed(more):
        main = option(main)
    return options(Path(inspect.getfile(run)).stem, control)(main)
