"""`recording.json`: what a history was recorded with, and what went wrong meanwhile.

`kraftcheck record` writes the file, and so may anybody: every field has a default. A field that the
schema does not have is refused, since a misspelt one would weaken what is promised, or strengthen
it, without a word. docs/reference/histories.md has the table of all fields (kraftcheck/docs.py
writes it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import msgspec

from kraftcheck.exits import BadInput
from kraftcheck.osutil.files import read_bytes
from kraftcheck.reference.clients.promises import Configuration, Envelope, unseen
from kraftcheck.traces.grouplog import GROUPS

RECORDING: Final = "recording.json"
HISTORY: Final = "history.jsonl"
ASSUMED: Final = "assumed"
BESIDE: Final = frozenset(
    {RECORDING, "metadata.jsonl", "logs.jsonl", "answers.jsonl", GROUPS, "disks"}
)
"""What is in a recording and no history."""

FIELDS: Final[Mapping[str, str]] = {
    "configuration": "object: the cluster, the topic and the clients",
    "envelope": "object: what went wrong; without it, the worst short of lost data is assumed",
    "envelope_is": "how that is known; `assumed`: the worst short of lost data is added to it",
    "complete": "whether consumers read every partition to its end (`--complete`); null: not known",
    "lines": "how many lines `history.jsonl` has; 0: not known",
}
"""The fields on which a verdict depends, with their meanings."""

DESCRIPTIVE: Final = (
    *("at_rest", "bootstrap", "client", "faults", "held", "kafka", "kept", "plan", "seconds"),
    *("settings", "standing", "trouble"),
)
"""The fields that describe the recording, and change no verdict of `check`."""

CONFIGURATION: Final[Mapping[str, str]] = {
    "log": "`partition`: of a topic; `metadata`: of the quorum",
    "acks": "of producers: `0`, `1` or `all`",
    "idempotence": "of producers; without it, a retry may append a second copy",
    "retries": "whether producers retry",
    "transactions": "whether some producer is transactional",
    "min_insync_replicas": "of the topic",
    "replication_factor": "of the topic",
    "elr": "eligible leader replicas (KIP-966)",
    "unclean_election": "unclean.leader.election.enable of the topic",
    "isolation": "of consumers: `read_uncommitted` or `read_committed`",
    "reads_from": "`leader`; `follower`: each consumer from one; `any`: each request from any",
    "consumers": "`assign`; `subscribe`; `listen`: they subscribe and report their rebalances; "
    "`share`: a share group",
    "one_client": "some process reads a partition to which it appends",
    "asks_latest": "some process reads a partition and asks for its end",
    "goes_back": "some process reads again from before where it had read to",
    "compaction": "`none`, `keyed` (each value is a pair of key and value) or `keys-unknown`",
    "late_requests": "a producer of TV1 continues after a request without an answer",
    "reset": "auto.offset.reset of consumers that subscribe, and share.auto.offset.reset: "
    "`earliest`, `latest` or `none`",
    "rebalance_s": "seconds for which a partition may be without a member",
    "transaction_s": "transaction.timeout.ms of producers, in seconds",
    "ending_s": "seconds for which a producer may wait for the end of its transaction",
    "lock_s": "group.share.record.lock.duration.ms, in seconds",
    "delivery_limit": "group.share.delivery.count.limit",
    "stall_s": "seconds for which a share group may be shown nothing while records wait",
}
ENVELOPE: Final[Mapping[str, str]] = {
    "leader_moves": "number of new leaders after the first, elected from the ISR or ELR",
    "unclean_moves": "number of leaders elected from outside both",
    "lossy": "number of replicas that lost records which were not flushed",
    "disks_lost": "number of replicas that came back with an empty disk",
    "network_partitions": "number of network partitions",
    "zombie": "an old leader may have served reads beside the new one",
    "expired": "producers were idle for longer than brokers keep their state",
}

FROM_HISTORY: Final = ("consumers", "one_client", "asks_latest", "goes_back", "transactions")
"""Fields of the configuration that the history tells, if the file does not (and with transactions
that are told step by step, `isolation`)."""


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What a `recording.json` says."""

    configuration: Configuration = Configuration()
    envelope: Envelope | None = None
    envelope_is: str | None = None
    complete: bool | None = None
    lines: int = 0
    given: frozenset[str] = frozenset()
    """The fields of the configuration that it has."""

    def over(self, configuration: Configuration) -> Configuration:
        """A configuration, but for the fields that the file has."""
        told = {name: getattr(self.configuration, name) for name in sorted(self.given)}
        return msgspec.structs.replace(configuration, **told)

    def went_wrong(self, configuration: Configuration) -> Envelope:
        """What the file says, or what has to be assumed, or the worse of both."""
        assumed = unseen(configuration)
        if self.envelope is None:
            return assumed
        if self.envelope_is != ASSUMED:
            return self.envelope
        told = msgspec.structs.asdict(self.envelope)
        both = {name: max(told[name], worst) for name, worst in _fields(assumed)}
        return Envelope(**both)

    @property
    def known(self) -> str:
        """How it is known what went wrong."""
        return self.envelope_is or (ASSUMED if self.envelope is None else f"as {RECORDING} says")


def _fields(envelope: Envelope) -> Iterable[tuple[str, Any]]:
    return msgspec.structs.asdict(envelope).items()


def read(place: Path) -> Recorded:
    """Raises BadInput: damaged, or a field that the schema does not have. OSError."""
    try:
        raw = msgspec.json.decode(read_bytes(place))
        if isinstance(raw, dict):
            _refuse_unknown(place, "", raw, (*FIELDS, *DESCRIPTIVE))
            for name, known in (("configuration", CONFIGURATION), ("envelope", ENVELOPE)):
                if isinstance(raw.get(name), dict):
                    _refuse_unknown(place, f"{name}.", raw[name], known)
            raw = {name: raw[name] for name in FIELDS if name in raw}
        recorded = msgspec.convert(raw, Recorded)
    except msgspec.MsgspecError as error:
        raise BadInput(f"{place}: damaged: {error}") from None
    given = frozenset(raw.get("configuration", ()))
    return msgspec.structs.replace(recorded, given=given)


def _refuse_unknown(place: Path, within: str, fields: Iterable[str], known: Iterable[str]) -> None:
    """Raises BadInput: a field of another name, with the nearest that there is."""
    names = list(known)
    for field in fields:
        if field not in names:
            near = get_close_matches(field, names, 1)
            what = f"did you mean {within}{near[0]}?" if near else f"there are {', '.join(names)}"
            raise BadInput(f"{place}: no field {within}{field:.60}: {what}")
