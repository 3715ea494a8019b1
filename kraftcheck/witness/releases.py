"""The releases of Kafka beside each other: which steps differ, and which finds each has.

All are given the same runs, and the schedules of finds. Traces that are alike are judged once.

Law of this file: a find is there if its schedule breaks on these classes the property that it says.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.exits import BadInput
from kraftcheck.screen import Screen
from kraftcheck.witness import driving, following
from kraftcheck.witness.departures import Witnessed
from kraftcheck.witness.kafka import Kafka, tried
from kraftcheck.witness.partition import BROKERS
from kraftcheck.witness.quorum import voters
from kraftcheck.witness.speech import header
from kraftcheck.zoo import schedules
from live.witness.jars import DEFAULT, versions
from reference.steered.scripts import Script
from traces.foreign.profiles import profile_of

RESULT: Final = "versions.json"
FINDS: Final = {"Z67": "partition", "Z68": "quorum", "Z69": "partition"}
"""Those of Kafka whose schedules its classes follow, and of what they are a schedule."""
NODES: Final = 3


def beside(*, runs: int, seed: int, moves: int, out: Path, jar: str | None, screen: Screen) -> int:
    """Drives and judges every release that is known. Raises BadInput: one cannot be had or driven;
    ToolError: TLC cannot be used.
    """
    driving.use_jar(jar)
    place = artifacts.claim(out)
    judged: dict[tuple[str, str], Witnessed] = {}
    newest: dict[str, list[str]] = {}
    told = []
    for version in sorted(versions(), key=lambda each: each != DEFAULT):
        screen.note(f"Apache Kafka {version}")
        kafka = Kafka(version, None, "", files=False)
        parts = {}
        for what in ("quorum", "partition"):
            component = _component(what, kafka)
            trace = place / f"{what}-{version}.jsonl"
            how = {"runs": runs, "seed": seed, "moves": moves}
            driven = driving.drive(trace, kafka, component, NODES, **how)
            if not driven.places:
                raise BadInput("no step was taken: ask for more runs or moves")
            rules = component.protocol.name
            steps = trace.read_text(encoding="utf-8").splitlines()[1:]
            key = rules, "\n".join(steps)
            if key not in judged:
                judged[key] = driving.judged(component, trace, profile_of(version, rules))
            first = newest.setdefault(rules, steps)
            parts[what] = {"rules": rules, **_of_runs(judged[key], steps, first)}
        finds = {name: _find(name, kafka, place) for name in FINDS}
        told.append({"version": version, **parts, "finds": finds})
    told.sort(key=lambda each: each["version"])
    unknown = any(each[what]["refused"] for each in told for what in ("quorum", "partition"))
    has = any(find["there"] for each in told for find in each["finds"].values())
    code = exits.VIOLATED if unknown or has else exits.HOLDS
    document = {"verdict": exits.VERDICTS[code], **how, "nodes": NODES, "versions": told}
    for each in told:
        screen.facts(_facts(each))
        screen.line()
    artifacts.write_json(place / RESULT, document)
    screen.document(document)
    return code


def _component(what: str, kafka: Kafka) -> Any:
    return voters(kafka) if what == "quorum" else BROKERS


def _of_runs(found: Witnessed, steps: Sequence[str], newest: Sequence[str]) -> dict[str, Any]:
    """first_differing: where a trace parts from that of the newest release by the same rules."""
    pairs = zip(steps, newest, strict=False)
    parts = next((n for n, (one, two) in enumerate(pairs) if one != two), None)
    if parts is None and len(steps) != len(newest):
        parts = min(len(steps), len(newest))
    return {
        "steps": len(steps),
        "first_differing": None if parts is None else parts + 2,
        "refused": _actions(found),
        "known": {met.name: len(met.lines) for met in found.met},
    }


def _actions(found: Witnessed) -> dict[str, int]:
    """How many steps of each action are refused."""
    actions = [each.action for each in found.found.rejections]
    return {action: actions.count(action) for action in sorted({*actions})}


def _find(name: str, kafka: Kafka, place: Path) -> dict[str, Any]:
    """What a schedule does on these classes: its steps are kept, and judged by the specs alone."""
    component = _component(FINDS[name], kafka)
    script = schedules.stored(f"{name}.moves")
    followed = tried(lambda: _followed(script, component, kafka))
    constants = component.constants(component.setting(script.options))
    trace = place / f"{name}-{kafka.version}.jsonl"
    lines = [header(constants, driving.producer(kafka, component.protocol)) + "\n"]
    lines += (driving.of_run(text, 0) for text, _ in followed.schedule.lines)
    artifacts.write_whole(trace, "".join(lines))
    failure = followed.failure
    return {
        "there": failure is not None and failure.name == script.violates,
        "violates": failure.name if failure else "",
        "left_out": len(followed.left_out),
        "refused": _actions(driving.judged(component, trace, None)),
        "stopped": followed.schedule.thrown,
    }


def _followed(script: Script, component: Any, kafka: Kafka) -> following.Followed:
    try:
        setting = component.setting(script.options)
    except msgspec.ValidationError as error:
        raise AssertionError(f"a schedule of ours: {error}") from None
    with driving.host_of(kafka, component.protocol, component.constants(setting)) as host:
        return following.follow(script, component.begin(setting, host, True))


def _facts(of: dict[str, Any]) -> list[tuple[str, str]]:
    facts = [("Kafka", of["version"])]
    for what in ("quorum", "partition"):
        part = of[what]
        parts = part["first_differing"]
        same = "as the newest by these rules" if parts is None else f"differs from line {parts} on"
        facts.append((what, f"{part['steps']:,} steps by the rules of {part['rules']}, {same}"))
        known = ", ".join(f"{count:,} {name}" for name, count in part["known"].items())
        refused = ", ".join(f"{count:,} {name}" for name, count in part["refused"].items())
        facts.append(("", f"known: {known or 'none'}; refused: {refused or 'none'}"))
    for name, find in of["finds"].items():
        by = ", ".join(find["refused"]) or "nothing refused"
        facts.append((name, f"{find['violates']} ({by})" if find["there"] else "not there"))
    return facts
