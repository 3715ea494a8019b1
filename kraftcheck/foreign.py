"""`conform` and `replay` for step traces that another implementation wrote: files of JSON lines.

The format is in docs/foreign-traces.md; what is judged, and how, in traces/foreign; which decisions
were met, in decisions.py.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa

from kraftcheck import artifacts, exits
from kraftcheck.checking.options import page_name
from kraftcheck.conformance import backend_of, check_place
from kraftcheck.decisions import Decision, asked_of, deciding, decisions_of
from kraftcheck.exits import BadInput
from kraftcheck.picture import foreign_picture, write_page
from kraftcheck.reference.protocols import AnyConstants
from kraftcheck.screen import Screen, room_on_screen, wrapped
from kraftcheck.traces.foreign.batch import judge_batch
from kraftcheck.traces.foreign.chain import judge_chains
from kraftcheck.traces.foreign.profiles import read_profile
from kraftcheck.traces.foreign.reading import ForeignTrace, read_foreign
from kraftcheck.traces.foreign.verdicts import ForeignVerdict, Rejection
from kraftcheck.traces.jobs.backends import Backend
from kraftcheck.traces.report.evidence import grouped
from tla_utils import find_jar
from tla_utils.jar import JAR_VARIABLE

LISTED = 5
WIDTH = 78
"""Of lists of decisions, beside their labels."""
HEADER = b'"kraftcheck steps'


class JudgedTrace(NamedTuple):
    """A trace and what was found.

    path, constants: of the trace. steps, nodes, runs: how many it has.
    """

    path: Path
    constants: AnyConstants
    steps: int
    nodes: int
    runs: int
    found: ForeignVerdict
    decided: list[Decision] | None
    """Of all rules, what was asked; None where rows are partial."""
    deciding: dict[int, list[str]]
    """By the line of a refused step, which rules decide it, in words."""

    @property
    def trace(self) -> ForeignTrace:
        """The trace, read anew: whoever judges thousands of files keeps none of them."""
        return read_foreign(self.path)


JUDGED: Final = pa.schema([("file", pa.int64()), ("judged", pa.binary())])
"""What a worker sends of a file: its place among the files, and its Judged, pickled."""


def traces_in(path: Path) -> list[Path]:
    """The step traces of a folder, by their headers; of anything else, that itself."""
    if not path.is_dir():
        return [path]
    return [each for each in sorted(path.glob("*.jsonl")) if _has_header(each)]


def _has_header(path: Path) -> bool:
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return HEADER in file.readline(1 << 16)


def conform(
    paths: Sequence[Path],
    *,
    jar: str | None = None,
    backend: str = "auto",
    master: str | None = None,
    profile: str | None = None,
    page: Path | None = None,
    screen: Screen,
) -> int:
    """Judge every step of the files: in batch mode if rows are full, else in chain mode.

    profile: the name of one (traces/foreign/profiles.py), for full rows. page: a file for a page
    that draws the run of the first line that is not allowed; of several traces, a folder.
    backend, master: where the files are judged. A worker takes a file at a time.

    Raises TraceError for a line that the format does not allow, ToolError for a TLC that cannot be
    used or believed.
    """
    if jar:
        os.environ[JAR_VARIABLE] = str(find_jar(jar).path)
    check_place(backend, master)
    if len(paths) == 1 and not master and backend != "spark":
        judged = [judge(paths[0], profile, screen)]
    else:
        with backend_of(backend, master, 0) as place:
            judged = _judged_by(place, [path.absolute() for path in paths], profile, screen)
    judged = [each._replace(path=path) for each, path in zip(judged, paths, strict=True)]
    for each in judged:
        show(each, screen, named=len(paths) > 1)
    if len(judged) > 1:
        _show_together(judged, screen)
    if page is not None:
        _write_pages(judged, page)
    documents = [document(each) for each in judged]
    screen.document(documents[0] if len(judged) == 1 else {"traces": documents})
    return exits.worst([exits.code_of(each.found.verdict) for each in judged])


def replay(path: Path, run: int | None, screen: Screen, page: Path | None = None) -> int:
    """Tell a run line by line, with what is wrong with it.

    Unless one is named it is the run of the first line that is not allowed. Raises as `conform`;
    BadInput: there is no such run.
    """
    judged = judge(path, None, screen)
    drawn = foreign_picture(judged.trace, judged.found, run)
    screen.line(drawn.title)
    screen.line(f"{'line':>6} {'n':>3}  what it received, and sent; below, what it changed")
    for line in drawn.lines:
        screen.line(line)
    for line in judged.found.reasons:
        screen.line(line)
    if page is not None:
        write_page(page, drawn)
    screen.document({"run": drawn.title, "lines": list(drawn.lines), **document(judged)})
    return exits.code_of(judged.found.verdict)


def _judged_by(
    place: Backend, paths: Sequence[Path], profile: str | None, screen: Screen
) -> list[JudgedTrace]:
    """The files in their order, each judged by a worker."""
    task = partial(_judge_file, tuple(paths), profile)
    with screen.progress("judging files", len(paths)) as meter:
        rows = place.run(task, len(paths), JUDGED, meter.update).sort_by("file")
    return [pickle.loads(judged) for judged in rows["judged"].to_pylist()]


def _judge_file(paths: tuple[Path, ...], profile: str | None, number: int) -> pa.Table:
    """In a worker."""
    judged = judge(paths[number], profile, Screen(quiet=True, results=False))
    return pa.table({"file": [number], "judged": [pickle.dumps(judged)]}, schema=JUDGED)


def judge(
    path: Path,
    profile: str | None,
    screen: Screen,
    node: int | None = None,
) -> JudgedTrace:
    """The verdict on a trace, and which decisions its steps asked; node: whose steps, if not all.

    Raises as `conform`.
    """
    allowed = read_profile(profile) if profile else None
    trace = read_foreign(path)
    if allowed and not trace.full:
        raise BadInput("--as is for full rows; this trace has partial ones")
    with screen.progress("judging steps", len(trace.steps)) as meter:
        found = judge_batch(trace, profile=allowed) if trace.full else judge_chains(trace)
        meter.update(len(trace.steps))
    with screen.progress("which rules they asked", 1):
        asked = asked_of(trace, node)
        refused = {each.line for each in found.rejections}
        decided = None if asked is None else decisions_of(trace.constants, asked)
        return JudgedTrace(
            path=path,
            constants=trace.constants,
            steps=len(trace.steps),
            nodes=len({each.node for each in trace.steps}),
            runs=len({each.run for each in trace.steps}),
            found=found,
            decided=decided,
            deciding=deciding(trace, refused),
        )


def _write_pages(judged: Sequence[JudgedTrace], page: Path) -> None:
    if len(judged) == 1:
        write_page(page, foreign_picture(judged[0].trace, judged[0].found))
        return
    artifacts.claim(page)
    for each in judged:
        drawn = foreign_picture(each.trace, each.found)
        write_page(page / f"{page_name(str(each.path))}.html", drawn)


def document(judged: JudgedTrace) -> dict[str, Any]:
    """The same as JSON."""
    found = judged.found
    return {
        "file": str(judged.path),
        "verdict": found.verdict,
        "reasons": found.reasons,
        **msgspec.to_builtins(found),
        "decisions": msgspec.to_builtins(judged.decided),
        "deciding": {str(line): said for line, said in judged.deciding.items()},
    }


def show(judged: JudgedTrace, screen: Screen, *, named: bool = False) -> None:
    """The verdict, which decisions were asked, and what is rejected; named: with the file."""
    found = judged.found
    facts = [
        *([("file", str(judged.path))] if named else []),
        ("verdict", found.verdict),
        ("mode", f"{found.mode}: {_meaning(found)}"),
        *([("judged as", found.profile)] if found.profile else []),
        ("steps", _steps(judged)),
        *([("slower", f"TLC was given steps as text: {found.as_text}")] if found.as_text else []),
        *[("", reason) for reason in found.reasons[:LISTED]],
        *([] if named else list(_decided(judged.decided))),
        *[("unchecked", what) for what in found.not_asked],
    ]
    screen.facts(facts)
    wrong = [each for each in found.chains if each.verdict != "accepted"]
    for chain in wrong[:LISTED]:
        screen.line(
            f"{chain.verdict}: node {chain.node} of run {chain.run}: "
            f"{chain.accepted_lines} of {chain.lines} lines accepted"
            + (f", the last of them line {chain.last_accepted}" if chain.last_accepted else "")
        )
    if len(wrong) > LISTED:
        screen.line(f"and {len(wrong) - LISTED:,} more chains; --json has all")
    _show_rejections(judged, screen)


def _show_rejections(judged: JudgedTrace, screen: Screen) -> None:
    """By cause, the first line of each in full, with the rules that decide it."""
    causes = grouped(judged.found.rejections, lambda each: each.differences)
    for _, alike in causes[:LISTED]:
        first = alike[0]
        more = f", and {len(alike) - 1:,} more for the same cause" if len(alike) > 1 else ""
        screen.line(f"rejected: {_named(first)}{more}{_lines(alike[1:])}")
        for difference in first.differences[:LISTED]:
            screen.line(f"    {difference}")
        for said in judged.deciding.get(first.line, ())[: LISTED + 1]:
            screen.line(f"    by {said}")
    if len(causes) > LISTED:
        screen.line(f"and {len(causes) - LISTED} more causes; --json has all")


def _named(each: Rejection) -> str:
    return f"line {each.line}, {each.action or 'a step'} of node {each.node}"


def _lines(alike: Sequence[Rejection]) -> str:
    if not alike:
        return ""
    told = ", ".join(str(each.line) for each in alike[:LISTED])
    return f" (line{'s' * (len(alike) > 1)} {told}{', ...' * (len(alike) > LISTED)})"


def _show_together(judged: Sequence[JudgedTrace], screen: Screen) -> None:
    """What all the traces together have met."""
    codes = [exits.code_of(each.found.verdict) for each in judged]
    screen.line()
    facts = [("all", f"{exits.VERDICTS[exits.worst(codes)]}, {len(judged)} traces")]
    by_protocol: dict[type, list[list[Decision]]] = {}
    for each in judged:
        if each.decided is not None:
            by_protocol.setdefault(type(each.constants), []).append(each.decided)
    for several in by_protocol.values():
        facts += _decided([_sum(same) for same in zip(*several, strict=True)])
    screen.facts(facts)


def _sum(same: Sequence[Decision]) -> Decision:
    """A rule, as all of several traces asked it."""
    answers = {
        word: sum(each.answers.get(word, 0) for each in same)
        for word in (*same[0].answers, *same[0].never)
    }
    return msgspec.structs.replace(
        same[0],
        asked=sum(each.asked for each in same),
        answers={word: times for word, times in answers.items() if times},
        never=[word for word, times in answers.items() if not times],
    )


def _decided(decided: Sequence[Decision] | None) -> Iterable[tuple[str, str]]:
    """Which decisions of the spec were met: of the others the verdict says nothing."""
    if decided is None:
        yield "decisions", "unknown which were evaluated: rows are partial"
        return
    met = [each for each in decided if each.asked]
    never = [str(each) for each in decided if not each.asked]
    halves = [each.answers_missed for each in met if each.never]
    yield "decisions", f"{len(met)} of {len(decided)} were evaluated"
    for label, each in (("unreached", ", ".join(never)), ("no outcome", ", ".join(halves))):
        # A terminal has a width of its own, which the screen knows.
        for at, line in enumerate(wrapped(each, None if room_on_screen() else WIDTH)):
            yield label if not at else "", line


def _steps(judged: JudgedTrace) -> str:
    whose = f"{judged.nodes} node{'s' * (judged.nodes != 1)}"
    whose += f" in {judged.runs:,} runs" if judged.runs > 1 else ""
    distinct = judged.found.distinct
    return f"{judged.steps:,} of {whose}; {distinct:,} checked, first states included"


def _meaning(found: ForeignVerdict) -> str:
    if found.mode == "batch":
        return "full rows, every step on its own"
    return "partial rows, the steps of each node in a row"
