"""What the runs of a part have met: actions, reasons to ignore, error codes, and what was sent.

A *feature* is a kind and a name. FEATURES says of each how often it was met and in which run first;
so the coverage of any number of runs, and how it grew, is a sum and a minimum.

    action   an action of the specification
    ignored  an action and the reason for which it ignored its input
    error    a message and the error code in it, where there is one
    effect   an action and the kinds of messages that the step sent
    role     an action and the role of the node that took it, as it was before

Decisions of the protocol are a fifth kind, found in another way (novelty.py).

Beside it stands the estimate of what is still unseen (`unseen`), from how often things were seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.steps.record import Ints, Occurrences, ints, lists, tally

KINDS: Final = ("action", "ignored", "error", "effect", "role")

FEATURES: Final = pa.schema(
    [
        ("kind", pa.string()),
        ("name", pa.string()),
        ("count", pa.int64()),
        ("first_run", pa.int64()),
    ]
)
"""A feature: how often it was met, and the first run that met it."""

NO_ERROR: Final = ("", "NONE")


class _Coded(msgspec.Struct, frozen=True, gc=False):
    error: str = ""


class _Played(msgspec.Struct, frozen=True, gc=False):
    """What a row's role follows from, as its protocol has it; of some nothing."""

    role: str = ""
    status: str = ""
    registrations: list[msgspec.Raw] | None = None


_decode = msgspec.msgpack.Decoder(_Coded).decode
_decode_row = msgspec.msgpack.Decoder(_Played).decode


