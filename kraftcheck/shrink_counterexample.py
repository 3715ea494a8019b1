"""`shrink` of a counterexample of TLC, the way back from the model; and of a schedule of moves.

What TLC shows is followed by the reference with the model's bug (traces/counterexamples), told as a
story, minimised, and kept as a schedule of moves. Where the correct reference does something else
is said with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kraftcheck import exits
from kraftcheck.exits import BadInput, refusing
from kraftcheck.known_bugs import violations
from kraftcheck.known_bugs.entries import manifest_of, models_of
from kraftcheck.osutil.commands import command
from kraftcheck.osutil.files import read_text
from kraftcheck.reference.bugs.catalog import UnknownBug, bugs_of, replayable
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.protocols import PROTOCOLS, folder_of, is_preset, parts_of
from kraftcheck.reference.steered.failures import REJECTED
from kraftcheck.reference.steered.scripts import Script, write
from kraftcheck.schedules import VERDICTS, load, made
from kraftcheck.screen import Screen
from kraftcheck.traces.counterexamples.endings import ending
from kraftcheck.traces.counterexamples.minimising import Minimised, minimised, minimised_step
from kraftcheck.traces.counterexamples.moves import Refusal, refusal, run, way
from kraftcheck.traces.counterexamples.plain import Way
from kraftcheck.traces.counterexamples.relation import Relation
from kraftcheck.traces.jobs.allowed import Allowed
from tla_utils import (
    Manifest,
    Model,
    RunOptions,
    TlcResult,
    ToolError,
    find_jar,
    find_java,
)
from tla_utils.config import cfg_text
from tla_utils.output import parse_output

FOLDER = Path("runs") / "moves"
"""Where schedules go that nobody named a place for."""


class Asked(NamedTuple):
    """model, bug: of which model it is; of a bug its first one that a state violates."""

    output: Path | None
    """A file of TLC's, or None to have TLC search."""
    model: str | None
    bug: str | None
    out: Path | None
    attempts: int
    jar: str | None = None
    java: str | None = None


def counterexample(asked: Asked, screen: Screen) -> int:
    """Shrink a counterexample, and give the exit code.

    1: the reference follows and violates something; 0: it follows and violates nothing; 2: it does
    not follow to the end.

    Raises BadInput: no such model, no counterexample, or of no protocol of ours; UnknownBug,
    OutOfScope; ToolError: TLC's output cannot be read.
    """
    protocol, manifest = _protocol(asked)
    model = _model(manifest, asked)
    result = _result(manifest, model, asked, screen)
    states, cfg = result.counterexample, cfg_text(model.config)
    with screen.progress("following", len(states)) as meter:
        found = way(protocol, cfg, states, model.bug, told=lambda at: meter.update(at))
    document = _tell(model, result, _broken(manifest, model, result), found, screen)
    if found.missing:
        screen.document(document)
        return exits.UNKNOWN
    if found.failure is None:
        path = _keep(asked.out, f"{model.name}.moves", found.script)
        screen.facts([("violates", "nothing in the reference"), *_next(path)])
        screen.document({**document, "violates": "", "schedule": str(path)})
        return exits.HOLDS
    small = _minimised(found.script, asked.attempts, screen)
    path = _keep(asked.out, f"{model.name}.moves", small.script)
    correct = refusal(small.script) if model.bug else None
    document |= _shown(small, len(found.script.moves), correct, path, screen)
    screen.document(document)
    return exits.VIOLATED


def moves(path: Path, out: Path | None, attempts: int, screen: Screen) -> int:
    """A schedule of moves made smaller. Raises BadInput: it is none, or violates nothing."""
    loaded = load(path)
    made(path, loaded, skip=False)
    with refusing(ValueError, of=path):
        small = _minimised(loaded.script, attempts, screen)
    target = _keep(out or path.with_suffix(".small.moves"), "", small.script)
    correct = refusal(small.script) if loaded.script.bug else None
    screen.document(_shown(small, len(loaded.script.moves), correct, target, screen))
    return exits.VIOLATED


def _minimised(script: Script, attempts: int, screen: Screen) -> Minimised:
    with screen.progress("shrinking", attempts) as meter:
        if script.violates.startswith(REJECTED):
            relation = Relation(Allowed(FOLDER / VERDICTS), script.bug)
            return minimised_step(script, relation, attempts, lambda done: meter.update(done))
        return minimised(script, attempts, lambda done: meter.update(done))


def _broken(manifest: Manifest, model: Model, result: TlcResult) -> list[tuple[str, str]]:
    """What TLC's counterexample breaks, and what is wrong at its end."""
    wrong = ending(manifest, model, result.property, result.counterexample)
    facts = [("model", f"{model.name} violates {result.property}")]
    return [*facts, ("", wrong)] if wrong else facts


# -- Where the counterexample comes from


def _protocol(asked: Asked) -> tuple[Protocol | None, Manifest]:
    """Whose model it is, if it is one of others; and the models."""
    if asked.bug is not None:
        entry = replayable(asked.bug)
        for own in parts_of(entry.protocol):
            return (own if own.by_chance else None), manifest_of(own.name)
        raise BadInput(f"{entry.id} is a bug of {entry.protocol}, of which no schedule can be made")
    for own in PROTOCOLS:
        if not own.by_chance:
            continue
        manifest = manifest_of(own.name)
        found = manifest.models.get(asked.model or "")
        # The models of the kit's own lie together, each in the folder of its protocol; those of a
        # preset have its bug, or its module in place.
        if found and (
            own.modules
            or (Path(found.folder) == folder_of(own.name) and not is_preset(own))
            or {*found.overlays} & {kind.module for kind in own.kinds}
            or (is_preset(own) and found.bug in {each.id for each in bugs_of(own.name)})
        ):
            return own, manifest
    return None, manifest_of()


