"""Consistency models of transactions, and the anomalies that rule them out.

Two tables say everything: `IMPLIES` (a history of this model is one of those as well) and
`FORBIDS` (the anomalies that a model excludes beyond those that weaker models exclude already). An
anomaly can be a special case of another one (`SPECIAL_CASE_OF`), and then excludes more models.

Source: the literature that Elle's `consistency_model` gathers (Adya; Bailis; Cerone; Daudjee). Two
entries go beyond it. Parallel snapshot isolation excludes `G-single` (Cerone and Gotsman,
"Analysing Snapshot Isolation", theorem on PSI: each cycle has two anti-dependencies or more). Read
atomic excludes `fractured-read` (Bailis et al., "Scalable Atomic Visibility with RAMP").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

STRICT_SERIALIZABLE: Final = "strict-serializable"
SERIALIZABLE: Final = "serializable"
STRONG_SESSION: Final = "strong-session-serializable"

IMPLIES: Final[Mapping[str, tuple[str, ...]]] = {
    STRICT_SERIALIZABLE: (STRONG_SESSION, "strong-snapshot-isolation"),
    STRONG_SESSION: (SERIALIZABLE, "strong-session-snapshot-isolation"),
    SERIALIZABLE: ("repeatable-read", "snapshot-isolation", "update-serializable"),
    "strong-snapshot-isolation": ("strong-session-snapshot-isolation", "strong-read-committed"),
    "strong-session-snapshot-isolation": ("snapshot-isolation", "strong-session-read-committed"),
    "snapshot-isolation": (
        *("forward-consistent-view", "monotonic-atomic-view", "monotonic-snapshot-read"),
        *("parallel-snapshot-isolation", "prefix"),
    ),
    "update-serializable": ("forward-consistent-view",),
    "repeatable-read": ("cursor-stability", "monotonic-atomic-view"),
    "forward-consistent-view": ("consistent-view",),
    "consistent-view": ("cursor-stability", "monotonic-view"),
    "parallel-snapshot-isolation": ("causal", "update-atomic"),
    "prefix": ("causal",),
    "causal": ("read-atomic",),
    "update-atomic": ("read-atomic",),
    "read-atomic": ("monotonic-atomic-view",),
    "monotonic-atomic-view": ("read-committed",),
    "monotonic-snapshot-read": ("read-committed",),
    "monotonic-view": ("read-committed",),
    "cursor-stability": ("read-committed",),
    "strong-read-committed": ("strong-session-read-committed", "strong-read-uncommitted"),
    "strong-session-read-committed": ("read-committed", "strong-session-read-uncommitted"),
    "read-committed": ("read-uncommitted",),
    "strong-read-uncommitted": ("strong-session-read-uncommitted",),
    "strong-session-read-uncommitted": ("read-uncommitted",),
    "read-uncommitted": (),
}
"""By model, the models next below it; the strongest first."""
MODELS: Final = tuple(IMPLIES)

ALIASES: Final = {
    **{"PL-1": "read-uncommitted", "PL-2": "read-committed", "PL-CS": "cursor-stability"},
    **{
        "PL-2L": "monotonic-view",
        "PL-MSR": "monotonic-snapshot-read",
        "PL-SI": "snapshot-isolation",
    },
    **{"PL-2+": "consistent-view", "PL-FCV": "forward-consistent-view", "PL-3": SERIALIZABLE},
    **{"PL-2.99": "repeatable-read", "PL-3U": "update-serializable", "PL-SS": STRICT_SERIALIZABLE},
    **{"conflict-serializable": SERIALIZABLE, "strong-serializable": STRICT_SERIALIZABLE},
    **{"sequential": STRONG_SESSION, "linearizable": STRICT_SERIALIZABLE},
    **{"SI": "snapshot-isolation", "PSI": "parallel-snapshot-isolation", "causal-cerone": "causal"},
}
"""Other names of models. Of single reads and writes, sequential and linearizable are these."""

FORBIDS: Final[Mapping[str, tuple[str, ...]]] = {
    "read-uncommitted": ("G0", "duplicate-elements", "cyclic-versions", "phantom"),
    "read-committed": ("G1a", "G1b", "G1c"),
    "cursor-stability": ("lost-update",),
    "consistent-view": ("G-single",),
    "read-atomic": ("internal", "future-read", "fractured-read"),
    "update-atomic": ("lost-update",),
    "causal": ("internal",),
    "prefix": ("internal",),
    "parallel-snapshot-isolation": ("internal", "G-single"),
    "snapshot-isolation": ("internal", "G-nonadjacent"),
    "repeatable-read": ("G2-item", "lost-update"),
    SERIALIZABLE: ("internal", "G2-item", "no-serial-order"),
    "strong-session-read-uncommitted": ("G0-process",),
    "strong-read-uncommitted": ("G0-realtime",),
    "strong-session-read-committed": ("G1c-process",),
    "strong-read-committed": ("G1c-realtime",),
    "strong-session-snapshot-isolation": ("G-nonadjacent-process",),
    "strong-snapshot-isolation": ("G-nonadjacent-realtime",),
    STRONG_SESSION: ("G2-item-process", "no-serial-order-process"),
    STRICT_SERIALIZABLE: ("G2-item-realtime", "no-serial-order-realtime"),
}

_CYCLES: Final = ("G0", "G1c", "G-single", "G-nonadjacent", "G2-item")
SPECIAL_CASE_OF: Final[Mapping[str, tuple[str, ...]]] = {
    **{name: (f"{name}-process",) for name in _CYCLES},
    **{f"{name}-process": (f"{name}-realtime",) for name in _CYCLES},
    "fractured-read": ("G-single",),
    "incompatible-order": ("G1a",),
    "dirty-update": ("G1a",),
    "future-read": ("G1c",),
    "lost-update": ("G2-item",),
    "no-serial-order": ("no-serial-order-process",),
    "no-serial-order-process": ("no-serial-order-realtime",),
}
"""By anomaly, wider ones. Besides, within one variant (plain, process, real-time), each kind of
`_CYCLES` counts as a case of the next: a model that excludes the next one excludes it as well."""

MEANINGS: Final[Mapping[str, str]] = {
    "internal": "a read contradicts what its own transaction wrote or read before",
    "future-read": "a transaction read what it wrote only later",
    "phantom": "a value was read that nobody wrote",
    "duplicate-elements": "a list holds one appended element twice",
    "incompatible-order": "two reads show lists of which neither continues the other",
    "cyclic-versions": "transactions order the versions of a register in a cycle",
    "G1a": "a transaction read what an aborted one wrote",
    "G1b": "a transaction read a version that its writer overwrote itself",
    "dirty-update": "a committed transaction wrote on top of an aborted one's version",
    "lost-update": "two transactions read one version of an object and both wrote the object",
    "fractured-read": "a transaction saw one write of another one and missed another write of it",
    "G0": "transactions overwrite each other in a cycle",
    "G1c": "a cycle of overwriting and reading: information flows in a circle",
    "G-single": "a cycle with one anti-dependency: a transaction missed what it depends on",
    "G-nonadjacent": "a cycle with anti-dependencies, no two of them in a row (as in a long fork)",
    "G2-item": "a cycle with two anti-dependencies in a row (as in write skew)",
    "no-serial-order": "no order of the transactions explains all reads",
}
"""What each anomaly is. A cycle's variants `-process` and `-realtime` take the order within a
client and that of real time into the cycle."""
VARIANTS: Final = ("", "-process", "-realtime")


def canonical(name: str) -> str | None:
    """The model of that name or alias; None if there is none."""
    return name if name in IMPLIES else ALIASES.get(name)


@cache
def implied(anomaly: str) -> frozenset[str]:
    """The anomalies that this one is a case of, and itself."""
    found = {anomaly}
    stack = [anomaly]
    while stack:
        name = stack.pop()
        wider = set(SPECIAL_CASE_OF.get(name, ()))
        for variant in VARIANTS:
            base = name.removesuffix(variant)
            if base in _CYCLES[:-1]:
                wider.add(f"{_CYCLES[_CYCLES.index(base) + 1]}{variant}")
        stack += wider - found
        found |= wider
    return frozenset(found)


@cache
def weaker(model: str) -> frozenset[str]:
    """The models that this one implies, and itself."""
    found = {model}
    for name in IMPLIES[model]:
        found |= weaker(name)
    return frozenset(found)


def excluded(anomalies: Iterable[str]) -> frozenset[str]:
    """The models that a history with these anomalies does not satisfy."""
    wide = {each for anomaly in anomalies for each in implied(anomaly)}
    direct = {model for model, forbidden in FORBIDS.items() if wide & set(forbidden)}
    return frozenset(model for model in MODELS if weaker(model) & direct)


def strongest(models: Iterable[str]) -> tuple[str, ...]:
    """Of some models those that no other of them implies, the strongest first."""
    rest = set(models)
    return tuple(
        model
        for model in MODELS
        if model in rest and not any(model in weaker(each) for each in rest - {model})
    )


def breaks(anomaly: str, model: str) -> bool:
    """Whether the anomaly alone rules out the model."""
    return model in excluded((anomaly,))


def meaning(anomaly: str) -> str:
    """What the anomaly is, in words."""
    for variant, more in (
        ("-process", ", with the order within a client"),
        ("-realtime", ", with the order of real time"),
    ):
        base = anomaly.removesuffix(variant)
        if base != anomaly:
            return MEANINGS[base] + more
    return MEANINGS[anomaly]
