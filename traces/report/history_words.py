"""Operations and times in words: what bars, cards and tables of the history page say.

Everything here is plain text of bounded length; the template escapes it.
"""

from __future__ import annotations

from typing import Any, Final

from kraftcheck.traces.history import INDETERMINATE, OK, History, Operation
from kraftcheck.traces.values import Word, edn_text, name

VALUE_MAX: Final = 120
"""Characters of a value on a card or in a hint."""
BAR_MAX: Final = 16
"""Characters of an operation in its bar."""

OUTCOME_WORDS: Final = {OK: "ok", "fail": "failed", INDETERMINATE: "indeterminate"}
_UNITS: Final[dict[str, tuple[tuple[int, str], ...]]] = {
    "ns": ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))
}
_UNITS["us"] = tuple((size // 1000, name) for size, name in _UNITS["ns"][:3])


def text(value: Any, length: int = VALUE_MAX) -> str:
    """A value on one line, its end left out if it is long."""
    return cut(_notation(value, length + 1), length)


def cut(said: str, length: int = VALUE_MAX) -> str:
    """What is said already (a sentence, a name), on one line, its end left out if it is long."""
    said = printable(said[: length + 1])
    return said if len(said) <= length else said[: length - 1] + "…"


def ends(said: str, length: int = VALUE_MAX) -> str:
    """A key on one line, its middle left out if it is long: keys that differ often begin alike."""
    half = length // 2
    return printable(said if len(said) <= length else f"{said[:half]}…{said[1 - half :]}")


def printable(said: str) -> str:
    """The text without control characters, line ends and marks that turn its direction."""
    if said.isprintable():
        return said
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in said)


def _notation(value: Any, length: int) -> str:
    """As EDN, but no further than needed: values may be as long as the file."""
    if isinstance(value, str):
        return name(value if isinstance(value, Word) else value[:length])[:length]
    if isinstance(value, tuple | list):
        return f"[{_joined(value, length)}]"
    if isinstance(value, frozenset):
        return f"#{{{_joined(sorted(value, key=edn_text), length)}}}"
    return edn_text(value)[:length]


def _joined(values: Any, length: int) -> str:
    parts: list[str] = []
    size = 0
    for each in values:
        if size > length:
            break
        parts.append(_notation(each, length))
        size += len(parts[-1]) + 1
    return " ".join(parts)


def request_words(operation: Operation) -> str:
    """What was asked: `append 5`, `fetch from 40`, `cas [1 2]`."""
    f = cut(operation.f, 40)
    if operation.argument is None:
        return f
    if operation.f == "fetch":
        return f"{f} from {text(operation.argument)}"
    return f"{f} {text(operation.argument)}"


def answer_words(operation: Operation) -> str:
    """What the client was told."""
    if operation.outcome == INDETERMINATE:
        return cut(operation.error) if operation.error else "no answer"
    if operation.outcome != OK:
        return cut(operation.error) if operation.error else "failed"
    if operation.f == "append" and operation.result is not None:
        return f"at offset {text(operation.result)}"
    end = f", end {operation.end}" if operation.end is not None else ""
    if operation.f == "fetch":
        return (text(operation.result) if operation.result else "nothing") + end
    if operation.result is None:
        reads = operation.f in ("read", "get", "dequeue")
        return "nil" if reads else "ok"
    return text(operation.result) + end


def short(operation: Operation) -> str:
    """An operation in its bar."""
    answered = operation.outcome == OK and operation.result is not None
    if operation.f == "fetch":
        return cut(f"fetch{_fetched(operation) if answered else ''}", BAR_MAX)
    argument = "" if operation.argument is None else f" {text(operation.argument, BAR_MAX)}"
    result = f"→{text(operation.result, BAR_MAX)}" if answered else ""
    return cut(f"{operation.f}{argument}{result}", BAR_MAX)


def _fetched(operation: Operation) -> str:
    """Which offsets were read; of none, from where they were asked."""
    if not operation.result:
        return "" if operation.argument is None else f" {operation.argument}: ∅"
    first, last = operation.result[0][0], operation.result[-1][0]
    return f" {first}" if first == last else f" {first}–{last}"  # noqa: RUF001


def when(moment: int | None, history: History) -> str:
    """A time in the largest unit that keeps its digits few; an event's number without a clock."""
    if moment is None:
        return "never"
    if history.time_unit not in _UNITS:
        return f"event {moment:,}"
    return duration(moment, history.time_unit)


def duration(length: int, unit: str) -> str:
    """A length of time: 1.5 ms, 20 s; so many events without a clock."""
    if unit not in _UNITS:
        return f"{length:,} events"
    for size, unit_name in _UNITS[unit]:
        if abs(length) >= size:
            return f"{length / size:,.6g} {unit_name}"
    return f"0 {_UNITS[unit][-1][1]}"


def sentence(operation: Operation, history: History) -> str:
    """An operation in full, for hints and for those who listen to the page."""
    place = f"line {operation.line}" if operation.line else f"operation {operation.index}"
    key = f" of {ends(operation.key)}" if operation.key is not None else ""
    end = when(operation.completed, history)
    return (
        f"process {operation.process}: {request_words(operation)}{key}; {answer_words(operation)}. "
        f"{OUTCOME_WORDS[operation.outcome]}, {when(operation.invoked, history)} to {end}, {place}"
    )