def features(tables: Mapping[str, pa.Table]) -> pa.Table:
    """FEATURES of a part, by kind and name. Raises TraceError: an input that is none."""
    count, first = tally(tables)
    runs, steps, inputs = tables["runs"], tables["steps"], tables["inputs"]
    run_of = ints(runs["run"])[Occurrences.from_runs(runs).run_at]
    met = np.flatnonzero(count > 0)
    first_run = run_of[first[met]] if len(met) else first[met]
    found = _MetFeatures(count[met], first_run)
    actions, action = _encoded(steps["action"])
    reasons, reason = _encoded(steps["ignored"])
    types, kind = _encoded(inputs["type"])
    errors, error = _errors(inputs)
    consumed = ints(steps["input"])[met]
    action, reason = action[met], reason[met]
    coded = len(errors) * kind[consumed] + error[consumed]
    found.enter("action", action, lambda code: actions[code])
    found.enter(
        "ignored",
        len(reasons) * action + reason,
        lambda code: _pair(actions[code // len(reasons)], reasons[code % len(reasons)], ("",)),
    )
    found.enter(
        "error",
        coded,
        lambda code: _pair(types[code // len(errors)], errors[code % len(errors)], NO_ERROR),
    )
    sent, masks = np.unique(_sent_types(steps, kind)[met], return_inverse=True)
    found.enter(
        "effect",
        len(sent) * action + masks.reshape(-1),
        lambda code: (
            f"{actions[code // len(sent)]} -> {_named(int(sent[code % len(sent)]), types)}"
        ),
    )
    roles, role = _roles(tables["rows"])
    played = len(roles) * action + role[ints(steps["before"])[met]]
    found.enter(
        "role",
        played,
        lambda code: _as(actions[code // len(roles)], roles[code % len(roles)]),
    )
    return pa.Table.from_pylist(sorted(found.rows, key=_kind_and_name), schema=FEATURES)


def merge_features(parts: list[pa.Table]) -> pa.Table:
    """FEATURES of several parts together, by kind and name."""
    whole = pa.concat_tables([FEATURES.empty_table(), *parts])
    grouped = whole.group_by(["kind", "name"]).aggregate([("count", "sum"), ("first_run", "min")])
    own = {"count_sum": "count", "first_run_min": "first_run"}
    grouped = grouped.rename_columns([own.get(name, name) for name in grouped.column_names])
    return grouped.select(FEATURES.names).sort_by([("kind", "ascending"), ("name", "ascending")])


def unseen(counts: Ints) -> dict[str, Any]:
    """What the counts of distinct things say of those not yet seen.

    next_is_new: the chance that the next draw shows a new one, as Good and Turing estimate it (the
    share of draws whose thing was seen once). hidden: how many there are still, at least, by Chao's
    lower bound; null where nothing was seen twice, so that no bound can be told.
    """
    draws, once, twice = int(counts.sum()), int((counts == 1).sum()), int((counts == 2).sum())
    hidden = None if once and not twice else 0 if not once else round(once**2 / (2 * twice))
    return {
        "distinct": len(counts),
        "draws": draws,
        "seen_once": once,
        "seen_twice": twice,
        "next_is_new": once / draws if draws else None,
        "hidden": hidden,
    }


class _MetFeatures:
    """Features of steps that were met: `count` and `first_run` are those of each step."""

    def __init__(self, count: Ints, first_run: Ints) -> None:
        self.rows: list[dict[str, Any]] = []
        self._count, self._first_run = count, first_run

    def enter(self, kind: str, codes: Ints, name_of: Any) -> None:
        """A feature for each distinct code, unless its name is empty."""
        known, of = np.unique(codes, return_inverse=True)
        of = of.reshape(-1)
        count = np.zeros(len(known), dtype=np.int64)
        np.add.at(count, of, self._count)
        first = np.full(len(known), np.iinfo(np.int64).max)
        np.minimum.at(first, of, self._first_run)
        for at, code in enumerate(known.tolist()):
            name = name_of(code)
            if name:
                row = {"kind": kind, "name": name, "count": int(count[at])}
                self.rows.append({**row, "first_run": int(first[at])})


def _kind_and_name(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["kind"], row["name"]


def _pair(what: str, detail: str, nothing: tuple[str, ...]) -> str:
    return "" if detail in nothing else f"{what}: {detail}"


def _as(what: str, role: str) -> str:
    return f"{what} as {role}" if role else ""


def _named(mask: int, types: list[str]) -> str:
    sent = sorted(types[bit] for bit in range(len(types)) if mask >> bit & 1)
    return ", ".join(sent) or "nothing"


def _encoded(column: pa.ChunkedArray) -> tuple[list[str], Ints]:
    """The distinct texts of a column, and of each entry the number of its own."""
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), ints(encoded.indices)


def _errors(inputs: pa.Table) -> tuple[list[str], Ints]:
    try:
        said = [_decode(body).error for body in inputs["body"].to_pylist()]
    except msgspec.MsgspecError as error:
        raise TraceError(f"an input cannot be read: {error}") from None
    return _numbered(said)


def _numbered(texts: list[str]) -> tuple[list[str], Ints]:
    """The distinct texts in order, and of each text its number among them."""
    names = sorted(set(texts))
    number = {name: at for at, name in enumerate(names)}
    return names, np.array([number[text] for text in texts], dtype=np.int64)


def _roles(rows: pa.Table) -> tuple[list[str], Ints]:
    try:
        seen = [_decode_row(body) for body in rows["body"].to_pylist()]
    except msgspec.MsgspecError as error:
        raise TraceError(f"a row cannot be read: {error}") from None
    return _numbered([_role(row) for row in seen])


def _role(row: _Played) -> str:
    if row.registrations is not None:
        return "Controller"
    return row.role if row.status in ("", "Running") else row.status


def _sent_types(steps: pa.Table, kind: Ints) -> Ints:
    """Of each step, the types of what it sent, as a set of bits."""
    lengths, items = lists(steps["sent"])
    masks = np.zeros(len(lengths), dtype=np.int64)
    bits = np.left_shift(np.int64(1), kind[ints(items)])
    np.bitwise_or.at(masks, np.repeat(np.arange(len(lengths)), lengths), bits)
    return masks
