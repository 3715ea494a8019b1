"""`verify`: the main job, from the models to the page.

    models      small TLA+ models, against their expected verdicts (`first_look` in spec_checks.py
                says which, and why)
    simulation  runs of the correct reference under faults
    conformance each of their steps judged by TLC, their invariants, their progress
    partition   the same for a partition with its brokers, and what its clients were shown
    cluster     the same for a quorum that carries the metadata of several partitions
    canary      the same for a bug that is planted: if it is not found, nothing above is evidence
    report      one page

The models are checked beside the other stages, which come one after another: much of what these do
keeps one core busy, and no stage needs what TLC finds in a model. They are told of in this order.

Laws of this file: every stage does its work anew, whatever an earlier run has left in the folder;
a stage that finds something does not keep the next one from looking; and only what we have written
is ever removed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from kraftcheck import artifacts, conformance, exits, report, spec_checks
from kraftcheck.checking.options import Options
from kraftcheck.checking.traces import judge_trace
from kraftcheck.reference.runner.scenarios import FAMILIES
from kraftcheck.screen import Screen
from kraftcheck.specs import SPECS
from tla_utils import read_manifest

LOOKS = {name: each.first_look for name, each in FAMILIES.items() if each.first_look}
"""How many runs of each scenario."""
SCENARIO, *_REST = LOOKS
OTHERS = {name: LOOKS[name] for name in _REST}

PLANTED_BUG = "Z01"
PLANTED_RUNS = 40
CANARY = "canary"
DOING = {
    "models": "TLC checks the small models, each against its expected verdict, beside the rest",
    "simulation": f"the reference runs under faults: {FAMILIES[SCENARIO].scenario.sentence}",
    "conformance": "TLC judges every distinct step of these runs",
    **{
        name: f"the same, and what clients saw: {FAMILIES[name].scenario.sentence}"
        for name in _REST
    },
    CANARY: f"the same for runs with the planted bug {PLANTED_BUG}, which must be found",
}
"""The stages, as progress tells of them."""

# What this verb and those that it calls leave in a folder.
LEFT = (
    *(artifacts.SUMMARY, artifacts.SPECS, "manifest.json", "report.html", ".lock"),
    *("part-*.parquet", "conform", "tlc", CANARY, *OTHERS),
)


@dataclass(frozen=True)
class Stage:
    """What a stage exited with, what there is to say of it, and how long it took."""

    code: int
    said: str
    seconds: float


def _timed(work: Callable[[], tuple[int, str]]) -> Stage:
    begin = monotonic()
    code, said = work()
    return Stage(code, said, monotonic() - begin)


def verify(
    out: Path,
    *,
    runs: int = LOOKS[SCENARIO],
    seed: int = 1,
    jar: str | None = None,
    screen: Screen,
) -> int:
    """Do the main job in a folder; the report's path is the last line."""
    clear(artifacts.claim(out))
    begin = monotonic()
    job = _Job(out, runs, seed, jar, screen)
    others: dict[str, Callable[[], tuple[int, str]]] = {
        "simulation": job.simulation,
        "conformance": job.conformance,
        **{each: partial(job.other, each) for each in OTHERS},
        CANARY: job.canary,
    }
    # Its place in the summary, which is written to meanwhile; and what it says if this ends early.
    unchecked = artifacts.Part(
        spec_checks.PART, "unknown", 0.0, ["the small models were not all checked"]
    )
    artifacts.merge(out, unchecked)
    # One thread, in this order: conformance is of what simulation has recorded.
    beside = ThreadPoolExecutor(max_workers=1)
    try:
        begun = {name: beside.submit(_timed, work) for name, work in others.items()}
        stages = [job.stage("models", partial(_timed, job.models))]
        job.inner.quiet = screen.quiet
        stages += [job.stage(name, future.result) for name, future in begun.items()]
    finally:
        # Nobody who stops here waits for a stage to end; what it has started ends with us.
        beside.shutdown(wait=False, cancel_futures=True)
    assert job.checked is not None
    spec_checks.write(out, job.checked)
    path, verdict = report.make(out)
    summary = artifacts.read_json(out / artifacts.SUMMARY)
    code = exits.worst([*(stage.code for stage in stages), exits.code_of(verdict)])
    for reason in summary["reasons"]:
        screen.line(f"            {reason}")
    screen.line(f"verdict     {exits.VERDICTS[code]}, {monotonic() - begin:.0f} s")
    screen.line(str(path))
    screen.document({**summary, "report": str(path)})
    return code


def clear(folder: Path) -> None:
    """Remove what an earlier run has left. The folder is ours (`claim`); other files stay."""
    for pattern in LEFT:
        for path in folder.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


