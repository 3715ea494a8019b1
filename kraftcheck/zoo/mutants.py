"""Mutants of the specs: every guard of every named decision, dropped, one at a time.

They are derived from the text of the modules of rules (tla_utils/conjuncts.py) and checked as
overlays, like a bug, in the kit's own models. What comes of one is

    caught       a model violates a property, or TLC cannot evaluate what the guard protected
    other steps  every model holds and one of them has other states or steps than the correct spec;
                 so a recorded step can be refused for it, and no property minds
    not caught   no model is any different

mutants.json beside this file holds what came of each, under the definition's digest: a decision
that was changed since has to be judged anew.

Law of this file: nothing is caught by a list. A mutant that no model tells apart says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kraftcheck import artifacts
from kraftcheck.exits import BadInput
from kraftcheck.zoo.stories import root_module
from tla_utils import Manifest, Model, RunOptions, TlcJob, TlcResult, run_tlc
from tla_utils.config import read_config
from tla_utils.conjuncts import guards
from tla_utils.definitions import Text, definitions

STORED = Path(__file__).resolve().with_name("mutants.json")

MODELS: Mapping[str, tuple[str, ...]] = {
    "QuorumRules": (
        *("quorum-reduced-crash", "quorum-vote", "quorum-restart", "quorum-separate-responses"),
        *("quorum-replicate", "quorum-reduced"),
    ),
    "PartitionRules": (
        *("partition-any-order", "partition-crash", "partition-lossless", "partition-fetch"),
        "partition-three",
    ),
}
"""By module of rules, the models that its mutants are checked in, one after the other until one is
violated."""

CAUGHT, OTHER_STEPS, NOT_CAUGHT, UNKNOWN = "caught", "other steps", "not caught", "unknown"


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """A guard dropped. id: module, operator and number. text: the guard as it is written."""

    id: str
    module: str
    operator: str
    kind: str
    text: str
    definition: str
    """The operator's definition without it, under the name that replaces it."""
    digest: str
    """Of the correct definition."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a mutant. model: the one that told it apart. length: of the counterexample."""

    digest: str
    verdict: str
    text: str
    model: str | None = None
    property: str | None = None
    length: int | None = None
    reason: str = ""


def mutants(manifest: Manifest, module: str) -> Iterator[Mutant]:
    """Every mutant of a module of rules, in the order of its text."""
    text = (manifest.root / f"{module}.tla").read_text("utf-8")
    for found in definitions(text):
        digest = hashlib.sha256(" ".join(found.text.split()).encode()).hexdigest()[:12]
        for guard in guards(found):
            yield Mutant(
                id=f"{module}.{found.name}.{guard.number}",
                module=module,
                operator=found.name,
                kind=guard.kind,
                text=guard.text,
                definition=_definition(found, guard.body),
                digest=digest,
            )


def _definition(found: Text, body: str) -> str:
    # What a module of ours is not: LOCAL, recursive, or a function; so the head is name(...).
    head = found.head.replace(found.name, f"Mutant_{found.name}", 1)
    return f"{head}=={body}"


