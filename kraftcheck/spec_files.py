"""`spec render` and `spec export`: models as files that other tools of TLA+ read.

A model of the kit is an entry of a table (tla_utils/model_table.py). Other tools want a cfg beside
its module: `render` writes one model so, with all modules that it needs. `export` writes many in
the form of the collection at github.com/tlaplus/Examples, whose manifest.json says of each folder
which modules and models there are and what TLC finds in them.

Law of this file: a result that the tables do not settle is written as "unknown".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kraftcheck import artifacts, exits
from kraftcheck.osutil.files import read_text
from kraftcheck.screen import Screen
from kraftcheck.spec_checks import select
from tla_utils import Manifest, Model, read_manifest
from tla_utils.config import cfg_text
from tla_utils.definitions import definitions
from tla_utils.manifest import DEADLOCK, outline
from tla_utils.models import overlays_of, root_of
from tla_utils.overrides import find_module, read_modules
from tla_utils.runner import ModuleText

MANIFEST: Final = "manifest.json"
FOLDER: Final = "specifications"
"""Where the collection has its folders; its paths begin with it."""
_OF_STEPS = re.compile(r"\s*\[\]\s*\[")
_LASTING = re.compile(r"<>|~>|\b[WS]F_")


def render(specs: Path, name: str, out: Path | None, screen: Screen) -> int:
    """Print the cfg of a model; with a folder, write it there with the modules that it needs.

    Raises ToolError: there is no such model, or its files are not in order.
    """
    manifest = read_manifest(specs / "models.toml")
    [model] = manifest.select([name])
    outline(manifest, model)
    text = cfg_text(model.config)
    if out is None:
        screen.line(text.rstrip("\n"))
        screen.document({"model": model.name, "module": _root(manifest, model), "cfg": text})
        return exits.HOLDS
    place = artifacts.claim(out)
    root = _root(manifest, model)
    for module, said in _modules(manifest, model).items():
        artifacts.write_whole(place / f"{module}.tla", said)
    artifacts.write_whole(place / f"{root}.cfg", text)
    command = [
        "java",
        "-cp",
        "tla2tools.jar",
        "tlc2.TLC",
        *([] if model.deadlock else ["-deadlock"]),
    ]
    by_hand = " ".join([*command, root])
    screen.facts([("wrote", str(place / f"{root}.cfg")), ("by hand", f"cd {place}; {by_hand}")])
    screen.document({"model": model.name, "module": root, "cfg": text, "by_hand": by_hand})
    return exits.HOLDS


def export(
    specs: Path, *, tiers: Sequence[str], names: Sequence[str], out: Path, screen: Screen
) -> int:
    """Write models in the form of tlaplus/Examples: a folder for each protocol.

    Raises ToolError: there is no such model or tier, or files are not in order.
    """
    manifest = read_manifest(specs / "models.toml")
    chosen = select(manifest, tiers, names)
    for model in chosen:
        outline(manifest, model)
    place, known = artifacts.claim(out), dict[str, dict[str, list[dict[str, Any]]]]()
    for model in chosen:
        # The collection's folders have none inside.
        folder = Path(model.folder).name or specs.resolve().name
        (place / FOLDER / folder).mkdir(parents=True, exist_ok=True)
        of_folder = known.setdefault(folder, {})
        for module, text in _modules(manifest, model).items():
            artifacts.write_whole(place / FOLDER / folder / f"{module}.tla", text)
            of_folder.setdefault(module, [])
        artifacts.write_whole(place / FOLDER / folder / f"{model.name}.cfg", cfg_text(model.config))
        of_folder[_root(manifest, model)].append(_found(manifest, model, folder))
    for folder, modules in known.items():
        text = json.dumps(_manifest(folder, modules), indent=2)
        artifacts.write_whole(place / FOLDER / folder / MANIFEST, text + "\n")
    screen.line(f"{len(chosen)} models of {len(known)} folders in {place / FOLDER}")
    screen.document({folder: _manifest(folder, modules) for folder, modules in known.items()})
    return exits.HOLDS


def _root(manifest: Manifest, model: Model) -> str:
    """The name of the module that TLC is started on."""
    root = root_of(manifest, model)
    return root.name if isinstance(root, ModuleText) else root.stem


def _modules(manifest: Manifest, model: Model) -> dict[str, str]:
    """By name, the texts of the root module and of all that it needs of the kit's."""
    root = root_of(manifest, model)
    found = {root.name: root.text} if isinstance(root, ModuleText) else {}
    for name in sorted(read_modules([model.module, *model.overlays], manifest.libraries)):
        path = find_module(name, manifest.libraries)
        assert path is not None, "read_modules has found it"
        found[name] = read_text(path)
    return found | overlays_of(manifest, model)


def _manifest(folder: str, modules: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    return {
        "sources": [],
        "authors": [],
        "tags": [],
        "modules": [
            {"path": f"{FOLDER}/{folder}/{name}.tla", "features": [], "models": [*models]}
            for name, models in sorted(modules.items())
        ],
    }


def _found(manifest: Manifest, model: Model, folder: str) -> dict[str, Any]:
    """A model as the collection's manifest has it."""
    counts = {
        "distinctStates": model.distinct,
        "totalStates": model.generated,
        "stateDepth": model.depth,
    }
    return {
        "path": f"{FOLDER}/{folder}/{model.name}.cfg",
        "runtime": "unknown",
        "mode": "exhaustive search",
        "result": _result(manifest, model),
        **{key: count for key, count in counts.items() if count is not None},
        "workers": model.workers,
    }


def _result(manifest: Manifest, model: Model) -> str:
    """Read the result as TLC's exit code says it.

    Of a property that is about neither states nor steps, nor says that something comes about, only
    TLC knows which part breaks.
    """
    if model.expect == "holds":
        return "success"
    if model.property == DEADLOCK:
        return "deadlock failure"
    if model.property in model.config.invariants:
        return "safety failure"
    modules = _modules(manifest, model).values()
    bodies = [d.body for text in modules for d in definitions(text) if d.name == model.property]
    if bodies and _OF_STEPS.match(bodies[0]):
        return "safety failure"
    return "liveness failure" if bodies and _LASTING.search(bodies[0]) else "unknown"
