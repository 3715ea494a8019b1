"""Values, messages and moves in words: one way to print them for transcripts and schedules.

Law of this file: nothing is left out that a reader could miss, and nothing is printed twice. An
omission has a fixed meaning: `error` is omitted when it is NONE, `diverging` when nothing diverges,
a connection when it is Ready, and of a response the request that it answers.

How values are printed: a record is `epoch:value`, with `LC` for a LeaderChange and `{1, 2}` for a
set of voters; a line of the epoch cache is `epoch@start`; an unknown offset is `?`.
"""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.kit.log import LEADER_CHANGE, Log
from kraftcheck.reference.quorum.messages import NO_DIVERGENCE, Input, Message
from kraftcheck.reference.quorum.types import NOBODY, UNDEFINED, Constants, QuorumStateFile

NODES = {"leader", "voted"}
NODE_SETS = {"granted", "rejected", "fetched_voters", "unacked", "successors"}
OFFSETS = {"high_watermark", "epoch_start", "announced"}
IMPLIED = {"source", "destination", "request"}


def log_words(log: Log) -> str:
    return " ".join(f"{e.epoch}:{_value(e)}" for e in log) or "none"


def _value(entry: Any) -> str:
    """Records of protocols that extend this one may have a set of voters."""
    if voters := getattr(entry, "voters", ()):
        return f"{{{', '.join(map(str, voters))}}}"
    return "LC" if entry.value == LEADER_CHANGE else f"v{entry.value}"


def node_words(node: int) -> str:
    return "nobody" if node == NOBODY else str(node)


def offset_words(offset: int) -> str:
    return "?" if offset == UNDEFINED else str(offset)


def value_words(constants: Constants, name: str, value: Any) -> str:
    """One field of a row or a message."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in NODES:
        return node_words(value)
    if name in OFFSETS:
        return offset_words(value)
    if name in NODE_SETS:
        return "{" + ", ".join(map(str, value)) + "}"
    if name in ("log", "records"):
        return log_words(value)
    if name == "quorum_state":
        return quorum_state_words(value)
    if name == "epoch_cache":
        return " ".join(f"{e.epoch}@{e.start}" for e in value) or "none"
    if name == "diverging":
        return f"{value.epoch}..{value.end_offset}"
    if name == "end_offsets":
        pairs = zip(constants.voters, value, strict=True)
        return " ".join(f"{v}={offset}" for v, offset in pairs if offset != UNDEFINED) or "none"
    if name == "connections":
        pairs = zip(constants.voters, value, strict=True)
        return " ".join(f"{v}={state}" for v, state in pairs if state != "Ready") or "all Ready"
    if name == "parked":
        return "; ".join(f"{m.source} from {m.fetch_offset}" for m in value) or "none"
    return str(value)


def quorum_state_words(file: QuorumStateFile) -> str:
    leader, voted = node_words(file.leader), node_words(file.voted)
    return f"epoch={file.epoch} leader={leader} voted={voted}"


def is_printed(name: str, value: Any) -> bool:
    """Whether a field of an input is printed."""
    if name in IMPLIED:
        return False
    return not (name == "error" and value == "NONE") and value != NO_DIVERGENCE


def input_words(constants: Constants, input: Input) -> str:
    """An input without whom it is for."""
    parts = [
        f"{name}={value_words(constants, name, getattr(input, name))}"
        for name in input.__struct_fields__
        if is_printed(name, getattr(input, name))
    ]
    return " ".join([type(input).__name__, *parts])


def message_words(constants: Constants, m: Message) -> str:
    return f"{m.source} -> {m.destination} {input_words(constants, m)}"


def move_words(constants: Constants, node: int, input: Input) -> str:
    """One step as a line of a script."""
    if hasattr(input, "destination"):
        message: Any = input
        return message_words(constants, message)
    of = getattr(input, "request", None)
    suffix = "" if of is None else f" of {of.source}"
    return f"{node} {input_words(constants, input)}{suffix}"
