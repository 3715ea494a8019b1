"""A manifest of TLC models, each with the verdict it is expected to give.

A manifest is a TOML file beside the modules, with a table for each model. A model says what TLC is
given (model_table.py), and what it must find: that the model *holds*, with exact counts of states
and depth, or that it *violates* a named property by a counterexample of exact length. So a bug that
is no longer found and a bound that shrank unnoticed are failures like any other. `models.py` runs
them.

    [quorum-vote]
    claim = "Pre-votes and votes of two voters over two epochs."
    like = "quorum-one-voter"
    tier = "small"
    holds = { distinct = 648, depth = 18 }
    constants = { Voters = "{n1, n2}", MaxEpoch = 2 }

Modules are looked for in one list of folders, the same for all models: that of the manifest, those
of FOLDERS in it, and the `libraries` that it names. `include` names folders with manifests of their
own, whose models and folders are this one's, too; no two modules may have one name then.

Laws of this file:

* A manifest is read strictly: a key that is unknown, missing or of the wrong type is a ToolError
  that names the model, never a default.
* What can be told from the files is told without TLC: `outline` refuses a model whose files cannot
  mean what it says, `lint` compares the whole manifest with the folder.
* An override must show. A violation shows it; where the model still holds, its counts must differ
  from those of its `baseline`, the same model without the override.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from kraftcheck.osutil.files import read_text, read_toml
from tla_utils.config import Config, written
from tla_utils.errors import ToolError, nearest, some
from tla_utils.model_table import KEYS, Run, read_runs
from tla_utils.overrides import (
    ModuleSource,
    check_overrides,
    find_module,
    read_module,
    read_modules,
)

# Folders beside the manifest in which modules lie; "" is the manifest's own.
FOLDERS = ("", "models", "bugs", "steps", "profiles")
OVERLAYS = "bugs"
"""The folder of modules with definitions that models put in the place of others."""
DEADLOCK = "deadlock"
DEFAULT_TIMEOUT_S = 600.0

# A name is also that of a file.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

Expectation = Literal["holds", "violated"]


@dataclass(frozen=True, slots=True)
class Model:
    """One model.

    property, length: only if violated: the property that must be the violated one ("deadlock" for a
    deadlock), and the number of states of its counterexample. distinct, depth, generated: only if
    it holds: TLC's counts; generated may be left out. Depth, length and generated are exact for one
    worker; with several they are not compared and may be left out. workers, heap_mb, timeout_s: how
    TLC is run.
    """

    name: str
    """unique."""
    folder: str
    """That of its table, from the manifest's; "" for the manifest's own."""
    module: str
    """The root module."""
    config: Config
    """Of which `cfg_text` makes a cfg."""
    tier: str
    """A word to select models by."""
    claim: str
    """One sentence on what the model shows."""
    expect: Expectation
    """"holds" or "violated"."""
    overlays: tuple[str, ...] = ()
    """Modules to extend beside it; then the root is generated."""
    deadlock: bool = False
    """Whether a state without successor is a violation."""
    property: str | None = None
    length: int | None = None
    distinct: int | None = None
    depth: int | None = None
    generated: int | None = None
    workers: int = 1
    heap_mb: int = 1024
    timeout_s: float = DEFAULT_TIMEOUT_S
    bug: str | None = None
    """The bug that the model has."""
    baseline: str | None = None
    """The model of the same bounds without the override."""
    shown_by: str | None = None
    """A model of the same module that replaces the same, and has a baseline: for overrides that
    serve a whole family of models, such as an order given up for symmetry.
    """
    profile: str | None = None
    """Of which implementation it has what that does otherwise."""
    control: bool = False
    """The violation is wanted and no bug (a reachability probe, a negative control)."""
    omits: Mapping[str, str] = field(default_factory=dict)
    """Required properties that are not checked here, each with the reason."""


def is_exact(model: Model) -> bool:
    """Whether TLC's depth and shortest counterexample are the same in every run of it."""
    return model.workers == 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """The models of one manifest file, in its order, by name."""

    path: Path
    models: Mapping[str, Model]
    folders: tuple[Path, ...]
    """Its own and those of included ones."""
    further: tuple[Path, ...] = ()
    """The folders that `libraries` name."""

    @property
    def root(self) -> Path:
        """The folder that the manifest and everything it names lie in."""
        return self.path.parent

    @property
    def libraries(self) -> list[Path]:
        """The folders with modules, in the order in which they are searched."""
        own = [folder / name for folder in self.folders for name in FOLDERS]
        return list(dict.fromkeys(path for path in (*own, *self.further) if path.is_dir()))

    def module_text(self, name: str) -> str:
        """The text of a module. Raises ToolError: there is none of this name."""
        path = find_module(name, self.libraries)
        if path is None:
            raise ToolError(f"no module {name} in the folders of {self.path}")
        return read_text(path)

    @property
    def tiers(self) -> list[str]:
        """Every tier that a model has, in order of first appearance."""
        return list(dict.fromkeys(model.tier for model in self.models.values()))

    def select(self, names: Collection[str] = (), tiers: Collection[str] = ()) -> list[Model]:
        """Return the models with these names or of these tiers, in the manifest's order.

        Without names and tiers all models are returned.

        Raises:
            ToolError: no model has a name or a tier; the message has the nearest one.
        """
        for name in names:
            if name not in self.models:
                raise ToolError(f"no model {name!r} in {self.path}{nearest(name, self.models)}")
        for tier in tiers:
            if tier not in self.tiers:
                raise ToolError(f"no model of tier {tier!r} in {self.path}; {some(self.tiers)}")
        chosen = [m for m in self.models.values() if m.name in names or m.tier in tiers]
        return chosen if names or tiers else list(self.models.values())


