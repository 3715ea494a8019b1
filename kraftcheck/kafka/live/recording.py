"""Record a history: clients at work on one topic, faults meanwhile, then everything read once more.

Writes into a folder

    history.jsonl    what the clients asked and were told, with faults and leader epochs
    metadata.jsonl   the metadata log, where the cluster is ours
    answers.jsonl    what brokers said of the topic meanwhile, where they were asked
    logs.jsonl       the topic's logs as they lie on the brokers' disks, where it is ours
    groups.jsonl     the log of consumer groups, as far as it is about the topic, likewise
    transactions.jsonl  the log of transactions, broker by broker, and what was cut from it
    disks/NODE       the topic's files themselves, for `kraftcheck disk`, likewise
    recording.json   how it was made, what promises depend on, and whether it is complete

An incomplete recording (the final read did not reach the end, or the time did not) is kept; only
what needs completeness (`unseen`, lost writes at the tail) is then unknown. So it is with one whose
cluster did not come to rest.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from kraftcheck.kafka.live import datalog, facts, grouplog, metadata, txnlog
from kraftcheck.kafka.live.apart import Apart
from kraftcheck.kafka.live.behind import Behind
from kraftcheck.kafka.live.clients import Setting, read_all
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.crew import Crew
from kraftcheck.kafka.live.faults import DOWN, Called, Fault, Nemesis, disturb
from kraftcheck.kafka.live.journal import ANSWERS, DISKS, HISTORY, RECORDING, Journal
from kraftcheck.kafka.live.libraries import load
from kraftcheck.kafka.live.library import ClientError, Configured, Library, LibraryError
from kraftcheck.kafka.live.properties import without_secrets as written
from kraftcheck.kafka.live.rest import settle
from kraftcheck.kafka.live.sharers import drain
from kraftcheck.kafka.live.topics import (
    MIN_ISR,
    UNCLEAN,
    Standing,
    TopicError,
    admin_of,
    find,
    first_value,
    make,
    standing,
)
from kraftcheck.kafka.live.workloads import WORKLOADS, group_of

SHARES = "shares"
TRANSACTIONS = "transactions"
"""The workloads whose consumers are a share group, and whose producers write in transactions
(WORKLOADS)."""
INSTANCE = "group.instance.id"
TOLD_S = 0.5
REBALANCE_S = 350.0
"""session.timeout.ms, max.poll.interval.ms and a heartbeat, by the defaults of clients."""
TRANSACTION_S, SWEEP_S, BLOCK_S = 60.0, 10.0, 60.0
"""transaction.timeout.ms, how often a coordinator looks, and max.block.ms, by the defaults."""
HELD_S = 120.0
"""How long a client may take to end after it was told to."""


class RecordingError(Exception):
    """Nothing can be recorded. The text is one line."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to record."""

    workload: str = "log"
    """A key of WORKLOADS (kraftcheck/kafka/live/workloads.py)."""
    client: str = "confluent-kafka"
    """One of LIBRARIES (kraftcheck/kafka/live/libraries.py)."""
    api_version: str | None = None
    """What brokers speak ("2.8"), for a client that cannot ask them; None: they are asked."""
    aborts: float = 0.2
    """Of transactions, the share that is aborted on purpose."""
    topic: str = "kraftcheck"
    make_topic: bool = True
    """False: it is there, or made by being asked for; where the cluster says `replication_factor`
    and so on, that counts."""
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
    """Of the clients' work."""
    rate: float | None = None
    """At most so many records a second from each producer; None: as many as it can."""
    faults: tuple[str, ...] = ()
    """Kinds, for a cluster of ours only."""
    seed: int = 1
    timeout_ms: int = 10_000
    """How long a producer tries."""
    properties: dict[str, str] = {}
    """Of all clients, by the names of librdkafka (kraftcheck/kafka/live/properties.py)."""
    fault_command: str = ""
    """What is called to hurt a cluster that is not ours (kraftcheck/kafka/live/faults.py)."""
    observe: bool = False
    """Whether every broker is asked meanwhile what it knows of the topic
    (kraftcheck/kafka/live/polling.py)."""


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """What `recording.json` holds."""

    plan: Plan
    bootstrap: str
    client: str
    kafka: str | None
    """The broker's version, where the cluster is ours."""
    complete: bool | None
    """Whether the final read reached every end; None: it did not, or nobody knows."""
    lines: int
    """Of the history; `kept`: of the other files of lines. They tell one that was cut."""
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
    standing: Standing | None = None
    """The topic as it was before, where it was there."""
    trouble: tuple[str, ...] = ()
    """What went wrong with the fault command, one line each."""
    kept: dict[str, int] = {}
    at_rest: bool = True
    """Whether a cluster of ours was at rest in the end (kraftcheck/kafka/live/rest.py). If not,
    where its logs end and what was read last say nothing; a cluster that is not ours is not looked
    at."""


