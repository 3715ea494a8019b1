"""A substitution of one's own on the side of the specs: an overlay from a file, like a bug's.

The module extends the one whose operators it replaces, and defines each replacement under a prefix
of its own and the operator's name (docs/try.md): `Mine_LogOk(row, m) == ...` for `LogOk`. The
kit's models of that protocol are then checked with it in the operator's place: by their cfg where
they extend the module. Models of protocols that instantiate it (voters have the quorum's rules
under each set) get a copy of the module with the replacement in its text.

Law of this file: nothing is written to the kit. What TLC would ignore or evaluate for ever is
refused before it runs; a model that replaces the operator itself is left out and named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from threading import Lock

from kraftcheck import artifacts
from kraftcheck.exits import BadInput
from kraftcheck.osutil.files import read_text
from tla_utils import Manifest, Model, StepFrame, ToolError
from tla_utils.config import cfg_text, read_config
from tla_utils.definitions import definition, definitions, renamed
from tla_utils.overrides import (
    ModuleSource,
    check_overrides,
    find_module,
    read_module,
    read_modules,
)

_PREFIXED = re.compile(r"([A-Za-z][A-Za-z0-9]*)_(\w+)")
_JOINING = Lock()
"""Batches of steps are judged side by side, and each asks for its module."""
_COMMENT = re.compile(r"\(\*.*?\*\)|\\\*[^\n]*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class OwnOverlay:
    """An overlay that can be used."""

    path: Path
    module: str
    replaced: Mapping[str, tuple[str, str]]
    """By operator, the module that defines it and the definition that takes its place."""

    @property
    def lines(self) -> str:
        """What a cfg needs to put the replacements in place."""
        put = (f"  {old} <- [{owner}] {new}\n" for old, (owner, new) in self.replaced.items())
        return "CONSTANTS\n" + "".join(put)


def read_overlay(path: Path, manifest: Manifest) -> OwnOverlay:
    """Read and judge a file. Raises BadInput, with the reason in one line."""
    text = text_of(path)
    name = path.stem
    # Ours come first, as TLC must not find another module of the same name.
    modules = read_modules([name], [path.parent, *manifest.libraries])
    if modules[name].name != name:
        raise BadInput(f"{path} is to begin with MODULE {name}, as its file is named")
    if find_module(name, manifest.libraries) is not None:
        raise BadInput(f"{path}: the kit has a module {name} already; choose another name")
    kit = {key: module for key, module in modules.items() if key != name}
    operators = {each: key for key, module in kit.items() for each in module.definitions}
    replaced = dict(_replacements(path, text, operators, modules))
    if not replaced:
        raise BadInput(f"{path} changes nothing: it defines no Prefix_Operator of what it extends")
    folders = [*manifest.libraries]
    same = [old for old, (of, new) in replaced.items() if _is_same(text, old, of, new, folders)]
    if len(same) == len(replaced):
        raise BadInput(f"{path} changes nothing: {', '.join(same)} says what the correct one says")
    found = OwnOverlay(path, name, replaced)
    try:
        check_overrides(read_config(found.lines), [name], modules)
    except ToolError as error:
        raise BadInput(f"{path}: {error}") from None
    return found


def text_of(path: Path) -> str:
    """Raises BadInput: it is no module, or cannot be read."""
    if path.suffix != ".tla":
        raise BadInput(f"{path} is no module: its name must end in .tla")
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"{path} cannot be read: {said}") from None


def _replacements(
    path: Path, text: str, operators: Mapping[str, str], modules: Mapping[str, ModuleSource]
) -> Iterator[tuple[str, tuple[str, str]]]:
    """(operator, (its module, what takes its place)) of every prefixed definition."""
    extended = ", ".join(modules[path.stem].extends) or "nothing"
    for each in definitions(text):
        prefixed = _PREFIXED.fullmatch(each.name)
        if prefixed is None:
            continue
        old = prefixed[2]
        if old not in operators:
            near = get_close_matches(old, operators, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise BadInput(
                f"{path}: {each.name} is to replace {old}, which no module defines that it "
                f"builds on ({extended}){hint}"
            )
        yield old, (operators[old], each.name)


def _is_same(text: str, old: str, owner: str, new: str, folders: list[Path]) -> bool:
    """Whether a replacement is the original, but for blanks and comments."""
    where = find_module(owner, folders)
    if where is None:
        return False
    before = definition(read_text(where), old).text
    after = renamed(definition(text, new), new, old)
    return _words(before) == _words(after)


def _words(text: str) -> str:
    return "".join(_COMMENT.sub(" ", text).split())


# -- Copies of modules


def copied(own: OwnOverlay, folders: Sequence[Path], place: Path) -> Path:
    """A folder with copies of the modules whose operators are replaced, the replacements in them.

    A replacement stands where the original stood, so it can use what is defined before that.
    """
    text = text_of(own.path)
    mine = {new: old for old, (_, new) in own.replaced.items()}
    helpers = [each.text for each in definitions(text) if each.name not in mine]
    standard = [m for m in read_module(text).extends if find_module(m, folders) is None]
    target = place / "modules"
    for module in dict.fromkeys(owner for owner, _ in own.replaced.values()):
        where = find_module(module, folders)
        assert where is not None, f"{module} has operators that are replaced"
        copy = read_text(where)
        originals = [definition(copy, old) for old, by in own.replaced.items() if by[0] == module]
        for at in sorted(originals, key=lambda each: each.start, reverse=True):
            new = own.replaced[at.name][1]
            lines = [*(helpers if at == min(originals, key=lambda e: e.start) else ())]
            lines.append(renamed(definition(text, new), new, at.name))
            copy = copy[: at.start] + "\n\n".join(lines) + copy[at.end :]
        for each in standard:
            copy = re.sub(r"^EXTENDS ", f"EXTENDS {each}, ", copy, count=1, flags=re.MULTILINE)
        with _JOINING:
            target.mkdir(exist_ok=True)
            artifacts.write_whole(target / f"{module}.tla", copy)
    return target


# -- The steps of runs


def under(own: OwnOverlay, place: Path, frame: StepFrame) -> StepFrame:
    """The frame with the replacements in it, as far as its modules have the operators.

    place: a folder for the module that joins them.
    """
    known = read_modules([frame.module], frame.libraries)
    mine = {old: by for old, by in own.replaced.items() if by[0] in known}
    if not mine:
        return frame
    if not {owner for owner, _ in mine.values()} <= _extended(frame.module, known):
        folder = copied(own, frame.libraries, place)
        return replace(frame, libraries=[folder, *frame.libraries])
    joined = f"With{frame.module}"
    text = f"---- MODULE {joined} ----\nEXTENDS {frame.module}, {own.module}\n====\n"
    with _JOINING:
        if not (place / f"{joined}.tla").exists():
            artifacts.write_whole(place / f"{joined}.tla", text)
    return replace(
        frame,
        module=joined,
        libraries=[*frame.libraries, place, own.path.parent],
        constants=frame.constants + replace(own, replaced=mine).lines,
    )


# -- The models


def models_for(own: OwnOverlay, manifest: Manifest, tiers: list[str]) -> list[Model]:
    """The correct models of these tiers that have every replaced operator.

    Raises BadInput: there is none. ToolError: there is no such tier.
    """
    found = [
        model
        for model in manifest.select(tiers=tiers)
        if model.expect == "holds" and not model.overlays and has(own, manifest, model)
    ]
    if not found:
        raise BadInput(f"no model of tier {', '.join(tiers)} uses {', '.join(own.replaced)}")
    return found


def unsuitable(own: OwnOverlay, model: Model) -> str:
    """Why a model cannot have the replacement; empty if it can."""
    put = {old: new for old, _, new in model.config.substituted if old in own.replaced}
    taken = ", ".join(f"{new} in the place of {old}" for old, new in sorted(put.items()))
    return f"the kit checks it with {taken}" if taken else ""


def has(own: OwnOverlay, manifest: Manifest, model: Model) -> bool:
    """Whether the model has all operators that are replaced, as its own or instantiated."""
    known = read_modules([model.module], manifest.libraries)
    return all(
        owner in known and old in known[owner].definitions
        for old, (owner, _) in own.replaced.items()
    )


def is_instantiated(own: OwnOverlay, manifest: Manifest, model: Model) -> bool:
    """Whether the model instantiates a module whose operators are replaced.

    It has constants of its own there, which an overlay that extends the module would lack
    (`copied`).
    """
    known = read_modules([model.module], manifest.libraries)
    return not {owner for owner, _ in own.replaced.values()} <= _extended(model.module, known)


def _extended(root: str, known: Mapping[str, ModuleSource]) -> set[str]:
    """The module and all that it extends."""
    extended, waiting = set[str](), [root]
    while waiting:
        name = waiting.pop()
        if name in known and name not in extended:
            extended.add(name)
            waiting += known[name].extends
    return extended


def cfg_with(own: OwnOverlay, manifest: Manifest, model: Model) -> str:
    """The model's cfg with the replacements in it. Raises ToolError: TLC would not finish."""
    cfg = cfg_text(model.config) + own.lines
    folders = [*manifest.libraries, own.path.parent]
    roots = [model.module, own.module]
    check_overrides(read_config(cfg), roots, read_modules(roots, folders))
    return cfg
