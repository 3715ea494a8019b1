"""Put the releases of Kafka beside each other.

Which steps differ, which finds each has, and what of each is driven.

All are given the same runs, and the schedules of finds. Traces that are alike are judged once.

Law of this file: a find is there if its schedule breaks on these classes the property that it says.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from kraftcheck import artifacts, exits
from kraftcheck.known_bugs import schedules
from kraftcheck.live.artifacts import ArtifactError
from kraftcheck.live.witness.host import WitnessError
from kraftcheck.live.witness.jars import check_version, versions
from kraftcheck.markdown import table
from kraftcheck.screen import Screen
from kraftcheck.witness import driving
from kraftcheck.witness.departures import Witnessed
from kraftcheck.witness.kafka import Kafka, driver, tried
from kraftcheck.witness.replaying import actions, played
from kraftcheck.witness.storage import Compared, compare, hosted

RESULT: Final = "versions.json"
PAGE: Final = "versions.md"
FINDS: Final = {"Z67": "partition", "Z68": "quorum", "Z69": "partition"}
"""Those of Kafka whose schedules its classes follow, and of what they are a schedule."""
DRIVEN: Final = ("quorum", "partition", "cluster", "transactions", "groups")
PARTS: Final = (
    *("quorum", "partition", "cluster: quorum", "cluster: partition"),
    *("transactions", "groups"),
)
"""What is told of each release: of what is composed, each part."""
NODES: Final = 3


def beside(
    *,
    releases: Sequence[str],
    runs: int,
    seed: int,
    moves: int,
    out: Path,
    jar: str | None,
    screen: Screen,
) -> int:
    """Drives and judges these releases, or all that are known.

    Raises BadInput: one cannot be had or driven; ToolError: TLC cannot be used.
    """
    driving.use_jar(jar)
    chosen = tuple({*releases}) or versions()
    for version in chosen:
        tried(partial(check_version, version))
    place = artifacts.claim(out)
    judged: dict[tuple[str, str, str], Witnessed] = {}
    newest: dict[tuple[str, str], tuple[str, list[str]]] = {}
    told: list[dict[str, Any]] = []
    beyond: list[str] = []
    for version in sorted(chosen, key=_number, reverse=True):
        screen.note(f"Apache Kafka {version}")
        kafka = Kafka(version, None, "", files=True)
        parts = {}
        names = iter(PARTS)
        for what in DRIVEN:
            component = driver(what, what).component(kafka)
            trace = place / f"{what}-{version}.jsonl"
            driven = driving.drive(
                trace, kafka, component, NODES, runs=runs, seed=seed, moves=moves
            )
            driving.check_steps(component, driven)
            beyond += [f"{version}, {what}, run {run}: {why}" for run, _, why in driven.unsaid]
            for part, path in zip(
                component.parts, driving.traces_of(trace, component), strict=True
            ):
                name, rules = next(names), part.protocol.name
                steps = path.read_text(encoding="utf-8").splitlines()[1:]
                profile = kafka.allowed(rules)
                key = rules, str(profile), "\n".join(steps)
                if key not in judged:
                    judged[key] = driving.judged(part, path, profile)
                beside = newest.setdefault((name, rules), (version, steps))
                parts[name] = {"rules": rules, **_of_runs(judged[key], steps, *beside)}
        finds = {name: find(name, kafka, place) for name in FINDS}
        log = log_on_disk(version, runs)
        told.append({"version": version, **parts, "log": log, "finds": finds})
    told.reverse()
    refused = any(each[part]["refused"] for each in told for part in PARTS)
    has = any(find["there"] for each in told for find in each["finds"].values())
    parts_on_disk = any(each["log"]["differ"] for each in told)
    code = exits.VIOLATED if refused or has or parts_on_disk or beyond else exits.HOLDS
    how = {"runs": runs, "seed": seed, "moves": moves, "nodes": NODES}
    document = {"verdict": exits.VERDICTS[code], **how, "versions": told, "beyond": beyond}
    for line in beyond:
        screen.line(f"beyond the spec: {line}")
    for each in told:
        screen.facts(_facts(each))
        screen.line()
    artifacts.write_json(place / RESULT, document)
    artifacts.write_whole(place / PAGE, page(told))
    screen.document(document)
    return code


def page(told: Sequence[dict[str, Any]]) -> str:
    """A table in Markdown of what is told of each release: a column for each."""
    rows: dict[str, list[str]] = {}
    for part in PARTS:
        of = [each[part] for each in told]
        rows[f"{part}: steps"] = [f"{each['steps']:,}" for each in of]
        rows[f"{part}: judged by the rules of"] = [each["rules"] for each in of]
        rows[f"{part}: known"] = [_counted(each["known"]) for each in of]
        rows[f"{part}: refused"] = [_counted(each["refused"]) for each in of]
        rows[f"{part}: same bytes as the newest by these rules"] = [
            "yes" if each["first_differing"] is None else f"to line {each['first_differing'] - 1}"
            for each in of
        ]
    rows["log on disk: operations, with equal bytes"] = [
        f"{each['log']['operations']:,}" for each in told
    ]
    rows["log on disk: differs"] = [
        each["log"]["not_driven"] or f"{len(each['log']['differ'])} histories" for each in told
    ]
    for name in told[0]["finds"]:
        finds = [each["finds"][name] for each in told]
        rows[name] = [each["violates"] if each["there"] else "not there" for each in finds]
    heads = ["", *[each["version"] for each in told]]
    return table(heads, [(name, *cells) for name, cells in rows.items()])


def _counted(by_name: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in by_name.items()) or "none"


def _number(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _of_runs(
    found: Witnessed, steps: Sequence[str], beside: str, others: Sequence[str]
) -> dict[str, Any]:
    """beside: the newest release by the same rules, and its steps.

    first_differing: the line of the trace at which the two part, if they do.
    """
    pairs = zip(steps, others, strict=False)
    parts = next((n for n, (one, two) in enumerate(pairs) if one != two), None)
    if parts is None and len(steps) != len(others):
        parts = min(len(steps), len(others))
    return {
        "steps": len(steps),
        "beside": beside,
        "first_differing": None if parts is None else parts + 2,
        "refused": actions(found),
        "known": {met.name: len(met.lines) for met in found.met},
    }


def log_on_disk(version: str, histories: int) -> dict[str, Any]:
    """What the engine and Kafka's own log make of so many histories.

    not_driven: why it cannot be asked; else empty.
    """
    total, why = Compared(), ""
    try:
        with hosted(version) as host, tempfile.TemporaryDirectory() as folder:
            for seed in range(1, histories + 1):  # of the first one files are dumped
                compare(host, Path(folder) / "log", seed, total)
    except (ArtifactError, WitnessError) as error:
        why = str(error)
    return {"operations": total.operations, "differ": total.differ, "not_driven": why}


def find(name: str, kafka: Kafka, place: Path) -> dict[str, Any]:
    """What the schedule of a find does on these classes; its steps are kept in the folder.

    there: whether it breaks what it says. bugs: which known bugs its steps need.
    """
    component = driver(FINDS[name], name).component(kafka)
    script = schedules.stored(f"{name}.moves")
    profile = kafka.allowed(component.protocol.name)
    made = played(component, script, name, kafka, place / f"{name}-{kafka.version}.jsonl", profile)
    return {
        "there": bool(made.violates) and made.violates == script.violates,
        "violates": made.violates,
        "left_out": len(made.followed.left_out),
        "bugs": [met.name for met in made.met if met.of == "bug"],
        "refused": made.refused,
        "stopped": made.followed.schedule.thrown,
    }


def _facts(of: dict[str, Any]) -> list[tuple[str, str]]:
    facts = [("Kafka", of["version"])]
    for what in PARTS:
        part = of[what]
        parts, beside = part["first_differing"], part["beside"]
        same = f"as {beside}" if parts is None else f"not as {beside} from line {parts} on"
        if beside == of["version"]:
            same = "the newest by these"
        facts.append((what, f"{part['steps']:,} steps by the rules of {part['rules']}, {same}"))
        known, refused = _counted(part["known"]), _counted(part["refused"])
        facts.append(("", f"known: {known}; refused: {refused}"))
    log = of["log"]
    alike = f"{log['operations']:,} operations with equal bytes"
    facts.append(("log on disk", log["not_driven"] or alike))
    facts += [("", f"differs: {each}") for each in log["differ"][:1]]
    for name, each in of["finds"].items():
        by = ", ".join([*each["bugs"], *(f"refused {action}" for action in each["refused"])])
        there = f"{each['violates']} ({by or 'nothing refused'})"
        facts.append((name, there if each["there"] else "not there"))
    return facts
