"""A Report as cases: one for each thing that has a verdict of its own.

JUnit XML, annotations and step summaries are written from these (junit.py, github.py).

Law of this file: the cases never say less than the exit code. If the worst of them is better than
the exit code, the verb gets a case of its own with the verdict of the exit code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from kraftcheck import exits
from kraftcheck.api.found import evidence, is_known
from kraftcheck.api.report import Report

Document: TypeAlias = Mapping[str, Any]

TOP_LINES: Final = 20
"""Printed lines that stand for evidence, where a verb has no sentences of its own."""


class Case(NamedTuple):
    """One verdict.

    file, line: the place to look.
    """

    name: str
    """Of a history, a model, a partition, or the verb."""
    verdict: str
    """A value of exits.VERDICTS."""
    evidence: tuple[str, ...] = ()
    """Sentences, the smallest first."""
    seconds: float = 0.0
    file: str | None = None
    line: int = 0


def cases(report: Report) -> list[Case]:
    """The cases of a report; at least one."""
    split = _SPLIT.get(report.verb)
    found = [] if split is None else [case for each in report.documents for case in split(each)]
    if not found or exits.worst(exits.code_of(case.verdict) for case in found) != report.exit_code:
        found.append(_whole(report))
    return found


def failed(verb: str, reason: str) -> list[Case]:
    """The case of a verb that ended without a verdict."""
    return [Case(verb, exits.VERDICTS[exits.BAD_INPUT], (reason,))]


def _whole(report: Report) -> Case:
    verdict = exits.VERDICTS[report.exit_code]
    if report.exit_code == exits.HOLDS:
        return Case(report.verb, verdict)
    sentences = report.evidence if is_known(report.verb) else ()
    return Case(report.verb, verdict, sentences or report.lines[:TOP_LINES])


# -- By verb


def _histories(found: Document) -> Iterator[Case]:
    yield Case(
        str(found["file"]),
        found["verdict"],
        _against("check", found) if found["verdict"] != "bad input" else (str(found["reason"]),),
        float(found.get("seconds") or 0.0),
        str(found["file"]),
        int(found.get("line") or 0),
    )


def _steps(found: Document) -> Iterator[Case]:
    """One for each file of steps; a campaign and a recording have one verdict."""
    for each in found.get("traces", ()):
        rejected: Document = next(iter(each.get("rejections", ())), {})
        place = str(each["file"])
        line = int(rejected.get("line") or 0)
        yield Case(place, each["verdict"], _against("conform", each), 0.0, place, line)


def _models(found: Document) -> Iterator[Case]:
    for each in found["models"]:
        code = exits.HOLDS if each["matches"] else exits.VIOLATED
        if not each["matches"] and each["verdict"] == "unknown":
            code = exits.UNKNOWN
        said = _against("spec check", {"models": [each]})
        yield Case(each["name"], exits.VERDICTS[code], said, float(each.get("seconds") or 0.0))


def _partitions(found: Document) -> Iterator[Case]:
    for folder, findings in found["directories"].items():
        if findings:
            yield _of_disk(folder, {**found, "partitions": [], "directories": {folder: findings}})
    for each in found["partitions"]:
        name = f"{each['topic']}-{each['partition']}"
        yield _of_disk(name, {"directories": {}, "partitions": [each]})


def _of_disk(name: str, part: Document) -> Case:
    said = _against("disk", part)
    return Case(name, exits.VERDICTS[exits.VIOLATED if said else exits.HOLDS], said)


def _configurations(found: Document) -> Iterator[Case]:
    for each in found.get("configurations", ()):
        said = _against("campaign run", {"configurations": [each]})
        yield Case(each["name"], each["verdict"], said)


def _detections(found: Document) -> Iterator[Case]:
    for each in found["detections"]:
        code = {"missed": exits.VIOLATED, "unknown": exits.UNKNOWN}.get(each["verdict"], 0)
        said = (str(each["said"]),) if code else ()
        yield Case(f"{each['bug']} {each['oracle']}", exits.VERDICTS[code], said)


def _obligations(found: Document) -> Iterator[Case]:
    codes = {"proved": exits.HOLDS, "failed": exits.VIOLATED}
    for each in found["obligations"]:
        code = codes.get(each["status"], exits.UNKNOWN)
        said = (str(each["broken"] or each["reason"] or each["status"]),) if code else ()
        name = f"{each['part']}: {each['name']}"
        yield Case(name, exits.VERDICTS[code], said, float(each["seconds"]))


def _schedules(found: Document) -> Iterator[Case]:
    for each in found["schedules"]:
        if each["not_followed"]:
            yield Case(each["schedule"], "unknown", (f"not followed: {each['not_followed']}",))
            continue
        said = [str(each["violates"])] if each["violates"] else []
        said += [f"refused: {count} {action}" for action, count in each["refused"].items()]
        yield Case(each["schedule"], each["verdict"], tuple(said))


_SPLIT: Final[Mapping[str, Callable[[Document], Iterator[Case]]]] = {
    "bugs run": _detections,
    "campaign run": _configurations,
    "check": _histories,
    "conform": _steps,
    "disk": _partitions,
    "prove": _obligations,
    "spec check": _models,
    "witness bugs": _schedules,
}


def _against(verb: str, document: Document) -> tuple[str, ...]:
    return evidence(verb, [document])


def counts(found: Sequence[Case]) -> dict[str, int]:
    """The number of cases by verdict, in the order of exit codes; every verdict has an entry."""
    return {
        verdict: sum(case.verdict == verdict for case in found)
        for verdict in exits.VERDICTS.values()
    }
