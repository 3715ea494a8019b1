"""Judging mutants of the specs: first by steps of the reference, then by TLC in models.

A mutant is put in place as an overlay. Steps cost a second or two for thousands of them, so all
mutants are judged by these first; models cost minutes, and those that no step tells apart come
first there. The models of a mutant are those of the bugs that replace the same decision, without
the bug, and then the kit's own small ones.

Law of this file: a result is told as soon as it is there, so that work goes on where it stopped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from kraftcheck.known_bugs.violations import root_module
from kraftcheck.osutil.files import read_text
from tests.mutation.specs import batteries
from tests.mutation.specs.mutants import (
    CAUGHT,
    MODULES,
    NOT_CAUGHT,
    OTHER_STEPS,
    UNKNOWN,
    ByModels,
    BySteps,
    Mutant,
    Result,
    current,
    known_of,
    mutants,
)
from tla_utils import (
    CheckOptions,
    Manifest,
    Model,
    RunOptions,
    StepFrame,
    TlcJob,
    TlcResult,
    ToolError,
    run_tlc,
)
from tla_utils.config import cfg_text, read_config
from tla_utils.definitions import definitions
from tla_utils.overrides import find_module, read_modules

MODELS: Mapping[str, tuple[str, ...]] = {
    "QuorumRules": (
        *("quorum-live-one-voter", "quorum-reduced-crash", "quorum-vote", "quorum-restart"),
        *("quorum-separate-responses", "quorum-replicate", "quorum-reduced", "quorum-live"),
    ),
    "PartitionRules": (
        *("partition-in-order", "partition-any-order", "partition-live", "partition-live-crash"),
        *("partition-fetch", "partition-crash", "partition-lossless", "partition-three"),
    ),
}
"""By module of rules, the models that its mutants are checked in, one after the other until one is
violated."""

_NAME = re.compile(r"[A-Za-z_]\w*")
EXTRA_RUNS = 2
"""One step that TLC cannot evaluate is enough to refuse a mutant."""
STEPS, IN_MODELS = "steps", "models"


def _in_place(mutant: Mutant) -> str:
    name = mutant.operator
    return f"\nCONSTANTS\n  {name} <- [{mutant.module}] Mutant_{name}\n"


# -- By steps


class StepBench:
    """The batteries of one module of rules. The correct spec takes all that is in them."""

    options = CheckOptions(
        chunk=50_000, parallel=1, heap_mb=1500, extra_runs=EXTRA_RUNS, timeout_s=600.0
    )

    def __init__(self, module: str) -> None:
        parts = [battery.parts() for battery in batteries.batteries(module)]
        self._batteries = [*(few for few, _ in parts), *(many for _, many in parts)]
        self._sound: set[int] = set()
        self._uses = {few.frame.module: uses(few.frame, module) for few, _ in parts}

    def _battery(self, at: int) -> batteries.Battery:
        battery = self._batteries[at]
        if at not in self._sound:
            refused = battery.refused(battery.frame, self.options)
            if refused:
                step = battery.steps[refused[0]]
                said = f"the correct spec refuses {step.action} of the reference: {step.input}"
                raise ToolError(f"{battery.frame.module}: {said}")
            self._sound.add(at)
        return battery

    def judge(self, mutant: Mutant) -> BySteps:
        """By a small part of each battery, then by the rest, until some step is refused.

        Raises ToolError: TLC cannot use the mutant at all.
        """
        of = 0
        for at in range(len(self._batteries)):
            if mutant.operator not in self._uses[self._batteries[at].frame.module]:
                continue
            battery = self._battery(at)
            of += len(battery.steps)
            frame = replace(
                battery.frame,
                constants=battery.frame.constants + _in_place(mutant),
                definitions=f"{battery.frame.definitions}\n{mutant.definition}\n",
            )
            refused = battery.refused(frame, self.options)
            if refused:
                action = battery.steps[refused[0]].action
                return BySteps(refused=len(refused), of=of, action=action)
        return BySteps(refused=0, of=of)


def uses(frame: StepFrame, module: str) -> frozenset[str]:
    """The operators of a module of rules that a frame's steps can come to, by the texts."""
    known = read_modules([frame.module], frame.libraries)
    words: dict[str, set[str]] = {}
    reached: set[str] = set()
    for name in known:
        path = find_module(name, frame.libraries)
        text = read_text(path) if path else ""
        if name != module:
            reached |= set(_NAME.findall(text))
            continue
        words = {found.name: set(_NAME.findall(found.body)) for found in definitions(text)}
    waiting = [name for name in words if name in reached]
    found_names: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found_names:
            found_names.add(name)
            waiting += [each for each in words[name] if each in words]
    return frozenset(found_names)


# -- By models


