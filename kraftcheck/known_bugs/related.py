"""The known bugs of the rules that a change replaces: how far to look, and what a search finds.

Who changes a rule may make again, under another name, what is known to go wrong with it. So `try`
looks where the known bugs of the replaced rules show, at the bounds of their models with one's own
change in the bug's place; and it says which of them the search finds. Of a rule of which no bug is
known nobody can say what a search of it is worth; it is looked where those show of its neighbours,
the rules whose prose names the same rule id, KIP or report.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

import msgspec
from msgspec import structs

from kraftcheck.known_bugs import beginning, figures, schedules
from kraftcheck.reference.bugs.bug import Bug
from kraftcheck.reference.bugs.catalog import bugs_of
from tla_utils import Manifest, Model
from tla_utils.overrides import read_modules

BREAKS = ("invariants", "histories", "progress")
"""The oracles of runs that find something broken, and not only another step."""

FURTHER = "medium"
"""The tier of models that is told of where bugs are missed."""

_SOURCE = re.compile(r"\b(?:[A-Z]\d+|KAFKA-\d+|KIP-\d+)\b")
"""As the first line of a rule's prose names where it comes from."""


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """Known bugs of the replaced rules, by id, and which of them this search finds."""

    bugs: list[str]
    models: list[str]
    """Whose bounds were searched to the end."""
    runs: list[str]
    """That half of the measured campaigns found in so many runs."""
    schedules: list[str]
    """Of which a schedule is stored, that was played."""
    further: list[str] = []
    """Of the others, those whose bounds models of tier FURTHER have."""
    near: list[str] = []
    """Of neighbours of those rules that have none."""

    @property
    def missed(self) -> list[str]:
        found = {*self.models, *self.runs, *self.schedules}
        return [each for each in self.bugs if each not in found]


def bugs_with(protocol: str, names: Collection[str]) -> list[Bug]:
    """The replayable bugs of a protocol that replace one of these rules or handlers."""
    return [b for b in bugs_of(protocol) if b.in_scope and set(b.replaces) & set(names)]


def bugs_near(protocol: str, names: Collection[str]) -> list[Bug]:
    """Of those of these rules that have none, the bugs of the rules that cite the same."""
    cited = {name: {*_SOURCE.findall(said)} for name, said in beginning.prose(protocol)}
    own = bugs_with(protocol, names)
    bare = {*names} - {replaced for bug in own for replaced in bug.replaces}
    sources = {source for name in bare for source in cited.get(name, ())}
    near = {name for name, theirs in cited.items() if theirs & sources}
    return [bug for bug in bugs_with(protocol, near) if bug not in own]


def bounds_of(bugs: Sequence[Bug], manifest: Manifest) -> list[Model]:
    """The models of these bugs, as of the correct protocol."""
    return [_bounds(model, manifest) for bug in bugs for model in _models(bug, manifest)]


def _models(bug: Bug, manifest: Manifest) -> Iterator[Model]:
    for model in manifest.models.values():
        if model.bug == bug.id and model.expect == "violated" and model.overlays:
            yield model


def _bounds(model: Model, manifest: Manifest) -> Model:
    own = _defined(model, manifest)
    kept = [each for each in model.config.substituted if each[2] not in own]
    config = replace(model.config, substituted=kept)
    return replace(
        model,
        name=name_of(model),
        overlays=(),
        config=config,
        expect="holds",
        property=None,
        length=None,
    )


def _defined(model: Model, manifest: Manifest) -> set[str]:
    """What a model's overlays define."""
    modules = read_modules(model.overlays, manifest.libraries)
    return {name for overlay in model.overlays for name in modules[overlay].definitions}


def covers(model: Model, bug: Model, manifest: Manifest) -> bool:
    """Say whether a correct model covers the bounds of the model that finds a bug.

    It is searched to its end, no bound is smaller, it asks for the property that breaks, and all
    else is the same.
    """
    if model.module != bug.module or model.overlays or model.expect != "holds":
        return False
    wide, small = model.config, bug.config
    own = _defined(bug, manifest)
    put = {each for each in small.substituted if each[2] not in own}
    return (
        (wide.specification, wide.constraints, wide.view)
        == (small.specification, small.constraints, small.view)
        and {*wide.substituted} == put
        and bug.property in (*wide.invariants, *wide.properties)
        and wide.assigned.keys() == small.assigned.keys()
        and all(_no_less(*each, wide.assigned) for each in small.assigned.items())
    )


def _no_less(name: str, value: str, there: Mapping[str, str]) -> bool:
    """Of what a run may have more of (`MaxCrashes`) more is wider; all else has to be the same."""
    other = there[name]
    counted = name.startswith("Max") and value.isdigit() and other.isdigit()
    return int(other) >= int(value) if counted else other == value


def name_of(model: Model) -> str:
    """What the bounds of a bug's model are called."""
    return f"bounds-of-{model.name}"


def known(
    bugs: Sequence[Bug],
    ended: Collection[str],
    manifest: Manifest,
    *,
    runs: int | None,
    played: int = 0,
    near: Sequence[Bug] = (),
) -> Known:
    """What a search finds of these bugs.

    ended: the names of the models that were searched to the end. runs: of the campaign; None: there
    was none. played: of the protocol's stored schedules, so many. near: of which it is only told
    that there are.
    """

    def at_bounds(models: Collection[Model]) -> list[str]:
        return [
            bug.id
            for bug in bugs
            if any(covers(each, of, manifest) for of in _models(bug, manifest) for each in models)
        ]

    measured = figures.load().figures
    scripts = [script for bug in bugs[:1] for _, script in schedules.every(bug.protocol)]
    of_scripts = {script.bug for script in scripts} if played >= len(scripts) else set()
    wide = at_bounds([each for name, each in manifest.models.items() if name in ended])
    at_own = {b.id for b in bugs if {*map(name_of, _models(b, manifest))} & set(ended)}
    found = Known(
        bugs=[bug.id for bug in bugs],
        models=[b.id for b in bugs if b.id in at_own or b.id in wide],
        runs=[b.id for b in bugs if runs is not None and _usual(measured.get(b.id, {})) <= runs],
        schedules=[b.id for b in bugs if b.id in of_scripts],
        near=[bug.id for bug in near],
    )
    wider = [each for each in manifest.models.values() if each.tier == FURTHER]
    further = at_bounds(wider) if found.missed and ended else []
    return structs.replace(found, further=[each for each in further if each in found.missed])


def _usual(found: dict[str, figures.Figure]) -> float:
    """After how many runs half of the measured campaigns had found a bug."""
    medians = [inf]
    for oracle in BREAKS:
        if oracle in found:
            ranked = sorted(inf if run is None else run for run in found[oracle].runs)
            medians.append(ranked[len(ranked) // 2])
    return min(medians)
