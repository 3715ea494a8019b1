"""Record a history: clients at work on one topic, faults meanwhile, then everything read once more.

Writes into a folder

    history.jsonl    what the clients asked and were told, with faults and leader epochs
    metadata.jsonl   the metadata log, where the cluster is ours
    answers.jsonl    what brokers said of the topic meanwhile, where they were asked
    logs.jsonl       the topic's logs as they lie on the brokers' disks, where it is ours
    recording.json   how it was made, what promises depend on, and whether it is complete

An incomplete recording (the final read did not reach the end, or the time did not) is kept; only
what needs completeness (`unseen`, lost writes at the tail) is then unknown. So it is with one whose
cluster did not come to rest.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from live import datalog, facts, metadata
from live.clients import Setting, read_all
from live.cluster import Cluster, ClusterError
from live.confluent import SILENT
from live.crew import Crew
from live.faults import DOWN, Fault, Nemesis, disturb
from live.journal import HISTORY, RECORDING, Journal
from live.libraries import load
from live.library import ClientError, Library, LibraryError
from live.rest import settle
from live.workloads import WORKLOADS

CONNECT_S = 3.0
"""Until an address that does not answer is given up."""
HELD_S = 120.0
"""How long a client may take to end after it was told to."""


class RecordingError(Exception):
    """Nothing can be recorded. The text is one line."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to record. seconds: of the clients' work; faults: kinds, for a cluster of ours only."""

    workload: str = "log"
    """A key of WORKLOADS (live/workloads.py)."""
    client: str = "confluent-kafka"
    """One of LIBRARIES (live/libraries.py)."""
    api_version: str | None = None
    """What brokers speak ("2.8"), for a client that cannot ask them; None: they are asked."""
    aborts: float = 0.2
    """Of transactions, the share that is aborted on purpose."""
    topic: str = "kraftcheck"
    make_topic: bool = True
    """False: it is there, or made by being asked for; `replication_factor` and so on say how."""
    partitions: int = 1
    replication_factor: int = 3
    min_insync_replicas: int = 2
    unclean_election: bool = False
    acks: str = "all"
    idempotent: bool = True
    retries: bool = True
    """Whether a producer without idempotence sends again what was not answered."""
    producers: int = 2
    consumers: int = 2
    offset_askers: int = 1
    seconds: float = 30.0
    rate: float | None = None
    """At most so many records a second from each producer; None: as many as it can."""
    faults: tuple[str, ...] = ()
    seed: int = 1
    timeout_ms: int = 10_000
    """How long a producer tries."""
    observe: bool = False
    """Whether every broker is asked meanwhile what it knows of the topic (live/polling.py)."""


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """What `recording.json` holds."""

    plan: Plan
    bootstrap: str
    client: str
    kafka: str | None
    """The broker's version, where the cluster is ours."""
    complete: bool
    lines: int
    seconds: float
    configuration: dict[str, Any]
    """What promises depend on: fields of `Configuration` in reference/clients/promises.py."""
    envelope: dict[str, Any]
    """What went wrong: fields of `Envelope` there."""
    envelope_is: str
    """Where the envelope is from: the metadata log, or assumed."""
    faults: tuple[Fault, ...]
    held: int = 0
    """How many clients their library never let go; what they asked last has no answer."""
    at_rest: bool = True
    """Whether a cluster of ours was at rest in the end (live/rest.py). If not, where its logs end
    and what was read last say nothing; a cluster that is not ours is not looked at."""


