"""How TLC's states are read where a model does not show nodes and messages as they are.

The models of transactions know a partition by a model value, count transactions together, have the
transaction log beside its coordinators, and forget messages that are refused for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from kraftcheck.exits import BadInput
from reference.transactions.messages import COORDINATOR
from reference.transactions.types import Constants
from tla_utils import Record, ToolError, Value, function
from tla_utils.values import Function, ModelValue
from traces.cover.settings import Settings


class Reading(NamedTuple):
    """constants: from the texts of a cfg. seen: of each node its row, and the messages in the
    network, under these constants. own: as much of a row or message of the reference.
    """

    constants: Callable[[Mapping[str, str]], Any]
    seen: Callable[[Any, Mapping[str, Value]], tuple[dict[int, Value | None], Value | None]]
    own: Callable[[Value], Value]


FIRST_PARTITION: Final = 11
HIDDEN: Final = frozenset(("source", "destination", "behind"))
"""Fields of messages that the models do not have."""


def _transactions(texts: Mapping[str, str]) -> Constants:
    """Raises BadInput: one is missing, or no number."""
    settings = Settings(texts)
    try:
        names = settings.members("Partitions")
        return Constants(
            tuple(range(FIRST_PARTITION, FIRST_PARTITION + len(names))),
            2 if settings.number("Version") == 2 else 1,
            tuple(range(1, len(settings.members("Clients")) + 1)),
            settings.number("MaxCoordinators"),
        )
    except ToolError as error:
        raise BadInput(str(error)) from None


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


def _seen(
    constants: Constants, values: Mapping[str, Value]
) -> tuple[dict[int, Value | None], Value | None]:
    of_log = ("coordinators", "leaderEpoch", "log", "leaderless")
    rows: dict[int, Value | None] = {
        COORDINATOR: _shown(Record({name: values[name] for name in of_log}))
    }
    for name in ("clients", "partitions"):
        entries: Any = _shown(values[name])
        numbered = enumerate(entries, 1) if isinstance(entries, tuple) else entries.items()
        rows |= dict(numbered)
    return rows, _shown(values["network"])


READINGS: Final = {"transactions": Reading(_transactions, _seen, _shown)}
"""By name of the protocol."""
