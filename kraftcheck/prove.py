"""`prove`: safety beyond bounds, obligation by obligation, and reachable counterexamples of
bugs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any

import z3

from kraftcheck import artifacts, exits
from kraftcheck.screen import Columns, Screen
from reference.bugs.catalog import bug
from reference.core.rules import QuorumRules
from reference.core.types import Constants
from reference.proofs.bounded import find
from reference.proofs.election import PROPERTIES, Obligation, discharge, obligations

PROOF = "proof.json"
HEADS = ("obligation", "result", ">paths", ">seconds", "what fails")
CODES = {"proved": exits.HOLDS, "failed": exits.VIOLATED, "unknown": exits.UNKNOWN}


def prove(
    *,
    properties: Sequence[str] = (),
    nodes: int = 3,
    bug_id: str | None = None,
    timeout: float = 60.0,
    jobs: int | None = None,
    search: int | None = None,
    search_limit: float = 600.0,
    out: Path | None = None,
    screen: Screen,
) -> int:
    """Discharge every obligation, print a line for each, write proof.json; gives the exit code."""
    chosen = [name for name in PROPERTIES if not properties or name in properties]
    rules = QuorumRules
    if bug_id:
        replaced = bug(bug_id).replacement
        if replaced is None:
            raise exits.BadInput(f"{bug_id} cannot be replayed: {bug(bug_id).scope}")
        rules = replaced
    if out is not None:
        artifacts.claim(out)
    if search is not None:
        return _search(chosen, bug_id, rules, search, search_limit, out, screen)
    constants = Constants(tuple(range(nodes)), 1)
    names = obligations(chosen)
    columns = Columns(HEADS, [[name, "unknown", "", "", ""] for name in names])
    screen.line(columns.head)
    begin = monotonic()
    found = []
    with screen.progress("obligations", len(names)) as meter:
        for done in _discharged(constants, names, rules, int(timeout * 1000), jobs):
            found.append(done)
            meter.update(len(found), done.name)
            _show(done, columns, screen)
    code = exits.worst(CODES[done.status] for done in found)
    document = {
        "verdict": exits.VERDICTS[code],
        "properties": chosen,
        "voters": nodes,
        "bug": bug_id,
        "seconds": round(monotonic() - begin, 3),
        "z3": z3.get_version_string(),
        "obligations": [asdict(done) for done in found],
    }
    if out is not None:
        artifacts.write_json(out / PROOF, document)
    proved = sum(done.status == "proved" for done in found)
    said = f"{proved} of {len(found)} obligations proved for {nodes} voters"
    screen.line(f"{said}, {monotonic() - begin:.1f} s")
    if code != exits.HOLDS:
        screen.line("an obligation that fails is no counterexample: its state may be unreachable")
    screen.document(document)
    return code


def _discharged(
    constants: Constants,
    names: Sequence[str],
    rules: type[QuorumRules],
    timeout_ms: int,
    jobs: int | None,
) -> Iterator[Obligation]:
    """Each obligation in its order, several at a time; Z3 is not shared between processes."""
    work = partial(_one, constants, rules, timeout_ms)
    count = min(jobs or os.cpu_count() or 1, len(names))
    if count == 1:
        yield from map(work, names)
        return
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, names)


def _one(constants: Constants, rules: type[QuorumRules], timeout_ms: int, name: str) -> Obligation:
    return discharge(constants, name, rules, timeout_ms)


def _show(done: Obligation, columns: Columns, screen: Screen) -> None:
    said: Any = done.broken or done.reason
    screen.line(columns.row([done.name, done.status, done.paths or "", done.seconds, said]))
    for line in done.state:
        screen.line(f"    {line}")


def _search(
    properties: Sequence[str],
    bug_id: str | None,
    rules: type[QuorumRules],
    bound: int,
    limit: float,
    out: Path | None,
    screen: Screen,
) -> int:
    """A reachable counterexample of two voters, in the relation that the proof is about."""
    constants = Constants((0, 1), 1)
    found = []
    for name in properties:
        screen.note(f"{name}: looking for a counterexample of at most {bound} steps")
        done = find(constants, rules, name, bound, timeout_s=limit)
        found.append(done)
        said = done.reason or f"none within {bound} steps of two voters"
        if done.steps:
            sure = "confirmed by the handlers" if done.confirmed else "not confirmed"
            said = f"violated in {len(done.steps)} steps, {sure}"
        screen.line(f"{name}: {said}, {done.seconds:.1f} s")
        for line in done.steps:
            screen.line(f"    {line}")
    violated = any(done.confirmed for done in found)
    # A bound that was reached is no proof.
    code = exits.VIOLATED if violated else exits.UNKNOWN
    document = {
        "verdict": exits.VERDICTS[code],
        "bug": bug_id,
        "voters": len(constants.voters),
        "searches": [asdict(done) for done in found],
    }
    if out is not None:
        artifacts.write_json(out / PROOF, document)
    screen.document(document)
    return code
