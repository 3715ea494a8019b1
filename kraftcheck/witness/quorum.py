"""The verbs on a quorum of Kafka's: runs by chance, schedules and graphs, driven and judged.

What is written, into a folder of ours: `trace.jsonl`, every step of every run, as another
implementation would log it (docs/foreign-traces.md); `witness.json`, what was found; and of each
run in which something was, up to LISTED of them, `run-N.moves`, which `witness replay` takes.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.exits import BadInput
from kraftcheck.screen import Columns, Screen
from kraftcheck.witness import covering, following
from kraftcheck.witness.chance import walk
from kraftcheck.witness.departures import IN_KAFKA, Met, Witnessed, witnessed
from kraftcheck.witness.kafka import Kafka, tried
from kraftcheck.witness.schedule import KafkaSchedule
from kraftcheck.witness.speech import Speech, constants_form, header
from live.witness.host import Host, running
from live.witness.jars import ClassPath, class_path
from reference.quorum.protocol import QUORUM, WITNESS
from reference.quorum.types import Constants
from reference.runner.scripted import QuorumSetting
from reference.sim.choices import run_seed
from reference.steered.failures import Failure
from reference.steered.scripts import Script, write
from system.commands import command
from tla_utils import find_jar
from tla_utils.jar import JAR_VARIABLE
from traces.cover.matching import Matcher
from traces.cover.models import CoverModel, Dumped, dump_graph
from traces.foreign.profiles import Profile
from traces.foreign.reading import read_foreign
from traces.foreign.verdicts import Rejection

TRACE, RESULT = "trace.jsonl", "witness.json"
LISTED = 5
FETCH_MAX_RECORDS = 2
SHARED_MEMORY = Path("/dev/shm")


@contextmanager
def host_of(kafka: Kafka, constants: Constants, answers: str = "number") -> Iterator[Host]:
    """A JVM with a quorum of these classes. Its logs lie in memory where the system has such a
    place, and are gone afterwards.
    """
    path: ClassPath = tried(lambda: class_path(kafka.version, kafka.jars))
    with ExitStack() as stack:
        logs = ""
        if kafka.files:
            place = SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else None
            made = tempfile.TemporaryDirectory(prefix="kraftcheck-witness-", dir=place)
            logs = stack.enter_context(made)
        said = msgspec.json.encode(constants_form(constants)).decode()
        yield stack.enter_context(running(path, said, logs, answers))


# -- Runs by chance


class Driven(NamedTuple):
    """What runs have done. places: of each step in the trace its run, and how many moves had been
    made by then. scripts: all moves, by run. thrown: what ended processes, in words.
    """

    places: list[tuple[int, int]]
    scripts: list[Script]
    thrown: list[str]


def drive(
    trace: Path,
    kafka: Kafka,
    constants: Constants,
    *,
    runs: int,
    seed: int,
    moves: int,
    told: Callable[[int], None] = lambda done: None,
) -> Driven:
    """Makes the runs, and writes their steps. Raises BadInput: Kafka cannot be driven."""
    driven = Driven([], [], [])

    def work() -> Driven:
        with host_of(kafka, constants) as host, trace.open("w", encoding="utf-8") as file:
            file.write(header(constants, kafka.producer(WITNESS.classes)) + "\n")
            speech = Speech(constants)
            for run in range(runs):
                schedule = KafkaSchedule(constants, host, speech, watched=False)
                walk(schedule, run_seed(seed, run), moves)
                driven.places.extend((run, made) for _, made in schedule.lines)
                file.writelines(of_run(text, run) for text, _ in schedule.lines)
                driven.thrown.extend(f"run {run}: {each}" for each in schedule.thrown)
                driven.scripts.append(_script(schedule))
                told(run + 1)
        return driven

    return tried(work)


def by_chance(
    *,
    runs: int,
    seed: int,
    moves: int,
    nodes: int,
    out: Path,
    kafka: Kafka,
    jar: str | None,
    screen: Screen,
) -> int:
    """Runs, all judged. Raises BadInput: Kafka cannot be driven; ToolError: TLC cannot be used."""
    use_jar(jar)
    profile = kafka.allowed()
    constants = Constants(tuple(range(1, nodes + 1)), FETCH_MAX_RECORDS)
    tried(lambda: class_path(kafka.version, kafka.jars))
    place = artifacts.claim(out)
    begin = monotonic()
    with screen.progress("driving Kafka", runs) as meter:
        how = {"runs": runs, "seed": seed, "moves": moves}
        driven = drive(place / TRACE, kafka, constants, **how, told=meter.update)
    if not driven.places:
        raise BadInput("no step was taken: ask for more runs or moves")
    seconds = monotonic() - begin
    found = witnessed(read_foreign(place / TRACE), profile, screen.note)
    judged = monotonic() - begin - seconds
    saved = _save(place, driven.scripts, [driven.places[line - 2] for line in _wrong(found)])
    facts = [
        ("runs", f"{runs:,} of {nodes} voters, seed {seed}"),
        ("steps", f"{len(driven.places):,} in {seconds:.1f} s, judged in {judged:.1f} s"),
    ]
    told = {**how, "voters": nodes, "driven_seconds": round(seconds, 3)}
    thrown = driven.thrown
    return _concluded(found, kafka, profile, facts, told, thrown, saved, place, screen)


def of_run(text: str, run: int) -> str:
    """A line of a trace, with the number of its run."""
    return f'{text.removesuffix("}")},"run":{run}}}\n'


def _script(schedule: KafkaSchedule) -> Script:
    setting = {**schedule.setting(), "watched": False}
    return Script(machine=QUORUM.name, moves=tuple(schedule.moves), options=setting)


def _wrong(found: Witnessed) -> list[int]:
    """Lines at which something is wrong."""
    refused = {each.line for each in found.found.rejections}
    findings = (*found.found.findings, *found.in_vain)
    return sorted(refused | {each.line for each in findings})


def _save(folder: Path, scripts: Sequence[Script], wrong: Sequence[tuple[int, int]]) -> list[str]:
    """The schedules of the first runs in which something is wrong, up to there. wrong: run, and how
    many moves had been made.
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


