"""What an experiment leaves behind: a recording like those of `kraftcheck record`, to be judged."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from textwrap import shorten
from types import MappingProxyType
from typing import Any

import click
import msgspec

from experiments import changed
from experiments.power import disk
from experiments.tools import JARS, TOPIC, click_errors, name_of
from experiments.typed import Typing
from kraftcheck.kafka.live import datalog, facts, grouplog, metadata, txnlog
from kraftcheck.kafka.live.clients import Setting, read_all
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.journal import ANSWERS, HISTORY, RECORDING, Journal
from kraftcheck.kafka.live.polling import Poller
from kraftcheck.reference.clients.promises import Configuration

_FOLDER = click.Path(path_type=Path)
MOST_LINES = 10
"""That are printed of a verdict."""
MOST_ERRORS = 5
"""Of brokers' logs, that are printed of a run."""
ALIKE = 80
"""Letters that errors have in common which are printed once."""
_ERROR = re.compile(r"[\d:.]+ ((?:ERROR|FATAL) .*)")
"""A line of a node's log, after its time."""
Run = Callable[..., bool]
Option = Callable[[Callable[..., None]], Callable[..., None]]
"""As `click.option` makes it."""
Settings = Mapping[str, Mapping[str, str]]
"""Of brokers, by the reason for which they are not Kafka's own."""
_GROUPS = {"offsets.topic.num.partitions": "1"}
_TRANSACTIONS = {"transaction.state.log.num.partitions": "1"}
QUICK_GROUPS: Settings = {"a quick start": _GROUPS}
QUICK_TRANSACTIONS: Settings = {"a quick start": _TRANSACTIONS}
QUICK_START: Settings = {"a quick start": {**_GROUPS, **_TRANSACTIONS}}
"""One partition of Kafka's own topics, where Kafka has fifty."""


class Scene(Setting):
    """The topic that clients of an experiment share, and its faults, as the history has them."""

    def __init__(
        self,
        cluster: Cluster,
        journal: Journal,
        configuration: Configuration,
        *more: Any,
        **how: Any,
    ) -> None:
        super().__init__(journal, cluster.bootstrap, TOPIC, *more, **how)
        self._cluster = cluster
        self._down: dict[str, str] = {}
        self.configuration = configuration
        self.cut: Sequence[txnlog.Cut] = ()
        self.moves: Sequence[facts.Move] | None = None
        """These three as `write` takes them."""
        self.replicas: list[datalog.Replica] = []
        """What is on disks; from the end of the scene on."""

    def stop(self, host: str) -> None:
        self._begin("stop", host)
        self._cluster.stop(host)

    def kill(self, host: str) -> None:
        self._begin("kill", host)
        self._cluster.kill(host)

    def pause(self, host: str) -> None:
        self._begin("pause", host)
        self._cluster.pause(host)

    def start(self, host: str, *, wait: bool = True) -> None:
        """One that was stopped or killed here."""
        self._cluster.start(host, wait=wait)
        self._end(host)

    def resume(self, host: str) -> None:
        self._cluster.resume(host)
        self._end(host)

    def cut_off(self, host: str, *others: str) -> None:
        """Cuts its links to these."""
        for other in others:
            self._cluster.cut(host, other)
        self._begin("partition", host)

    def heal(self) -> None:
        """Mends all links."""
        self._cluster.heal()
        for host in [host for host, fault in self._down.items() if fault == "partition"]:
            self._end(host)

    def _begin(self, fault: str, host: str) -> None:
        self._down[host] = fault
        self.journal.moment(f"start-{fault}", host)

    def _end(self, host: str) -> None:
        self.journal.moment(f"stop-{self._down.pop(host)}", host)


