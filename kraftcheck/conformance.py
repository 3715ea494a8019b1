"""`simulate` and `conform`: a campaign of recorded runs, and its conformance to the specs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec

from kraftcheck import artifacts, exits, reference, report
from kraftcheck.exits import BadInput
from kraftcheck.known_bugs.own_rules import within
from kraftcheck.osutil.commands import command
from kraftcheck.osutil.files import read_bytes, sources
from kraftcheck.reference.bugs.catalog import OutOfScope, UnknownBug, bug
from kraftcheck.reference.protocols import asks, is_composition, sources_of_others
from kraftcheck.reference.runner.scenarios import FAMILIES, family, protocols_under
from kraftcheck.reference.sim.choices import SeededChooser
from kraftcheck.screen import Meter, Screen
from kraftcheck.traces.jobs.backends import Backend, Pool, Spark
from kraftcheck.traces.jobs.conform import ConformOptions, conform as conform_trace
from kraftcheck.traces.jobs.simulate import simulate as simulate_trace
from kraftcheck.traces.jobs.summary import AS_TEXT
from kraftcheck.traces.report.evidence import patterns_of
from kraftcheck.traces.schema import PROGRESSED, STOPPED
from kraftcheck.traces.store import Campaign, Manifest, read_manifest, read_table
from tla_utils import find_jar, find_java
from tla_utils.jar import JAR_VARIABLE
from tla_utils.java_home import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER = "local[*]"

# `auto` takes Spark from so many runs on, or when a master is named: below, starting it costs more
# than it could ever win back.
SPARK_RUNS = 100_000

SIMULATE, CONFORM = "simulate", "conform"
LISTED = 5


# -- simulate


def simulate(
    out: Path,
    *,
    scenario: str | None = None,
    runs: int,
    seed: int,
    bug_id: str | None = None,
    rules: Path | None = None,
    fixed: Sequence[str] = (),
    backend: str = "auto",
    master: str | None = None,
    screen: Screen,
) -> int:
    """Record runs of the reference, or those of them that are still missing in the folder.

    scenario: unless given, that of the rules, or the first that there is. rules: a file with rules
    of one's own; other processes do not know them, so that all runs are taken in this one. fixed:
    options that are not drawn, as NAME=VALUE.
    """
    if rules is not None:
        if bug_id is not None or backend not in ("auto", "pool"):
            given = "--bug" if bug_id is not None else "--backend"
            raise BadInput(f"--rules and {given} exclude each other")
        with within(rules) as own:
            assert own is not None
            if own.scenario not in FAMILIES:
                look = command("storage", "crash", "--rules", rules)
                raise BadInput(f"{rules}: no runs have rules of the {own.scenario}: {look}")
            asked = scenario or own.scenario
            return _simulate(out, asked, runs, seed, own.id, fixed, Pool(1), master, screen)
    asked = scenario or next(iter(FAMILIES))
    return _simulate(out, asked, runs, seed, bug_id, fixed, backend, master, screen)


def _simulate(
    out: Path,
    scenario: str,
    runs: int,
    seed: int,
    bug_id: str | None,
    fixed: Sequence[str],
    backend: str | Pool,
    master: str | None,
    screen: Screen,
) -> int:
    options = fixed_options(known_scenario(scenario), fixed)
    campaign = Campaign(
        scenario=known_scenario(scenario),
        seed=seed,
        runs=runs,
        bug=known_bug(bug_id, scenario, options),
        options=options,
    )
    if isinstance(backend, str):
        check_place(backend, master)
    with artifacts.alone(artifacts.claim(out)):
        return _record(out, campaign, backend, master, screen)


def _record(
    out: Path, campaign: Campaign, backend: str | Pool, master: str | None, screen: Screen
) -> int:
    before = _parts(out)
    _same_code(out, before)
    begin = monotonic()
    with (
        exits.resumable(),
        (
            nullcontext(backend)
            if isinstance(backend, Pool)
            else backend_of(backend, master, campaign.runs)
        ) as place,
        screen.progress(f"simulating {campaign.scenario}", campaign.runs) as meter,
    ):
        manifest = simulate_trace(
            out,
            campaign,
            backend=place,
            progress=lambda stage, done, total: meter.update(done),
        )
    part = recorded(out, manifest, monotonic() - begin)
    _merge(out, part, new=before != len(manifest.parts))
    _show_recorded(out, manifest, part, screen)
    return exits.code_of(part.verdict)


def _merge(out: Path, part: artifacts.Part, *, new: bool) -> None:
    """new: whether runs were recorded that `conform` does not know of."""
    judged = CONFORM in artifacts.read_json(out / artifacts.SUMMARY).get("parts", {})
    if judged and not new:
        # What it said of the same runs is the same, and more.
        part = replace(part, facts={})
    artifacts.merge(out, part, outdated=[CONFORM] if new else ())


def known_scenario(name: str) -> str:
    """The scenario's name. Raises BadInput: there is none."""
    with exits.refusing(ValueError):
        return str(family(name).scenario.name)