def _model(manifest: Manifest, asked: Asked) -> Model:
    if asked.model is not None:
        with refusing(ToolError):
            return manifest.select([asked.model])[0]
    if asked.bug is None:
        raise BadInput("of which model is the counterexample? --model NAME, or --bug ID")
    entry = replayable(asked.bug)
    of_bug = models_of(manifest, entry.id)
    if not of_bug:
        raise BadInput(f"no model shows {entry.id}")
    return next((each for each in of_bug if "Liveness" not in each.module), of_bug[0])


def _result(manifest: Manifest, model: Model, asked: Asked, screen: Screen) -> TlcResult:
    if asked.output is None:
        if model.expect != "violated":
            raise BadInput(f"model {model.name} holds: it has no counterexample")
        with screen.progress("TLC searches", 1) as meter:
            options = RunOptions(
                jar=find_jar(asked.jar),
                java=find_java(asked.java),
                told=lambda running: meter.update(0, str(running)),
            )
            result = violations.find(manifest, model, options)
    else:
        with refusing(OSError, ToolError, ValueError, of=asked.output):
            result = parse_output(read_text(asked.output, errors="replace"), None)
    place = asked.output or f"model {model.name}"
    if not result.counterexample:
        raise BadInput(f"{place}: it shows no counterexample")
    if model.property and result.property not in (None, model.property):
        raise BadInput(f"{place}: it violates {result.property}, which model {model.name} does not")
    if result.kind == "liveness":
        raise BadInput(f"{place}: what lasts for ever violates no state, and cannot be replayed")
    return result


# -- What is said


def _title(model: Model) -> str:
    claim = " ".join(model.claim.split())
    return claim if claim.startswith(f"{model.name}: ") else f"{model.name}: {claim}"


def _tell(
    model: Model, result: TlcResult, broken: list[tuple[str, str]], found: Way, screen: Screen
) -> dict[str, Any]:
    """The story, and how far it went."""
    before = 0
    screen.line(_title(model))
    for number, line in enumerate(found.lines, 1):
        if line.state != before:
            said = "before the story" if line.state == 1 else f"to state {line.state} of TLC"
            screen.line(f"  {said}")
            before = line.state
        mark = "" if line.made else "  !! left out: not possible"
        screen.line(f"  {number:4} {line.words}{mark}")
    left = found.unmade
    nodes = ", ".join(f"{name} of TLC is {own}" for name, own in found.nodes.items())
    facts = [
        *broken,
        *([("nodes", nodes)] if nodes else []),
        ("states", f"{found.reached} of {found.states} reached"),
        ("moves", f"{len(found.script.moves)}, {len(left)} not possible when replayed"),
    ]
    facts += [("left out", words) for words in left]
    facts += [("not followed", line) for line in found.missing]
    screen.facts(facts)
    return {
        "model": model.name,
        "property": result.property,
        "bug": model.bug,
        "states": found.states,
        "reached": found.reached,
        "moves": list(found.script.moves),
        "left_out": left,
        "not_followed": [*found.missing],
    }


def _shown(
    small: Minimised, before: int, correct: Refusal | None, path: Path, screen: Screen
) -> dict[str, Any]:
    script = small.script
    facts = [
        ("violates", small.failure.name),
        ("", small.failure.what),
        ("", small.failure.sentence),
        ("shrunk", f"{before} moves, now {len(script.moves)}, after {small.attempts:,} attempts"),
    ]
    facts += [(f"{number:4}", words) for number, words in enumerate(script.moves, 1)]
    document: dict[str, Any] = {
        "violates": small.failure.name,
        "moves_before": before,
        "shrunk": list(script.moves),
        "attempts": small.attempts,
        "schedule": str(path),
    }
    if correct is not None:
        kept, failure = run(_without_bug(script), script.moves)
        facts.append(("refused", f"by the correct reference: move {correct.number}"))
        facts += [("", line) for line in correct.lines]
        violates = failure.name if failure else "nothing"
        facts.append(
            ("correct", f"makes {len(kept)} of {len(script.moves)} moves and violates {violates}")
        )
        document["refused"] = correct._asdict()
        document["correct_makes"] = len(kept)
        document["correct_violates"] = failure.name if failure else ""
    screen.facts([*facts, *_next(path)])
    return document


def _without_bug(script: Script) -> Script:
    return Script(machine=script.machine, moves=script.moves, options=script.options, violates="")


def _next(path: Path) -> Sequence[tuple[str, str]]:
    return [
        ("schedule", str(path)),
        ("next", command("replay", path)),
        ("keep it", f"cp {path} tests/corpus/"),
    ]


def _keep(out: Path | None, name: str, script: Script) -> Path:
    path = out or FOLDER / name
    with refusing(OSError, of=path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(write(script), encoding="utf-8")
    return path


__all__ = ["Asked", "UnknownBug", "counterexample", "moves"]
