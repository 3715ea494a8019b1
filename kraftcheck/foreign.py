"""`conform` for a step trace that another implementation wrote: a file of JSON lines.

The format is in docs/foreign-traces.md; what is judged, and how, in traces/foreign.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from kraftcheck import exits
from kraftcheck.drawing import foreign_picture, write_page
from kraftcheck.exits import BadInput
from kraftcheck.screen import Screen
from tla_utils import find_jar
from tla_utils.jar import JAR_VARIABLE
from traces.foreign.batch import judge_batch
from traces.foreign.chain import judge_chains
from traces.foreign.profiles import read_profile
from traces.foreign.reading import read_foreign
from traces.foreign.verdicts import ForeignVerdict

LISTED = 5


def conform(
    path: Path,
    *,
    jar: str | None = None,
    backend: str = "auto",
    master: str | None = None,
    profile: str | None = None,
    page: Path | None = None,
    screen: Screen,
) -> int:
    """Judge every step of the file: in batch mode if its rows are full, else in chain mode.

    profile: the name of one (traces/foreign/profiles.py), for full rows. page: a file for a page
    that draws the run of the first line that is not allowed.

    Raises TraceError for a line that the format does not allow, ToolError for a TLC that cannot be
    used or believed, BadInput for options that are about campaigns.
    """
    if master or backend != "auto":
        raise BadInput("--backend and --master are for campaigns; a step trace is judged here")
    if jar:
        os.environ[JAR_VARIABLE] = str(find_jar(jar).path)
    allowed = read_profile(profile) if profile else None
    trace = read_foreign(path)
    if allowed and not trace.full:
        raise BadInput("--as is for full rows; this trace has partial ones")
    with screen.progress("judging steps", len(trace.steps)) as meter:
        found = judge_batch(trace, profile=allowed) if trace.full else judge_chains(trace)
        meter.update(len(trace.steps))
    _show(found, screen)
    if page is not None:
        write_page(page, foreign_picture(trace, found))
    screen.document(_document(found))
    return exits.code_of(found.verdict)


def _document(found: ForeignVerdict) -> dict[str, Any]:
    return {
        "verdict": found.verdict,
        "reasons": found.reasons,
        **msgspec.to_builtins(found),
    }


def _show(found: ForeignVerdict, screen: Screen) -> None:
    facts = [
        ("verdict", found.verdict),
        ("mode", f"{found.mode}: {_meaning(found)}"),
        *([("judged as", found.profile)] if found.profile else []),
        ("steps", f"{found.steps:,}, {found.distinct:,} distinct, of {found.nodes} nodes"),
        *[("", reason) for reason in found.reasons[:LISTED]],
        *[("not asked", what) for what in found.not_asked],
    ]
    screen.facts(facts)
    for chain in found.chains:
        if chain.verdict != "accepted":
            screen.line(
                f"{chain.verdict}: node {chain.node} of run {chain.run}: "
                f"{chain.accepted_lines} of {chain.lines} lines accepted, "
                f"the last of them line {chain.last_accepted}"
            )
    for each in found.rejections[:LISTED]:
        screen.line(f"rejected: line {each.line}, {each.action or 'a step'} of node {each.node}")
        for difference in each.differences[:LISTED]:
            screen.line(f"    {difference}")
    if len(found.rejections) > LISTED:
        screen.line(f"and {len(found.rejections) - LISTED} more; --json has all")


def _meaning(found: ForeignVerdict) -> str:
    if found.mode == "batch":
        return "full rows, every step on its own"
    return "partial rows, the steps of each node in a row"