@contextmanager
def scene(
    cluster: Cluster,
    folder: Path,
    configuration: Configuration,
    partitions: int = 1,
    *,
    also: Sequence[str] = (),
    **how: Any,
) -> Iterator[Scene]:
    """Records what clients do; in the end everything is read, and what is on disks is kept.

    Args:
        partitions: of the topic.
        also: more topics, of one partition each, that are read in the end.
        how: as Setting takes it.
    """
    with Journal(folder / HISTORY) as journal:
        found = Scene(cluster, journal, configuration, partitions, **how)
        yield found
        read_all(found, {})
        for topic in also:
            read_all(Setting(journal, found.bootstrap, topic, 1, processes=found.processes), {})
    found.replicas = write(cluster, folder, found.configuration, found.cut, found.moves)


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
def asking_brokers(
    cluster: Cluster, folder: Path, names: Sequence[str], *, partitions: int
) -> Iterator[None]:
    """Meanwhile ask each of these brokers about so many partitions of the topic.

    It is asked what it knows of them, whether it leads them, and what it hears of the quorum.
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
    """Print the verdict of `kraftcheck check` on a history, and of `conform` where it applies.

    At most MOST_LINES of each.

    `conform` judges the transaction log and answers of brokers, where those are there.
    """
    verbs = {"check": folder / HISTORY} if (folder / HISTORY).exists() else {}
    if any((folder / name).exists() for name in (txnlog.TRANSACTIONS, ANSWERS)):
        verbs["conform"] = folder
    for verb, path in verbs.items():
        words = [str(Path(sys.executable).with_name("kraftcheck")), verb, str(path)]
        said = subprocess.run(words, capture_output=True, text=True, check=False)
        lines = (said.stdout if said.stdout.strip() else said.stderr).rstrip().splitlines()
        click.echo("\n".join(lines[:MOST_LINES]))
        if len(lines) > MOST_LINES:
            click.echo(f"and {len(lines) - MOST_LINES} lines more: kraftcheck {verb} {path}")
        click.echo(f"kraftcheck {verb} ends with {said.returncode}")


def tell_errors(logs: Mapping[str, str]) -> None:
    """Print the errors that nodes have logged since they last started.

    Errors that begin alike, but for numbers, are printed once, and at most MOST_ERRORS in all.

    Args:
        logs: the text of each node's log, by its name.
    """
    first: dict[str, str] = {}
    for name, log in logs.items():
        for line in log.splitlines():
            if (found := _ERROR.match(line)) is not None:
                alike = re.sub(r"\d+", "#", found[1])[:ALIKE]
                first.setdefault(alike, f"{name}: {found[1]}")
    for error in [*first.values()][:MOST_ERRORS]:
        click.echo(shorten(error, 240))
    if len(first) > MOST_ERRORS:
        click.echo(f"and {len(first) - MOST_ERRORS} errors more in the nodes' logs")


def repeated(
    run: Run,
    times: int,
    out: Path,
    *,
    layout: str,
    settings: Settings,
    reasons: Sequence[str],
    guests: Sequence[str] = (),
    disks: Sequence[str] = (),
    jars: Path | None = None,
) -> int:
    """Runs on as many new clusters, one after the other. Returns how often the find showed.

    Args:
        reasons: what else is not Kafka's default, of topics and clients.
        guests: hosts for clients; where there are some, each node has a host of its own.
        disks: nodes that have a disk of their own, whose power can be cut (power.py).
        jars: these come before Kafka's.

    Raises:
        ClusterError: there are recordings in that folder already.
    """
    if jars is not None:
        click.echo(f"not Kafka's own: what is in {jars}")
    brokers = [
        f"broker {', '.join(f'{name}={value}' for name, value in them.items())}: {why}"
        for why, them in settings.items()
    ]
    for reason in (*brokers, *reasons):
        click.echo(f"not Kafka's default: {reason}")
    together = {name: value for them in settings.values() for name, value in them.items()}
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
            cluster = Typing.up(where, layout, bool(guests), together, guests, 120, own=jars)
            closing.callback(cluster.down)
            cluster.begin()
            found = run(cluster, folder)
            tell_errors({each.name: cluster.log(each.name) for each in cluster.state.nodes})
        judge(folder)
        shown += found
        click.echo(f"run {turn} of {times}: {'shown' if found else 'not shown'}\n")
    click.echo(f"shown in {shown} of {times} runs; recordings in {out}")
    return shown


def experiment(
    run: Run,
    says: str,
    *,
    control: str | None,
    shown: str,
    otherwise: str,
    more: Sequence[Option] = (),
    unforced: tuple[Run, str] | None = None,
    layout: str | Callable[..., str] = "one-controller",
    settings: Settings | Callable[..., Settings] = MappingProxyType({}),
    reasons: Sequence[str] = (),
    classes: Sequence[Path] = (),
    **how: Sequence[str],
) -> click.Command:
    """The command of a script, which ends with 1 if the find is shown, and else with 0.

    It is called at once where the script is the program (`python -m`), so it is the script's last
    statement. Functions are given those options that they name, `run` after the cluster and the
    folder.

    Args:
        says: its help.
        control: in what its control differs; None: an option of `more` says so.
        shown, otherwise: what is said in the end.
        more: options of the script's own.
        unforced: what is run where nothing is arranged but a load, `times` times, and its help.
        layout, settings: of the cluster, or functions of the options.
        classes: sources that are compiled, and come before Kafka's.
        how: guests and disks, as `repeated` has them.
    """
    name = name_of(Path(inspect.getfile(run)))

    def main(jars: Path | None, out: Path | None, repeat: int, **own: Any) -> None:
        tried: Run = run
        if unforced is not None and own["unforced"]:
            tried, own["times"] = unforced[0], own["unforced"]
        with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
            if classes:
                before = Path(folder) / "classes"
                before.mkdir()
                if jars is not None:
                    shutil.copytree(jars, before, dirs_exist_ok=True)
                changed.compiled(classes, before)
                jars = before
            count = repeated(
                partial(tried, **_named(tried, own)),
                repeat,
                out or Path(folder),
                layout=layout(**_named(layout, own)) if callable(layout) else layout,
                settings=settings(**_named(settings, own)) if callable(settings) else settings,
                reasons=reasons,
                jars=jars,
                **how,
            )
        click.echo(f"VIOLATED: {shown}" if count else otherwise)
        sys.exit(int(count > 0))

    main.__doc__ = says
    command: Callable[..., None] = click_errors(name)(main)
    for option in (*_options(control, unforced), *reversed(more)):
        command = option(command)
    made = click.command()(command)
    if run.__module__ == "__main__":
        made()
    return made


def _options(control: str | None, unforced: tuple[Run, str] | None) -> list[Option]:
    """Those that scripts have in common."""
    options: list[Option] = [
        JARS,
        click.option("--out", type=_FOLDER, help="A new folder for the recordings."),
        click.option("--repeat", type=click.IntRange(1), default=1, show_default=True),
    ]
    if control is not None:
        options.append(click.option("--control", is_flag=True, help=control))
    if unforced is not None:
        options.append(click.option("--unforced", type=click.IntRange(1), help=unforced[1]))
    return options


def choice(name: str, values: Collection[str], says: str | None = None) -> Option:
    """An option of a script's own, by default the first of these values."""
    kind, default = click.Choice([*values]), next(iter(values))
    return click.option(name, type=kind, default=default, show_default=True, help=says)


def _named(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Those options that it has parameters for."""
    names = inspect.signature(function).parameters
    return {name: value for name, value in options.items() if name in names}