def fixed_options(scenario: str, words: Sequence[str]) -> dict[str, Any]:
    """Options of a scenario from NAME=VALUE; a value is JSON, or else text as it stands.

    Raises BadInput for words of another form, for an option that the scenario has not, and for a
    value out of its range.
    """
    options: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise BadInput(f"--option {word}: write NAME=VALUE")
        try:
            options[name] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            options[name] = value
        # Some are words that look like numbers: acks=0.
        if _refused(scenario, {name: options[name]}) and not _refused(scenario, {name: value}):
            options[name] = value
    if refused := _refused(scenario, options):
        own = [name for name in options if name in FAMILIES and f"no option {name!r}" in refused]
        raise BadInput(
            f"no option {own[0]!r}; runs of it are of a scenario of their own, --scenario {own[0]}"
            if own
            else refused
        )
    return options


def _refused(scenario: str, options: dict[str, Any]) -> str:
    """Why runs cannot have these options; empty if they can."""
    try:
        family(scenario).draw(SeededChooser(0), options)
    except ValueError as error:
        return str(error)
    return ""


def known_bug(
    id: str | None, scenario: str, options: Mapping[str, Any] | None = None
) -> str | None:
    """options: that are requested of the runs, which may be taken by another protocol's rules.

    Raises UnknownBug with the nearest ids, OutOfScope for one that cannot be had, or whose rule
    nobody asks in this scenario.
    """
    if id is None:
        return None
    taken_by = family(scenario).taken_by
    own = taken_by(options or {})[0] if taken_by else scenario
    try:
        found = bug(id)
    except UnknownBug:
        found = bug(id, None if is_composition(scenario) else own)  # It names those of `own`.
    under = protocols_under(scenario, options or {})
    if not any(asks(each, found.protocol) for each in under):
        raise OutOfScope(
            f"scenario {scenario} never uses the rules of {found.id};"
            f" try --scenario {found.protocol}"
        )
    if found.scope:
        raise OutOfScope(f"{found.id} cannot be simulated: it {found.scope}")
    return found.id


def _parts(folder: Path) -> int:
    return len(read_manifest(folder).parts) if (folder / "manifest.json").exists() else 0


CODE = "reference (sha256)"


def _same_code(folder: Path, parts: int) -> None:
    """Runs of two versions of the reference must not stand in one trace as if they were of one.

    Said before the first run is recorded, so that it holds of a campaign that is interrupted, too.
    """
    known = artifacts.read_json(folder / artifacts.SUMMARY).get("versions", {}).get(CODE)
    now = code_digest()
    if parts and known not in (None, now):
        raise BadInput(
            f"{folder} was recorded by another version of the reference: name a new folder, or "
            "remove this one"
        )
    artifacts.merge_versions(folder, {CODE: now})


def code_digest() -> str:
    """sha256 over the source of everything that takes part in a run."""
    root = Path(reference.__file__).parent
    digest = sha256()
    for path in [*sources(root), *sources_of_others()]:
        own = path.relative_to(root) if path.is_relative_to(root) else path.name
        digest.update(f"{own}\0".encode() + read_bytes(path))
    return digest.hexdigest()


