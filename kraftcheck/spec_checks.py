"""`spec check` and `spec list`: the models of specs/models.toml against what TLC finds."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from kraftcheck import artifacts, exits
from kraftcheck.screen import Columns, Screen
from kraftcheck.traces.counterexamples.endings import ending
from kraftcheck.traces.report.evidence import SPECS_VERSION
from tla_utils import (
    Manifest,
    Model,
    ModelResult,
    RunOptions,
    check_models,
    find_jar,
    find_java,
    read_manifest,
)
from tla_utils.runner import Running

DEFAULT_TIER = "small"
PART = "spec"
"""Of a summary: the models."""
ALL_TIERS = "all"

CHECKED = ("model", "verdict", "expected", "property", ">distinct", ">depth", ">seconds", "result")
# What a manifest states of a model and TLC finds, under the same names.
NUMBERS = ("property", "distinct", "depth", "length", "generated")
LISTED = ("model", "tier", "expected", "property", ">distinct", ">depth", "claim")


def select(manifest: Manifest, tiers: Sequence[str], names: Sequence[str]) -> list[Model]:
    """The models asked for; those of the small tier when nothing is."""
    if ALL_TIERS in tiers:
        return list(manifest.models.values())
    return manifest.select(names, tiers if tiers or names else [DEFAULT_TIER])


def first_look(models: Iterable[Model], judged: Container[str]) -> list[Model]:
    """Choose from these the models that `verify` checks.

    All that hold of the protocols whose runs it judges, the first that holds of each other one, and
    of each protocol one that must not hold. Profiles of releases are left out, and what is held
    against them.

    The others that must be violated show that a model gets somewhere, or that it needs what it
    assumes. In a model that holds the counts say the first as well: they are stated exactly, so one
    that gets less far is a mismatch. One for each protocol shows that a violation is seen at all.

    Args:
        judged: names of protocols, as their folders in specs/ have them.
    """
    listed = [*models]
    of_profiles = [each for each in listed if each.profile]
    apart = {each for model in of_profiles for each in (model.name, model.baseline)}
    seen: set[tuple[str, str]] = set()
    chosen = []
    for model in listed:
        if model.name in apart:
            continue
        protocol = Path(model.folder).name
        if (protocol, model.expect) not in seen or (protocol in judged and model.expect == "holds"):
            chosen.append(model)
        seen.add((protocol, model.expect))
    return chosen


def check(
    specs: Path,
    *,
    tiers: Sequence[str] = (),
    names: Sequence[str] = (),
    jar: str | None = None,
    java: str | None = None,
    out: Path | None = None,
    screen: Screen,
) -> int:
    """Check the models, print a line for each, write specs.json; returns the exit code."""
    keep = artifacts.claim(out) / "tlc" if out is not None else None
    found = checked(specs, tiers=tiers, names=names, jar=jar, java=java, keep=keep, screen=screen)
    if out is not None:
        write(out, found)
    screen.line(_summary(found.results, found.document["seconds"]))
    screen.document(found.document)
    return exit_code(found.results)


class Checked(NamedTuple):
    """What was found of some models."""

    document: dict[str, Any]
    """As `spec check --json` prints it."""
    results: list[ModelResult]


def checked(
    specs: Path,
    *,
    tiers: Sequence[str] = (),
    names: Sequence[str] = (),
    jar: str | None = None,
    java: str | None = None,
    keep: Path | None = None,
    screen: Screen,
) -> Checked:
    """Checks the models and prints a line for each; what TLC prints is kept in a folder."""
    manifest = read_manifest(specs / "models.toml")
    models = select(manifest, tiers, names)
    options = RunOptions(java=find_java(java), jar=find_jar(jar), keep=keep)
    begin = monotonic()
    results = _run(manifest, models, options, screen)
    document = {
        "verdict": exits.VERDICTS[exit_code(results)],
        "seconds": round(monotonic() - begin, 3),
        "tlc": options.jar.version if options.jar else "",
        "java": options.java.version if options.java else 0,
        "models": [as_json(result) for result in results],
    }
    return Checked(document, results)


def _run(
    manifest: Manifest, models: Sequence[Model], options: RunOptions, screen: Screen
) -> list[ModelResult]:
    """All results; each model's line is printed as soon as those before it are."""
    columns = Columns(CHECKED, [_expected_cells(model) for model in models])
    ended: dict[str, ModelResult] = {}
    waiting = list(models)
    now: dict[str, Running] = {}
    screen.line(columns.head)
    with screen.progress("checking models", len(models)) as meter:

        def show(result: ModelResult) -> None:
            ended[result.model.name] = result
            now.pop(result.model.name, None)
            while waiting and waiting[0].name in ended:
                screen.line(columns.row(_cells(ended[waiting.pop(0).name])))
            meter.update(len(ended), f"last: {result.model.name}")

        def report(running: Running) -> None:
            now[running.name] = running
            meter.update(len(ended), ", ".join(map(str, [*now.values()])))

        results = check_models(manifest, models, replace(options, told=report), show)
    for result in results:
        if result.reason:
            screen.line(f"{_word(result)} {result.model.name}: {result.reason}")
            wrong = ending(manifest, result.model, result.property, result.last)
            if wrong:
                screen.line(f"  {wrong}")
    return results


