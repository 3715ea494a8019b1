"""Say why a chain was rejected.

The logged parts of the next line differ from all that the spec allows after the lines before it.

TLC is asked once more, for the rows in which the node may have been there, and for the outcomes
that the spec has from each. They are compared as far as something was logged
(tla_utils/diagnosis.py).

Law of this file: it explains verdicts and never changes one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kraftcheck.traces.foreign.chainmodule import TOLD, Line, Search
from tla_utils import CheckOptions, Record, Value
from tla_utils.diagnosis import nearest_differences

# Rows that are asked about for each chain, and outcomes that are looked at for each of them.
ROWS: Final = 10
OUTCOMES: Final = 400

_DISABLED = "no outcome allowed: the action is disabled here"


def narrate(
    search: Search, accepted: Sequence[int], options: CheckOptions
) -> tuple[list[list[str]], float]:
    """Say of each chain what is wrong with the line after the accepted ones.

    Also give the CPU seconds that finding it out took.
    """
    asked = ", ".join(str(at) for at in accepted)
    told = (
        # The canary is the last chain, and is not asked about.
        f"  LET SC_asked == <<{asked}, -1>> IN\n"
        f"  \\/ SC_at # SC_asked[SC_chain]\n"
        f"  \\/ TLCGet(SC_chain) >= {ROWS}\n"
        "  \\/ /\\ TLCSet(SC_chain, TLCGet(SC_chain) + 1)\n"
        "     /\\ LET SC_possible == Possible(SC_nodes[SC_chain], SC_row, SC_Line)\n"
        "            SC_outcomes == {SC_found[2] : SC_found \\in SC_possible}\n"
        f'        IN PrintT(<<"{TOLD}", SC_chain, SC_row,\n'
        f"                    IF Cardinality(SC_outcomes) > {OUTCOMES} THEN <<>>\n"
        "                    ELSE <<{SC_o : SC_o \\in SC_outcomes}>>>>)"
    )
    result = search.run(told, options)
    found: list[list[tuple[Record, list[Record] | None]]] = [[] for _ in search.chains]
    for printed in result.printed_values():
        match printed:
            case ("SC", int(chain), Record() as row, tuple() as outcomes):
                found[chain - 1].append((row, _outcomes(outcomes)))
    lines = [
        _explained(search, chain[at], rows)
        for chain, at, rows in zip(search.chains, accepted, found, strict=True)
    ]
    return lines, result.cpu_seconds


def _outcomes(told: tuple[Value, ...]) -> list[Record] | None:
    """None: too many to be told."""
    if not told:
        return None
    members = told[0]
    assert isinstance(members, frozenset)
    return [outcome for outcome in members if isinstance(outcome, Record)]


def _explained(
    search: Search, line: Line, rows: Sequence[tuple[Record, list[Record] | None]]
) -> list[str]:
    """The shortest explanation over all rows in which the node may have been."""
    explained = [_of_row(search, line, row, outcomes) for row, outcomes in rows]
    return min(explained, key=lambda lines: (len(lines), lines), default=["not explained"])


def _of_row(
    search: Search, line: Line, row: Record, outcomes: Sequence[Record] | None
) -> list[str]:
    before = line["before"]
    if isinstance(before, Record):
        known = Record({"before": _part(row, before)})
        wrong = nearest_differences(search.frame, {"before": before}, [known])
        if wrong:
            return [str(difference) for difference in wrong]
    if outcomes is None:
        return ["not explained: too many inputs are possible here"]
    if not outcomes:
        return [_DISABLED]
    recorded, allowed = _compared(line, outcomes)
    differences = nearest_differences(search.frame, recorded, allowed)
    return [str(difference) for difference in differences] or [
        "each logged part is allowed, but not all of them together"
    ]


def _compared(line: Line, outcomes: Sequence[Record]) -> tuple[dict[str, Value], list[Record]]:
    """The logged parts of a line, and the same parts of each outcome."""
    after, sent, ignored = line["after"], line["sent"], line["ignored"]
    recorded: dict[str, Value] = {}
    if isinstance(after, Record):
        recorded["after"] = after
    if isinstance(sent, tuple) and sent:
        assert isinstance(sent[0], tuple)
        recorded["sent"] = frozenset(sent[0])
    if isinstance(ignored, tuple) and ignored:
        recorded["ignored"] = ignored[0]
    allowed = []
    for outcome in outcomes:
        parts: dict[str, Value] = {}
        if isinstance(after, Record):
            parts["after"] = _part(outcome["row"], after)
        if "sent" in recorded:
            parts["sent"] = _messages(outcome["sent"], recorded["sent"])
        if "ignored" in recorded:
            parts["ignored"] = outcome["ignored"]
        allowed.append(Record(parts))
    return recorded, list(dict.fromkeys(allowed))


def _part(whole: Value, like: Mapping[str, Value]) -> Record:
    """The fields of `whole` that `like` has."""
    assert isinstance(whole, Record)
    return Record({name: whole[name] for name in like})


def _messages(allowed: Value, logged: Value) -> Value:
    """Allowed messages, each with the fields that a logged one of its type and addressee has."""
    assert isinstance(allowed, frozenset) and isinstance(logged, frozenset)
    said = []
    for message in allowed:
        assert isinstance(message, Record)
        like = [
            other
            for other in logged
            if isinstance(other, Record)
            and other["type"] == message["type"]
            and other.get("destination", message["destination"]) == message["destination"]
        ]
        said.append(_part(message, like[0]) if len(like) == 1 else message)
    return frozenset(said)
