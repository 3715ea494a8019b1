"""A manifest of TLC models, each with the verdict it is expected to give.

A manifest is a TOML file of `[[model]]` tables beside the modules. A model says which module and
cfg it is, and what TLC must find: that it *holds*, with exact counts of states and depth, or that a
named property is *violated* by a counterexample of exact length. So a bug that is no longer found
and a bound that shrank unnoticed are failures like any other. `models.py` runs them.

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
from dataclasses import MISSING, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from kraftcheck.osutil.files import read_text, read_toml
from tla_utils.config import Config, read_config
from tla_utils.errors import ToolError
from tla_utils.overrides import ModuleSource, check_overrides, find_module, read_modules

# Folders beside the manifest in which modules and cfgs lie; "" is the manifest's own.
FOLDERS = ("", "models", "bugs", "steps", "stories", "profiles")
CFG_FOLDERS = ("models", "bugs", "profiles")
DEADLOCK = "deadlock"
DEFAULT_TIMEOUT_S = 600.0

# `Constant = value` in a cfg, where a value is a set, a string or a word; and its comments.
_VALUE = re.compile(r"(\w+)\s*=\s*(\{[^{}]*\}|\"[^\"]*\"|[^\s=]+)")
_REMARK = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)", re.DOTALL)
# A name is also that of a file.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

Expectation = Literal["holds", "violated"]


@dataclass(frozen=True, slots=True)
class Model:
    """One `[[model]]` table.

    name: unique. module: the root module. overlays: modules to extend beside it; then the root is
    generated. config: the cfg, relative to the manifest. tier: a word to select models by.
    claim: one sentence on what the model shows.
    expect: "holds" or "violated". property, length: only if violated: the property that must be
    the violated one ("deadlock" for a deadlock), and the number of states of its counterexample.
    distinct, depth, generated: only if it holds: TLC's counts; generated may be left out.
    Depth, length and generated are exact for one worker; with several they are not compared and
    may be left out.
    workers, heap_mb, timeout_s: how TLC is run. deadlock: whether a state without successor is a
    violation.
    bug: the bug that the model has. baseline: the model of the same bounds without the override.
    shown_by: a model of the same module that replaces the same, and has a baseline: for overrides
    that serve a whole family of models, such as an order given up for symmetry.
    control: the violation is wanted and no bug (a reachability probe, a negative control).
    omits: required properties that are not checked here, each with the reason.
    """

    name: str
    module: str
    config: str
    tier: str
    claim: str
    expect: Expectation
    overlays: tuple[str, ...] = ()
    property: str | None = None
    length: int | None = None
    distinct: int | None = None
    depth: int | None = None
    generated: int | None = None
    workers: int = 1
    heap_mb: int = 1024
    timeout_s: float = DEFAULT_TIMEOUT_S
    deadlock: bool = False
    bug: str | None = None
    baseline: str | None = None
    shown_by: str | None = None
    control: bool = False
    omits: Mapping[str, str] = field(default_factory=dict)


def is_exact(model: Model) -> bool:
    """Whether TLC's depth and shortest counterexample are the same in every run of it."""
    return model.workers == 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """The models of one manifest file, in its order, by name.

    folders: its own and those of included ones. further: the folders that `libraries` name.
    """

    path: Path
    models: Mapping[str, Model]
    folders: tuple[Path, ...]
    further: tuple[Path, ...] = ()

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
        """The models with these names or of these tiers, in the manifest's order; all without any.

        Raises ToolError for a name or a tier that no model has, with the nearest that one has.
        """
        for name in names:
            if name not in self.models:
                raise ToolError(f"no model {name!r} in {self.path}{nearest(name, self.models)}")
        for tier in tiers:
            if tier not in self.tiers:
                raise ToolError(f"no model of tier {tier!r} in {self.path}; {_list(self.tiers)}")
        chosen = [m for m in self.models.values() if m.name in names or m.tier in tiers]
        return chosen if names or tiers else list(self.models.values())


# -- Reading a manifest


