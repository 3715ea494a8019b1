"""Anomalies and evidence of a Report, from the documents that `--json` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Document: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Anomaly:
    """All findings of one kind."""

    name: str
    """Jepsen's name of an anomaly; or of what is violated: an invariant, a property, an action."""
    count: int
    allowed: bool = False
    """Whether the configuration allows it."""
    reason: str = ""
    """Why it is allowed, or what it breaks."""


def anomalies(verb: str, documents: Sequence[Document]) -> tuple[Anomaly, ...]:
    """What happened, by the documents of this verb."""
    return tuple(each for document in documents for each in _FOUND[verb][0](document))


def evidence(verb: str, documents: Sequence[Document]) -> tuple[str, ...]:
    """Why the verdict is not `holds`, by the documents of this verb; each sentence once."""
    said = (each for document in documents for each in _FOUND[verb][1](document))
    return tuple(dict.fromkeys(said))


def is_known(verb: str) -> bool:
    """Whether the documents of this verb have anomalies and evidence."""
    return verb in _FOUND


# -- check


def _of_history(history: Document) -> Iterator[Anomaly]:
    for each in history.get("anomalies", ()):
        yield Anomaly(each["name"], each["count"], each["allowed"], each["reason"])


def _against_history(history: Document) -> Iterator[str]:
    if history["verdict"] == "holds":
        return
    certificate = history.get("certificate")
    if certificate is None:
        yield history.get("reason") or history["verdict"]
    else:
        key = certificate["key"]
        yield certificate["sentence"] if key is None else f"{key}: {certificate['sentence']}"


# -- The other verbs: what is found is never allowed


def _counted(names: Iterable[str]) -> Iterator[Anomaly]:
    for name, count in Counter(names).items():
        yield Anomaly(name, count)


def _of_runs(summary: Document) -> Iterator[Anomaly]:
    for name, count in summary["invariant_violations"]["by_name"].items():
        yield Anomaly(name, count, reason=f"violated in {count} runs")


def _of_steps(found: Document) -> Iterator[Anomaly]:
    """Of recorded runs, of files of steps, or of a recording."""
    for trace in found.get("traces", (found,)):
        yield from _counted(f"rejected {each['action']}" for each in trace.get("rejections", ()))
        defects = [*trace.get("defects", ()), *trace.get("contradictions", ())]
        yield from _counted(each["name"] for each in defects)
        findings = trace.get("findings", ())
        of_runs = findings["listed"] if isinstance(findings, Mapping) else ()
        yield from _counted(each["check"] for each in of_runs)


def _against_steps(found: Document) -> Iterator[str]:
    for trace in found.get("traces", (found,)):
        for each in trace.get("rejections", ()):
            for said in each.get("differences", ()):
                yield f"{each['action'] or 'a step'}: {said}"
        findings = trace.get("findings", ())
        listed = findings["listed"] if isinstance(findings, Mapping) else findings
        for each in listed:
            yield each.get("explanation") or each["reason"]
        for each in (*trace.get("defects", ()), *trace.get("contradictions", ())):
            yield f"{each['key']}: {each['name']}: {each['reason']}"
        yield from _reasons(trace)
        if why := trace.get("unknown"):
            yield str(why)


def _findings(found: Document) -> Iterator[Document]:
    for several in found["directories"].values():
        yield from several
    for partition in found["partitions"]:
        for replica in partition["replicas"]:
            yield from replica["findings"]
        yield from partition["together"]


def _of_disks(found: Document) -> Iterator[Anomaly]:
    yield from _counted(each["invariant"] for each in _findings(found))


def _against_disks(found: Document) -> Iterator[str]:
    for each in _findings(found):
        place = f"{each['file']}: " if each.get("file") else ""
        yield f"{each['invariant']}: {place}{each['said']}"


def _of_models(found: Document) -> Iterator[Anomaly]:
    wrong = [each for each in found["models"] if not each["matches"]]
    yield from _counted(each["property"] or each["name"] for each in wrong)


def _against_models(found: Document) -> Iterator[str]:
    for each in found["models"]:
        if not each["matches"]:
            yield f"{each['name']}: {each['verdict']}, expected {each['expect']}"
            if each["reason"]:
                yield f"{each['name']}: {each['reason']}"


def _of_campaign(found: Document) -> Iterator[Anomaly]:
    for each in found.get("configurations", ()):
        yield from _counted(violation["kind"] for violation in each["violations"])


def _against_campaign(found: Document) -> Iterator[str]:
    for each in found.get("configurations", ()):
        for violation in each["violations"]:
            yield f"{each['name']}: run {violation['run']}: {violation['what']}"
    yield from _reasons(found)
    if what := found.get("what"):
        yield f"{found['configuration']}: run {found['run']}: {what}"


def _reasons(found: Document) -> Iterator[str]:
    yield from found.get("reasons", ())


_FOUND: Mapping[
    str,
    tuple[Callable[[Document], Iterator[Anomaly]], Callable[[Document], Iterator[str]]],
] = {
    "check": (_of_history, _against_history),
    "conform": (_of_steps, _against_steps),
    "disk": (_of_disks, _against_disks),
    "simulate": (_of_runs, _reasons),
    "spec check": (_of_models, _against_models),
    "campaign run": (_of_campaign, _against_campaign),
}