def record(
    bootstrap: str,
    plan: Plan,
    folder: Path,
    cluster: Cluster | None = None,
    patience: float = 20.0,
) -> Recording:
    """Makes the topic, records, and reads everything at the end.

    patience: seconds to wait for the first answer. Raises RecordingError: nobody answers there, the
    topic cannot be made, the client library is not to be had, or nothing more can be written; what
    was recorded stays, as incomplete.
    """
    try:
        library = load(plan.client, plan.api_version)
        if plan.observe:
            load("kafka-python")  # its encoding of messages
    except LibraryError as error:
        raise RecordingError(str(error)) from None
    _find_topic(bootstrap, plan, patience)
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    pace = 1 / plan.rate if plan.rate else 0.0
    recording = _begun(bootstrap, plan, cluster, library)
    try:
        _write(recording, folder)  # stands if this never gets to its end
        with Journal(folder / HISTORY) as journal:
            where = (bootstrap, plan.topic, plan.partitions, pace)
            setting = Setting(journal, *where, aborts=plan.aborts, library=library)
            with _observed(bootstrap, plan, journal, folder):
                faults, held = _work(setting, plan, cluster)
                at_rest = cluster is None or _settled(cluster, plan)
            complete = read_all(setting, {}) and at_rest
            lines = journal.lines
        records = _dumped(cluster, plan.topic, folder)
        recording = msgspec.structs.replace(
            recording,
            complete=complete,
            lines=lines,
            seconds=round(time.monotonic() - began, 3),
            configuration=_configuration(plan, records),
            envelope=_envelope(plan, records, faults, cluster),
            envelope_is="read from the metadata log" if records else "assumed",
            faults=tuple(faults),
            held=held,
            at_rest=at_rest,
        )
        _write(recording, folder)
    except OSError as error:
        raise RecordingError(f"{folder}: {error.strerror}; the recording is incomplete") from None
    except (LibraryError, ClientError, KafkaException) as error:
        raise RecordingError(f"{error}; the recording is incomplete") from None
    return recording


@contextmanager
def _observed(bootstrap: str, plan: Plan, journal: Journal, folder: Path) -> Iterator[None]:
    """Asks brokers meanwhile, if the plan says so. Raises OSError: nothing more can be written."""
    if not plan.observe:
        yield
        return
    from live.polling import ANSWERS, Poller

    admin = AdminClient({**SILENT, "bootstrap.servers": bootstrap})
    known = admin.list_topics(plan.topic, timeout=20).brokers.values()
    brokers = {broker.id: (str(broker.host), broker.port) for broker in known}
    with Poller(journal, folder / ANSWERS, brokers, plan.topic, plan.partitions) as poller:
        yield
    if poller.failed is not None:
        raise poller.failed


def _settled(cluster: Cluster, plan: Plan) -> bool:
    admin = AdminClient({**SILENT, "bootstrap.servers": cluster.bootstrap})
    return settle(cluster, admin, plan.topic, plan.partitions)


def _begun(bootstrap: str, plan: Plan, cluster: Cluster | None, library: Library) -> Recording:
    """What is known of a recording before its end."""
    return Recording(
        plan=plan,
        bootstrap=bootstrap,
        client=library.version,
        kafka=cluster.state.version if cluster else None,
        complete=False,
        lines=0,
        seconds=0.0,
        configuration=_configuration(plan, []),
        envelope=dict(facts.ASSUMED),
        envelope_is="assumed",
        faults=(),
    )


def _write(recording: Recording, folder: Path) -> None:
    data = msgspec.json.format(msgspec.json.encode(recording), indent=1)
    (folder / RECORDING).write_bytes(data + b"\n")


def _dumped(cluster: Cluster | None, topic: str, folder: Path) -> list[metadata.Record]:
    """The metadata log; it and the topic's logs as files. Empty where they cannot be had."""
    if cluster is None:
        return []
    try:
        records = metadata.dump(cluster)
        metadata.write(records, folder / metadata.METADATA)
        datalog.write(datalog.dump(cluster, topic), folder / datalog.LOGS)
    except ClusterError:  # the history is worth keeping without
        return []
    return records


def _configuration(plan: Plan, records: Sequence[metadata.Record]) -> dict[str, Any]:
    return {
        "log": "partition",
        "acks": plan.acks,
        "idempotence": plan.idempotent,
        "retries": plan.retries,
        "transactions": plan.workload == "txn",
        "min_insync_replicas": plan.min_insync_replicas,
        "replication_factor": plan.replication_factor,
        "elr": facts.eligible_leaders(records),
        "unclean_election": plan.unclean_election,
        "isolation": "read_committed",
        "reads_from": "leader",
        "consumers": "subscribe" if plan.workload == "groups" else "assign",
        "one_client": False,
        "asks_latest": False,
        # A reader that is opened anew begins at the beginning.
        "goes_back": True,
        "compaction": "none",
        # A producer whose request was not answered is given up, and the next one initialises.
        "late_requests": False,
    }


