"""Run the models of a manifest and compare what TLC finds with what the manifest says.

Laws of this file:

* A model matches only if everything stated is so: verdict, property, length of the counterexample,
  counts. Everything else is one line that says what is not.
* A model that TLC refuses does not take the others with it: it is a result with `refused` set.
* Deadlock is not looked for unless a model says so: within budgets every behaviour ends somewhere.
* No more worker threads run than there are cores to spend, whatever the models ask for.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path

from kraftcheck.osutil.files import read_text
from tla_utils.config import cfg_text
from tla_utils.definitions import needed_definitions
from tla_utils.errors import ToolError
from tla_utils.jar import Jar, Java, find_jar, find_java
from tla_utils.manifest import (
    DEADLOCK,
    DEFAULT_TIMEOUT_S,
    OVERLAYS,
    Manifest,
    Model,
    Outline,
    is_exact,
    outline,
    same_counts,
)
from tla_utils.output import State, TlcResult, Verdict
from tla_utils.overrides import find_module
from tla_utils.runner import OUTPUT_FILE, ModuleText, Running, TlcJob, run_tlc

# From about this many states on, the flags for long runs may pay. Processor seconds with the flags
# for short runs and with the others: 2,750 large states 4.0 and 6.6, 5,500 of them 9.7 and 9.6; but
# 15,000 small ones 3.9 and 5.6, 24,000 1.8 and 4.7, 99,000 6.8 and 9.3.
# A violation states no number; more time than usual tells.
LONG_RUN_STATES = 50_000


@dataclass(frozen=True, slots=True)
class ModelResult:
    """What TLC found, and whether it is what the manifest says.

    verdict, property, distinct, generated, depth: as in TlcResult; property is "deadlock" for a
    deadlock.
    """

    model: Model
    verdict: Verdict
    property: str | None = None
    distinct: int | None = None
    generated: int | None = None
    depth: int | None = None
    length: int | None = None
    """States of the counterexample."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_rss_mb: float = 0.0
    matches: bool = False
    """Everything stated is so; otherwise `reason` says in one line what is not, or why the verdict
    is unknown.
    """
    reason: str = ""
    refused: bool = False
    """TLC, or the check before it, could not use the model at all; `reason` says why."""
    last: tuple[State, ...] = ()
    """The last two states of a violation."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run models.

    java, jar: None finds them.
    """

    cores: int | None = None
    """Worker threads of all JVMs together; None is one per processor."""
    java: Java | None = None
    jar: Jar | None = None
    keep: Path | None = None
    """A folder in which TLC's output is kept, one file `<model>.out` each."""
    told: Callable[[Running], None] | None = None
    """Called every other second, by some thread, with a model that runs."""


DEFAULT_RUN = RunOptions()


def check_models(
    manifest: Manifest,
    models: Sequence[Model],
    options: RunOptions = DEFAULT_RUN,
    on_result: Callable[[ModelResult], None] | None = None,
) -> list[ModelResult]:
    """Run models, several at a time, and compare the results with the manifest.

    Args:
        manifest: all models.
        models: the models to run.
        options: how TLC runs.
        on_result: called in this thread as each model ends.

    Returns:
        The results, in the order of `models`.

    Raises:
        ToolError: there is no model, or no Java or jar.
    """
    if not models:
        raise ToolError(f"there is no model to check in {manifest.path}")
    tools = RunOptions(
        cores=options.cores or os.cpu_count() or 1,
        java=options.java or find_java(),
        jar=options.jar or find_jar(),
        keep=options.keep,
        told=options.told,
    )
    results: dict[str, ModelResult] = {}
    for result in _run_all(manifest, models, tools):
        results[result.model.name] = result
        if on_result:
            on_result(result)
    return [results[model.name] for model in models]


def _run_all(
    manifest: Manifest, models: Sequence[Model], options: RunOptions
) -> Iterator[ModelResult]:
    """Each result as it comes. The largest models start first, so that none is left for last."""
    cores = options.cores or 1
    waiting = sorted(models, key=_expected_cost, reverse=True)
    running: dict[Future[ModelResult], int] = {}
    pool = ThreadPoolExecutor(max_workers=cores)
    try:
        while waiting or running:
            free = cores - sum(running.values())
            for model in list(waiting):
                # A model that wants more than there is gets all of it.
                need = min(model.workers, cores)
                if need <= free:
                    free -= need
                    waiting.remove(model)
                    running[pool.submit(check_model, manifest, model, options)] = need
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                del running[future]
                yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _expected_cost(model: Model) -> tuple[int, int]:
    return model.workers, model.distinct or 0


