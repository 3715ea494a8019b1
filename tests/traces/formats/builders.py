"""Random histories for round trips, and texts of each format for damaging."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from kraftcheck.traces.history import FAIL, INDETERMINATE, OK, Annotation, History, Operation
from kraftcheck.traces.values import name

scalars = st.one_of(
    st.integers(-(2**70), 2**70),
    st.text(max_size=6),
    st.booleans(),
    st.none(),
    st.floats(allow_nan=False, allow_infinity=False),
)
"""What JSON and EDN can both say of a single value."""
KEYS = ("a", "b", 0, 17, "key with blank", "ü", "", "007", ":a")
"""Those that a map of JSON can say, even if it alone names them."""
words = st.sampled_from([name(key) for key in KEYS])


@st.composite
def asked_and_told(draw: st.DrawFn, model: str) -> list[dict[str, Any]]:
    """The operations of one group, without process, times and outcome."""
    keyed = model != "cas-register"
    key = draw(words) if keyed else None
    if model == "partition-log":
        return draw(log_group())
    if model in ("list-append", "rw"):
        kinds = ("append", "read") if model == "list-append" else ("write", "read")
        return [
            {"f": f, "key": draw(words), "argument": None if f == "read" else draw(scalars)}
            for f in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
        ]
    verbs: tuple[str, ...] = {
        "cas-register": ("read", "write", "cas"),
        "kv": ("get", "put", "append"),
        "set": ("add", "read"),
        "counter": ("increment", "read"),
        "queue": ("enqueue", "dequeue"),
    }[model]
    f = draw(st.sampled_from(verbs))
    argument: Any = None
    if f == "cas":
        argument = (draw(scalars), draw(scalars))
    elif f not in ("read", "get", "dequeue"):
        argument = draw(st.integers(-9, 9) if model == "counter" else scalars)
    return [{"f": f, "key": key, "argument": argument}]


@st.composite
def log_group(draw: st.DrawFn) -> list[dict[str, Any]]:
    kinds = ["client", "client", "data", "data", "data", "latest", "earliest", "step"]
    kind = draw(st.sampled_from(kinds))
    if kind == "step":
        return [draw(transaction_step())]
    if kind == "client":
        verb = draw(st.sampled_from(["assign", "subscribe"]))
        keys = tuple(draw(st.lists(words, max_size=2)))
        return [
            {
                "f": verb,
                "key": None,
                "argument": keys,
                "result": draw(st.sampled_from([None, True])),
            }
        ]
    if kind in ("latest", "earliest"):
        return [{"f": kind, "key": draw(words), "argument": None}]
    group: list[dict[str, Any]] = []
    fetched: set[str] = set()
    for _ in range(draw(st.integers(1, 3))):
        key = draw(words)
        if draw(st.booleans()) and key not in fetched:
            fetched.add(key)
            start = draw(st.none() | st.integers(0, 5))
            group.append({"f": "fetch", "key": key, "argument": start})
        else:
            group.append({"f": "append", "key": key, "argument": draw(st.integers(0, 10**6))})
    return group


@st.composite
def transaction_step(draw: st.DrawFn) -> dict[str, Any]:
    """A step of a transaction, whether that was begun or not: formats do not look for it."""
    f = draw(st.sampled_from(["init", "begin", "end", "send-offsets", "committed", "fetch"]))
    step: dict[str, Any] = {"f": f, "key": None, "argument": None, "txn": draw(st.integers(0, 3))}
    offsets = st.lists(st.tuples(words, st.integers(0, 9)), max_size=2).map(tuple)
    if f == "init":
        step |= {"argument": draw(st.text(max_size=3)), "txn": None}
    elif f == "end":
        step["argument"] = draw(st.sampled_from(["commit", "abort"]))
    elif f == "send-offsets":
        step["argument"] = (draw(st.text(max_size=3)), draw(offsets))
    elif f == "committed":
        step |= {"argument": draw(st.text(max_size=3)), "txn": None}
        step["offsets"] = draw(offsets)
    elif f == "fetch":
        step |= {"key": draw(words), "argument": draw(st.none() | st.integers(0, 5))}
        step |= {"to": draw(st.none() | st.integers(0, 9))}
        step["isolation"] = draw(
            st.none() | st.sampled_from(["read_committed", "read_uncommitted"])
        )
    return step


TELLING: Mapping[str, Mapping[str, Any]] = {
    "cas-register": {"f": "cas", "key": None, "argument": (0, 1)},
    "kv": {"f": "put", "key": "k", "argument": 1},
    "set": {"f": "add", "key": None, "argument": 1},
    "counter": {"f": "increment", "key": None, "argument": 1},
    "queue": {"f": "enqueue", "key": None, "argument": 1},
    "list-append": {"f": "append", "key": "k", "argument": 1},
    "rw": {"f": "write", "key": "k", "argument": 1},
    "partition-log": {"f": "append", "key": "k", "argument": 1, "result": 100},
}
"""An operation by which the model can be told; each history begins with it."""


@st.composite
def histories(draw: st.DrawFn, model: str) -> History:
    """A history of the model, as clients could have seen it; its times are ranks."""
    operations: list[Operation] = [
        Operation(
            index=0, process=9, invoked=-2, completed=-1, outcome=OK, group=-1, **TELLING[model]
        )
    ]
    process, clock, waiting = 0, 0, {0: 0, 1: 0, 2: 0}
    names = {lane: lane for lane in waiting}
    fresh = 100
    acked: set[Any] = set()
    for group in range(draw(st.integers(1, 5))):
        lane = draw(st.sampled_from(sorted(waiting)))
        process = names[lane]
        outcome = draw(st.sampled_from([OK, OK, OK, FAIL, INDETERMINATE]))
        clock = max(clock + 2, waiting[lane] + (waiting[lane] + 1) % 2)
        invoked = clock + clock % 2
        clock = invoked
        completed: int | None = invoked + 1 + 2 * draw(st.integers(0, 9)) + 10_000 * group
        if outcome == INDETERMINATE:
            completed = draw(st.sampled_from([None, completed]))
            names[lane], fresh = fresh, fresh + 1
        waiting[lane] = completed or 0
        error = draw(st.none() | st.just("timed out")) if outcome != OK and completed else None
        for part in draw(asked_and_told(model)):
            said = answer(draw, model, part, outcome, acked) if completed else None
            told = {"result": said, **part}
            offsets = told.pop("offsets", None)
            if part["f"] == "committed" and outcome == OK:
                told["result"] = offsets
            if part["f"] == "fetch" and told["result"] is not None:
                told["end"] = draw(st.none() | st.integers(0, 99))
            if part["f"] == "read" and model == "counter" and outcome == OK:
                told["result"] = draw(st.integers(-99, 99))
            operations.append(
                Operation(
                    index=len(operations),
                    process=process,
                    invoked=invoked,
                    completed=completed,
                    outcome=outcome,
                    group=group,
                    error=error,
                    **told,
                )
            )
    return ordered(
        History(
            source="",
            format="",
            time_unit="ns",
            operations=tuple(operations),
            annotations=draw(faults),
            model="register" if model == "rw" else model,
        )
    )


def answer(draw: st.DrawFn, model: str, part: dict[str, Any], outcome: str, acked: set[Any]) -> Any:
    """A result of the type that the verb has; None where there can be none."""
    f = part["f"]
    if f == "fetch":
        if outcome != OK and draw(st.booleans()):
            return None
        read = draw(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=3))
        return tuple(read)
    if outcome != OK:
        return None
    if f == "append" and model == "partition-log":
        offset = draw(st.none() | st.integers(0, 99))
        place = (part["key"], offset, part["argument"])
        if place in acked:
            return None
        acked.add(place)
        return offset
    if f in ("latest", "earliest"):
        return draw(st.integers(0, 99))
    if f == "read" and model == "set":
        return draw(st.frozensets(st.integers(0, 9), max_size=4))
    if f == "read" and model == "list-append":
        return draw(st.none() | st.lists(scalars, max_size=3).map(tuple))
    return draw(scalars) if f in ("read", "get", "dequeue") else None


faults: st.SearchStrategy[tuple[Annotation, ...]] = st.lists(
    st.builds(
        lambda at, length, kind, label: Annotation(
            at=at,
            until=at + length if length and kind == "fault" else None,
            kind=kind,
            label=label,
        ),
        st.integers(0, 9).map(lambda n: n * 10_007),
        st.integers(0, 9).map(lambda n: n * 10_009),
        st.sampled_from(["fault", "leader epoch"]),
        st.sampled_from(["kill n1", "partition {n1 | n2}"]),
    ),
    max_size=3,
).map(tuple)


def ordered(history: History) -> History:
    """With times as ranks of what happened, which is what they mean."""
    times = {-2}
    for operation in history.operations:
        times |= {operation.invoked, operation.completed or 0}
    for annotation in history.annotations:
        times |= {annotation.at, annotation.until or 0}
    rank = {time: at for at, time in enumerate(sorted(times))}

    def rank_of(time: int | None) -> int | None:
        return None if time is None else rank[time]

    return replace(
        history,
        operations=tuple(
            replace(
                each,
                invoked=rank[each.invoked],
                completed=rank_of(each.completed),
                group=each.group + 1,
                line=0,
            )
            for each in history.operations
        ),
        annotations=tuple(
            replace(each, at=rank[each.at], until=rank_of(each.until))
            for each in history.annotations
        ),
    )