def _envelope(
    plan: Plan,
    records: Sequence[metadata.Record],
    faults: Sequence[Fault],
    cluster: Cluster | None,
) -> dict[str, Any]:
    if cluster is None or not records:
        return dict(facts.ASSUMED)
    outages = [facts.Outage(f.node, f.begin, f.end) for f in faults if f.kind in DOWN]
    moves = facts.moves_of(plan.topic, records)
    return facts.envelope(moves, [f.kind for f in faults], outages, cluster.session_ms)


def _work(setting: Setting, plan: Plan, cluster: Cluster | None) -> tuple[list[Fault], int]:
    """The faults that were done, and how many clients their library did not let go."""
    workload = WORKLOADS[plan.workload]
    clients = [
        *((workload.producer, at, _producer_options(plan)) for at in range(plan.producers)),
        *((workload.consumer, at, {}) for at in range(plan.consumers)),
        *((workload.asker, at, {}) for at in range(plan.offset_askers)),
    ]
    calm = threading.Event()
    crew, nemesis = Crew(), None
    for role, at, options in clients:
        crew.start(role, setting, at, options)
    disturbers = Crew()
    if cluster is not None and plan.faults:
        nemesis = Nemesis(cluster, setting.journal, (plan.topic,))
        names = [node.name for node in cluster.state.nodes]
        how = (plan.faults, plan.seed, calm, cluster.session_ms / 1000)
        admin = AdminClient({**SILENT, "bootstrap.servers": cluster.bootstrap})
        leader = partial(_leader, admin, cluster, plan.topic)
        disturbers.start(disturb, nemesis, names, *how, leader)
    try:
        crew.wait(plan.seconds)
    finally:
        calm.set()
        setting.done.set()
        disturbers.join()  # no node stays down or paused
    held = crew.join(HELD_S)
    return (nemesis.faults if nemesis else []), held


def _leader(admin: AdminClient, cluster: Cluster, topic: str) -> str | None:
    """Who leads the topic's first partition, as far as anybody says so in time."""
    try:
        number = admin.list_topics(topic, timeout=2).topics[topic].partitions[0].leader
    except (KafkaException, KeyError):
        return None
    return next((node.name for node in cluster.state.nodes if node.number == number), None)


def _producer_options(plan: Plan) -> Mapping[str, Any]:
    once = {} if plan.retries or plan.idempotent else {"retries": 0}
    return {
        **once,
        "acks": plan.acks,
        "enable.idempotence": plan.idempotent,
        "linger.ms": 0,
        "message.timeout.ms": plan.timeout_ms,
        "request.timeout.ms": max(1000, plan.timeout_ms // 3),
    }


def _is_open(address: str) -> bool:
    """Whether somebody takes connections at HOST:PORT, with or without a protocol before it."""
    host, _, port = address.strip().rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except (OSError, ValueError):
        return False
    return True


def _find_topic(bootstrap: str, plan: Plan, patience: float) -> None:
    admin = AdminClient({**SILENT, "bootstrap.servers": bootstrap})
    config = {
        "min.insync.replicas": str(plan.min_insync_replicas),
        "unclean.leader.election.enable": str(plan.unclean_election).lower(),
    }
    topic = NewTopic(plan.topic, plan.partitions, plan.replication_factor, config=config)
    if not any(_is_open(each) for each in bootstrap.split(",")):
        # The library would ask again and again for as long as it has patience.
        raise RecordingError(f"{bootstrap}: nobody listens there")
    try:
        admin.list_topics(plan.topic if not plan.make_topic else None, timeout=patience)
        if plan.make_topic:
            admin.create_topics([topic], operation_timeout=20)[plan.topic].result(30)
    except KafkaException as error:
        raise RecordingError(f"{bootstrap}: {error.args[0].str()}") from None
    except TimeoutError:
        raise RecordingError(f"{bootstrap}: topic {plan.topic} was not made in time") from None