def read_manifest(path: Path, _including: tuple[Path, ...] = ()) -> Manifest:
    """The manifest in a file. Raises ToolError with one line that names the file and the model."""
    try:
        tables = read_toml(path)
    except OSError as error:
        raise ToolError(f"the manifest {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ToolError(f"the manifest {path} is no TOML: {error}") from error
    rows = tables.pop("model", [])
    named = [tables.pop("include", []), tables.pop("libraries", [])]
    if tables:
        known = "only [[model]], include and libraries are known"
        raise ToolError(f"{path}: unknown key {next(iter(tables))!r}; {known}")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ToolError(f"{path}: write each model as a table [[model]]")
    if not all(isinstance(each, list) and all(isinstance(x, str) for x in each) for each in named):
        raise ToolError(f"{path}: include and libraries are lists of folders")
    include, libraries = named
    if path.resolve() in _including:
        raise ToolError(f"{path}: includes itself")
    every = [
        (f"{path}: model {row.get('name', f'number {number}')!r}", row)
        for number, row in enumerate(rows, start=1)
    ]
    read = [(label, _read_model(row, label)) for label, row in every]
    folders, further = [path.parent], [_folder(path, name) for name in libraries]
    for name in include:
        inner = read_manifest(_folder(path, name) / path.name, (*_including, path.resolve()))
        folders += inner.folders
        further += inner.further
        for model in inner.models.values():
            label = f"{inner.path}: model {model.name!r}"
            read.append((label, replace(model, config=f"{name}/{model.config}")))
    models: dict[str, Model] = {}
    for label, model in read:
        if model.name in models:
            raise ToolError(f"{label} is named twice")
        models[model.name] = model
    for model in models.values():
        for key in ("baseline", "shown_by"):
            other = getattr(model, key)
            if other is not None and other not in models:
                known = nearest(other, models)
                raise ToolError(f"{path}: model {model.name!r}: no {key} {other!r}{known}")
    return Manifest(path, models, tuple(folders), tuple(dict.fromkeys(further)))


def _folder(path: Path, name: str) -> Path:
    """A folder that the manifest names, beside it."""
    folder = Path(os.path.normpath(path.parent / name))
    if not folder.is_dir():
        raise ToolError(f"{path}: there is no folder {name}")
    return folder


_REQUIRED = [f.name for f in fields(Model) if f.default is f.default_factory is MISSING]
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("name", "module", "config", "tier", "claim", "expect"), (str,)),
    **dict.fromkeys(("property", "bug", "baseline", "shown_by"), (str,)),
    **dict.fromkeys(("length", "distinct", "depth", "generated", "workers", "heap_mb"), (int,)),
    **dict.fromkeys(("deadlock", "control"), (bool,)),
    "timeout_s": (int, float),
    "overlays": (list,),
    "omits": (dict,),
}
_KIND: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    list: "a list of names",
}
_KIND |= {dict: "a table of reasons", float: "a number"}


def _read_model(row: dict[str, Any], label: str) -> Model:
    for key, value in row.items():
        if key not in _TYPES:
            raise ToolError(f"{label}: unknown key {key!r}{nearest(key, _TYPES)}")
        if not _fits(value, _TYPES[key]):
            raise ToolError(f"{label}: {key} must be {_KIND[_TYPES[key][-1]]}, not {value!r}")
    for key in _REQUIRED:
        if key not in row:
            raise ToolError(f"{label}: the key {key!r} is missing")
    model = Model(**{**row, "overlays": tuple(row.get("overlays", ()))})
    if not _NAME.fullmatch(model.name):
        raise ToolError(f"{label}: a name is made of letters, digits, '.', '_' and '-'")
    if model.expect not in get_args(Expectation):
        raise ToolError(f"{label}: expect must be 'holds' or 'violated', not {model.expect!r}")
    _check_expectation(model, row, label)
    return model


def _fits(value: object, types: tuple[type, ...]) -> bool:
    if isinstance(value, bool) or bool in types:
        return isinstance(value, bool) and bool in types
    if isinstance(value, str):
        return str in types and bool(value.strip())
    if isinstance(value, int | float):
        return isinstance(value, types) and value > 0
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, types) and all(isinstance(p, str) and p.strip() for p in parts)


def _check_expectation(model: Model, row: Collection[str], label: str) -> None:
    """Each verdict has numbers of its own; the other's would be a claim nobody checks."""
    of_violation, of_holding = ("property", "length"), ("distinct", "depth")
    wanted: tuple[str, ...] = of_holding
    other: tuple[str, ...] = (*of_violation, "control")
    if model.expect == "violated":
        wanted, other = of_violation, (*of_holding, "generated", "omits")
    for key in other:
        if key in row:
            raise ToolError(f"{label}: {key} says nothing of a model that is {model.expect}")
    inexact = () if is_exact(model) else ("depth", "length")
    for key in wanted:
        if key not in row and key not in inexact:
            raise ToolError(f"{label}: expects {model.expect!r}, so the key {key!r} is missing")


def nearest(name: str, known: Collection[str]) -> str:
    """A hint for a misspelt name: the nearest known ones, or all if there are few."""
    close = get_close_matches(name, list(known), 3, 0.5)
    return f"; nearest: {', '.join(close)}" if close else f"; {_list(known)}"