def record(
    bootstrap: str,
    plan: Plan,
    folder: Path,
    cluster: Cluster | None = None,
    patience: float = 20.0,
    told: Callable[[str], None] = lambda doing: None,
) -> Recording:
    """Makes the topic, records, and reads everything at the end.

    patience: seconds to wait for the first answer. told: called about every half second with what
    is being done. Raises RecordingError: nobody answers there, the
    topic cannot be made, the client library is not to be had, or nothing more can be written; what
    was recorded stays, as incomplete.
    """
    library = _library(plan)
    told(f"asking {bootstrap} for topic {plan.topic}")
    plan, there = _with_topic(bootstrap, plan, patience)
    if there is not None and there.records:
        library = Behind(library, there.ends)
        told(f"topic {plan.topic} has records already: what is recorded begins behind them")
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    pace = 1 / plan.rate if plan.rate else 0.0
    recording = _begun(bootstrap, plan, cluster, library, there)
    try:
        _write(recording, folder)  # stands if this never gets to its end
        with Journal(folder / HISTORY) as journal:
            where = (bootstrap, plan.topic, plan.partitions, pace)
            setting = Setting(
                journal,
                *where,
                aborts=plan.aborts,
                library=library,
                first_value=first_value(there),
            )
            watch = txnlog.Watch(cluster) if cluster and plan.workload == TRANSACTIONS else None
            with watch or nullcontext(), _observed(bootstrap, plan, journal, folder):
                nemesis, held = _work(setting, plan, cluster, told)
                told("waiting until the cluster is at rest")
                at_rest = cluster is None or _settled(cluster, plan)
            faults = nemesis.faults if nemesis else []
            told("reading everything once more")
            drained = plan.workload != SHARES or drain(setting, group_of(plan.topic), {})
            complete = (read_all(setting, {}) and at_rest and drained) or None
            lines = journal.lines
        # Logs on disks hold what was there before as well.
        own = there is None or not there.records
        cut = watch.cut if watch else None
        records = _dumped(cluster, plan.topic, folder, cut) if own else []
        recording = msgspec.structs.replace(
            recording,
            complete=complete,
            lines=lines,
            kept=_lines_beside(folder),
            seconds=round(time.monotonic() - began, 3),
            configuration=_configuration(plan, records),
            envelope=_envelope(plan, records, faults, cluster),
            envelope_is="read from the metadata log" if records else "assumed",
            faults=tuple(faults),
            trouble=tuple(nemesis.trouble) if nemesis else (),
            held=held,
            at_rest=at_rest,
        )
        _write(recording, folder)
    except OSError as error:
        raise RecordingError(f"{folder}: {error.strerror}; the recording is incomplete") from None
    except (LibraryError, ClientError, KafkaException) as error:
        raise RecordingError(f"{error}; the recording is incomplete") from None
    return recording


def _library(plan: Plan) -> Library:
    """Raises RecordingError: it is not to be had."""
    try:
        if plan.observe:
            load("kafka-python")  # its encoding of messages
        library = load(plan.client, plan.api_version)
    except LibraryError as error:
        raise RecordingError(str(error)) from None
    return Configured(library, plan.properties) if plan.properties else library


