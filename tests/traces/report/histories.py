"""Histories and judgements to make pages of: logs and registers with any number of processes."""

from __future__ import annotations

import random

from msgspec.structs import replace

from kraftcheck.traces.checkers.verdict import HOLDS, VIOLATED, Certificate
from kraftcheck.traces.history import FAIL, INDETERMINATE, OK, Annotation, History, Operation
from kraftcheck.traces.report.judged import Anomaly, JudgedHistory, Object, Staleness

KEY = "orders-0"


def log_history(processes: int, operations: int, seed: int = 1) -> History:
    """Appends and fetches of one log, about as many at once as there are processes."""
    chance = random.Random(seed)
    free = [0] * processes
    names = list(range(processes))
    fresh = processes
    found: list[Operation] = []
    offset = 0
    while len(found) < operations:
        lane = min(range(processes), key=lambda each: free[each])
        invoked = free[lane] + chance.randint(1, 400_000)
        completed = invoked + chance.randint(200_000, 9_000_000)
        outcome = chance.choices([OK, INDETERMINATE, FAIL], [90, 5, 5])[0]
        free[lane] = completed
        argument: object = None
        result: object = None
        f = chance.choice(["append", "fetch"])
        if f == "append":
            argument, offset = offset * 10 + 7, offset + 1
            result = offset - 1 if outcome == OK else None
        else:
            argument = max(0, offset - chance.randint(0, 5))
            read = tuple((o, o * 10 + 7) for o in range(argument, offset))
            result = read if outcome == OK else None
        found.append(
            Operation(
                index=0,
                process=names[lane],
                f=f,
                key=KEY,
                argument=argument,
                result=result,
                invoked=invoked,
                completed=completed,
                outcome=outcome,
                group=0,
                line=1,
                error="timed out" if outcome != OK else None,
            )
        )
        if outcome == INDETERMINATE:
            names[lane], fresh = fresh, fresh + 1
    return numbered(found, processes)


def numbered(found: list[Operation], processes: int) -> History:
    """In order of invocation, with faults and new leaders."""
    found.sort(key=lambda each: each.invoked)
    operations = tuple(
        replace(each, index=at, group=at, line=2 * at + 1) for at, each in enumerate(found)
    )
    end = operations[-1].invoked
    annotations = (
        Annotation(at=end // 3, until=end // 2, kind="fault", label="partition n1 | n2 n3"),
        Annotation(at=end // 2, kind="leader epoch", label="epoch 4: n2 leads", key=KEY),
        Annotation(at=end * 2 // 5, until=end * 4 // 5, kind="fault", label="pause n3"),
    )
    return History(
        source="history.edn",
        format="jepsen",
        time_unit="ns",
        operations=operations,
        annotations=annotations,
        model="partition-log",
    )


def stale(history: History) -> JudgedHistory:
    """A judgement that accuses the first answered append and the last answered fetch."""
    answered = [each for each in history.operations if each.outcome == OK]
    append = next((each for each in answered if each.f == "append"), answered[0])
    fetch = next((each for each in reversed(answered) if each.f == "fetch"), answered[-1])
    certificate = Certificate(
        operations=(append.index, fetch.index),
        kind="stale-read",
        sentence=f"the fetch of process {fetch.process} misses offset {append.result}, which was "
        "acknowledged before it began",
        key=KEY,
    )
    return judged(
        history,
        verdict=VIOLATED,
        level="ordered sequential",
        certificate=certificate,
        anomalies=(
            Anomaly(
                name="stale-read",
                count=7,
                allowed=False,
                reason="leader reads promise linearizability while no leader fails",
                certificates=(certificate,),
            ),
            Anomaly(name="poll-skip", count=12, allowed=True, reason="consumers subscribe"),
        ),
        staleness=(
            Staleness(
                key=KEY,
                reads=90,
                delays=(1_500, 2_000_000, 3_000_000, 40_000_000),
                missed=(1, 1, 2, 9),
            ),
        ),
    )


def judged(history: History, *, verdict: str = HOLDS, **facts: object) -> JudgedHistory:
    outcomes = [each.outcome for each in history.operations]
    known = {
        "file": "histories/history.edn",
        "format": history.format,
        "model": history.model,
        "verdict": verdict,
        "level": "linearizable" if verdict == HOLDS else None,
        "promised": "linearizable",
        "because": "acks=all, reads from the leader, clean elections",
        "seconds": 0.01,
        "operations": len(outcomes),
        "indeterminate": outcomes.count(INDETERMINATE),
        "failed": outcomes.count(FAIL),
        "processes": len({each.process for each in history.operations}),
        "configuration": {"acks": "all", "isolation": "read_uncommitted"},
        "command": "kraftcheck check histories/history.edn --html pages",
        "objects": (Object(key=KEY, verdict=verdict, operations=len(outcomes)),),
    }
    return JudgedHistory(**{**known, **facts})  # type: ignore[arg-type]


def register_history() -> tuple[History, JudgedHistory]:
    """A register with a linearization as witness."""
    times = [(0, 40), (10, 20), (25, 90), (30, 35), (50, 60), (70, 80)]
    asked = [("write", 1, None), ("read", None, 1), ("write", 2, None)]
    asked += [("read", None, 1), ("read", None, 2), ("read", None, 2)]
    operations = [
        Operation(
            index=at,
            process=(0, 1, 2, 1, 0, 1)[at],
            f=f,
            argument=argument,
            result=result,
            invoked=begin,
            completed=end,
            outcome=OK,
            group=at,
            line=at + 1,
        )
        for at, ((begin, end), (f, argument, result)) in enumerate(zip(times, asked, strict=True))
    ]
    history = History(
        source="r",
        format="loglines",
        time_unit="event",
        operations=tuple(operations),
        model="register",
    )
    found = Object(key=None, verdict=HOLDS, operations=6, witness=(0, 1, 3, 2, 4, 5))
    return history, judged(history, objects=(found,), configuration={}, because="")


def divergent() -> tuple[History, JudgedHistory]:
    """Two values at one offset, and who saw which."""
    history = log_history(6, 40, seed=3)
    operations = list(history.operations)
    at = next(o for o in operations if o.f == "fetch" and o.outcome == OK and len(o.result) > 1)
    first, *rest = at.result
    operations[at.index] = replace(at, result=((first[0], 999), *rest))
    writer = next(o.index for o in operations if o.f == "append" and o.result == first[0])
    history = replace(history, operations=tuple(operations))
    certificate = Certificate(
        operations=(writer, at.index),
        kind="inconsistent-offsets",
        sentence=f"offset {first[0]} held {first[1]} for one client and 999 for another",
        key=KEY,
    )
    found = Anomaly(
        name="inconsistent-offsets",
        count=1,
        allowed=False,
        reason="an offset holds one value for ever",
        certificates=(certificate,),
    )
    return history, judged(
        history,
        verdict=VIOLATED,
        certificate=certificate,
        anomalies=(found,),
        level="divergent",
    )


def many_faults() -> tuple[History, JudgedHistory]:
    """A log with more faults than their words have room for."""
    history = log_history(8, 60, seed=5)
    end = history.operations[-1].invoked
    faults = tuple(
        Annotation(
            at=end * at // 24,
            until=end * (at + 1) // 24,
            kind="fault",
            label=f"partition number {at}: n1 | n2 n3",
        )
        for at in range(24)
    )
    history = replace(history, annotations=faults)
    return history, stale(history)
