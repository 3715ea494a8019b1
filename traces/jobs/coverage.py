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

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from kraftcheck.traces.relation import grouped
from kraftcheck.traces.steps.record import Ints, Occurrences, ints, lists, read_bodies, tally

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
    said = read_bodies(inputs, _decode, "an input")
    errors, error = _numbered([each.error for each in said])
    roles, role = _numbered([*map(_role, read_bodies(tables["rows"], _decode_row, "a row"))])
    consumed, before = ints(steps["input"])[met], ints(steps["before"])[met]
    masks, sent = np.unique(_sent_types(steps, kind)[met], return_inverse=True)
    effects = [_named(mask, types) for mask in masks.tolist()]
    taken = (actions, action[met])
    found.enter("action", taken[1], actions.__getitem__)
    found.enter_pairs(
        "ignored", taken, (reasons, reason[met]), lambda action, why: why and f"{action}: {why}"
    )
    found.enter_pairs(
        "error",
        (types, kind[consumed]),
        (errors, error[consumed]),
        lambda of, error: "" if error in NO_ERROR else f"{of}: {error}",
    )
    found.enter_pairs(
        "effect",
        taken,
        (effects, sent.reshape(-1)),
        lambda action, effect: f"{action} -> {effect}",
    )
    found.enter_pairs(
        "role", taken, (roles, role[before]), lambda action, role: role and f"{action} as {role}"
    )
    return pa.Table.from_pylist(sorted(found.rows, key=itemgetter("kind", "name")), schema=FEATURES)


def merge_features(parts: list[pa.Table]) -> pa.Table:
    """FEATURES of several parts together, by kind and name."""
    whole = pa.concat_tables([FEATURES.empty_table(), *parts])
    found = grouped(whole, ["kind", "name"], sums=["count"], first=["first_run"])
    return found.select(FEATURES.names).sort_by([("kind", "ascending"), ("name", "ascending")])


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


_OfSteps: TypeAlias = tuple[list[str], Ints]
"""Names, and of each step that was met the number of its own."""


class _MetFeatures:
    """Features of steps that were met: `count` and `first_run` are those of each step."""

    def __init__(self, count: Ints, first_run: Ints) -> None:
        self.rows: list[dict[str, Any]] = []
        self._count, self._first_run = count, first_run

    def enter_pairs(
        self, kind: str, one: _OfSteps, other: _OfSteps, name_of: Callable[[str, str], str]
    ) -> None:
        """As `enter`, of pairs of names."""
        width = len(other[0])
        codes = width * one[1] + other[1]
        self.enter(kind, codes, lambda at: name_of(one[0][at // width], other[0][at % width]))

    def enter(self, kind: str, codes: Ints, name_of: Callable[[int], str]) -> None:
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


def _named(mask: int, types: list[str]) -> str:
    sent = sorted(types[bit] for bit in range(len(types)) if mask >> bit & 1)
    return ", ".join(sent) or "nothing"


def _encoded(column: pa.ChunkedArray) -> tuple[list[str], Ints]:
    """The distinct texts of a column, and of each entry the number of its own."""
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), ints(encoded.indices)


def _numbered(texts: list[str]) -> tuple[list[str], Ints]:
    """The distinct texts in order, and of each text its number among them."""
    names = sorted(set(texts))
    number = {name: at for at, name in enumerate(names)}
    return names, np.array([number[text] for text in texts], dtype=np.int64)


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
