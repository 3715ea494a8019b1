"""Mutants of the specs: every guard of every named decision dropped or fixed, one at a time.

They are derived from the text of the modules of rules (conjuncts.py), put in place as
overlays, like a bug, and judged twice (trials.py): by TLC in the kit's own models, and by steps of
the correct reference, recorded and attempted (batteries.py). What comes of one is

    caught       a model violates a property, or TLC cannot evaluate what the guard protected
    refused      no property minds, and the mutant refuses a step that the reference took, or
                 allows one that the reference refused
    equivalent   neither, and equivalents.toml says why it makes no difference
    other steps  neither, and a model has other states or steps than the correct spec
    not caught   neither, and no model is any different

mutants.json beside this file holds what came of each, under the definition's digest: a decision
that was changed since has to be judged anew.

Law of this file: nothing is caught by a list. A mutant that nothing tells apart says so.
"""

from __future__ import annotations

import datetime
import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from kraftcheck import artifacts
from kraftcheck.known_bugs.campaigns import machine
from tests.mutation.specs.conjuncts import guards
from tla_utils import Manifest
from tla_utils.definitions import Text, definitions

STORED = Path(__file__).resolve().with_name("mutants.json")
MODULES = ("QuorumRules", "PartitionRules")
EQUIVALENT: dict[tuple[str, str, str], str] = {
    (each["operator"], each["kind"], each["text"]): " ".join(each["why"].split())
    for each in tomllib.loads(Path(__file__).with_name("equivalents.toml").read_text("utf-8"))[
        "equivalent"
    ]
}
"""By operator, kind and text of the guard: why it makes no difference that it is dropped."""

CAUGHT, REFUSED, EQUAL = "caught", "refused", "equivalent"
OTHER_STEPS, NOT_CAUGHT, UNKNOWN = "other steps", "not caught", "unknown"
NOT_JUDGED = "not judged yet"


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

    @property
    def argument(self) -> str:
        """Why it makes no difference; empty if it does, or if nobody knows."""
        return EQUIVALENT.get((f"{self.module}.{self.operator}", self.kind, self.text), "")


class ByModels(msgspec.Struct, frozen=True, kw_only=True):
    """What TLC says. verdict: caught, other steps, not caught or unknown. model: the one that told
    it apart. length: of the counterexample. models: how many were asked.
    """

    verdict: str
    model: str | None = None
    property: str | None = None
    length: int | None = None
    reason: str = ""
    models: int = 0


class BySteps(msgspec.Struct, frozen=True, kw_only=True):
    """How many steps of the reference, of how many, are not the mutant's. action: of the first."""

    refused: int
    of: int
    action: str = ""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a mutant so far. None: it was not asked."""

    digest: str
    text: str
    models: ByModels | None = None
    steps: BySteps | None = None


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """The file. machine, date: where and when it was last added to."""

    machine: str = ""
    date: str = ""
    mutants: dict[str, Result] = {}


def mutants(manifest: Manifest, module: str) -> Iterator[Mutant]:
    """Every mutant of a module of rules, in the order of its text."""
    text = manifest.module_text(module)
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


def every(manifest: Manifest) -> Iterator[Mutant]:
    """Those of all modules."""
    for module in MODULES:
        yield from mutants(manifest, module)


def _definition(found: Text, body: str) -> str:
    # What a module of ours is not: LOCAL, recursive, or a function; so the head is name(...).
    head = found.head.replace(found.name, f"Mutant_{found.name}", 1)
    return f"{head}=={body}"


def verdict_of(mutant: Mutant, found: Result | None) -> str:
    """In a word, what came of it; see the head of this file."""
    if found is None or (found.models is None and found.steps is None):
        return NOT_JUDGED
    if found.models is not None and found.models.verdict == CAUGHT:
        return CAUGHT
    if found.steps is not None and found.steps.refused:
        return REFUSED
    if found.steps is not None and mutant.argument:
        return EQUAL
    if found.models is None or found.steps is None:
        return NOT_JUDGED
    return found.models.verdict


# -- Stored


def load(path: Path = STORED) -> dict[str, Result]:
    """What is stored, by mutant. Raises BadInput: the file is damaged."""
    return stored(path).mutants


def stored(path: Path = STORED) -> Stored:
    """The file; an empty one if there is none. Raises BadInput: it is damaged."""
    return artifacts.stored(path, Stored)


def store(results: Mapping[str, Result], path: Path = STORED) -> None:
    """Write the file, one mutant a line, in order, as a whole."""
    encode = msgspec.json.Encoder(order="sorted").encode
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    head = f'"machine": {encode(machine()).decode()}, "date": "{today}",\n"mutants": {{\n'
    lines = [f'"{id}": {encode(found).decode()}' for id, found in sorted(results.items())]
    artifacts.write_whole(path, "{" + head + ",\n".join(lines) + "\n}}\n")


def current(manifest: Manifest, results: Mapping[str, Result]) -> dict[str, Result | None]:
    """Every mutant there is now, with what came of it; None: not judged, or changed since."""
    return {mutant.id: known_of(mutant, results) for mutant in every(manifest)}


def known_of(mutant: Mutant, results: Mapping[str, Result]) -> Result | None:
    """What came of one mutant; None: it was not judged, or was changed since."""
    known = results.get(mutant.id)
    same = known is not None and (known.digest, known.text) == (mutant.digest, mutant.text)
    return known if same else None


# -- Told

HEAD = ("mutant", "guard", "verdict", "models", "steps")


def rows(manifest: Manifest, results: Mapping[str, Result]) -> list[list[str]]:
    """A line for each mutant: what it drops, what came of it."""
    judged = current(manifest, results)
    return [
        [
            each.id,
            f"{each.kind} `{each.text}`",
            verdict_of(each, judged[each.id]),
            _by_models(judged[each.id]),
            _by_steps(each, judged[each.id]),
        ]
        for each in every(manifest)
    ]


def _by_models(found: Result | None) -> str:
    if found is None or found.models is None:
        return ""
    said = found.models
    if said.verdict == NOT_CAUGHT:
        return f"no difference in {said.models} models"
    told = [said.property or said.verdict, said.model or said.reason]
    told += [] if said.length is None else [f"{said.length} states"]
    return ", ".join(each for each in told if each)


def _by_steps(mutant: Mutant, found: Result | None) -> str:
    if found is None or found.steps is None:
        return ""
    said = found.steps
    if said.refused:
        return f"{said.refused:,} of {said.of:,}, such as {said.action}"
    why = f"; {mutant.argument}" if verdict_of(mutant, found) == EQUAL else ""
    return f"none of {said.of:,}{why}"


def open_questions(manifest: Manifest, results: Mapping[str, Result]) -> Sequence[str]:
    """The mutants that are judged, that nothing tells apart, and of which nobody says why."""
    judged = current(manifest, results)
    unsaid = (OTHER_STEPS, NOT_CAUGHT, UNKNOWN)
    return [m.id for m in every(manifest) if verdict_of(m, judged[m.id]) in unsaid]