# -- Reading a manifest


def read_manifest(path: Path) -> Manifest:
    """The manifest in a file. Raises ToolError with one line that names the file and the model."""
    tables = [*_tables(path, "", ())]
    entries: dict[str, tuple[str, dict[str, Any]]] = {}
    folders: dict[str, str] = {}
    for table in tables:
        for name, row in table.rows.items():
            label = f"{table.path}: model {name!r}"
            if name in entries:
                raise ToolError(f"{label} is named twice")
            entries[name], folders[name] = (label, row), table.folder
    runs = read_runs(entries)
    models = {
        name: _read_model(name, folders[name], runs[name], row, label)
        for name, (label, row) in entries.items()
    }
    for name, model in models.items():
        for key in ("baseline", "shown_by"):
            other = getattr(model, key)
            if other is not None and other not in models:
                raise ToolError(f"{entries[name][0]}: no {key} {other!r}{nearest(other, models)}")
    further = [folder for table in tables for folder in table.further]
    own = tuple(table.path.parent for table in tables)
    return Manifest(path, models, own, tuple(dict.fromkeys(further)))


class _Table(NamedTuple):
    """A file: its folder, from the manifest's, its models, and the folders that it names."""

    path: Path
    folder: str
    rows: dict[str, dict[str, Any]]
    further: list[Path]


def _tables(path: Path, folder: str, including: tuple[Path, ...]) -> Iterator[_Table]:
    """The table in a file, and those that it includes."""
    try:
        rows = read_toml(path)
    except OSError as error:
        raise ToolError(f"the manifest {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ToolError(f"the manifest {path} is no TOML: {error}") from error
    named = [rows.pop("include", []), rows.pop("libraries", [])]
    if not all(isinstance(each, list) and all(isinstance(x, str) for x in each) for each in named):
        raise ToolError(f"{path}: include and libraries are lists of folders")
    include, libraries = named
    for name, row in rows.items():
        if not isinstance(row, dict):
            known = "write each model as a table [NAME]; beside them only include and libraries"
            raise ToolError(f"{path}: unknown key {name!r}; {known}")
    if path.resolve() in including:
        raise ToolError(f"{path}: includes itself")
    yield _Table(path, folder, rows, [_folder(path, name) for name in libraries])
    for name in include:
        inner = f"{folder}/{name}" if folder else name
        yield from _tables(_folder(path, name) / path.name, inner, (*including, path.resolve()))


def _folder(path: Path, name: str) -> Path:
    """A folder that the manifest names, beside it."""
    folder = Path(os.path.normpath(path.parent / name))
    if not folder.is_dir():
        raise ToolError(f"{path}: there is no folder {name}")
    return folder


_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("tier", "claim", "bug", "baseline", "shown_by", "profile"), (str,)),
    **dict.fromkeys(("workers", "heap_mb"), (int,)),
    "timeout_s": (int, float),
    **dict.fromkeys(("omits", "holds", "violates"), (dict,)),
}
_EXPECTED: dict[str, dict[str, tuple[type, ...]]] = {
    "holds": dict.fromkeys(("distinct", "depth", "generated"), (int,)),
    "violates": {"property": (str,), "length": (int,), "control": (bool,)},
}
_KIND: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    dict: "a table",
    float: "a number",
}


def _read_model(name: str, folder: str, run: Run, row: dict[str, Any], label: str) -> Model:
    own = {key: value for key, value in row.items() if key not in KEYS}
    _check(own, _TYPES, label, [*_TYPES, *KEYS])
    for key in ("tier", "claim"):
        if key not in own:
            raise ToolError(f"{label}: the key {key!r} is missing")
    if not _NAME.fullmatch(name):
        raise ToolError(f"{label}: a name is made of letters, digits, '.', '_' and '-'")
    expected = _expected(own, label)
    if not all(
        isinstance(reason, str) and reason.strip() for reason in own.get("omits", {}).values()
    ):
        raise ToolError(f"{label}: omits must be a table of reasons, not {own['omits']!r}")
    if "omits" in own and expected["expect"] == "violated":
        raise ToolError(f"{label}: omits says nothing of a model that is violated")
    model = Model(
        name=name,
        folder=folder,
        module=run.module,
        overlays=run.overlays,
        deadlock=run.deadlock,
        config=run.config,
        **own,
        **expected,
    )
    _check_numbers(model, label)
    return model


