"""What is alike for all components of a witness: runs and schedules are driven, judged, told.

What is written, into a folder of ours: `trace.jsonl`, every step of every run, as another
implementation would log it (docs/foreign-traces.md), of a composition one for each part, with the
part's name; `witness.json`, what was found; and of each
run in which something was, up to LISTED of them, `run-N.moves`, which `witness replay` takes.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.exits import BadInput
from kraftcheck.kafka.live.witness.host import Host, running
from kraftcheck.kafka.live.witness.jars import ClassPath, class_path
from kraftcheck.kafka.witness import comparing, following
from kraftcheck.kafka.witness.chance import Component
from kraftcheck.kafka.witness.comparing import Differing
from kraftcheck.kafka.witness.departures import Met, Witnessed, witnessed
from kraftcheck.kafka.witness.kafka import Composed, Kafka, tried
from kraftcheck.kafka.witness.speech import Unspoken, constants_form, header
from kraftcheck.osutil.commands import command
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.protocols import components_of
from kraftcheck.reference.sim.choices import run_seed
from kraftcheck.reference.steered.failures import Failure
from kraftcheck.reference.steered.scripts import Script, write
from kraftcheck.screen import Screen
from kraftcheck.traces.foreign.profiles import Profile
from kraftcheck.traces.foreign.reading import read_foreign
from kraftcheck.traces.foreign.verdicts import Rejection
from tla_utils import find_jar
from tla_utils.jar import JAR_VARIABLE

TRACE, RESULT = "trace.jsonl", "witness.json"
LISTED = 5
DIFFERING = 12
"""How many kinds of differences are told."""
SHARED_MEMORY = Path("/dev/shm")
NO_OPTIONS: Mapping[str, Any] = {}


@contextmanager
def host_of(
    kafka: Kafka, protocol: Protocol | Composed, constants: Any, answers: str = "number"
) -> Iterator[Host]:
    """A JVM with nodes of these classes; brokers have no log but the real one.

    Its logs lie in memory where the system has such a place, and are gone afterwards.
    """
    path: ClassPath = tried(lambda: class_path(kafka.version, kafka.jars, protocol.name))
    with ExitStack() as stack:
        place = SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else None
        made = tempfile.TemporaryDirectory(prefix="kraftcheck-witness-", dir=place)
        disks = stack.enter_context(made)
        said = msgspec.json.encode(constants_form(constants)).decode()
        logs = disks if kafka.files else ""
        yield stack.enter_context(running(path, said, logs, disks, answers))


# -- Runs by chance


class Steps(NamedTuple):
    """Those of a part."""

    places: list[tuple[int, int]]
    """Of each in its trace its run, and how many moves had been made by then."""
    differing: list[Differing]
    """Those that the reference would not have taken so, if they were compared."""


class Driven(NamedTuple):
    """What runs have done."""

    parts: list[Steps]
    """In the component's order."""
    scripts: list[Script]
    """All moves, by run."""
    thrown: list[str]
    """What ended processes, in words."""
    unsaid: list[tuple[int, int, str]]
    """The runs that ended with a step that nothing of the spec can say, each with how many moves
    had been made by then, and what there is no word for.
    """

    @property
    def places(self) -> list[tuple[int, int]]:
        """Of all parts."""
        return [place for part in self.parts for place in part.places]

    @property
    def differing(self) -> list[Differing]:
        """Of all parts; lines are those of each part's trace."""
        return [each for part in self.parts for each in part.differing]


def traces_of(trace: Path, component: Component) -> list[Path]:
    """The files with the steps of each part: this one, if the component is one protocol."""
    if len(component.names) == 1:
        return [trace]
    return [trace.with_name(f"{trace.stem}-{name}{trace.suffix}") for name in component.names]