# -- Schedules


def replay(
    script: Script, path: Path, *, kafka: Kafka, out: Path | None, jar: str | None, screen: Screen
) -> int:
    """A schedule of moves on Kafka, from this file. Raises BadInput: wrong options, or as
    `by_chance`.
    """
    use_jar(jar)
    profile = kafka.allowed()
    try:
        setting = msgspec.convert(dict(script.options), QuorumSetting)
    except msgspec.ValidationError as error:
        raise BadInput(f"{path}: options: {error}") from None
    constants = Constants(setting.voters, setting.fetch_max_records)

    def drive() -> following.Followed:
        with host_of(kafka, constants) as host:
            return following.follow(script, constants, host)

    followed = tried(drive)
    lines = followed.schedule.lines
    if not lines:
        raise BadInput(f"{path}: none of its moves is possible on Kafka: nothing was judged")
    place = artifacts.claim(out) if out else None
    with tempfile.TemporaryDirectory() as folder:
        trace = (place or Path(folder)) / TRACE
        text = [
            header(constants, kafka.producer(WITNESS.classes)) + "\n",
            *(of_run(text, 0) for text, _ in lines),
        ]
        artifacts.write_whole(trace, "".join(text))
        found = witnessed(read_foreign(trace), profile, screen.note)
    for line in following.told(followed, script):
        screen.line(line)
    screen.line()
    failure = followed.failure
    facts = [("moves", f"{followed.made} of {len(script.moves)} made, {len(lines)} steps")]
    facts += [("violated", f"{failure.name}: {failure.sentence}")] if failure else []
    told = {
        "schedule": str(path),
        "moves": len(script.moves),
        "made": followed.made,
        "left_out": followed.left_out,
        "violates": failure.name if failure else "",
        "as_said": (failure.name if failure else "") == script.violates,
    }
    thrown = followed.schedule.thrown
    return _concluded(found, kafka, profile, facts, told, thrown, [], place, screen, failure)


# -- Graphs

GRAPH_HEADS = ("graph", ">states", ">edges", ">taken", ">moves", ">seconds", ">edges/min", "result")