class Bench:
    """The models of one module, with the counts of the correct spec in each."""

    def __init__(self, manifest: Manifest, options: RunOptions, timeout_s: float = 300.0) -> None:
        self._manifest, self._options, self._timeout_s = manifest, options, timeout_s
        self._correct: dict[str, tuple[int | None, int | None]] = {}

    def judge(self, mutant: Mutant, names: Sequence[str]) -> Result:
        """Check a mutant in these models. Raises ToolError: TLC cannot use one of them."""
        about: dict[str, Any] = {"digest": mutant.digest, "text": mutant.text}
        differs, reason = None, ""
        for name in names:
            model = self._manifest.models[name]
            if mutant.operator in {
                left for left, _, _ in read_config(self._cfg(model)).substituted
            }:
                continue
            found = self._run(model, mutant)
            if found.verdict == "violated":
                return Result(
                    **about,
                    verdict=CAUGHT,
                    model=name,
                    property=found.property or found.kind,
                    length=len(found.counterexample) or None,
                )
            if found.kind == "error":
                # A guard may keep a value inside the domain of what is behind it.
                said = " ".join(found.reason.split())[:120]
                return Result(**about, verdict=CAUGHT, model=name, property="error", reason=said)
            if found.verdict == "unknown":
                reason = f"{name}: {found.reason}"
            elif differs is None and _counts(found) != self._counts_of(model):
                differs = name
        if differs is not None:
            return Result(**about, verdict=OTHER_STEPS, model=differs)
        return Result(**about, verdict=UNKNOWN if reason else NOT_CAUGHT, reason=reason)

    def _cfg(self, model: Model) -> str:
        return (self._manifest.root / model.config).read_text("utf-8")

    def _counts_of(self, model: Model) -> tuple[int | None, int | None]:
        if model.name not in self._correct:
            self._correct[model.name] = _counts(self._run(model, None))
        return self._correct[model.name]

    def _run(self, model: Model, mutant: Mutant | None) -> TlcResult:
        body, cfg = "", self._cfg(model)
        if mutant is not None:
            name = mutant.operator
            body = mutant.definition
            cfg = f"{cfg}\nCONSTANTS\n  {name} <- [{mutant.module}] Mutant_{name}\n"
        job = TlcJob(
            module=root_module("Mutated", [model.module], body),
            cfg=cfg,
            libraries=self._manifest.libraries,
            heap_mb=model.heap_mb,
            timeout_s=self._timeout_s,
            deadlock=model.deadlock,
            java=self._options.java,
            jar=self._options.jar,
        )
        return run_tlc(job)


def _counts(found: TlcResult) -> tuple[int | None, int | None]:
    return found.distinct, found.generated


# -- Stored


def load(path: Path = STORED) -> dict[str, Result]:
    """What is stored, by mutant. Raises BadInput: the file is damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Result])
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError as error:
        raise BadInput(f"{path} is damaged: {error}") from None


def store(results: Mapping[str, Result], path: Path = STORED) -> None:
    """Write the file, one mutant a line, in order, as a whole."""
    encode = msgspec.json.Encoder(order="sorted").encode
    lines = [f'"{id}": {encode(found).decode()}' for id, found in sorted(results.items())]
    artifacts.write_whole(path, "{\n" + ",\n".join(lines) + "\n}\n")


def current(manifest: Manifest, results: Mapping[str, Result]) -> dict[str, Result | None]:
    """Every mutant there is now, with what came of it; None: not judged, or changed since."""
    found: dict[str, Result | None] = {}
    for module in MODELS:
        for mutant in mutants(manifest, module):
            known = results.get(mutant.id)
            same = known is not None and (known.digest, known.text) == (mutant.digest, mutant.text)
            found[mutant.id] = known if same else None
    return found


def judge_all(
    manifest: Manifest,
    modules: Sequence[str],
    options: RunOptions,
    results: dict[str, Result],
    told: Callable[[Mutant, Result], bool],
) -> None:
    """Judge what is not judged yet, into `results`; stops when `told` says so, by False."""
    bench = Bench(manifest, options)
    known = current(manifest, results)
    for module in modules:
        for mutant in mutants(manifest, module):
            if known[mutant.id] is None:
                results[mutant.id] = bench.judge(mutant, MODELS[module])
                if not told(mutant, results[mutant.id]):
                    return


# -- Told

HEAD = ("mutant", "guard dropped", "verdict", "by")


def rows(manifest: Manifest, results: Mapping[str, Result]) -> list[list[str]]:
    """A line for each mutant: what it drops, what came of it."""
    lines = []
    judged = current(manifest, results)
    for module in MODELS:
        for mutant in mutants(manifest, module):
            found = judged[mutant.id]
            guard = f"{mutant.kind} `{mutant.text}`"
            if found is None:
                lines.append([mutant.id, guard, "not judged yet", ""])
                continue
            by = ", ".join(each for each in (found.property, found.model) if each)
            if found.length is not None:
                by += f", {found.length} states"
            lines.append([mutant.id, guard, found.verdict, by])
    return lines


def markdown(manifest: Manifest, results: Mapping[str, Result]) -> str:
    """The lines as a table, with their counts above."""
    lines = rows(manifest, results)
    verdicts = [line[2] for line in lines]
    counts = [f"{verdicts.count(each)} {each}" for each in dict.fromkeys(sorted(verdicts))]
    table = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    table += [f"| {' | '.join(each.replace('|', '&#124;') for each in line)} |" for line in lines]
    return "\n".join([f"{len(lines)} mutants: {', '.join(counts)}.", "", *table]) + "\n"