class _Job:
    """The stages; each returns its exit code and a few words."""

    def __init__(self, out: Path, runs: int, seed: int, jar: str | None, screen: Screen) -> None:
        self.out = out
        self.runs = runs
        self.seed = seed
        self.jar = jar
        self.screen = screen
        # There is one bar at a time: of the models, then of what is not done by then.
        self.inner = screen.without_results()
        self.inner.quiet = True
        self.checked: spec_checks.Checked | None = None

    def stage(self, name: str, done: Callable[[], Stage]) -> Stage:
        """Tells of a stage, and of its end."""
        self.screen.note(f"{[*DOING].index(name) + 1} of {len(DOING)}, {name}: {DOING[name]}")
        stage = done()
        self.screen.line(
            f"{name:<12}{exits.VERDICTS[stage.code]:<10}{stage.seconds:>6.1f} s  {stage.said}"
        )
        return stage

    def models(self) -> tuple[int, str]:
        small = read_manifest(SPECS / "models.toml").select([], [spec_checks.DEFAULT_TIER])
        names = [model.name for model in spec_checks.first_look(small, LOOKS)]
        shown = self.screen.without_results()
        found = spec_checks.checked(
            SPECS, names=names, jar=self.jar, keep=self.out / "tlc", screen=shown
        )
        self.checked = found
        expected = sum(result.matches for result in found.results)
        left = len(small) - len(names)
        more = f"; {left} more: `spec check`" if left else ""
        return spec_checks.exit_code(found.results), (
            f"{expected} of {len(names)} models as expected{more}"
        )

    def simulation(self) -> tuple[int, str]:
        code = conformance.simulate(
            self.out, scenario=SCENARIO, runs=self.runs, seed=self.seed, screen=self.inner
        )
        part = self._part(conformance.SIMULATE)
        return code, f"{part['runs']:,} runs, {part['steps']:,} steps"

    def conformance(self) -> tuple[int, str]:
        code = conformance.conform(self.out, jar=self.jar, screen=self.inner)
        summary = artifacts.read_json(self.out / artifacts.SUMMARY)
        distinct = summary["distinct_steps"]["canonical"]
        return code, f"{distinct:,} distinct steps, {summary['rejected_steps']:,} rejected"

    def other(self, scenario: str) -> tuple[int, str]:
        """Runs of another scenario: steps, invariants, and what clients were promised."""
        folder, begin = self.out / scenario, monotonic()
        conformance.simulate(
            folder, scenario=scenario, runs=OTHERS[scenario], seed=self.seed, screen=self.inner
        )
        conformance.conform(folder, jar=self.jar, screen=self.inner)
        report.make(folder)
        found = artifacts.read_json(folder / artifacts.SUMMARY)
        (histories, *_), _ = judge_trace(folder, Options())
        code = exits.worst([exits.code_of(found["verdict"]), exits.code_of(histories.verdict)])
        reasons = [f"{scenario}: {reason}" for reason in found["reasons"]]
        if histories.verdict != "holds":
            reasons.append(f"{scenario}: client histories: {histories.reason}")
        part = artifacts.Part(
            scenario,
            exits.VERDICTS[code],
            monotonic() - begin,
            reasons,
            details={
                "runs": found["runs"],
                "steps": found["steps"],
                "distinct_steps": found["distinct_steps"]["canonical"],
                "rejected_steps": found["rejected_steps"],
                "histories": histories.verdict,
                "folder": scenario,
            },
        )
        artifacts.merge(self.out, part)
        said = f"{found['runs']:,} runs, {part.details['distinct_steps']:,} distinct steps"
        return code, f"{said}, {found['rejected_steps']:,} rejected; histories {histories.verdict}"

    def canary(self) -> tuple[int, str]:
        """A bug that must be found, by the steps it takes."""
        folder, begin = self.out / CANARY, monotonic()
        conformance.simulate(
            folder,
            scenario=SCENARIO,
            runs=PLANTED_RUNS,
            seed=self.seed,
            bug_id=PLANTED_BUG,
            screen=self.inner,
        )
        conformance.conform(folder, jar=self.jar, screen=self.inner)
        report.make(folder)
        found = artifacts.read_json(folder / artifacts.SUMMARY)
        part = judged_canary(found, monotonic() - begin)
        artifacts.merge(self.out, part)
        rejected = found["rejected_steps"]
        said = f"planted {PLANTED_BUG}: {rejected:,} distinct steps rejected, as they must be"
        return exits.code_of(part.verdict), part.reasons[0] if part.reasons else said

    def _part(self, name: str) -> dict[str, Any]:
        part: dict[str, Any] = artifacts.read_json(self.out / artifacts.SUMMARY)["parts"][name]
        return part


def judged_canary(found: dict[str, Any], seconds: float) -> artifacts.Part:
    """Here a violation is what holds, and only one that the step relation has seen."""
    verdict, reasons = "holds", []
    if not found["rejected_steps"]:
        unsure = found["verdict"] == "unknown"
        verdict = "unknown" if unsure else "violated"
        reasons = [
            f"the planted bug {PLANTED_BUG} was not found in {found['runs']} runs: "
            "what was accepted above proves nothing"
        ]
    return artifacts.Part(
        CANARY,
        verdict,
        seconds,
        reasons,
        details={
            "bug": PLANTED_BUG,
            "runs": found["runs"],
            "rejected_steps": found["rejected_steps"],
            "invariant_violations": found["invariant_violations"]["by_name"],
            "folder": CANARY,
        },
    )
