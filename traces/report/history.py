"""The page about one client history: what was found, the evidence first, in one file.

Reading order: judged.py (what was found), history_words.py (operations in words),
history_choice.py and history_timeline.py (the timeline), history_incident.py (the whole time),
history_members.py (groups), history_order.py (the log's order), history_staleness.py, then this:
everything through one template.

Laws of this file: everything on the page comes from a file that nobody vouches for, so all of it is
escaped, and a policy in the page forbids whatever would slip through; nothing is fetched; and what
is left out is said. The same history and judgement give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from kraftcheck.reference.clients.promises import Level
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED, Certificate
from kraftcheck.traces.history import LOG_OPERATIONS, History, Operation
from kraftcheck.traces.report import history_incident, history_words as words, html
from kraftcheck.traces.report.history_incident import incident
from kraftcheck.traces.report.history_members import (
    BAR as BAR_OF_MEMBERS,
    ROW as ROW_OF_MEMBERS,
    ownership,
)
from kraftcheck.traces.report.history_order import Order, orders
from kraftcheck.traces.report.history_staleness import lags
from kraftcheck.traces.report.history_timeline import BAR, NOTHING, ROW, WIDTH, timeline
from kraftcheck.traces.report.judged import JudgedHistory, Object

TEMPLATE: Final = "history.html.j2"
SCRIPT: Final = "history.js"
STYLE: Final = "history.css"
ANOMALIES_MAX: Final = 40
EXAMPLES_MAX: Final = 5
OBJECTS_MAX: Final = 30
LAGS_MAX: Final = 6

MEANING: Final = {
    HOLDS: "the history is as consistent as was promised",
    VIOLATED: "the history is not as consistent as was promised",
    UNKNOWN: "not decided: this is no pass",
}


APART: Final = (
    "the reads of each object by itself are as consistent as was promised, and something else that "
    "was promised is broken, which is told below"
)


class Card(NamedTuple):
    """An operation of a certificate, in full."""

    number: int
    operation: int
    process: int
    key: str | None
    asked: str
    told: str
    outcome: str
    invoked: str
    completed: str
    place: str


def render(history: History, judged: JudgedHistory) -> str:
    """The page as text."""
    certificate = judged.certificate
    key = certificate.key if certificate is not None else _key_of(judged)
    accused = certificate.operations if certificate is not None else ()
    over_time = incident(history)
    # Without evidence there is no moment to look at, but the whole time.
    whole = certificate is None and over_time is not None
    drawn = NOTHING if whole else timeline(history, accused, key, _witness(judged, key))
    objects = sorted(judged.objects, key=_badness)
    return html.render(
        TEMPLATE,
        judged=judged,
        meaning=meaning(judged),
        unit=history.time_unit,
        cards=cards(history, certificate),
        several=len({each.key for each in judged.objects}) > 1,
        key=key,
        prefix=next((each.prefix for each in judged.objects if each.key == key), None),
        timeline=drawn,
        incident=over_time,
        ownership=ownership(history),
        lane={"row": ROW_OF_MEMBERS, "bar": BAR_OF_MEMBERS},
        wide={"width": history_incident.WIDTH, "left": history_incident.LEFT},
        details=[(o, words.sentence(o, history)) for o in drawn.operations],
        witnessed=any(strip.points for strip in drawn.strips),
        anomalies=_anomalies(history, judged),
        anomalies_left=len(judged.anomalies) - ANOMALIES_MAX,
        examples=EXAMPLES_MAX,
        objects=objects[:OBJECTS_MAX],
        objects_left=len(objects) - OBJECTS_MAX,
        orders=_orders(history, judged),
        lags=lags(judged.staleness, history.time_unit)[:LAGS_MAX],
        lags_left=len(judged.staleness) - LAGS_MAX,
        size={"width": WIDTH, "row": ROW, "bar": BAR},
        # Ours, the same on every page, and nothing of the history in them.
        style=Markup(html.asset(STYLE)),
        **html.scripted(html.asset(SCRIPT)),
    )


def meaning(judged: JudgedHistory) -> str:
    """The verdict in words. What transactions and groups promise is beside the levels of reads."""
    known = {level.name.lower().replace("_", "-"): level for level in Level}
    held, promised = known.get(judged.level or ""), known.get(judged.promised or "")
    enough = held is not None and promised is not None and held >= promised
    apart = judged.verdict == VIOLATED and enough
    return APART if apart else MEANING[judged.verdict]


def cards(history: History, certificate: Certificate | None) -> list[Card]:
    """The operations of a certificate, the victim last."""
    if certificate is None:
        return []
    found = [_operation(history, index) for index in certificate.operations]
    return [_card(history, at, each) for at, each in enumerate(found, 1) if each is not None]


def _operation(history: History, index: int) -> Operation | None:
    operations = history.operations
    if 0 <= index < len(operations) and operations[index].index == index:
        return operations[index]
    return next((each for each in operations if each.index == index), None)


def _card(history: History, number: int, operation: Operation) -> Card:
    return Card(
        number=number,
        operation=operation.index,
        process=operation.process,
        key=None if operation.key is None else words.ends(operation.key),
        asked=words.request_words(operation),
        told=words.answer_words(operation),
        outcome=operation.outcome,
        invoked=words.when(operation.invoked, history),
        completed=words.when(operation.completed, history),
        place=f"operation {operation.index}"
        + (f", line {operation.line}" if operation.line else ""),
    )


def _key_of(judged: JudgedHistory) -> str | None:
    """The object to draw of a history without a certificate: an undecided one, or the largest."""
    if len(judged.objects) < 2:
        return judged.objects[0].key if judged.objects else None
    return min(judged.objects, key=_badness).key


def _badness(each: Object) -> tuple[int, int]:
    return (VIOLATED, UNKNOWN, HOLDS).index(each.verdict), -each.operations


def _witness(judged: JudgedHistory, key: str | None) -> Sequence[int]:
    """A linearization: that of a weaker level would have points outside of their operations."""
    known = (o for o in judged.objects if o.key == key and o.level == "linearizable")
    return next((each.witness or () for each in known), ())


def _anomalies(history: History, judged: JudgedHistory) -> list[dict[str, Any]]:
    """The anomalies, those that are not allowed first, with their operations."""
    ordered = sorted(judged.anomalies, key=lambda each: each.allowed)
    return [
        {
            "name": each.name,
            "count": each.count,
            "allowed": each.allowed,
            "reason": each.reason,
            "examples": [
                {"sentence": one.sentence, "key": one.key, "cards": cards(history, one)}
                for one in each.certificates[:EXAMPLES_MAX]
            ],
        }
        for each in ordered[:ANOMALIES_MAX]
    ]


def _orders(history: History, judged: JudgedHistory) -> list[Order]:
    """The logs that something is wrong with, the certificate's first."""
    if not any(operation.f in LOG_OPERATIONS for operation in history.operations[:1000]):
        return []
    if judged.model != "partition-log":
        return []
    accused: dict[str | None, list[int]] = {}
    certificates = [judged.certificate] if judged.certificate is not None else []
    certificates += [one for each in judged.anomalies for one in each.certificates]
    for certificate in certificates:
        if certificate.key is not None:
            accused.setdefault(certificate.key, []).extend(certificate.operations)
    return orders(history, list(accused.items()))
