"""How TLC's states of transactions are read.

Their models know a partition by a model value, count transactions together, have the
transaction log beside its coordinators, and forget messages that are refused for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.kit.fields import fields_of
from kraftcheck.reference.kit.protocol import HISTORY
from kraftcheck.reference.transactions import properties as transactions
from kraftcheck.reference.transactions.messages import COORDINATOR
from kraftcheck.reference.transactions.types import (
    Client,
    Constants,
    Coordinators,
    PartitionLeader,
    Reader,
)
from kraftcheck.traces.counterexamples.readings import Reading, Shown
from kraftcheck.traces.counterexamples.rows import Rows, Texts, Values
from tla_utils import Record, Value, function
from tla_utils.settings import Settings
from tla_utils.values import Function, ModelValue

FIRST_PARTITION: Final = 11
HIDDEN: Final = frozenset(("source", "destination", "behind"))
"""Fields of messages that the models do not have."""


def _constants(texts: Mapping[str, str]) -> Constants:
    """Raises ToolError: one is missing, or no number."""
    settings = Settings(texts)
    names = settings.members("Partitions")
    return Constants(
        tuple(range(FIRST_PARTITION, FIRST_PARTITION + len(names))),
        2 if settings.number("Version") == 2 else 1,
        tuple(range(1, len(settings.members("Clients")) + 1)),
        settings.number("MaxCoordinators"),
        settings.number("MaxEpoch"),
        texts["HearsErrors"] == "TRUE",
        2 if settings.number("Replicas") == 2 else 1,
        tuple([FIRST_PARTITION + names.index(each) for each in settings.members("Offsets")]),
        texts["Recovers"] == "TRUE",
        texts["IdsExpire"] == "TRUE",
        tuple(sorted(map(int, settings.members("ReadCommitted")))),
        tuple(sorted(map(int, settings.members("ReadUncommitted")))),
        texts.get("MaxRefused", "0") != "0",
    )


def _shown(value: Value) -> Value:
    """Without what the models leave out or number otherwise."""
    match value:
        case ModelValue():
            return FIRST_PARTITION - 1 + int(value.name.removeprefix("p"))
        case tuple():
            return tuple([_shown(each) for each in value])
        case frozenset():
            return frozenset(_shown(each) for each in value)
        case Record() if set(value) == {"records"}:
            return _shown(value["records"])
        case Record():
            is_add = value.get("type") == "AddPartitions"
            left_out = HIDDEN | {"client"} if is_add else HIDDEN
            # The number of a transaction; a coordinator's row has a record of that name.
            left_out |= {"txn"} if isinstance(value.get("txn"), int) else set()
            return Record({k: _shown(each) for k, each in value.items() if k not in left_out})
        case Function():
            return function((_shown(k), _shown(each)) for k, each in value.items())
    return value


def _seen(values: Mapping[str, Value]) -> Shown:
    of_log = ("coordinators", "leaderEpoch", "log", "leaderless")
    rows: dict[int, Value | None] = {
        COORDINATOR: _shown(Record({name: values[name] for name in of_log}))
    }
    for name in ("clients", "partitions", "readers"):
        entries: Any = _shown(values[name])
        numbered = enumerate(entries, 1) if isinstance(entries, tuple) else entries.items()
        rows |= dict(numbered)
    return rows, _shown(values["network"])


READING: Final = Reading(_constants, lambda constants: [_seen], _shown)


# -- What properties look at


def asked_with(cfg: Texts, before: Values, after: Values, bug: str | None) -> tuple[Any, ...]:
    """What properties are asked with, of two states of a model, the second after the first."""
    reader = Rows(after["partitions"], FIRST_PARTITION)

    def rows(values: Values) -> dict[int, Any]:
        log = {field.spec_name: values[field.spec_name] for field in fields_of(Coordinators)}
        # Who asked is not remembered by the specification: its network forgets no request.
        ends = [message for message in values["network"] if message["type"] == "EndTxn"]
        history = transactions.History(
            decided=frozenset(
                transactions.Decided(
                    d["state"], d["epoch"], tuple(sorted(reader.set_of(d["partitions"])))
                )
                for d in values["decided"]
            ),
            told=frozenset(
                transactions.EndAnswer(t["txn"], t["decision"], t["epoch"]) for t in values["told"]
            ),
            asked=frozenset(m["txn"] for m in ends if m["decision"] == "Commit"),
            aborts=frozenset(m["epoch"] for m in ends if m["decision"] == "Abort"),
            handed_out=values["handedOut"],
            late=reader.set_of(values["late"]),
        )
        return {
            COORDINATOR: reader.struct(Coordinators, Record(log)),
            HISTORY: history,
            **reader.by_node(PartitionLeader, values["partitions"]),
            **reader.by_node(Client, values["clients"]),
            **reader.by_node(Reader, values["readers"]),
        }

    constants = replace(_constants(cfg), partitions=tuple(reader.nodes))
    return constants, rows(before), rows(after)
