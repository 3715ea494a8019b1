"""`campaign`: many runs of one configuration or several, judged by everything, in one report.

What a campaign does is in traces/jobs/campaigns.py, what its report shows in
traces/report/campaign.py; here are its options, its progress, and how it ends.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import click

from kraftcheck import artifacts, exits
from kraftcheck.conformance import backend_of, check_place, known_bug, known_scenario
from kraftcheck.osutil.files import read_text
from kraftcheck.screen import Meter, Screen
from kraftcheck.traces.jobs.campaigns import (
    FINDINGS,
    STORE,
    Announced,
    Listener,
    Options,
    run_campaign,
)
from kraftcheck.traces.jobs.plan import (
    Asked,
    Configuration,
    Plan,
    begin,
    check_version,
    extended,
    plan_of,
    read_file,
    read_plan,
)
from tla_utils import find_jar
from tla_utils.jar import JAR_VARIABLE

COPY = "campaign.toml"
LISTED = 5
DEFAULT_SEED = 1


class Place(NamedTuple):
    """Where and how the work is done: the options that all verbs have."""

    backend: str
    master: str | None
    jar: str | None
    store: Path | None
    fail_fast: bool
    redo: bool


def run(
    out: Path,
    *,
    file: Path | None,
    scenario: str | None,
    bug_id: str | None,
    runs: int | None,
    seed: int | None,
    place: Place,
    guided: bool = False,
    coverage: bool = False,
    screen: Screen,
) -> int:
    """Begin a campaign, or go on with what is missing of it.

    guided: runs are made of those that met something new. coverage: say at the end how much of the
    bounded graphs it has seen.
    """
    asked = _asked(file, scenario, bug_id)
    count = runs or asked.runs
    if count is None:
        raise click.UsageError("how many runs? --runs N, or `runs` in the file")
    check_place(place.backend, place.master)
    chosen = asked.seed if asked.seed is not None else DEFAULT_SEED
    own_seed = seed if seed is not None else chosen
    plan = plan_of(asked.configurations, count, own_seed, guided)
    with exits.resumable(), artifacts.alone(artifacts.claim(out)):
        plan = begin(out, plan)
        if file is not None and not (out / COPY).exists():
            artifacts.write_whole(out / COPY, read_text(file))
        return _go_on(out, plan, place, coverage, screen)


def extend(folder: Path, *, runs: int, place: Place, coverage: bool = False, screen: Screen) -> int:
    """Add so many runs to each configuration of a finished campaign."""
    plan = read_plan(folder)
    check_version(folder, plan)
    check_place(place.backend, place.master)
    with exits.resumable(), artifacts.alone(folder):
        return _go_on(folder, extended(folder, plan, runs), place, coverage, screen)


def _asked(file: Path | None, scenario: str | None, bug_id: str | None) -> Asked:
    if (file is None) == (scenario is None):
        raise click.UsageError("name a file of configurations, or a --scenario, and not both")
    if file is not None:
        if bug_id is not None:
            raise click.UsageError("the file says which bugs its configurations have, not --bug")
        found = read_file(file)
        for each in found.configurations:
            known_bug(each.bug, known_scenario(each.scenario), each.options)
        return found
    name = known_scenario(str(scenario))
    only = Configuration(name=name, scenario=name, bug=known_bug(bug_id, name))
    return Asked((only,), None, None)


def _go_on(out: Path, plan: Plan, place: Place, coverage: bool, screen: Screen) -> int:
    if place.jar:
        # The one place where every run of TLC looks, those of workers included.
        os.environ[JAR_VARIABLE] = str(find_jar(place.jar).path)
    total = plan.runs * len(plan.configurations)
    first: list[Announced] = []

    def announce(found: Announced) -> None:
        first.append(found)
        screen.note(f"violated: {found.configuration}, run {found.run}: {found.what}")
        screen.note(f"    {found.replay}")

    begun = monotonic()
    with (
        backend_of(place.backend, place.master, total) as backend,
        _stages(screen) as progress,
    ):
        options = Options(
            backend=backend, store=place.store, fail_fast=place.fail_fast, redo=place.redo
        )
        found = run_campaign(out, plan, options, Listener(progress, announce))
    if found is None:
        return _stopped(out, first[0], screen)
    if coverage:
        # Late: most campaigns are without.
        from kraftcheck.graph_share import measure

        store = place.store or out.absolute().parent / STORE
        found = {**found, "graphs": measure(out, found, store, screen)}
    # Late: drawing loads a template engine.
    from kraftcheck.traces.report.campaign import write_campaign_report

    page = write_campaign_report(out)
    _show(found, page, monotonic() - begun, screen)
    return exits.code_of(found["verdict"])


def _stopped(out: Path, first: Announced, screen: Screen) -> int:
    screen.facts(
        [
            ("verdict", "violated"),
            ("stopped", f"{first.configuration}, run {first.run}: {first.what}"),
            ("replay", first.replay),
            ("next", "the same command without --fail-fast goes on"),
        ]
    )
    screen.document(
        {
            "verdict": "violated",
            "stopped": True,
            "folder": str(out),
            "configuration": first.configuration,
            "run": first.run,
            "what": first.what,
            "replay": first.replay,
        }
    )
    return exits.VIOLATED


@contextmanager
def _stages(screen: Screen) -> Iterator[Callable[[str, int, int, str, str], None]]:
    """A meter for each stage, opened when the first word of it comes; with rate and time left."""
    labels = {"ranges": "simulating and judging runs", "TLC": "TLC judges distinct steps"}
    with ExitStack() as stack:
        now: list[tuple[str, Meter, float, int]] = []

        def report(stage: str, done: int, total: int, unit: str, so_far: str) -> None:
            if stage not in labels or not total:
                return
            if not now or now[0][0] != stage or done == 0:
                stack.close()
                meter = stack.enter_context(screen.progress(labels[stage], total))
                now[:] = [(stage, meter, monotonic(), done)]
            _, meter, begin, before = now[0]
            pace = _pace(done - before, total - done, monotonic() - begin, unit)
            meter.update(done, "; ".join(each for each in (pace, so_far) if each))

        yield report


def _pace(done: int, left: int, seconds: float, unit: str) -> str:
    if not done or seconds <= 0:
        return ""
    rate = done / seconds
    return f"{rate:,.0f} {unit}/s, {left / rate:,.0f} s left"


def _show(found: dict[str, Any], page: Path, seconds: float, screen: Screen) -> None:
    logs, unpromised = found["logs"], found["unpromised_logs"]
    facts = [
        ("verdict", found["verdict"]),
        ("runs", f"{found['runs']:,}, {found['steps']:,} steps, in {seconds:.1f} s"),
        ("histories", f"{logs:,} logs, {found['operations']:,} operations"),
        ("", f"{unpromised:,} logs promised nothing, {found['unknown_logs']:,} unknown"),
        *[("", reason) for reason in found["reasons"][:LISTED]],
    ]
    screen.facts(facts)
    for each in found["configurations"]:
        distinct = each["conformance"]["distinct"]["canonical"]
        screen.line(
            f"{each['name']}: {each['verdict']}, {each['runs']:,} runs, "
            f"{distinct:,} distinct steps, {each['conformance']['rejected']:,} rejected"
        )
        for violation in each["violations"][:1]:
            screen.line(f"    run {violation['run']}: {violation['kind']}: {violation['what']}")
            screen.line(f"    {violation['replay']}")
        if never := each["sometimes"]["never"]:
            screen.line(f"    never reached: {', '.join(c['name'] for c in never)}")
        for graph in found.get("graphs", {}).get(each["name"], ()):
            share = graph["edges_seen"] / graph["edges"]
            screen.line(
                f"    {graph['graph']}: {graph['edges_seen']:,} of {graph['edges']:,} edges seen "
                f"({share:.0%}), {graph['seen']:,} of {graph['local_steps']:,} local steps"
            )
    screen.line(f"report    {page}")
    screen.document({**found, "report": str(page)})


# -- compare


def compare(one: Path, other: Path, *, screen: Screen) -> int:
    """Say what changed from one campaign to another."""
    from kraftcheck.traces.report.campaign import read_findings
    from kraftcheck.traces.report.comparison import compare as compared

    found = compared(read_findings(one / FINDINGS), read_findings(other / FINDINGS))
    for pair in found:
        screen.line(f"{pair.name}: {pair.before} -> {pair.after}")
        width = max((len(change.what) for change in pair.changes), default=0)
        for change in pair.changes:
            mark = "!" if change.worse else " "
            screen.line(f"  {mark} {change.what.ljust(width)}  {change.before} -> {change.after}")
        if not pair.changes:
            screen.line("    nothing changed")
    worse = [f"{pair.name}: {c.what}" for pair in found for c in pair.changes if c.worse]
    unknown = any(pair.after == "unknown" and pair.before == "holds" for pair in found)
    verdict = exits.VIOLATED if worse else exits.UNKNOWN if unknown else exits.HOLDS
    screen.document(
        {
            "verdict": exits.VERDICTS[verdict],
            "worse": worse,
            "configurations": [pair.as_json() for pair in found],
        }
    )
    return verdict