def drive(
    trace: Path,
    kafka: Kafka,
    component: Component,
    nodes: int,
    *,
    runs: int,
    seed: int,
    moves: int,
    first: int = 0,
    given: Mapping[str, Any] = NO_OPTIONS,
    compares: bool = False,
    told: Callable[[int], None] = lambda done: None,
) -> Driven:
    """Makes so many runs from the first on, and writes their steps (`traces_of`).

    given: options of all runs. Raises BadInput: Kafka cannot be driven, or not so.
    """
    driven = Driven([Steps([], []) for _ in component.parts], [], [], [])
    protocol = component.protocol
    constants = component.constants(_setting(component, nodes, seed, given))

    def work() -> Driven:
        with host_of(kafka, protocol, constants) as host, ExitStack() as stack:
            files = [
                stack.enter_context(path.open("w", encoding="utf-8"))
                for path in traces_of(trace, component)
            ]
            for file, of in zip(files, components_of(constants), strict=True):
                file.write(header(of, producer(kafka, protocol)) + "\n")
            for run in range(first, first + runs):
                own = run_seed(seed, run)
                setting = _setting(component, nodes, own, given)
                schedule = component.begin(setting, host, False, compares)
                try:
                    component.walk(schedule, own, moves)
                except Unspoken as error:
                    driven.unsaid.append((run, len(schedule.moves), str(error)))
                for file, steps, taken in zip(files, driven.parts, schedule.parts, strict=True):
                    # The first line of a trace is its header.
                    steps.differing.extend(
                        each._replace(line=each.line + len(steps.places) + 1)
                        for each in taken.differing
                    )
                    steps.places.extend((run, made) for _, made in taken.lines)
                    file.writelines(of_run(text, run) for text, _ in taken.lines)
                driven.thrown.extend(f"run {run}: {each}" for each in schedule.thrown)
                driven.scripts.append(_script(component, schedule))
                told(run + 1 - first)
        return driven

    return tried(work)


def _setting(component: Component, nodes: int, seed: int, given: Mapping[str, Any]) -> Any:
    """Of a run by chance, with these options in place. Raises BadInput: there is no such one."""
    drawn = component.settings(nodes, seed)
    known = getattr(drawn, "__struct_fields__", ())
    for name in given:
        if name not in known:
            raise BadInput(f"--option {name}: no such option; there are {', '.join(known)}")
    if not given:
        return drawn
    try:
        return component.setting({**msgspec.to_builtins(drawn), **given})
    except msgspec.ValidationError as error:
        raise BadInput(f"--option: {error}") from None


def check_steps(component: Component, driven: Driven) -> None:
    """Raises BadInput: of a part no step was taken, so that there is nothing to judge."""
    for part, steps in zip(component.parts, driven.parts, strict=True):
        if not steps.places and not driven.unsaid:
            name = part.protocol.name
            raise BadInput(f"no step of a {name} was taken: ask for more runs or moves")


def by_chance(
    component: Component,
    *,
    runs: int,
    seed: int,
    moves: int,
    nodes: int,
    out: Path,
    kafka: Kafka,
    jar: str | None,
    screen: Screen,
    differential: bool = False,
    given: Mapping[str, Any] = NO_OPTIONS,
) -> int:
    """Runs, all judged; if `differential`, by the reference, and by TLC where it differs.

    given: options of all runs.

    Raises BadInput: Kafka cannot be driven; ToolError: TLC cannot be used.
    """
    use_jar(jar)
    protocol = component.protocol
    profile = kafka.allowed(*component.names)
    # Before Kafka's jars are fetched.
    _setting(component, nodes, seed, given)
    tried(lambda: class_path(kafka.version, kafka.jars, protocol.name))
    place = artifacts.claim(out)
    begin = monotonic()
    with screen.progress("driving Kafka", runs) as meter:
        how: dict[str, Any] = {"runs": runs, "seed": seed, "moves": moves}
        how |= {"given": dict(given)}
        driven = drive(
            place / TRACE, kafka, component, nodes, **how, compares=differential, told=meter.update
        )
    check_steps(component, driven)
    seconds = monotonic() - begin
    if differential:
        rate = f"{len(driven.places) / seconds:,.0f} steps/s"
        screen.line(f"{len(driven.differing):,} of {len(driven.places):,} steps differ ({rate})")
        for part, steps in zip(component.parts, driven.parts, strict=True):
            for line in comparing.difference_lines(steps.differing, part.methods, DIFFERING):
                screen.line(line)
    compared = [part.differing for part in driven.parts] if differential else None
    found = all_judged(component, place / TRACE, profile, screen.note, compared)
    judging = monotonic() - begin - seconds
    wrong = [
        steps.places[line - 2]
        for steps, of in zip(driven.parts, found, strict=True)
        for line in _wrong(of)
    ]
    wrong += [(run, made) for run, made, _ in driven.unsaid]
    saved = _save(place, driven.scripts, sorted(wrong))
    facts = [
        ("runs", f"{runs:,} of {nodes} {protocol.alike}, seed {seed}"),
        ("steps", f"{len(driven.places):,} in {seconds:.1f} s, judged in {judging:.1f} s"),
    ]
    told = {
        **how,
        protocol.alike: nodes,
        "driven_seconds": round(seconds, 3),
        "differing": of_differing(driven.differing) if differential else None,
    }
    thrown = driven.thrown
    unsaid = [f"run {run}, move {made}: {what}" for run, made, what in driven.unsaid]
    return concluded(
        *(found, component, kafka, profile, facts, told, thrown, saved, place, screen),
        unsaid=unsaid,
    )


