"""`try`: what a change of one's own does, held against the correct protocol, on a screen.

While it works, violations are shown as they are found (on stderr). The result has the verdict
first, then what was searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from time import monotonic

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.conformance import fixed_options, known_scenario
from kraftcheck.exits import BadInput
from kraftcheck.known_bugs import beginning, own_runs, related, trying
from kraftcheck.known_bugs.entries import manifest_of
from kraftcheck.known_bugs.own_bounds import read_bounds
from kraftcheck.known_bugs.own_histories import try_histories
from kraftcheck.known_bugs.own_overlay import OwnOverlay, has, models_for, read_overlay, text_of
from kraftcheck.known_bugs.own_rules import OwnRules, known, read_rules
from kraftcheck.known_bugs.own_runs import Finding, OfRuns, Wanted
from kraftcheck.known_bugs.related import Known
from kraftcheck.known_bugs.trying import OfModel, Tried
from kraftcheck.reference.bugs.bug import Bug
from kraftcheck.reference.kit.dispatch import snake
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.protocols import PROTOCOLS, asks, folder_of, is_preset, parts_of
from kraftcheck.reference.runner.scenarios import FAMILIES, family
from kraftcheck.screen import Columns, Screen
from kraftcheck.specs import SPECS
from tla_utils import Manifest, Model, RunOptions, find_jar, find_java
from tla_utils.overrides import read_module

RESULT = "tried.json"
STORAGE = "storage"
"""The engine, whose rules a change may replace, and which is no protocol."""
HEADS = ("rule", "operator", "what it says")
RUNS_SHARE = 0.5
"""The part of the time that runs have where models wait for what is left."""
SOON_OVER = 1000
"""States of a model that nobody waits long for."""
LONG_S = 10.0
"""Of a model that takes longer it is told how long, in the end."""
SAID_MAX = 200
"""Characters of what a finding says, where a row may be a whole log."""
TOLD_LINES = 60
"""Of a counterexample so many lines are shown; the file has all."""


def run(
    *,
    overlay: Path | None,
    rules: Path | None,
    tiers: Sequence[str],
    names: Sequence[str],
    bounds: Path | None,
    runs: int,
    seed: int,
    scenarios: Sequence[str],
    fixed: Sequence[str],
    minutes: float,
    fail_fast: bool,
    out: Path,
    jar: str | None,
    java: str | None,
    screen: Screen,
) -> int:
    """Ask the detectors; returns 0, 1 or 2 as `known_bugs.trying` says.

    Args:
        overlay, rules: the change in TLA+, in Python.
        tiers, names, bounds: of models; a file with constants of them (own_bounds.py).
        runs, seed: of each scenario's campaign.
        scenarios: of runs; empty: of all protocols that ask the replaced class.
        fixed: options of all runs, as NAME=VALUE; without scenarios, of the first alone.
        minutes, fail_fast: for all of it; whether it ends with the first violation.
        out: the folder for all that is written.
        jar, java: TLC, and the command that runs it.
        screen: shows all of it.

    Raises:
        BadInput: nothing is given, or what is given cannot be used.
    """
    if overlay is None and rules is None:
        raise BadInput("nothing to try: give --overlay, --rules or both")
    own_rules = None if rules is None else read_rules(rules.absolute())
    wanted = _wanted(own_rules, runs, seed, scenarios, fixed, fail_fast)
    protocol = protocol_of(overlay, own_rules)
    manifest = manifest_of(protocol)
    own_overlay = None if overlay is None else read_overlay(overlay.absolute(), manifest)
    _refuse_two_changes(own_overlay, own_rules)
    begun = monotonic()
    replaced = _replaced(own_overlay, own_rules)
    bugs, near = related.bugs_with(protocol, replaced), list[Bug]()
    if own_overlay is None and (tiers or names or bounds):
        raise BadInput("--tier, --model and --bounds are of models: give --overlay as well")
    place = artifacts.claim(out)
    asked = [] if bounds is None else read_bounds(bounds, manifest)
    models = [] if own_overlay is None else _models(own_overlay, manifest, tiers, names, asked)
    chosen = bool(tiers or names or bounds)
    if own_overlay is not None and not chosen:
        near = related.bugs_near(protocol, replaced)
        models = _ordered(models, bugs, near, manifest)
    over = begun + 60 * minutes * (1 if own_overlay is None else RUNS_SHARE)
    campaigns = _campaigns(own_rules, wanted, place, own_overlay, screen, over)
    by_models: list[OfModel] = []
    if own_overlay is not None and not (fail_fast and any(of.broken for of in campaigns)):
        options = RunOptions(jar=find_jar(jar), java=find_java(java))
        left = begun + 60 * minutes - monotonic()
        # With the rules, the reference follows counterexamples that need the change.
        with nullcontext() if own_rules is None else known(own_rules) as entry:
            how = (screen, fail_fast, None if entry is None else entry.id)
            by_models = _try_models(own_overlay, manifest, models, options, place, left, *how)
    found = _concluded(protocol, by_models, campaigns, bugs, near, manifest, chosen)
    _show(found, own_overlay, own_rules, monotonic() - begun, place, screen)
    document = msgspec.to_builtins(found)
    artifacts.write_json(place / RESULT, document)
    screen.document(document)
    return trying.CODES[found.verdict]


def _ordered(
    models: Sequence[Model], bugs: Sequence[Bug], near: Sequence[Bug], manifest: Manifest
) -> list[Model]:
    """First where changes of these rules are known to show: who waits hears of it early.

    Then what is soon over, where changes of their neighbours show, and all else.
    """
    first, others = (related.bounds_of(of, manifest) for of in (bugs, near))
    sizes = sorted(models, key=lambda each: each.distinct or 0)
    soon = sum((each.distinct or 0) < SOON_OVER for each in sizes)
    return [*first, *sizes[:soon], *others, *sizes[soon:]]


def _concluded(
    protocol: str,
    models: list[OfModel],
    campaigns: Sequence[OfRuns],
    bugs: Sequence[Bug],
    near: Sequence[Bug],
    manifest: Manifest,
    chosen: bool,
) -> Tried:
    """All of it together. chosen: somebody said how far it is to look."""
    ended = [each.model for each in models if each.verdict in (trying.HOLDS, trying.VIOLATED)]
    own = next((of for of in campaigns if of.scenario == protocol), None)
    judged = own.runs if own is not None and own.ended else None
    played = 0 if own is None else own.schedules
    known = related.known(bugs, ended, manifest, runs=judged, played=played, near=near)
    others = [of for of in campaigns if of is not own]
    return trying.concluded(models, own, known, others, chosen=chosen)


def list_rules(screen: Screen) -> int:
    """All that a change may replace, with the names of both sides."""
    found = list(beginning.rules())
    table = Columns(HEADS, [("  " + each.name, each.operator, "") for each in found])
    screen.line(table.head)
    for _, of in groupby(found, lambda each: each.base):
        screen.line()
        own = list(of)
        screen.line(f"{beginning.class_name(own[0])}:")
        for each in own:
            screen.line(table.row(("  " + each.name, each.operator, each.said)))
    screen.document([{**each._asdict(), "base": each.base.__name__} for each in found])
    return exits.HOLDS


def begin(name: str, rules: Sequence[str], screen: Screen) -> int:
    """Write the two files of a new change. Raises BadInput as `beginning.begin` does."""
    written = beginning.begin(name, rules, Path())
    for path in written:
        screen.line(f"wrote {path}")
    overlay = next((f" --overlay {path}" for path in written if path.suffix == ".tla"), "")
    screen.line(f"edit both, then: kraftcheck try{overlay} --rules {written[-1]}")
    screen.document({"written": [str(path) for path in written]})
    return exits.HOLDS


def protocol_of(overlay: Path | None, rules: OwnRules | None) -> str:
    """Whose rules are replaced: by the Python side, or by what the overlay extends."""
    if rules is not None or overlay is None:
        return rules.scenario if rules else PROTOCOLS[0].name
    extended = read_module(text_of(overlay)).extends
    own = [p.name for p in PROTOCOLS if _modules(p) & {*extended}]
    if {path.stem for path in (SPECS / STORAGE).glob("*.tla")} & {*extended}:
        own.append(STORAGE)
    return own[0] if own else PROTOCOLS[0].name


def _wanted(
    own: OwnRules | None,
    runs: int,
    seed: int,
    scenarios: Sequence[str],
    fixed: Sequence[str],
    fail_fast: bool,
) -> list[Wanted]:
    """The campaigns. Raises BadInput: a scenario does not ask the class, or has no such option."""
    if own is None:
        if scenarios or fixed:
            raise BadInput("--scenario and --option are of runs: give --rules as well")
        return []
    every = own_runs.scenarios_of(own)
    for each in scenarios:
        if each not in every and not any(asks(p, own.scenario) for p in _parts(each)):
            raise BadInput(
                f"runs of {each} do not ask {own.base.__name__}; those of {', '.join(every)} do"
            )
    if own.scenario == STORAGE and fixed:
        raise BadInput("--option: histories of the storage engine have no options")
    chosen = list(dict.fromkeys(scenarios)) or (every[:1] if fixed else every)
    return [
        Wanted(runs, seed, each, fixed_options(each, fixed) if fixed else {}, fail_fast)
        for each in chosen
    ]


def _parts(scenario: str) -> tuple[Protocol, ...]:
    return parts_of(known_scenario(scenario)) if scenario != STORAGE else ()


def _campaigns(
    own: OwnRules | None,
    wanted: Sequence[Wanted],
    place: Path,
    overlay: OwnOverlay | None,
    screen: Screen,
    over: float,
) -> list[OfRuns]:
    """All campaigns, until a time; or, where the first violation is enough, until that."""
    found = list[OfRuns]()
    for each in wanted:
        assert own is not None, "there are runs where there are rules"
        if not (each.fail_fast and any(of.broken for of in found)):
            found.append(_campaign(own, each, place, overlay, screen, over))
    return found


def _campaign(
    own: OwnRules,
    wanted: Wanted,
    place: Path,
    overlay: OwnOverlay | None,
    screen: Screen,
    over: float,
) -> OfRuns:
    """One campaign, until a time."""
    timeout_s = over - monotonic()
    if timeout_s < trying.LEAST_S:
        return own_runs.not_begun(wanted)
    if wanted.scenario == STORAGE:
        return try_histories(own, wanted, place, screen, timeout_s)
    out = place if wanted.scenario == own.scenario else artifacts.claim(place / wanted.scenario)
    return own_runs.try_runs(own, wanted, out, overlay, screen, timeout_s)


def _modules(protocol: Protocol) -> set[str]:
    """Those that an overlay of the protocol may extend: rules, handlers, and parts of them.

    The module of a preset lies in the folder of what it extends, and is not for that.
    """
    others = {kind.module for each in PROTOCOLS if each is not protocol for kind in each.kinds}
    folder = SPECS / folder_of(protocol.name)
    beside = set() if is_preset(protocol) else {path.stem for path in folder.glob("*.tla")}
    return {
        *(kind.module for kind in protocol.kinds),
        *(rules.__name__ for rules in protocol.rules),
        *(beside - others),
    }


def _refuse_two_changes(overlay: OwnOverlay | None, rules: OwnRules | None) -> None:
    """Both sides are to replace the same, under the names of either."""
    if overlay is None or rules is None:
        return
    theirs, ours = _replaced(overlay, None), _replaced(None, rules)
    if theirs != ours:
        raise BadInput(
            f"the two sides replace different things: {overlay.path.name} "
            f"{', '.join(sorted(theirs))}; {rules.path.name} {', '.join(sorted(ours))}"
        )


def _replaced(overlay: OwnOverlay | None, rules: OwnRules | None) -> set[str]:
    """The rules and handlers that either side replaces, as the reference names them."""
    operators = () if overlay is None else overlay.replaced
    return {
        *(snake(name.removeprefix("Step_")) for name in operators),
        *(() if rules is None else rules.names),
    }


def _models(
    own: OwnOverlay,
    manifest: Manifest,
    tiers: Sequence[str],
    names: Sequence[str],
    bounds: Sequence[Model],
) -> list[Model]:
    """Those that were asked for; of tier small without. Raises BadInput, ToolError."""
    for each in bounds:
        if not has(own, manifest, each):
            raise BadInput(f"model {each.name} does not use {', '.join(own.replaced)}")
    if not names:
        return [
            *bounds,
            *(models_for(own, manifest, list(tiers or ["small"])) if tiers or not bounds else ()),
        ]
    chosen = models_for(own, manifest, manifest.tiers)
    for name in names:
        if name not in {model.name for model in chosen}:
            manifest.select(names=[name])
            raise BadInput(f"model {name} does not use {', '.join(own.replaced)}, or is no model")
    of_tiers = {model.name for model in manifest.select(tiers=list(tiers))} if tiers else set()
    named = [model for model in chosen if model.name in names or model.name in of_tiers]
    return [*bounds, *named]


# -- Shown


def _show(
    found: Tried,
    overlay: OwnOverlay | None,
    rules: OwnRules | None,
    seconds: float,
    place: Path,
    screen: Screen,
) -> None:
    screen.facts([("verdict", found.verdict), *(("", each) for each in found.reasons)])
    screen.line()
    _introduce(overlay, rules, screen)
    for each in found.campaigns:
        _show_runs(each, screen)
    if found.models:
        _show_models(found.models, screen)
    _show_counterexample(found, place, screen)
    screen.line()
    screen.facts([("known bugs", each) for each in _worth(found.known, seconds)])
    screen.line(f"{_explored(found)}; all of it in {place}")


def _introduce(overlay: OwnOverlay | None, rules: OwnRules | None, screen: Screen) -> None:
    facts = []
    if overlay is not None:
        operators = ", ".join(f"{old} of {of}" for old, (of, _) in overlay.replaced.items())
        facts.append(("spec", f"{overlay.path.name} replaces {operators}"))
    if rules is not None:
        methods = ", ".join(rules.names)
        facts.append(
            ("reference", f"{rules.path.name} replaces {methods} of {rules.base.__name__}")
        )
    screen.facts(facts)


WORDS = {
    "invariants": "property broken",
    "histories": "level lost",
    "progress": "stuck",
    "crashes": "promise broken",
    "steps": "step the spec forbids",
}


def _show_runs(found: OfRuns, screen: Screen) -> None:
    screen.line()
    screen.line(_searched(found))
    facts = [
        ("distinct steps", f"{name} asked {times:,} times, {found.differed[name]:,} otherwise")
        for name, times in found.asked.items()
        if found.differed[name]
    ]
    alike = [name for name, differed in found.differed.items() if not differed]
    if alike:
        facts.append(("", f"{', '.join(alike)}: answered as by the correct one"))
    facts += [(WORDS[each.oracle], _finding(each)) for each in (*found.broken, *found.forbidden)]
    facts += [("not the change's", _finding(each)) for each in found.shared]
    heals = found.scenario in FAMILIES and family(found.scenario).manner.heals
    if not found.broken and found.runs + found.schedules:
        facts.append(("broken", "no property, no level" + (", no healed cluster" * heals)))
    if not heals:
        facts.append(("not asked", f"progress: runs of {found.scenario} do not heal"))
    if not found.forbidden and found.ended and found.judges_steps:
        facts.append(("steps the spec forbids", "none"))
    for at, each in enumerate(found.measures):
        facts.append(("correct -> changed" if not at else "", str(each)))
    if found.measures:
        facts.append(("", "no property speaks of these: whether it is worse is for you to say"))
    screen.facts([*facts, *(("unknown", each) for each in found.undecided)])


def _searched(found: OfRuns) -> str:
    """How much of a campaign was judged, in words."""
    of = "histories of the storage engine" if found.scenario == STORAGE else "runs"
    runs = f"{found.runs:,} {of}" if found.runs else f"no {of} (the time was over before)"
    own = "" if found.scenario == STORAGE else f" of scenario {found.scenario}"
    schedules = f"; {found.schedules} stored schedules" if found.schedules else ""
    return f"{runs}{own}, seed {found.seed}{schedules}"


def _finding(found: Finding) -> str:
    of = "schedule" if found.schedule else "run"
    first = found.schedule or found.run
    runs = f"{found.runs} {of}{'s' if found.runs > 1 else ''}, first {first}"
    said = found.said if len(found.said) <= SAID_MAX else f"{found.said[:SAID_MAX]} ..."
    more = f" (all of it in {found.told_in})" if said != found.said else ""
    return f"{found.what} ({runs}){': ' if said else ''}{said}{more}"


HEAD = ("model", "verdict", ">states", ">correct", ">seconds", "what")


def _try_models(
    own: OwnOverlay,
    manifest: Manifest,
    models: Sequence[Model],
    options: RunOptions,
    place: Path,
    timeout: float,
    screen: Screen,
    fail_fast: bool,
    bug: str | None,
) -> list[OfModel]:
    done = 0
    with screen.progress("models", len(models)) as meter:

        def report(found: OfModel) -> None:
            nonlocal done
            done += 1
            if found.verdict == trying.VIOLATED:
                what = f"{found.property} (model {found.model}, {found.length} states)"
                screen.note(f"violated: {what}")
            meter.update(done, found.model)

        watched = replace(options, told=lambda running: meter.update(done, str(running)))
        how = (watched, place, timeout, report, fail_fast, bug)
        return trying.try_models(own, manifest, models, *how)


def _show_models(found: Sequence[OfModel], screen: Screen) -> None:
    rows = [_cells(each) for each in found]
    table = Columns(HEAD, [tuple(row) for row in rows])
    screen.line()
    screen.line(table.head)
    for row in rows:
        screen.line(table.row(row))


def _cells(found: OfModel) -> list[object]:
    what = found.reason
    if found.verdict == trying.VIOLATED:
        what = f"{found.property}, {found.length} states"
    elif found.differs:
        what = "other states than the correct protocol, nothing broken"
    elif found.verdict == trying.HOLDS and found.correct is not None:
        what = "as many states as the correct protocol"
    same = found.distinct == found.correct
    correct = None if same else found.correct
    return [found.model, found.verdict, found.distinct, correct, found.seconds, what]


def _show_counterexample(found: Tried, place: Path, screen: Screen) -> None:
    violated = [each for each in found.models if each.told]
    if not violated:
        return
    first = min(violated, key=lambda each: each.length or 0)
    screen.line()
    screen.line(f"counterexample to {first.property} (model {first.model})")
    for line in first.told[:TOLD_LINES]:
        screen.line(line)
    if len(first.told) > TOLD_LINES:
        screen.line(f"... {len(first.told) - TOLD_LINES} lines more in {place / RESULT}")
    if (page := place / trying.drawn_in(first.model)).exists():
        screen.line(f"drawn: {page}")


def _worth(known: Known, seconds: float) -> Iterator[str]:
    """Which known bugs of the replaced rules this search, which took so long, finds."""
    if known.near:
        yield f"of rules that cite the same sources: {', '.join(known.near)}; their bounds are used"
    if not known.bugs:
        yield "none of these rules: nothing tells what this search would find"
        return
    found = len(known.bugs) - len(known.missed)
    yield (
        f"{len(known.bugs)} of these rules ({', '.join(known.bugs)}), of which this search finds "
        f"{found}, in {seconds:.0f} s"
    )
    by = (("models", known.models), ("so many runs", known.runs), ("schedules", known.schedules))
    yield "; ".join(f"by {what}: {', '.join(bugs) or 'none'}" for what, bugs in by)
    if known.further:
        yield f"--tier {related.FURTHER} finds {', '.join(known.further)} as well"


def _explored(found: Tried) -> str:
    """What was looked at, in words."""
    models = [each for each in found.models if each.verdict == trying.HOLDS]
    states = sum(each.distinct or 0 for each in models)
    words = []
    if found.models:
        words.append(f"{len(models)} models to their end ({states:,} states)")
        longest = max(found.models, key=lambda each: each.seconds)
        if longest.seconds > LONG_S:
            words[-1] += f", the longest {longest.model}, {longest.seconds:.0f} s"
    for each in found.campaigns:
        words.append(_searched(each))
    return f"explored: {', '.join(words)}"
