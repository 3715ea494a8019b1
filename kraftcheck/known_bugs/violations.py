"""TLC's counterexamples to the bugs, stored: told in words, and a state shortly before the end.

A search from the beginning takes TLC seconds for some bugs and an hour for others. So what it once
found is stored beside the overlays (in the folder `found` there). `bugs show` tells it; `bugs run`
has TLC search on from the stored state, which takes seconds and still ends in a violation or does
not.

Law of this file: from a stored state TLC says whether the end of the counterexample still is what
it was. That the state can be reached was found by the search from the beginning, which `bugs run
--full` repeats; a state that no longer fits the spec is an error, never a detection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from kraftcheck import artifacts
from kraftcheck.exits import BadInput
from kraftcheck.osutil.files import read_bytes
from tla_utils import Manifest, Model, ModuleText, RunOptions, TlcResult, ToolError, run_tlc
from tla_utils.config import cfg_text
from tla_utils.manifest import outline
from tla_utils.models import job_of, overlays_of
from tla_utils.sources import source_digest
from tla_utils.values import render

FOLDER = Path("bugs", "found")
BEFORE_THE_END = 3
"""The stored state is so many steps before the violation, or the first one."""


class Counterexample(msgspec.Struct, frozen=True, kw_only=True):
    """A stored counterexample."""

    model: str
    property: str
    """What it violates."""
    length: int
    """Its states."""
    distinct: int | None
    seconds: float
    told: list[str]
    """In words."""
    at: int
    """The number of the stored state, from 1."""
    prefix: dict[str, str]
    """That state, each variable as TLA+ text; empty for liveness, which needs the whole."""
    of: str = ""
    """A digest of the modules and the cfg in which TLC found it; "" if it is not known."""


def path_of(manifest: Manifest, model: Model) -> Path:
    return manifest.root / model.folder / FOLDER / f"{model.name}.json"


def load(manifest: Manifest, model: Model) -> Counterexample | None:
    """Load the stored counterexample of a model.

    None, too, when it is not the one that the manifest states now. Raises BadInput: its file is
    damaged.
    """
    path = path_of(manifest, model)
    try:
        found = msgspec.json.decode(read_bytes(path), type=Counterexample)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise BadInput(f"{path} is damaged: {error}") from None
    return found if (found.property, found.length) == (model.property, model.length) else None


def digest_of(manifest: Manifest, model: Model) -> str:
    """What `Counterexample.of` has to be for TLC to find it again."""
    modules = [model.module, *model.overlays]
    beside = overlays_of(manifest, model)
    return source_digest(modules, cfg_text(model.config), manifest.libraries, beside)


def is_current(manifest: Manifest, model: Model) -> bool:
    """Whether the stored counterexample was found in what the specs say now."""
    found = load(manifest, model)
    return found is not None and found.of == digest_of(manifest, model)


_WORDS = re.compile(r'"[^"]*"|\b([A-Za-z_]\w*)\b(?!\s*\|->)')
"""Of a value as TLA+ text: strings, and the names that are no fields."""


def root_module(name: str, extended: Sequence[str], body: str = "") -> ModuleText:
    head = f"---- MODULE {name} ----\nEXTENDS {', '.join(extended)}\n"
    return ModuleText(name, f"{head}{body}\n====\n")


def find(
    manifest: Manifest, model: Model, options: RunOptions, timeout_s: float | None = None
) -> TlcResult:
    """A shortest counterexample of a bug's model, searched from the beginning.

    timeout_s: None is what the manifest says. Raises ToolError: there is none, or no time.
    """
    outline(manifest, model)
    limit = timeout_s or model.timeout_s
    job = replace(job_of(manifest, model, options), workers=1, timeout_s=limit, long=True)
    result = run_tlc(job)
    if result.verdict != "violated":
        raise ToolError(f"model {model.name} shows no counterexample: {result.reason}")
    return result


def search(
    manifest: Manifest, model: Model, options: RunOptions, timeout_s: float | None = None
) -> Counterexample:
    """Search from the beginning, tell what is found, and store it.

    Raises ToolError: there is no counterexample, or none within the time.
    """
    found = of_result(manifest, model, find(manifest, model, options, timeout_s))
    path = path_of(manifest, model)
    path.parent.mkdir(exist_ok=True)
    artifacts.write_json(path, msgspec.to_builtins(found))
    return found


def of_result(manifest: Manifest, model: Model, result: TlcResult) -> Counterexample:
    # Late: `bugs show` needs none of what tells.
    from kraftcheck.known_bugs.stories import tell

    states = result.counterexample
    at = max(1, len(states) - BEFORE_THE_END)
    prefix = {name: render(value) for name, value in states[at - 1].values.items()}
    lasting = result.kind == "liveness"
    return Counterexample(
        model=model.name,
        property=result.property or model.property or "",
        length=len(states),
        distinct=result.distinct,
        seconds=round(result.seconds, 1),
        told=tell(manifest, model, result, model.bug).lines,
        at=1 if lasting else at,
        prefix={} if lasting else prefix,
        of=digest_of(manifest, model),
    )


def search_on(
    manifest: Manifest, model: Model, stored: Counterexample, options: RunOptions
) -> TlcResult:
    """TLC from the stored state on, with the model's own next steps, bounds and properties.

    Raises ToolError: the state does not fit the model any more.
    """
    config = model.config
    words = {word for text in stored.prefix.values() for word in _WORDS.findall(text)}
    # Model values that the cfg has named inside of sets only.
    fresh = sorted(words - {"", "TRUE", "FALSE"} - config.assigned.keys())
    declared = f"CONSTANTS {', '.join(fresh)}\n" if fresh else ""
    conjuncts = "\n".join(f"  /\\ {name} = {text}" for name, text in stored.prefix.items())
    body = f"{declared}PrefixInit ==\n{conjuncts}"
    begun = replace(
        config,
        assigned={**config.assigned, **{name: name for name in fresh}},
        specification=[],
        init=["PrefixInit"],
        next=["MCNext"],
    )
    outline(manifest, model)
    module = root_module("Prefix", [model.module, *model.overlays], body)
    job = replace(job_of(manifest, model, options), module=module, cfg=cfg_text(begun))
    return run_tlc(replace(job, workers=1, deadlock=False, long=False, told=None))
