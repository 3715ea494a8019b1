"""Histories of transactions in a short form, one of each anomaly.

`ax1ry12` appends 1 to x and then reads [1, 2] of y; `wx1` writes 1 to x; a read without digits is
of nothing. `!` after it: aborted; `?`: not answered. `2@5-7 ax1` is of client 2, from time 5 to 7;
without it each transaction is of a client of its own, and all overlap.

The histories of anomalies are those that Elle's tests of its list-append and register checkers use
(github.com/jepsen-io/elle, test/elle), in our form. `excluded` are the weakest models that it says
are ruled out, where it is asked for everything.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from kraftcheck.traces.history import FAIL, INDETERMINATE, OK, History, Operation
from tests.traces.checkers.calls import whole

_FORM = re.compile(r"(?:(\d+)@(\d+)-(\d+) )?([a-z0-9]+)([!?]?)$")
_MICRO = re.compile(r"([arw])([a-z])(\d*)")
_OUTCOMES = {"": OK, "!": FAIL, "?": INDETERMINATE}


class Case(NamedTuple):
    """A history, what has to be found in it, and the weakest models that this rules out."""

    name: str
    model: str
    history: str
    found: frozenset[str]
    excluded: frozenset[str]


def history_of(text: str, model: str = "list-append") -> History:
    """The history that a text in the short form stands for."""
    operations: list[Operation] = []
    for group, form in enumerate(text.split("; ")):
        match = _FORM.match(form)
        assert match, form
        process, begin, end, micros, outcome = match.groups()
        for verb, key, digits in _MICRO.findall(micros):
            values: Any = tuple(int(digit) for digit in digits)
            if model == "register":
                values = values[0] if values else None
            is_read = verb == "r"
            answered = outcome == ""
            operations.append(
                Operation(
                    index=len(operations),
                    process=int(process or 100 + group),
                    f="read" if is_read else "append" if model == "list-append" else "write",
                    key=key,
                    argument=None if is_read else values if model == "register" else values[0],
                    result=values if is_read and answered else None,
                    invoked=int(begin or 0),
                    completed=None if outcome == "?" else int(end or 1000),
                    outcome=_OUTCOMES[outcome],
                    group=group,
                )
            )
    return whole(operations, model=model)


def _case(name: str, history: str, found: str, excluded: str, model: str = "list-append") -> Case:
    return Case(name, model, history, frozenset(found.split()), frozenset(excluded.split()))


CASES = (
    _case("G0", "ax1ay1; ax2ay2; rx12ry21", "G0", "read-uncommitted"),
    _case("G0, G1c", "ax1ay1; ax2ay2; rx12ry21; az1rw1; aw1rz1", "G0 G1c", "read-uncommitted"),
    _case("G1a", "ax1!; rx1", "G1a", "read-committed"),
    _case("G1b", "ax1ax2; rx1", "G1b G-single", "read-committed"),
    _case("G1b, its own read", "ax1rx1ax2", "", ""),
    _case("G1c", "ax1ry1; ax2ay1; rx12ry1", "G1c", "read-committed"),
    _case(
        "G-single",
        "ax1ay1; ax2ry; rx12",
        "G-single",
        "consistent-view repeatable-read parallel-snapshot-isolation",
    ),
    _case("G2", "ax1ry; ay1rx", "G2-item", "repeatable-read"),
    _case(
        "half of a committed transaction",
        "ax1ay1; rx1ry",
        "G-single fractured-read",
        "consistent-view repeatable-read read-atomic",
    ),
    _case(
        "long fork", "ax1; ay1; rx1ry; rxry1", "G-nonadjacent", "repeatable-read snapshot-isolation"
    ),
    _case(
        "strong snapshot isolation",
        "0@0-1 ax1; 1@2-3 ax2; 2@4-5 rx1; 3@6-7 rx12",
        "G-single-realtime",
        "strong-snapshot-isolation",
    ),
    _case(
        "strong session snapshot isolation",
        "0@0-1 ax1; 1@2-3 ax2; 1@4-5 rx1; 3@6-7 rx12",
        "G-single-process",
        "strong-session-snapshot-isolation",
    ),
    _case(
        "G-nonadjacent-process",
        "0@0-1 rxrz1; 1@2-3 ax1; 1@4-5 rz; 2@6-7 az1",
        "G-nonadjacent-process",
        "strong-session-snapshot-isolation",
    ),
    _case(
        "contradictory orders",
        "ax1ry1; ax2; ax3ay1; rx13; rx123",
        "G1c incompatible-order",
        "read-committed",
    ),
    _case("dirty update", "ax1!; ax2; rx12", "dirty-update G1a", "read-committed"),
    _case("dirty update over one", "ax1!; ax2?; ax3; rx123", "dirty-update G1a", "read-committed"),
    _case("duplicate", "ax1ry1; ax2ay1; rx121", "duplicate-elements G1c", "read-uncommitted"),
    _case("internal", "ax1ax2ax4; ax3rx1234", "internal G0", "read-uncommitted"),
    _case(
        "internal, nothing read and then something",
        "ax2; rxrx2",
        "internal",
        "read-atomic",
    ),
    _case("internal, its own append is missing", "ax6rx", "internal", "read-atomic"),
    _case("future read", "ax0; ax2; rx012ax1", "future-read", "read-committed"),
    _case("future read of its own", "ax1rx01ax0ax3", "future-read", "read-committed"),
    _case("lost update", "ax0; rx0ax1; rx0ax2", "lost-update", "cursor-stability update-atomic"),
    _case(
        "a write that no read shows",
        "ax1ay1; ax2ay2; ax3ay3; rx12; ry2",
        "G0 G-single",
        "read-uncommitted",
    ),
    _case("nobody appended it", "rx7", "phantom", "read-uncommitted"),
    _case("a read that was not answered says nothing", "ax2ry?; ax1ay1; rx12ry1", "", ""),
    _case("figure 3 of Adya, Liskov and O'Neil", "az1ax1ay1; rx1ay2; ry12az3; rz13", "", ""),
    _case("G1a", "wx1!; rx1", "G1a", "read-committed", "register"),
    _case("G1b", "wx1wx2; rx1", "G1b", "read-committed", "register"),
    _case(
        "nobody wrote it",
        "0@0-1 wx1; 1@2-3 rx2; 2@4-5 rx1",
        "phantom",
        "read-uncommitted",
        "register",
    ),
    _case("internal", "wx1rx", "internal", "read-atomic", "register"),
    _case(
        "lost update",
        "wx1; rx1wx2; rx1wx3",
        "lost-update",
        "cursor-stability update-atomic",
        "register",
    ),
    _case("write skew", "rxwy1; rywx1", "G2-item", "repeatable-read", "register"),
    _case(
        "two orders of blind writes",
        "0@0-1 wx1wy2; 1@0-1 wx2wy1; 0@2-3 rx2; 1@2-3 ry2",
        "no-serial-order-realtime",
        "strong-session-serializable",
        "register",
    ),
    _case("blind writes that some order explains", "wx1wy2; wx2wy1; rx2ry1", "", "", "register"),
    _case(
        "cyclic versions", "rx1wx2; rx2wx1", "cyclic-versions G1c", "read-uncommitted", "register"
    ),
)