class ModelBench:
    """Models, with the counts of the correct spec in each."""

    def __init__(self, manifest: Manifest, options: RunOptions, timeout_s: float = 240.0) -> None:
        self._manifest, self._options, self._timeout_s = manifest, options, timeout_s
        self._correct: dict[str, tuple[int | None, int | None]] = {}

    def names(self, mutant: Mutant) -> list[str]:
        """The models that a mutant is checked in: those of bugs in the same decision first."""
        own = [
            model.name
            for model in self._manifest.models.values()
            if model.overlays and mutant.operator in _bugs_own(self._cfg(model))
        ]
        return [*own, *MODELS[mutant.module]]

    def judge(self, mutant: Mutant, names: Sequence[str] = ()) -> ByModels:
        """Check a mutant in these models, or in its own. Raises ToolError: TLC cannot use one."""
        differs, reason, asked = None, "", 0
        for name in names or self.names(mutant):
            model = self._manifest.models[name]
            left = {left for left, _, _ in read_config(self._correct_cfg(model)).substituted}
            if mutant.operator in left:
                continue
            asked += 1
            found = self._run(model, mutant)
            told = _caught(name, found)
            if told is not None:
                return msgspec.structs.replace(told, models=asked)
            if found.verdict == "unknown":
                reason = f"{name}: {found.reason}"
            elif differs is None and _counts(found) != self._counts_of(model):
                differs = name
        if differs is not None:
            return ByModels(verdict=OTHER_STEPS, model=differs, models=asked)
        verdict = UNKNOWN if reason else NOT_CAUGHT
        return ByModels(verdict=verdict, reason=reason, models=asked)

    def _cfg(self, model: Model) -> str:
        return cfg_text(model.config)

    def _correct_cfg(self, model: Model) -> str:
        """The model's cfg without its bug."""
        cfg = self._cfg(model)
        bug = [f"{left} <- " for left in _bugs_own(cfg)] if model.overlays else []
        lines = cfg.splitlines()
        return "\n".join(line for line in lines if not line.strip().startswith(tuple(bug)))

    def _counts_of(self, model: Model) -> tuple[int | None, int | None]:
        if model.name not in self._correct:
            self._correct[model.name] = _counts(self._run(model, None))
        return self._correct[model.name]

    def _run(self, model: Model, mutant: Mutant | None) -> TlcResult:
        body, cfg = "", self._correct_cfg(model)
        if mutant is not None:
            body, cfg = mutant.definition, cfg + _in_place(mutant)
        job = TlcJob(
            module=root_module("Mutated", [model.module], body),
            cfg=cfg,
            libraries=self._manifest.libraries,
            heap_mb=min(model.heap_mb, 1500),
            timeout_s=self._timeout_s,
            deadlock=model.deadlock,
            java=self._options.java,
            jar=self._options.jar,
        )
        return run_tlc(job)


def _bugs_own(cfg: str) -> set[str]:
    """What a cfg replaces by a definition of a bug: Z33_HighWatermarkQuorum, for instance."""
    found = read_config(cfg).substituted
    return {left for left, _, right in found if right[:1] == "Z" and right[1:3].isdigit()}


def _caught(name: str, found: TlcResult) -> ByModels | None:
    if found.verdict == "violated":
        return ByModels(
            verdict=CAUGHT,
            model=name,
            property=found.property or found.kind,
            length=len(found.counterexample) or None,
        )
    if found.kind == "error":
        # A guard may keep a value inside the domain of what is behind it.
        said = " ".join(found.reason.split())[:120]
        return ByModels(verdict=CAUGHT, model=name, property="error", reason=said)
    return None


def _counts(found: TlcResult) -> tuple[int | None, int | None]:
    return found.distinct, found.generated


# -- All


Told = Callable[[Mutant, Result], bool]


def judge_all(
    manifest: Manifest,
    modules: Sequence[str],
    options: RunOptions,
    results: dict[str, Result],
    told: Told,
) -> None:
    """Judge what is not judged yet, into `results`; stops when `told` says so, by False."""
    models = ModelBench(manifest, options)
    benches: dict[str, StepBench] = {}
    for mutant, by in waiting(manifest, modules, results):
        known = known_of(mutant, results)
        found = known or Result(digest=mutant.digest, text=mutant.text)
        if by == STEPS:
            if mutant.module not in benches:
                benches[mutant.module] = StepBench(mutant.module)
            found = msgspec.structs.replace(found, steps=benches[mutant.module].judge(mutant))
        else:
            found = msgspec.structs.replace(found, models=models.judge(mutant))
        results[mutant.id] = found
        if not told(mutant, found):
            return


def waiting(
    manifest: Manifest, modules: Sequence[str], results: Mapping[str, Result]
) -> Iterator[tuple[Mutant, str]]:
    """What is to be judged, and by what, in its order. It is read on as results come in."""
    all_of_them = [each for module in modules for each in mutants(manifest, module)]
    for mutant in all_of_them:
        known = known_of(mutant, results)
        if known is None or known.steps is None:
            yield mutant, STEPS
    for passed in (False, True):
        for mutant in all_of_them:
            known = known_of(mutant, results)
            if known is not None and known.models is None:
                refused = known.steps is not None and known.steps.refused > 0
                if refused == passed:
                    yield mutant, IN_MODELS


def left(manifest: Manifest, results: Mapping[str, Result]) -> int:
    """How many judgements are missing."""
    judged = current(manifest, results).values()
    return sum((r is None or r.steps is None) + (r is None or r.models is None) for r in judged)


__all__ = ["MODELS", "MODULES", "ModelBench", "StepBench", "judge_all", "left", "waiting"]
