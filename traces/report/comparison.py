"""What changed from one campaign to another, from their findings alone.

Configurations are paired by name; two campaigns of one configuration each are a pair whatever their
names. A change is *worse* when something is violated that was not. Counts are told with their share
where the campaigns differ in length, since more runs show more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kraftcheck.traces.report.evidence import ReportError
from kraftcheck.traces.report.figures import quantity
from kraftcheck.traces.report.html import NONE


class Change(NamedTuple):
    """What it is about, how it was and how it is, in words."""

    what: str
    before: str
    after: str
    worse: bool = False


class Pair(NamedTuple):
    """A configuration in both campaigns; before, after: its verdicts."""

    name: str
    before: str
    after: str
    changes: list[Change]

    def as_json(self) -> dict[str, Any]:
        return {**self._asdict(), "changes": [change._asdict() for change in self.changes]}


def compare(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Pair]:
    """Every configuration of either campaign, in the order of the first.

    Raises ReportError for findings in which something is missing.
    """
    try:
        return _pairs(one, other)
    except (KeyError, TypeError, AttributeError) as error:
        raise ReportError(f"the findings are not what a campaign leaves: {error!r}") from None


def _pairs(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Pair]:
    before = {each["name"]: each for each in one["configurations"]}
    after = {each["name"]: each for each in other["configurations"]}
    if len(before) == len(after) == 1:
        (first,), (second,) = before.items(), after.items()
        name = first[0] if first[0] == second[0] else f"{first[0]} / {second[0]}"
        return [_pair(name, first[1], second[1])]
    pairs = []
    for name in dict.fromkeys([*before, *after]):
        if name in before and name in after:
            pairs.append(_pair(name, before[name], after[name]))
        else:
            was = before[name]["verdict"] if name in before else NONE
            now = after[name]["verdict"] if name in after else NONE
            pairs.append(Pair(name, was, now, []))
    return pairs


def _pair(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Pair:
    changes = [
        *_sizes(one, other),
        *_broken(one, other),
        *_anomalies(one, other),
        *_coverage(one, other),
        *_distributions(one, other),
    ]
    return Pair(name, one["verdict"], other["verdict"], changes)


def _sizes(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Change]:
    for what in ("scenario", "bug", "options"):
        if one[what] != other[what]:
            yield Change(what, str(one[what] or NONE), str(other[what] or NONE))
    for what in ("runs", "steps", "operations", "unpromised_logs", "unknown_logs"):
        if one[what] != other[what]:
            yield Change(what.replace("_", " "), f"{one[what]:,}", f"{other[what]:,}")
    was, now = (each["conformance"]["distinct"]["canonical"] for each in (one, other))
    if was != now:
        yield Change("distinct steps", f"{was:,}", f"{now:,}")


def _broken(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Change]:
    """What was violated, by what found it."""
    for what, was, now in _both(_violations(one), _violations(other)):
        yield Change(what, f"{was:,}", f"{now:,}", worse=not was and now > 0)


def _violations(each: Mapping[str, Any]) -> dict[str, int]:
    conformance = each["conformance"]
    checks = {f"check {name}": runs for name, runs in conformance["checks"].items()}
    invariants = {f"invariant {name}": runs for name, runs in conformance["invariants"].items()}
    return {
        "rejected steps": conformance["rejected"],
        "logs broken": each["histories"]["counts"]["violated"],
        "runs without progress": each["progress"]["unprogressed"],
        **checks,
        **invariants,
    }


def _anomalies(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Change]:
    for what, was, now in _both(_counted(one, "logs"), _counted(other, "logs")):
        yield Change(f"anomaly {what}", _of(was, one["logs"]), _of(now, other["logs"]))
    for what, was, now in _both(_counted(one, "forbidden"), _counted(other, "forbidden")):
        yield Change(f"anomaly {what}, not allowed", f"{was:,}", f"{now:,}", not was and now > 0)


def _counted(each: Mapping[str, Any], what: str) -> dict[str, int]:
    return {anomaly["name"]: anomaly[what] for anomaly in each["anomalies"]}


def _of(count: int, logs: int) -> str:
    return f"{count:,} of {logs:,} logs ({count / logs:.2%})" if logs else f"{count:,}"


def _coverage(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Change]:
    for kind, rows in one["coverage"]["met"].items():
        was = {row["name"] for row in rows}
        now = {row["name"] for row in other["coverage"]["met"][kind]}
        yield from _met(kind, was - now, now - was)
    before, after = (set(each["coverage"]["rules"]["never"]) for each in (one, other))
    yield from _met("rule", after - before, before - after)


def _met(kind: str, no_more: set[str], at_last: set[str]) -> Iterator[Change]:
    for name in sorted(no_more):
        yield Change(f"{kind} {name}", "met", "never")
    for name in sorted(at_last):
        yield Change(f"{kind} {name}", "never", "met")


def _distributions(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Change]:
    was = {each["name"]: each for each in one["distributions"]}
    now = {each["name"]: each for each in other["distributions"]}
    for name in dict.fromkeys([*was, *now]):
        before = _quantiles(was[name]) if name in was else NONE
        after = _quantiles(now[name]) if name in now else NONE
        if before != after:
            yield Change((was.get(name) or now[name])["words"], before, after)


def _quantiles(each: Mapping[str, Any]) -> str:
    unit = each["unit"]
    told = [f"{name} {quantity(each[name], unit)}" for name in ("p50", "p99", "most")]
    return ", ".join(told)


def _both(was: Mapping[str, int], now: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    for name in dict.fromkeys([*was, *now]):
        before, after = was.get(name, 0), now.get(name, 0)
        if before != after:
            yield name, before, after
