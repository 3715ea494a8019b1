"""`prove`: safety beyond bounds, obligation by obligation.

docs/reference/proofs.md says exactly what is proved, and under which abstraction.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple

import z3

from kraftcheck import artifacts, exits
from kraftcheck.known_bugs.own_rules import read_rules, substitution
from kraftcheck.osutil.children import WORKERS, end_with_parent
from kraftcheck.reference.bugs.bug import Bug
from kraftcheck.reference.proofs.obligations import Obligation, Proof
from kraftcheck.reference.protocols import PROTOCOLS, is_preset, part_of
from kraftcheck.screen import Columns, Screen

PROOF = "proof.json"
HEADS = ("obligation", "result", ">paths", ">cpu s", "what fails")
CODES = {"proved": exits.HOLDS, "failed": exits.VIOLATED, "unknown": exits.UNKNOWN}
PROOFS: Final[dict[str, Proof]] = {
    protocol.name: part.PROOF
    for protocol in PROTOCOLS
    if not is_preset(protocol) and (part := part_of(protocol, "proof.proof")) is not None
}
RULES: Final = {protocol.name: protocol.rules for protocol in PROTOCOLS}
PROPERTIES: Final = {
    each: tuple(name for name, proof in PROOFS.items() if each in proof.properties)
    for each in dict.fromkeys(each for proof in PROOFS.values() for each in proof.properties)
}
"""Property -> whose it is."""


class Task(NamedTuple):
    """One obligation: of whom, its name, of how many nodes, with which rules."""

    part: str
    name: str
    nodes: int
    rules: Any
    timeout_ms: int

    @property
    def words(self) -> str:
        return f"{self.part}: {self.name}"


def prove(
    *,
    properties: Sequence[str] = (),
    nodes: int = 3,
    bug_id: str | None = None,
    rules: Path | None = None,
    timeout: float = 60.0,
    jobs: int | None = None,
    out: Path | None = None,
    screen: Screen,
) -> int:
    """Discharge every obligation, print a line for each, write proof.json; gives the exit code."""
    own = substitution(bug_id, rules)
    part, given = _rules_of(own)
    chosen = _chosen(properties, part, own)
    if out is not None:
        artifacts.claim(out)
    tasks = _tasks(chosen, part, nodes, given, int(timeout * 1000))
    columns = Columns(HEADS, [[task.words, "unknown", "", "", ""] for task in tasks])
    screen.line(columns.head)
    begin = monotonic()
    found: list[Obligation] = []
    ended: list[Obligation] = []
    try:
        with screen.progress("obligations", len(tasks)) as meter:
            for task, done in zip(tasks, _discharged(tasks, jobs, ended, rules), strict=True):
                found.append(done)
                meter.update(len(found), task.words)
                _show(task, done, columns, screen)
    except (exits.Interrupted, KeyboardInterrupt):
        # Those that were proved behind one that is not done yet have no line above.
        proved = sum(done.status == "proved" for done in ended)
        screen.line(f"interrupted: {proved} of {len(tasks)} obligations were proved by then")
        raise
    code = exits.worst(CODES[done.status] for done in found)
    never = ""
    if given is not None and not any(done.asked for done in found):
        code = exits.worst([code, exits.UNKNOWN])
        assert own is not None
        never = f"no obligation asks {', '.join(own.replaces)}: nothing is said of the change"
    document = {
        "verdict": exits.VERDICTS[code],
        "properties": chosen,
        "nodes": nodes,
        "bug": bug_id,
        "rules": None if rules is None else str(rules),
        "never_met": never,
        "seconds": round(monotonic() - begin, 3),
        "z3": z3.get_version_string(),
        "obligations": [
            {"part": task.part, **asdict(done)} for task, done in zip(tasks, found, strict=True)
        ],
    }
    if out is not None:
        artifacts.write_json(out / PROOF, document)
    proved = sum(done.status == "proved" for done in found)
    said = f"{proved} of {len(found)} obligations proved for {nodes} nodes"
    screen.line(f"{said}, {monotonic() - begin:.1f} s")
    if never:
        screen.line(f"unknown: {never}")
    elif code != exits.HOLDS:
        screen.line("an obligation that fails is no counterexample: its state may be unreachable")
    screen.document(document)
    return code


def _rules_of(own: Bug | None) -> tuple[str | None, type | None]:
    """Whose rules a bug replaces, and by which."""
    if own is None:
        return None, None
    replaced = own.replacement
    if replaced is None or own.scope:
        raise exits.BadInput(f"{own.id} cannot be replayed: it {own.scope}")
    if own.protocol not in PROOFS or not issubclass(replaced, RULES[own.protocol]):
        raise exits.BadInput(f"{own.id} replaces handlers, and the proof is about rules")
    return own.protocol, replaced


def _chosen(properties: Sequence[str], part: str | None, own: Bug | None) -> list[str]:
    """The properties to be proved, in the order in which they are listed."""
    for name in properties:
        of = PROPERTIES[name]
        if part not in (None, *of):
            said = "" if own is None else own.id
            raise exits.BadInput(f"{name} is a property of the {' and '.join(of)}, {said} is not")
    known = [name for name, of in PROPERTIES.items() if part in (None, *of)]
    return [name for name in known if name in (properties or known)]


def _tasks(
    chosen: Sequence[str], part: str | None, nodes: int, rules: type | None, timeout_ms: int
) -> list[Task]:
    tasks = []
    for of, proof in PROOFS.items():
        own = [name for name in chosen if name in proof.properties]
        if own and part in (None, of):
            given = rules or RULES[of][0]
            names = proof.obligations(own)
            tasks += [Task(of, name, nodes, given, timeout_ms) for name in names]
    return tasks


def _discharged(
    tasks: Sequence[Task], jobs: int | None, ended: list[Obligation], rules: Path | None
) -> Iterator[Obligation]:
    """Each obligation in its order, several at a time; Z3 is not shared between processes.

    ended: is given those that are done, in whatever order. rules: a file that the tasks' are from.
    """
    count = min(jobs or os.cpu_count() or 1, len(tasks))
    if count == 1:
        for task in tasks:
            ended.append(_one(task))
            yield ended[-1]
        return

    def note(future: Future[Obligation]) -> None:
        if not future.cancelled() and future.exception() is None:
            ended.append(future.result())

    with ProcessPoolExecutor(count, WORKERS, _begin, (rules,)) as pool:
        futures = [pool.submit(_one, task) for task in tasks]
        for future in futures:
            future.add_done_callback(note)
        try:
            for future in futures:
                yield future.result()
        finally:
            # A pool that is not waited for may be left with processes that nobody tells to end.
            for future in futures:
                future.cancel()


def _begin(rules: Path | None) -> None:
    """In a process of the pool, which is told rules by their name and has to have them."""
    end_with_parent()
    if rules is not None:
        read_rules(rules)


def _one(task: Task) -> Obligation:
    asked: set[str] = set()
    rules = task.rules
    if rules not in RULES[task.part]:
        rules = _listened(rules, asked)
    done = PROOFS[task.part].discharge(task.nodes, task.name, rules, task.timeout_ms)
    done.asked = sorted(asked)
    return done


def _listened(rules: type, asked: set[str]) -> type:
    """The same rules, which note that they were asked.

    What they answer may be symbols, so nothing is compared.
    """

    def listen(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(rule)
        def ask(*arguments: Any) -> Any:
            asked.add(name)
            return rule(*arguments)

        return ask

    own = {name: rule for name, rule in vars(rules).items() if inspect.isfunction(rule)}
    listened = {name: listen(name, rule) for name, rule in own.items()}
    return type(rules.__name__, (rules,), {"__slots__": (), **listened})


def _show(task: Task, done: Obligation, columns: Columns, screen: Screen) -> None:
    said: Any = done.broken or done.reason
    screen.line(
        columns.row([task.words, done.status, done.paths or "", f"{done.seconds:.1f}", said])
    )
    for line in done.state:
        screen.line(f"    {line}")