def of_differing(differing: Sequence[Differing]) -> list[dict[str, Any]]:
    """As a document has them."""
    return [
        {
            "line": each.line,
            "action": each.action,
            "differences": [difference._asdict() for difference in each.differences],
        }
        for each in differing
    ]


def all_judged(
    component: Component,
    trace: Path,
    profile: Profile | None,
    told: Callable[[str], None] = lambda what: None,
    differing: Sequence[Sequence[Differing]] | None = None,
) -> list[Witnessed]:
    """The traces of a component's parts, in their order.

    differing: by part, the steps of which TLC is asked, if not all. Raises ToolError as
    judge_batch.
    """
    found = []
    for number, path in enumerate(traces_of(trace, component)):
        only = None if differing is None else {each.line for each in differing[number]}
        found.append(judged(component.parts[number], path, profile, told, only))
    return found


def judged(
    component: Component,
    trace: Path,
    profile: Profile | None,
    told: Callable[[str], None] = lambda what: None,
    only: set[int] | None = None,
) -> Witnessed:
    """A trace of a witness.

    only: the lines of which TLC is asked, if not all. Raises ToolError as judge_batch.
    """
    read = read_foreign(trace)
    return witnessed(read, profile, component.left_open(read), told, only)


def producer(kafka: Kafka, protocol: Protocol | Composed) -> str:
    """What took the steps of a trace, in words."""
    assert protocol.witness is not None, protocol.name
    return kafka.producer(protocol.witness.classes)


def of_run(text: str, run: int) -> str:
    """A line of a trace, with the number of its run."""
    return f'{text.removesuffix("}")},"run":{run}}}\n'


def _script(component: Component, schedule: following.Hosted) -> Script:
    setting = schedule.setting()
    if isinstance(component.protocol, Protocol):  # a composition says it of its parts
        setting = {**setting, "watched": False}
    return Script(machine=component.machine, moves=tuple(schedule.moves), options=setting)


def _wrong(found: Witnessed) -> list[int]:
    """Lines at which something is wrong."""
    refused = {each.line for each in found.found.rejections}
    findings = (*found.found.findings, *found.in_vain)
    return sorted(refused | {each.line for each in findings})


def _save(folder: Path, scripts: Sequence[Script], wrong: Sequence[tuple[int, int]]) -> list[str]:
    """The schedules of the first runs in which something is wrong, up to there.

    wrong: run, and how many moves had been made.
    """
    for old in folder.glob("run-*.moves"):
        old.unlink()
    saved = []
    first = {run: made for run, made in reversed(wrong)}
    for run, made in sorted(first.items())[:LISTED]:
        path = folder / f"run-{run}.moves"
        cut = msgspec.structs.replace(scripts[run], moves=scripts[run].moves[:made])
        artifacts.write_whole(path, write(cut))
        saved.append(str(path))
    return saved