def cover(
    chosen: Sequence[CoverModel],
    specs: Path,
    *,
    kafka: Kafka,
    out: Path | None,
    jar: str | None,
    screen: Screen,
) -> int:
    """Takes every edge of the graphs. Raises as `by_chance`."""
    use_jar(jar)
    profile = kafka.allowed()
    place = artifacts.claim(out) if out else None
    columns = Columns(
        GRAPH_HEADS, [(m.name, m.states, m.edges, m.edges, *[""] * 4) for m in chosen]
    )
    screen.line(columns.head)
    codes, documents = [], []
    for model in chosen:
        found = _covered(dump_graph(model, specs, note=screen.note), kafka, profile, screen)
        code = exits.VIOLATED if found.wrong else exits.HOLDS
        minute = round(60 * len(found.taken) / found.seconds)
        cells = [model.states, model.edges, len(found.taken), found.moves, found.seconds, minute]
        screen.line(columns.row([model.name, *cells, exits.VERDICTS[code]]))
        for why, edges in found.why.most_common():
            screen.line(f"  not taken: {edges:,}, {why}")
        for told in found.wrong[:LISTED]:
            screen.line(f"  refused: {told}")
        codes.append(code)
        documents.append(_of_graph(model, found, code))
    code = exits.worst(codes)
    document = {"verdict": exits.VERDICTS[code], "kafka": kafka.version, "graphs": documents}
    if place is not None:
        artifacts.write_json(place / RESULT, document)
    screen.document(document)
    return code


def _covered(
    dumped: Dumped, kafka: Kafka, profile: Profile | None, screen: Screen
) -> covering.OnKafka:
    matcher = Matcher(dumped.dump, dumped.composition)
    matcher.explore()
    if matcher.mismatches:
        raise BadInput(f"{dumped.model.name}: the reference is not the model: run kraftcheck cover")
    constants = dumped.composition.constants
    assert isinstance(constants, Constants), constants

    def work() -> covering.OnKafka:
        with (
            host_of(kafka, constants, answers="content") as host,
            screen.progress(f"{dumped.model.name}: edges", dumped.model.edges) as meter,
        ):
            return covering.drive(matcher, host, Speech(constants), meter.update)

    found = tried(work)
    covering.explain(found, matcher, profile)
    return found


def _of_graph(model: CoverModel, found: covering.OnKafka, code: int) -> dict[str, Any]:
    return {
        "graph": model.name,
        "states": model.states,
        "edges": model.edges,
        "taken": len(found.taken),
        "not_taken": dict(sorted(found.why.items())),
        "walks": found.walks,
        "moves": found.moves,
        "seconds": round(found.seconds, 3),
        "refused": found.wrong,
        "verdict": exits.VERDICTS[code],
    }


# -- Shown


def _concluded(
    found: Witnessed,
    kafka: Kafka,
    profile: Profile | None,
    facts: list[tuple[str, str]],
    told: dict[str, Any],
    thrown: list[str],
    saved: list[str],
    place: Path | None,
    screen: Screen,
    failure: Failure | None = None,
) -> int:
    code = exits.worst(
        [
            exits.code_of(found.verdict),
            exits.VIOLATED if failure else exits.HOLDS,
        ]
    )
    judged = f"the specs, and what {profile.name} does otherwise" if profile else "the specs alone"
    screen.facts(
        [
            ("verdict", exits.VERDICTS[code]),
            ("Kafka", kafka.producer(WITNESS.classes)),
            *facts,
            ("judged by", judged),
            ("known", f"{found.forbidden:,} steps that the specs alone refuse" if profile else ""),
            *(("", _met(each)) for each in found.met),
            *(("stopped", each) for each in thrown[:LISTED]),
            *(("", reason) for reason in found.found.reasons[:LISTED]),
            *(("", f"line {f.line}: {f.check}: {f.explanation}") for f in found.in_vain[:LISTED]),
        ]
    )
    for each in found.found.rejections[:LISTED]:
        screen.line(_refused(each))
        for difference in each.differences[:LISTED]:
            screen.line(f"    {difference}")
    for path in saved:
        screen.line(f"again: {command('witness', 'replay', path)}")
    document = {
        "verdict": exits.VERDICTS[code],
        "kafka": kafka.version,
        "jars": str(kafka.jars) if kafka.jars else None,
        "log": "files" if kafka.files else "memory",
        "profile": profile.name if profile else None,
        **told,
        "forbidden": found.forbidden,
        "known": [_of_entry(each) for each in found.met],
        "in_vain": msgspec.to_builtins(found.in_vain),
        "stopped": thrown,
        "schedules": saved,
        "found": msgspec.to_builtins(found.found),
    }
    if place is not None:
        artifacts.write_json(place / RESULT, document)
    screen.document(document)
    return code


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


def _refused(each: Rejection) -> str:
    where = f"run {each.run}, line {each.line}, node {each.node}"
    return f"refused: {each.action} ({IN_KAFKA.get(each.action, 'Kafka')}), {where}"


def use_jar(jar: str | None) -> None:
    if jar:
        os.environ[JAR_VARIABLE] = str(find_jar(jar).path)