def _expected(own: dict[str, Any], label: str) -> dict[str, Any]:
    """What TLC must find, taken out of a model's table."""
    said = [key for key in _EXPECTED if key in own]
    if len(said) != 1:
        raise ToolError(f"{label}: say either what `holds` or what it `violates`")
    found = own.pop(said[0])
    _check(found, _EXPECTED[said[0]], f"{label}: {said[0]}", _EXPECTED[said[0]])
    return {"expect": "holds" if said[0] == "holds" else "violated", **found}


def _check(
    table: Mapping[str, Any],
    types: Mapping[str, tuple[type, ...]],
    label: str,
    known: Collection[str],
) -> None:
    for key, value in table.items():
        if key not in types:
            raise ToolError(f"{label}: unknown key {key!r}{nearest(key, known)}")
        if not _fits(value, types[key]):
            raise ToolError(f"{label}: {key} must be {_KIND[types[key][-1]]}, not {value!r}")


def _fits(value: object, types: tuple[type, ...]) -> bool:
    if isinstance(value, bool) or bool in types:
        return isinstance(value, bool) and bool in types
    if isinstance(value, str):
        return str in types and bool(value.strip())
    if isinstance(value, int | float):
        return isinstance(value, types) and value > 0
    return isinstance(value, types)


def _check_numbers(model: Model, label: str) -> None:
    """Each verdict has numbers that must be there."""
    wanted = ("property", "length") if model.expect == "violated" else ("distinct", "depth")
    inexact = () if is_exact(model) else ("depth", "length")
    for key in wanted:
        if getattr(model, key) is None and key not in inexact:
            word = "violates" if model.expect == "violated" else "holds"
            raise ToolError(f"{label}: {word}: the key {key!r} is missing")


# -- What the files say before TLC does


@dataclass(frozen=True, slots=True)
class Outline:
    """A model's configuration and modules as read: what it checks and replaces."""

    config: Config
    replaced: list[str]

    @property
    def checked(self) -> list[str]:
        """The invariants and properties of the model."""
        return [*self.config.invariants, *self.config.properties]


def outline(manifest: Manifest, model: Model) -> Outline:
    """Read the files of a model, and refuse a model whose result would mean nothing.

    Raises:
        ToolError: a file is missing; TLC would ignore an override or never finish it; the model
            checks nothing, or not the property that it expects to be violated; or an override has
            no effect. The message does not name the model.
    """
    roots = [model.module, *model.overlays]
    modules = read_modules(roots, manifest.libraries)
    result = Outline(model.config, check_overrides(model.config, roots, modules))
    _refuse_idle_overlays(model, result, modules)
    _refuse_empty_claims(model, result)
    if model.baseline is not None:
        _refuse_other_bounds(model, manifest.models[model.baseline])
    _refuse_unprovable_overrides(manifest, model, result)
    return result


def _refuse_idle_overlays(
    model: Model, files: Outline, modules: Mapping[str, ModuleSource]
) -> None:
    """An overlay is there to define what the cfg puts in place of something, or what it checks."""
    used = {right for _, _, right in files.config.substituted} | set(files.checked)
    for overlay in model.overlays:
        if not used & set(modules[overlay].definitions):
            raise ToolError(f"its configuration uses nothing that overlay {overlay} defines")


def _refuse_empty_claims(model: Model, files: Outline) -> None:
    if not files.checked and not model.deadlock:
        raise ToolError("there is no invariant and no property to check")
    expected = model.property
    if expected is None or (expected == DEADLOCK and model.deadlock):
        return
    if expected not in files.checked:
        raise ToolError(
            f"expects {expected} to be violated, but does not check it"
            f"{nearest(expected, files.checked)}"
        )


def _refuse_other_bounds(model: Model, base: Model) -> None:
    """A model and its baseline differ in what is replaced, and in nothing else that has a value."""
    mine, theirs = model.config.assigned, base.config.assigned
    for name in sorted(mine.keys() & theirs.keys()):
        if mine[name] != theirs[name]:
            raise ToolError(
                f"its baseline {base.name} has other bounds: {name} = {written(theirs[name])} "
                f"there, {written(mine[name])} here"
            )