def exit_code(results: Sequence[ModelResult]) -> int:
    """0 only if every model is as the manifest says."""
    return exits.worst(_code(result) for result in results)


def _code(result: ModelResult) -> int:
    if result.matches:
        return exits.HOLDS
    if result.refused:
        return exits.BAD_INPUT
    return exits.UNKNOWN if result.verdict == "unknown" else exits.VIOLATED


_WORDS = {
    exits.HOLDS: "ok",
    exits.VIOLATED: "MISMATCH",
    exits.UNKNOWN: "unknown",
    exits.BAD_INPUT: "REFUSED",
}


def _word(result: ModelResult) -> str:
    return _WORDS[_code(result)]


def _expected_cells(model: Model) -> list[object]:
    """The line of a model that turns out as expected, for the widths; times under 10,000 s."""
    depth = model.length if model.expect == "violated" else model.depth
    expected = [model.name, model.expect, model.expect, model.property]
    return [*expected, model.distinct or 10**6, depth, 999.9, ""]


def _cells(result: ModelResult) -> list[object]:
    # The depth of a violation is that of its counterexample.
    depth = result.length if result.verdict == "violated" else result.depth
    found = [result.property, result.distinct, depth, result.seconds]
    return [result.model.name, result.verdict, result.model.expect, *found, _word(result)]


def _summary(results: Sequence[ModelResult], seconds: float) -> str:
    words = [_word(result) for result in results]
    counts = {word: words.count(word) for word in _WORDS.values()}
    odd = "".join(f", {n} {word}" for word, n in counts.items() if n and word != "ok")
    return f"{counts['ok']} of {len(results)} models as expected{odd}, {seconds:.1f} s"


def as_json(result: ModelResult) -> dict[str, Any]:
    """A result for specs.json: what the manifest states of the model, and what was found."""
    model = result.model
    stated = {
        "name": model.name,
        "module": model.module,
        "overlays": list(model.overlays),
        "tier": model.tier,
        "claim": model.claim,
        "bug": model.bug,
        "control": model.control,
        "workers": model.workers,
        "expect": model.expect,
        "expected": {name: getattr(model, name) for name in NUMBERS},
    }
    return stated | {
        "verdict": result.verdict,
        **{name: getattr(result, name) for name in NUMBERS},
        "seconds": round(result.seconds, 3),
        "cpu_seconds": round(result.cpu_seconds, 3),
        "peak_rss_mb": round(result.peak_rss_mb, 1),
        "matches": result.matches,
        "result": _word(result),
        "reason": result.reason,
    }


def write(out: Path, checked: Checked) -> None:
    """Writes specs.json and merges what was found into the summary."""
    document, results = checked
    found = {"specs_version": SPECS_VERSION, "models": document["models"]}
    artifacts.write_sealed(out / artifacts.SPECS, found)
    part = artifacts.Part(
        PART,
        verdict=document["verdict"],
        seconds=document["seconds"],
        reasons=[f"model {r.model.name}: {r.reason}" for r in results if r.reason],
        details={"models": len(results), "as_expected": sum(r.matches for r in results)},
        versions={"TLC": document["tlc"], "Java": str(document["java"])},
    )
    artifacts.merge(out, part)


def show_list(specs: Path, screen: Screen) -> int:
    """Print what the manifest states."""
    models = list(read_manifest(specs / "models.toml").models.values())
    rows = [_listed(model) for model in models]
    screen.table(LISTED, rows)
    screen.document([{**asdict(model), "overlays": list(model.overlays)} for model in models])
    return exits.HOLDS


def _listed(model: Model) -> list[object]:
    depth = model.length if model.expect == "violated" else model.depth
    head = [model.name, model.tier, model.expect, model.property]
    return [*head, model.distinct, depth, model.claim]