def check_model(manifest: Manifest, model: Model, options: RunOptions = DEFAULT_RUN) -> ModelResult:
    """Run one model and compare; a model that cannot run has a result too, and is refused."""
    try:
        files = outline(manifest, model)
        found = _run(manifest, model, options)
    except ToolError as error:
        return ModelResult(model, "unknown", reason=str(error), refused=True)
    result = ModelResult(
        model,
        verdict=found.verdict,
        property=found.property or (DEADLOCK if found.kind == "deadlock" else None),
        distinct=found.distinct,
        generated=found.generated,
        depth=found.depth,
        length=len(found.counterexample) if found.verdict == "violated" else None,
        seconds=found.seconds,
        cpu_seconds=found.cpu_seconds,
        peak_rss_mb=found.peak_rss_mb,
        last=tuple(found.counterexample[-2:]) if found.verdict == "violated" else (),
    )
    reason = _mismatch(manifest, result, found, files)
    return replace(result, matches=not reason, reason=reason)


def root_of(manifest: Manifest, model: Model) -> Path | ModuleText:
    """Return the module on which TLC starts; with overlays a generated one that extends them.

    Raises:
        ToolError: there is no such module.
    """
    if model.overlays:
        name = "_".join([model.module, *model.overlays])
        extended = ", ".join([model.module, *model.overlays])
        return ModuleText(name, f"---- MODULE {name} ----\nEXTENDS {extended}\n====\n")
    path = find_module(model.module, manifest.libraries)
    if path is None:
        raise ToolError(f"there is no module {model.module} in the folders of {manifest.path}")
    return path


def overlays_of(manifest: Manifest, model: Model) -> dict[str, str]:
    """Return the overlays of a model by name, with only the definitions that the model needs.

    One module has the replacements of all bugs of a protocol, and TLC reads only those of the
    model. So another bug changes nothing that depends on the order in which TLC reads names, such
    as the choice of a counterexample to liveness.
    """
    found = {}
    for name in model.overlays:
        path = find_module(name, manifest.libraries)
        if path is not None and path.parent.name == OVERLAYS:
            found[name] = needed_definitions(read_text(path), cfg_text(model.config))
    return found


def job_of(manifest: Manifest, model: Model, options: RunOptions) -> TlcJob:
    """Return the run of TLC that checks a model.

    Raises:
        ToolError: there is no such module.
    """
    return TlcJob(
        module=root_of(manifest, model),
        cfg=cfg_text(model.config),
        libraries=manifest.libraries,
        beside=overlays_of(manifest, model),
        heap_mb=model.heap_mb,
        workers=model.workers,
        timeout_s=model.timeout_s,
        deadlock=model.deadlock,
        long=_is_long(model),
        java=options.java,
        jar=options.jar,
        told=told_as(model.name, options),
    )


def _run(manifest: Manifest, model: Model, options: RunOptions) -> TlcResult:
    job = job_of(manifest, model, options)
    with tempfile.TemporaryDirectory(prefix="model-") as folder:
        work = Path(folder) / "work"
        try:
            return run_tlc(job, work_dir=work)
        finally:
            output = work / OUTPUT_FILE
            if options.keep is not None and output.is_file():
                options.keep.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(output, options.keep / f"{model.name}.out")


def told_as(name: str, options: RunOptions) -> Callable[[Running], None] | None:
    """Tells of a run by the name of its model."""
    told = options.told
    return None if told is None else lambda running: told(running._replace(name=name))


def _is_long(model: Model) -> bool:
    return (model.distinct or 0) >= LONG_RUN_STATES or model.timeout_s > DEFAULT_TIMEOUT_S


def _mismatch(manifest: Manifest, result: ModelResult, found: TlcResult, files: Outline) -> str:
    """What is not as the manifest says, in one line; "" if all is."""
    model = result.model
    if result.verdict == "unknown":
        return found.reason
    if result.verdict == "violated" and model.expect == "holds":
        return f"expected to hold, but {_violation(result, found, files)}"
    if result.verdict == "holds" and model.expect == "violated":
        return f"expected {model.property} to be violated, but the model holds"
    if result.verdict == "violated" and result.property != model.property:
        return f"expected {model.property} to be violated, but {_violation(result, found, files)}"
    changed = [
        f"{name} is {is_now}, not {stated}"
        for name, is_now, stated in _numbers(result)
        if stated is not None and is_now != stated
    ]
    base = manifest.models[model.baseline] if model.baseline else None
    still = files.replaced and base and result.verdict == base.expect == "holds"
    if base and still and same_counts(result, base):
        changed.append(
            f"the counts are those of its baseline {base.name}: the override changes nothing"
        )
    return "; ".join(changed)


def _numbers(result: ModelResult) -> list[tuple[str, int | None, int | None]]:
    model = result.model
    exact = [
        ("generated", result.generated, model.generated),
        ("depth", result.depth, model.depth),
        ("length", result.length, model.length),
    ]
    return [("distinct", result.distinct, model.distinct), *(exact if is_exact(model) else [])]


def _violation(result: ModelResult, found: TlcResult, files: Outline) -> str:
    if result.property is None and found.kind == "liveness":
        listed = ", ".join(files.config.properties)
        return f"a liveness property is (TLC does not say which of {listed}: list only one)"
    return f"{result.property} is, in {result.length} states"