def _list(known: Collection[str]) -> str:
    shown = list(known)[:12]
    more = ", ..." if len(known) > len(shown) else ""
    return f"there are: {', '.join(shown)}{more}" if shown else "there are none"


# -- What the files say before TLC does


@dataclass(frozen=True, slots=True)
class Outline:
    """A model's cfg and modules as read: what it checks, replaces and sets."""

    config: Config
    replaced: list[str]
    root_path: Path

    @property
    def checked(self) -> list[str]:
        """The invariants and properties of the cfg."""
        return [*self.config.invariants, *self.config.properties]


def outline(manifest: Manifest, model: Model) -> Outline:
    """Read the files of a model, and refuse it if they cannot mean what the manifest says.

    Raises ToolError: a file is missing, an override is one that TLC would ignore or never finish,
    the model checks nothing, or not the property it expects to be violated, or has an override
    that could not be told from none. The message does not name the model.
    """
    roots = [model.module, *model.overlays]
    modules = read_modules(roots, manifest.libraries)
    text = _read_cfg(manifest, model)
    config = read_config(text)
    root = find_module(model.module, manifest.libraries)
    assert root is not None, "read_modules has found it"
    result = Outline(config, check_overrides(config, roots, modules), root)
    _refuse_idle_overlays(model, result, modules)
    _refuse_empty_claims(model, result)
    if model.baseline is not None:
        _refuse_other_bounds(text, manifest, manifest.models[model.baseline])
    _refuse_unprovable_overrides(manifest, model, result)
    return result


def _read_cfg(manifest: Manifest, model: Model) -> str:
    path = manifest.root / model.config
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise ToolError(f"the cfg {path} cannot be read: {said}") from error


def _refuse_idle_overlays(
    model: Model, files: Outline, modules: Mapping[str, ModuleSource]
) -> None:
    """An overlay is there to define what the cfg puts in place of something, or what it checks."""
    used = {right for _, _, right in files.config.substituted} | set(files.checked)
    for overlay in model.overlays:
        if not used & set(modules[overlay].definitions):
            raise ToolError(f"the cfg {model.config} uses nothing that overlay {overlay} defines")


def _refuse_empty_claims(model: Model, files: Outline) -> None:
    if not files.checked and not model.deadlock:
        raise ToolError(f"the cfg {model.config} has no invariant and no property to check")
    expected = model.property
    if expected is None or (expected == DEADLOCK and model.deadlock):
        return
    if expected not in files.checked:
        raise ToolError(
            f"expects {expected} to be violated, but the cfg {model.config} does not check it"
            f"{nearest(expected, files.checked)}"
        )


def _refuse_other_bounds(cfg: str, manifest: Manifest, base: Model) -> None:
    """A model and its baseline differ in what is replaced, and in nothing else that has a value."""
    mine, theirs = _values(cfg), _values(_read_cfg(manifest, base))
    for name in sorted(mine.keys() & theirs.keys()):
        if mine[name] != theirs[name]:
            raise ToolError(
                f"its baseline {base.name} has other bounds: {name} = {theirs[name]} there, "
                f"{mine[name]} here"
            )


def _values(cfg: str) -> dict[str, str]:
    return {name: " ".join(value.split()) for name, value in _VALUE.findall(_REMARK.sub(" ", cfg))}


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
    theirs = read_config(_read_cfg(manifest, shown)).substituted
    extra = sorted({left for left, _, _ in set(files.config.substituted) - set(theirs)})
    if unshown := [name for name in extra if name in files.replaced]:
        raise ToolError(f"replaces {', '.join(unshown)}, which {shown.name} does not show")


# -- The manifest against the folder


def lint(manifest: Manifest, required: Mapping[str, Sequence[str]]) -> list[str]:
    """Everything that manifest, cfgs and modules say differently, one line each; [] if in order.

    required: for each root module the properties that every model of it that is expected to hold
    must check, or name in `omits`.
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
    """Files that no model uses; a cfg that a model names but is missing is told by `outline`."""
    named = {(manifest.root / model.config).resolve() for model in manifest.models.values()}
    for folder in [of / name for of in manifest.folders for name in CFG_FOLDERS]:
        for path in sorted(folder.glob("**/*.cfg")):
            if path.resolve() not in named:
                yield f"{os.path.relpath(path, manifest.root)} is the cfg of no model"
    overlays = {name for model in manifest.models.values() for name in model.overlays}
    roots = {model.module for model in manifest.models.values()}
    for path in [each for of in manifest.folders for each in sorted((of / "bugs").glob("*.tla"))]:
        if path.stem not in overlays | roots:
            yield f"{os.path.relpath(path, manifest.root)} is in no model"


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
            yield f"omits {name}, but its cfg checks it"