@contextmanager
def _observed(bootstrap: str, plan: Plan, journal: Journal, folder: Path) -> Iterator[None]:
    """Asks brokers meanwhile, if the plan says so. Raises OSError: nothing more can be written."""
    if not plan.observe:
        yield
        return
    from kraftcheck.kafka.live.polling import Poller

    admin = admin_of(bootstrap, plan.properties)
    known = admin.list_topics(plan.topic, timeout=20).brokers.values()
    brokers = {broker.id: (str(broker.host), broker.port) for broker in known}
    what = (plan.topic, plan.partitions, plan.workload == TRANSACTIONS)
    with Poller(journal, folder / ANSWERS, brokers, *what) as poller:
        yield
    if poller.failed is not None:
        raise poller.failed


def _settled(cluster: Cluster, plan: Plan) -> bool:
    admin = admin_of(cluster.bootstrap, plan.properties)
    return settle(cluster, admin, plan.topic, plan.partitions)


def _begun(
    bootstrap: str,
    plan: Plan,
    cluster: Cluster | None,
    library: Library,
    there: Standing | None,
) -> Recording:
    """What is known of a recording before its end."""
    return Recording(
        plan=msgspec.structs.replace(plan, properties=written(plan.properties)),
        standing=there,
        bootstrap=bootstrap,
        client=library.version,
        kafka=cluster.state.version if cluster else None,
        complete=None,
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


def _lines_beside(folder: Path) -> dict[str, int]:
    files = (each for each in sorted(folder.glob("*.jsonl")) if each.name != HISTORY)
    return {each.name: each.read_bytes().count(b"\n") for each in files}


def _dumped(
    cluster: Cluster | None, topic: str, folder: Path, cut: Sequence[txnlog.Cut] | None
) -> list[metadata.Record]:
    """The metadata log; it and the topic's logs as files, which are kept as well.

    Empty where they cannot be had. Raises OSError.

    cut: what was kept of the log of transactions; None: there are none.
    """
    if cluster is None:
        return []
    for node in cluster.state.nodes:
        if "broker" in node.roles:
            cluster.keep_logs(node.name, topic, folder / DISKS / node.name)
    try:
        records = metadata.dump(cluster)
        metadata.write(records, folder / metadata.METADATA)
        metadata.write(datalog.dump(cluster, topic), folder / datalog.LOGS)
        entries = grouplog.dump(cluster, topic, records)
        if entries:
            metadata.write(entries, folder / grouplog.GROUPS)
        if cut is not None:
            metadata.write(txnlog.dump(cluster, cut), folder / txnlog.TRANSACTIONS)
    except ClusterError:  # the history is worth keeping without
        return []
    return records


def _configuration(plan: Plan, records: Sequence[metadata.Record]) -> dict[str, Any]:
    return {
        "log": "partition",
        "acks": plan.acks,
        "idempotence": plan.idempotent,
        "retries": plan.retries,
        "transactions": plan.workload == TRANSACTIONS,
        "min_insync_replicas": plan.min_insync_replicas,
        "replication_factor": plan.replication_factor,
        "elr": facts.eligible_leaders(records),
        "unclean_election": plan.unclean_election,
        "isolation": "read_committed",
        "reads_from": "leader",
        "consumers": {"groups": "listen", SHARES: "share"}.get(plan.workload, "assign"),
        "reset": "earliest",
        "rebalance_s": REBALANCE_S,
        "transaction_s": TRANSACTION_S,
        "ending_s": TRANSACTION_S + SWEEP_S + BLOCK_S,
        # What brokers have by default.
        "lock_s": 30.0,
        "delivery_limit": 5,
        "stall_s": 300.0,
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


def _work(
    setting: Setting, plan: Plan, cluster: Cluster | None, told: Callable[[str], None]
) -> tuple[Nemesis | Called | None, int]:
    """Who did the faults, and how many clients their library did not let go."""
    workload = WORKLOADS[plan.workload]
    apart = Apart()
    consumer = partial(apart.run, workload.consumer) if workload.apart else workload.consumer
    clients = [
        *((workload.producer, at, _producer_options(plan)) for at in range(plan.producers)),
        *((consumer, at, _consumer_options(plan, at)) for at in range(plan.consumers)),
        *((workload.asker, at, {}) for at in range(plan.offset_askers)),
    ]
    calm = threading.Event()
    crew = Crew()
    nemesis: Nemesis | Called | None = None
    for role, at, options in clients:
        crew.start(role, setting, at, options)
    disturbers = Crew()
    if cluster is not None and plan.faults:
        nemesis = Nemesis(cluster, setting.journal, (plan.topic,), apart)
        names = [node.name for node in cluster.state.nodes]
        how = (plan.faults, plan.seed, calm, cluster.session_ms / 1000)
        admin = admin_of(cluster.bootstrap, plan.properties)
        leader = partial(_coordinator if workload.apart else _leader, admin, cluster, plan.topic)
        disturbers.start(disturb, nemesis, names, *how, leader)
    elif plan.fault_command:
        nemesis = Called(plan.fault_command, setting.journal, setting.bootstrap, plan.topic)
        disturbers.start(nemesis.disturb, plan.seed, calm)
    until = time.monotonic() + plan.seconds
    try:
        while (left := until - time.monotonic()) > 0 and not crew.wait(min(TOLD_S, left)):
            going = f", now {nemesis.going}" if nemesis and nemesis.going else ""
            told(f"{setting.journal.lines:,} lines, {max(0.0, left):.0f} s to go{going}")
    finally:
        calm.set()
        setting.done.set()
        told("undoing faults, ending clients")
        disturbers.join()  # no node stays down or paused
    held = crew.join(HELD_S)
    apart.end()
    return nemesis, held


def _leader(admin: AdminClient, cluster: Cluster, topic: str) -> str | None:
    """Who leads the topic's first partition, as far as anybody says so in time."""
    try:
        number = admin.list_topics(topic, timeout=2).topics[topic].partitions[0].leader
    except (KafkaException, KeyError):
        return None
    return _name_of(cluster, number)


def _coordinator(admin: AdminClient, cluster: Cluster, topic: str) -> str | None:
    """Likewise, who coordinates the group that shares the topic."""
    group = group_of(topic)
    try:
        told = admin.describe_consumer_groups([group], request_timeout=2)[group].result()
    except KafkaException:
        return None
    return None if told.coordinator is None else _name_of(cluster, told.coordinator.id)


def _name_of(cluster: Cluster, number: int) -> str | None:
    return next((node.name for node in cluster.state.nodes if node.number == number), None)


def _consumer_options(plan: Plan, at: int) -> Mapping[str, Any]:
    """Whoever gives static members an id means one for each."""
    given = plan.properties.get(INSTANCE)
    return {} if given is None or plan.workload != "groups" else {INSTANCE: f"{given}-{at}"}


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


def _with_topic(bootstrap: str, plan: Plan, patience: float) -> tuple[Plan, Standing | None]:
    """The plan with the rules of its topic, and the topic as it was, where it was there."""
    config = {MIN_ISR: str(plan.min_insync_replicas), UNCLEAN: str(plan.unclean_election).lower()}
    try:
        admin = find(bootstrap, plan.properties, patience)
        if plan.make_topic:
            make(admin, plan.topic, plan.partitions, plan.replication_factor, config)
            return plan, None
        there = standing(bootstrap, plan.properties, admin, plan.topic, plan.partitions)
    except TopicError as error:
        raise RecordingError(str(error)) from None
    if there.records and plan.workload in ("groups", SHARES):
        raise RecordingError(
            f"topic {plan.topic} has records already, and members of a group would begin with "
            "those: name a topic without any"
        )
    names = ("replication_factor", "min_insync_replicas", "unclean_election")
    known = {n: v for n in names if (v := getattr(there, n)) is not None}
    return msgspec.structs.replace(plan, **known), there
