"""Z166 on a real cluster: a transactional id cannot be used after transaction.version went to 0.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import click

from experiments import evidence
from experiments.tools import TOPIC, Partition, Program
from experiments.transact import ID, KEY, TRANSACT
from kraftcheck.kafka.live.clients import Setting
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.reference.clients.promises import Configuration

ASKED = "b1"
VERSION = "transaction.version"
CAN = "can begin"
CONFIGURATION = Configuration(transactions=True, isolation="read_committed", one_client=False)
PATIENCE_S = 90.0
"""Above the producer's own max.block.ms, a minute."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the last producer cannot begin."""
    partition = Partition(cluster, ASKED, ASKED, ["b1", "b2", "b3"]).create(asking=ASKED)
    with evidence.scene(cluster, folder, CONFIGURATION) as scene:
        partition.say(f"first: {begun(cluster, scene, writes=True) or CAN}")
        words = ["downgrade", "--feature", f"{VERSION}={int(control)}"]
        click.echo(partition.ask("FeatureCommand", ASKED, *words).strip())
        partition.say(f"second: {begun(cluster, scene) or CAN}")
        until = time.monotonic() + CONFIGURATION.ending_s
        told = begun(cluster, scene)
        partition.say(f"third: {told or CAN}")
        while told and time.monotonic() < until:
            told = begun(cluster, scene)
            partition.say(f"another one: {told or CAN}")
    return bool(told)


def begun(cluster: Cluster, setting: Setting, *, writes: bool = False) -> str:
    """A producer initialises and closes; or what it was told instead. writes: a transaction.

    Who does not come back in time is killed: closing may wait for a request that is under way.
    """
    number, journal = setting.processes.next(), setting.journal
    txn = {"txn": setting.transactions.next()}
    asked: tuple[str, Any, dict[str, int]] = ("init", ID, {})

    def done(f: str, value: Any, step: str, more: dict[str, int]) -> None:
        nonlocal asked
        asked = (f, value, more)
        journal.event(number, "invoke", f, value, **more)
        answer = producer.do(step) if step else producer.answer()
        told = [["send", KEY, [answer["offset"], 1]]] if f == "send" else value
        journal.event(number, "ok", f, told, **more)

    process = cluster.tool(ASKED, str(TRANSACT), cluster.bootstrap, TOPIC, ID)
    patience = threading.Timer(PATIENCE_S, process.kill)
    patience.start()
    try:
        with Program(process) as producer:
            done("init", ID, "", {})
            if writes:
                done("begin", None, "begin", txn)
                done("send", [["send", KEY, 1]], "send 1", txn)
                done("end", "commit", "commit", txn)
    except ClusterError as error:
        said = " ".join(str(error).split())[:200]
        f, value, more = asked
        # Who is told nothing, or is killed, may have been heard.
        kind = "fail" if "UnsupportedVersion" in said else "info"
        journal.event(number, kind, f, value, error=said, **more)
        return said
    finally:
        patience.cancel()
    return ""


main = evidence.experiment(
    run,
    "Try whether a transactional id can be used after a downgrade of transaction.version.",
    control="transaction.version is set to 1.",
    settings=evidence.QUICK_TRANSACTIONS,
    shown="the id cannot be used",
    otherwise="it can be used",
)