def _refuse_unprovable_overrides(manifest: Manifest, model: Model, files: Outline) -> None:
    """Where a replacement is to leave the verdict alone, a baseline must show that it happened."""
    if not files.replaced or model.expect == "violated":
        return
    if model.shown_by is not None:
        _refuse_other_overrides(manifest, model, manifest.models[model.shown_by], files)
        return
    if model.baseline is None:
        raise ToolError(
            f"replaces {', '.join(files.replaced)} and is expected to hold: name the model "
            "without the replacement as its baseline, so that TLC's counts show the difference, "
            "or as shown_by one that replaces the same and has a baseline"
        )
    base = manifest.models[model.baseline]
    if base.module != model.module:
        raise ToolError(f"its baseline {base.name} has another module, {base.module}")
    if base.expect == "holds" and same_counts(model, base):
        raise ToolError(
            f"is stated to have the counts of its baseline {base.name}: "
            "then the override changes nothing"
        )


class Counts(Protocol):
    """What a model states of its states, and a result has found."""

    @property
    def distinct(self) -> int | None: ...
    @property
    def depth(self) -> int | None: ...
    @property
    def generated(self) -> int | None: ...


def same_counts(one: Counts, other: Counts) -> bool:
    """Whether two models, or a model and a result, have the same states as far as both say."""
    pairs = [(one.distinct, other.distinct), (one.depth, other.depth)]
    if one.generated is not None and other.generated is not None:
        pairs.append((one.generated, other.generated))
    return all(left == right for left, right in pairs)


def _refuse_other_overrides(manifest: Manifest, model: Model, shown: Model, files: Outline) -> None:
    """What one model and its baseline have shown, others may use: the very same replacements."""
    if shown.module != model.module or shown.baseline is None:
        raise ToolError(f"is shown by {shown.name}, which has another module or no baseline")
    theirs = shown.config.substituted
    extra = sorted({left for left, _, _ in set(files.config.substituted) - set(theirs)})
    if unshown := [name for name in extra if name in files.replaced]:
        raise ToolError(f"replaces {', '.join(unshown)}, which {shown.name} does not show")


# -- The manifest against the folder


def lint(manifest: Manifest, required: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the contradictions between manifest and modules, one line each; [] if there are none.

    Args:
        manifest: the models.
        required: by root module, the properties that every model expected to hold must check or
            list in `omits`.
    """
    complaints = [*_unlisted(manifest), *_ambiguous(manifest)]
    for model in manifest.models.values():
        try:
            files = outline(manifest, model)
        except ToolError as error:
            complaints.append(f"model {model.name}: {error}")
            continue
        told = [*_unexplained(model), *_unchecked(model, files, required)]
        complaints += [f"model {model.name}: {line}" for line in told]
    return complaints


def _unlisted(manifest: Manifest) -> Iterator[str]:
    """Of the modules of overlays what no model uses: all of one, or a definition."""
    overlays = {name for model in manifest.models.values() for name in model.overlays}
    roots = {model.module for model in manifest.models.values()}
    configs = [model.config for model in manifest.models.values()]
    used = {right for config in configs for _, _, right in config.substituted}
    used |= {name for config in configs for name in (*config.invariants, *config.properties)}
    for path in [each for of in manifest.folders for each in sorted((of / OVERLAYS).glob("*.tla"))]:
        place = os.path.relpath(path, manifest.root)
        if path.stem not in overlays | roots:
            yield f"{place} is in no model"
        elif path.stem not in roots:
            own = read_module(read_text(path)).definitions
            asked = used | {word for each in own.values() for word in each.words}
            yield from (f"{name} of {place} is in no model" for name in own if name not in asked)


def _ambiguous(manifest: Manifest) -> Iterator[str]:
    """Modules that are found in two folders: which one is meant is for the order to say."""
    found: dict[str, Path] = {}
    for path in [each for of in manifest.libraries for each in sorted(of.glob("*.tla"))]:
        if found.setdefault(path.name, path) != path:
            yield f"{path} has the name of {found[path.name]}"


def _unexplained(model: Model) -> Iterator[str]:
    if model.expect == "violated" and (model.bug is None) != model.control:
        yield "a violation is either that of a bug or a control: give `bug` or `control = true`"
    if model.overlays and model.bug is None and not model.control and model.baseline is None:
        yield "has overlays, but names neither a bug nor a baseline"


def _unchecked(
    model: Model, files: Outline, required: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    if model.expect == "violated":
        return
    if model.module not in required:
        yield f"nobody says which properties a model of {model.module} must check"
        return
    for name in required[model.module]:
        if name not in files.checked and name not in model.omits:
            yield f"checks neither {name} nor says in `omits` why not"
    for name in model.omits:
        if name not in required[model.module]:
            yield f"omits {name}, which nobody asks for{nearest(name, required[model.module])}"
        elif name in files.checked:
            yield f"omits {name}, but checks it"