def recorded(folder: Path, manifest: Manifest, seconds: float) -> artifacts.Part:
    """What the runs themselves have found: violated invariants, and cores that stood still."""
    steps, broken, ended = 0, Counter[str](), Counter[str]()
    runs_broken = 0
    for entry in manifest.parts:
        table = read_table(folder, entry, "runs", ["handler_calls", "verdict", "violations"])
        steps += sum(table["handler_calls"].to_pylist())
        ended.update(table["verdict"].to_pylist())
        for violations in table["violations"].to_pylist():
            runs_broken += bool(violations)
            broken.update({violation["invariant"] for violation in violations})
    runs = sum(entry.runs for entry in manifest.parts)
    stuck = runs - ended[PROGRESSED] - ended[STOPPED]
    reasons = [
        f"invariant {name} was violated in {n} run{'s' * (n != 1)}"
        for name, n in sorted(broken.items())
    ]
    if stuck:
        reasons.append(f"{stuck} healed runs made no progress")
    violations = {"runs": runs_broken, "by_name": dict(sorted(broken.items()))}
    return artifacts.Part(
        SIMULATE,
        verdict=exits.VERDICTS[exits.VIOLATED if reasons else exits.HOLDS],
        seconds=seconds,
        reasons=reasons,
        facts={"runs": runs, "steps": steps, "invariant_violations": violations},
        details={"runs": runs, "steps": steps, "bug": manifest.campaign.bug},
        seeds={manifest.campaign.scenario: manifest.campaign.seed},
    )


def _show_recorded(out: Path, manifest: Manifest, part: artifacts.Part, screen: Screen) -> None:
    campaign = manifest.campaign
    facts = [
        ("verdict", part.verdict),
        ("campaign", f"{campaign.scenario}, seed {campaign.seed}, bug {campaign.bug or 'none'}"),
        ("runs", f"{part.facts['runs']:,} in {part.seconds:.1f} s"),
        ("steps", f"{part.facts['steps']:,}"),
        *[("", reason) for reason in part.reasons],
        ("next", command("conform", out)),
    ]
    screen.facts(facts)
    screen.document({"verdict": part.verdict, "reasons": part.reasons, **part.facts})


# -- conform


def conform(
    folder: Path,
    *,
    jar: str | None = None,
    backend: str = "auto",
    master: str | None = None,
    screen: Screen,
) -> int:
    """Judge every recorded step with TLC, and every run with the checks on runs."""
    report.refuse_campaign(folder)
    manifest = read_manifest(folder)
    artifacts.check_writable(folder)
    if jar:
        # The one place where every run of TLC looks, those of workers included.
        os.environ[JAR_VARIABLE] = str(find_jar(jar).path)
    with backend_of(backend, master, manifest.campaign.runs) as place:
        summary = _judged(folder, manifest, place, screen)
    found = summary["parts"][CONFORM]
    _show_judged(folder, summary, screen)
    screen.document(summary)
    return exits.code_of(found["verdict"])


def _judged(folder: Path, manifest: Manifest, place: Backend, screen: Screen) -> dict[str, Any]:
    """Run the job, which writes a summary of its own.

    What other verbs have found is kept beside it, and is put back if the job fails.
    """
    before = artifacts.without_parts(artifacts.read_json(folder / artifacts.SUMMARY), [CONFORM])
    begin = monotonic()
    try:
        with _stages(screen) as told:
            summary = conform_trace(folder, ConformOptions(backend=place), told).summary
    except BaseException:
        if before:
            artifacts.write_sealed(folder / artifacts.SUMMARY, before)
        raise
    part = artifacts.Part(
        CONFORM,
        verdict=summary["verdict"],
        seconds=monotonic() - begin,
        reasons=summary["reasons"],
        facts=summary,
        stages=summary["seconds"],
        seeds={manifest.campaign.scenario: manifest.campaign.seed},
        versions=summary["versions"],
    )
    merged = artifacts.merged_summary(before, part)
    artifacts.write_sealed(folder / artifacts.SUMMARY, merged)
    return merged