# -- Shown


def concluded(
    found: Sequence[Witnessed],
    component: Component,
    kafka: Kafka,
    profile: Profile | None,
    facts: list[tuple[str, str]],
    told: dict[str, Any],
    thrown: list[str],
    saved: list[str],
    place: Path | None,
    screen: Screen,
    failure: Failure | None = None,
    unsaid: Sequence[str] = (),
) -> int:
    """Shows what was found of each part, and writes it into the folder; the exit code.

    failure: an invariant that is violated. unsaid: of steps that nothing of the spec can say.
    """
    wrong = exits.VIOLATED if failure or unsaid else exits.HOLDS
    code = exits.worst([wrong, *(exits.code_of(each.verdict) for each in found)])
    forbidden = sum(each.forbidden for each in found)
    judged = f"the specs, and what {profile.name} does otherwise" if profile else "the specs alone"
    screen.facts(
        [
            ("verdict", exits.VERDICTS[code]),
            ("Kafka", producer(kafka, component.protocol)),
            *facts,
            ("judged by", judged),
            ("known", f"{forbidden:,} steps that the specs alone refuse" if profile else ""),
            *(("", _met(each)) for of in found for each in of.met),
            *(("stopped", each) for each in thrown[:LISTED]),
            *(("beyond the spec", each) for each in unsaid[:LISTED]),
            *(("", reason) for of in found for reason in of.found.reasons[:LISTED]),
            *(
                ("", f"line {f.line}: {f.check}: {f.explanation}")
                for of in found
                for f in of.in_vain[:LISTED]
            ),
        ]
    )
    for part, of in zip(component.parts, found, strict=True):
        for each in of.found.rejections[:LISTED]:
            screen.line(_refused(each, part.methods))
            for difference in each.differences[:LISTED]:
                screen.line(f"    {difference}")
    for path in saved:
        screen.line(f"again: {command('witness', 'replay', path, *kafka.options)}")
        screen.line(f"smaller: {command('witness', 'shrink', path, *kafka.options)}")
    document = {
        "verdict": exits.VERDICTS[code],
        "kafka": kafka.version,
        "jars": str(kafka.jars) if kafka.jars else None,
        "log": "files" if kafka.files else "memory",
        "profile": profile.name if profile else None,
        **told,
        "stopped": thrown,
        "beyond": list(unsaid),
        "schedules": saved,
    }
    if len(found) == 1:
        document |= _judgement(found[0])
    else:
        document["parts"] = {
            part.protocol.name: _judgement(of)
            for part, of in zip(component.parts, found, strict=True)
        }
    if place is not None:
        artifacts.write_json(place / RESULT, document)
    screen.document(document)
    return code


def _judgement(found: Witnessed) -> dict[str, Any]:
    return {
        "forbidden": found.forbidden,
        "known": [_of_entry(each) for each in found.met],
        "in_vain": msgspec.to_builtins(found.in_vain),
        "found": msgspec.to_builtins(found.found),
    }


def _of_entry(met: Met) -> dict[str, Any]:
    return {
        "entry": met.name,
        "class": met.of,
        "says": met.says,
        "source": met.source,
        "steps": len(met.lines),
        "first_line": met.lines[0],
        "runs": len(met.runs),
        "first_run": met.runs[0],
    }


def _met(met: Met) -> str:
    first = f"first line {met.lines[0]}, run {met.runs[0]}"
    return f"{len(met.lines):,} {met.name} ({met.of}), {first}: {met.says}; {met.source}"


def _refused(each: Rejection, methods: Mapping[str, str]) -> str:
    where = f"run {each.run}, line {each.line}, node {each.node}"
    return f"refused: {each.action} ({methods.get(each.action, 'Kafka')}), {where}"


def use_jar(jar: str | None) -> None:
    if jar:
        os.environ[JAR_VARIABLE] = str(find_jar(jar).path)
