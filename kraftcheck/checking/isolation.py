"""Transactions over lists and registers: judged by a consistency model."""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches
from typing import Any, Final

import msgspec

from kraftcheck.checking.objects import LINEARIZABLE, initial_of, judge_objects
from kraftcheck.checking.options import Options
from kraftcheck.exits import BadInput
from kraftcheck.traces.checkers import causal
from kraftcheck.traces.checkers.isolation import levels
from kraftcheck.traces.checkers.isolation.judging import (
    EVIDENCE,
    Isolation,
    check_isolation,
)
from kraftcheck.traces.checkers.isolation.transactions import spans_several
from kraftcheck.traces.checkers.verdict import (
    CERTIFICATES_MAX,
    HOLDS,
    UNKNOWN,
    VIOLATED,
    Anomaly,
    Certificate,
)
from kraftcheck.traces.history import History
from kraftcheck.traces.report.judged import JudgedHistory

CAUSAL: Final = "causal"


def judge_causal(history: History, facts: dict[str, Any], options: Options) -> JudgedHistory:
    """Judges single reads and writes of registers by causal consistency."""
    found, reason = list[Certificate](), None
    try:
        found = causal.violations(history, initial_of(history, options))
    except causal.Undecided as undecided:
        reason = str(undecided)
    counted = Counter(each.kind for each in found)
    anomalies = tuple(
        Anomaly(
            name=name,
            count=count,
            allowed=False,
            reason=causal.ANOMALIES[name],
            certificates=tuple(each for each in found if each.kind == name)[:CERTIFICATES_MAX],
        )
        for name, count in counted.items()
    )
    verdict = VIOLATED if found else HOLDS if reason is None else UNKNOWN
    return JudgedHistory(
        **facts,
        verdict=verdict,
        level=CAUSAL if verdict == HOLDS else None,
        promised=CAUSAL,
        certificate=min(found, key=lambda each: len(each.operations), default=None),
        reason=reason,
        anomalies=anomalies,
    )


def applies(history: History, model: str, options: Options) -> bool:
    """Say whether isolation matters in this history.

    It does if some transaction does more than one thing, or if another model than linearizability
    is asked for.

    Single operations are judged for linearizability, which they are object by object.
    """
    if model not in EVIDENCE or (model == "register" and options.level == CAUSAL):
        return model in EVIDENCE and spans_several(history)
    return spans_several(history) or options.level not in (None, LINEARIZABLE)


def judge_isolation(history: History, facts: dict[str, Any], options: Options) -> JudgedHistory:
    """Judges a history of transactions. Raises BadInput: no such consistency model."""
    wanted = consistency_named(options.level or levels.STRICT_SERIALIZABLE)
    asked = history
    initial = initial_of(history, options)
    if initial is not None:
        history = _from_nothing(history, facts["model"], initial)
    found = check_isolation(history, facts["model"], wanted)
    if found.verdict == UNKNOWN and wanted == levels.STRICT_SERIALIZABLE:
        searched = _searched(asked, facts, options)
        if searched.verdict != UNKNOWN:
            return msgspec.structs.replace(searched, transactions=found.transactions)
    broken = [each for each in found.anomalies if not each.allowed]
    certificates = [each for anomaly in broken for each in anomaly.certificates]
    return JudgedHistory(
        **facts,
        verdict=found.verdict,
        level=" and ".join(found.held) or None,
        promised=wanted,
        because="" if options.level is not None else "nothing else was asked for",
        certificate=min(certificates, key=lambda each: len(each.operations), default=None),
        reason=None if broken else _reason(found),
        anomalies=found.anomalies,
        transactions=found.transactions,
    )


def consistency_named(name: str) -> str:
    """The consistency model of that name. Raises BadInput with the nearest one."""
    found = levels.canonical(name)
    if found is None:
        near = get_close_matches(name, [*levels.MODELS, *levels.ALIASES], 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(levels.MODELS)}"
        raise BadInput(f"no consistency model {name!r}: {hint}")
    return found


def _searched(history: History, facts: dict[str, Any], options: Options) -> JudgedHistory:
    """Strict serializability by search, where dependencies do not decide it."""
    model = {"register": "multi-register", "list-append": "multi-list"}[facts["model"]]
    found = judge_objects(history, {**facts, "model": model}, options._replace(level=None))
    strict = levels.STRICT_SERIALIZABLE
    level = strict if found.verdict == HOLDS else None
    return msgspec.structs.replace(found, model=facts["model"], level=level, promised=strict)


def _from_nothing(history: History, model: str, initial: Any) -> History:
    """The history of registers that are nil where these have an initial value.

    Raises BadInput: of other objects.
    """
    if model != "register":
        raise BadInput(f"--initial is of registers; a {model} begins empty")
    replace = msgspec.structs.replace
    names = {"read": "result", "write": "argument"}
    operations = tuple(
        replace(each, **{names[each.f]: None}) if getattr(each, names[each.f]) == initial else each
        for each in history.operations
    )
    return replace(history, operations=operations)


def _reason(found: Isolation) -> str | None:
    if found.verdict == HOLDS and found.reason is not None:
        return f"as far as was asked; beyond it: {found.reason}"
    return found.reason