@contextmanager
def _stages(screen: Screen) -> Iterator[Callable[[str, int, int], None]]:
    """Progress of a job in stages, one meter for each, opened when the first word of it comes."""
    labels = {
        "read": "reading parts",
        "judge": "judging steps and first rows",
        "join": "joining back",
    }
    with ExitStack() as stack:
        open_now: list[tuple[str, Meter]] = []

        def report(stage: str, done: int, total: int) -> None:
            if not open_now or open_now[0][0] != stage:
                stack.close()
                meter = stack.enter_context(screen.progress(labels.get(stage, stage), total))
                open_now[:] = [(stage, meter)]
            open_now[0][1].update(done)

        yield report


def _show_judged(folder: Path, summary: Mapping[str, Any], screen: Screen) -> None:
    distinct = summary["distinct_steps"]
    facts = [
        ("verdict", summary["parts"][CONFORM]["verdict"]),
        ("runs", f"{summary['runs']:,}"),
        ("steps", f"{summary['steps']:,}, {distinct['canonical']:,} distinct"),
        ("rejected", f"{summary['rejected_steps']:,} distinct steps{_explained(summary)}"),
        *[("", reason) for reason in summary["parts"][CONFORM]["reasons"]],
    ]
    if AS_TEXT in summary["tlc"]:
        facts.append(("slower", f"TLC was given steps as text: {summary['tlc'][AS_TEXT]}"))
    never = [action for action, taken in summary["actions"].items() if not taken]
    if never and summary["steps"]:
        facts.append(("never", ", ".join(never)))
    screen.facts(facts)
    for each in summary["findings"]["listed"][:LISTED]:
        screen.line(f"found: {each['check']} in run {each['run']}, step {each['step']}")
        screen.line(f"    {each['explanation']}")
        screen.line(f"    {each['replay']}")
    _show_causes(summary["rejections"], screen)
    screen.line(f"next      {command('report', folder)}")


def _explained(summary: Mapping[str, Any]) -> str:
    told = sum(bool(each.get("differences")) for each in summary["rejections"])
    rejected: int = summary["rejected_steps"]
    return f", {told:,} of them explained" if told < rejected else ""


def _show_causes(rejections: Sequence[Mapping[str, Any]], screen: Screen) -> None:
    """Rejected steps by cause, each with its first witness; where none was explained, the first."""
    found = patterns_of(rejections)
    for cause in found[:LISTED]:
        kinds = ", ".join(f"{action} {number:,}" for action, number in cause.actions.items())
        screen.line(f"rejected at {', '.join(cause.places)}: {cause.distinct:,} distinct ({kinds})")
        first = cause.witnesses[0]
        screen.line(f"    first {first['action']} in run {first['run']}, step {first['step']}")
        for difference in first["differences"][:LISTED]:
            screen.line(f"    {difference}")
        screen.line(f"    {first['replay']}")
    if len(found) > LISTED:
        screen.line(f"and {len(found) - LISTED} more causes; the report has all")
    for each in rejections[: 0 if found else LISTED]:
        screen.line(f"rejected: {each['action']} in run {each['run']}, step {each['step']}")
        screen.line(f"    {each['replay']}")


# -- Where the work is done


def check_place(name: str, master: str | None) -> None:
    if name == "pool" and master:
        raise BadInput("--master is an address of Spark; leave it out, or take --backend spark")


def use_java(launcher: str | None = None) -> None:
    """Use this Java, or the one that is found, in this process and its workers."""
    os.environ["JAVA_HOME"] = str(java_home(find_java(launcher)))


@contextmanager
def backend_of(name: str, master: str | None, runs: int) -> Iterator[Backend]:
    """The pool, or Spark, which is stopped at the end."""
    check_place(name, master)
    if name == "pool" or (name == "auto" and not master and runs < SPARK_RUNS):
        yield Pool()
        return
    # Late: a second of import that the pool need not spend.
    from kraftcheck.traces.jobs.session import spark_session

    session: SparkSession = spark_session(master or DEFAULT_MASTER)
    try:
        yield Spark(session)
    finally:
        session.stop()
