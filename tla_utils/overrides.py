"""Judge the substitutions of a cfg before TLC runs, from the text of the modules.

A bug, a bound or a wrong value on purpose is an operator replaced by another one. In a cfg that is
`Op <- [Module] NewOp`, and TLC has three ways to make nothing of it or to choke on it: a module
that does not define Op, an Op that is reached in a way TLC forgets (without `[Module]`), and a
replacement that calls what it replaces, which TLC evaluates for ever.

Law of this file: it reads as much TLA+ as it needs (headers, names of definitions, words in their
bodies) and judges by names alone. What it refuses is wrong; what it lets pass, TLC still parses.
Whether a substitution *changes* anything is seen in the run, not here (`models.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from kraftcheck.osutil.files import read_text
from tla_utils.config import Config
from tla_utils.errors import ToolError

_OUTSIDE = re.compile(r'"(?:\\.|[^"\\\n])*"|\(\*|\\\*[^\n]*')
_IN_COMMENT = re.compile(r"\(\*|\*\)")
_HEADER = re.compile(r"^\s*-{4,}\s*MODULE\s+(\w+)", re.MULTILINE)
_EXTENDS = re.compile(r"^\s*EXTENDS\s+(\w+(?:\s*,\s*\w+)*)", re.MULTILINE)
_INSTANCE = re.compile(r"(==\s*)?\bINSTANCE\s+(\w+)")
_CONSTANTS = re.compile(
    r"^\s*CONSTANTS?\s+((?:\w+(?:\s*\([\s_,]*\))?)(?:\s*,\s*\w+(?:\s*\([\s_,]*\))?)*)", re.MULTILINE
)
_DEFINITION = re.compile(
    r"^([ \t]*)(?:LOCAL\s+)?([A-Za-z_]\w*)\s*"
    r"(\((?:[^()]|\([^()]*\))*\))?(?:\[[^\]]*\])?\s*==(?!=)",
    re.MULTILINE,
)
# A name that is no field of a record: not behind a point, not in front of an arrow.
_WORD = re.compile(r"(?<![\w.!])[A-Za-z_]\w*(?!\w|\s*\|->)")
# And one that is; it is taken as a whole unless another point follows.
_FIELD = re.compile(r"\.\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*\|->")
_PATH = re.compile(r"\.\s*([A-Za-z_]\w*)(?=\s*\.\s*([A-Za-z_]\w*))")
# An entry of a function, named by a name or a field of one.
_ENTRY = re.compile(r"\.\s*([A-Za-z_]\w*)\s*\[\s*(\w+(?:\.\w+)*)\s*\]")
_WHOLE_FIELD = re.compile(r"\.\s*([A-Za-z_]\w*)\b(?!\s*\.)|([A-Za-z_]\w*)\s*\|->")


@dataclass(frozen=True, slots=True)
class Definition:
    """One top-level definition.

    It has the number of its parameters, the names in its body, those of fields of records there,
    which of these are not only a way to a field within, and the ways: (b, c) in a.b.c.
    """

    arity: int
    words: frozenset[str]
    fields: frozenset[str] = frozenset()
    whole_fields: frozenset[str] = frozenset()
    paths: frozenset[tuple[str, str]] = frozenset()
    entries: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Of fields that are mentioned as a[b] alone, a.b[c] among them, the indices, as they are
    written.
    """
    parameters: tuple[str, ...] = ()
    """Their names."""


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """What a module says about itself: names it builds on, declares and defines."""

    name: str
    extends: tuple[str, ...]
    instances: tuple[str, ...]
    unnamed: tuple[str, ...]
    """The instances whose operators have no name before them."""
    constants: frozenset[str]
    definitions: Mapping[str, Definition]


@lru_cache(maxsize=256)
def read_module(text: str) -> ModuleSource:
    """The outline of a module's text. Models share most of theirs: each is read once."""
    bare = _without_comments(text)
    header, extends = _HEADER.search(bare), _EXTENDS.search(bare)
    declared = [re.sub(r"\([^)]*\)", "", found) for found in _CONSTANTS.findall(bare)]
    return ModuleSource(
        name=header.group(1) if header else "",
        extends=tuple(re.findall(r"\w+", extends.group(1))) if extends else (),
        instances=tuple([of for _, of in _INSTANCE.findall(bare)]),
        unnamed=tuple([of for named, of in _INSTANCE.findall(bare) if not named]),
        constants=frozenset(name for names in declared for name in re.findall(r"\w+", names)),
        definitions=_definitions(bare),
    )


def read_modules(names: Iterable[str], folders: Sequence[Path]) -> dict[str, ModuleSource]:
    """Read modules and all modules that they extend or instantiate, if the folders have them.

    The standard modules are TLC's own.

    Raises:
        ToolError: one of the named modules is in no folder, or cannot be read.
    """
    named = list(names)
    texts = module_texts(named, folders)
    for name in named:
        if name not in texts:
            looked = ", ".join(str(folder) for folder in folders)
            raise ToolError(f"there is no module {name} in {looked}")
    return {name: read_module(text) for name, text in texts.items()}


def module_texts(
    names: Iterable[str], folders: Sequence[Path], beside: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Give the texts of the named modules and all they extend or instantiate, by name.

    They are given `beside` or lie in the folders; others are TLC's own. Raises ToolError: one
    cannot be read.
    """
    texts: dict[str, str] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in texts:
            continue
        path = find_module(name, folders)
        if beside is not None and name in beside:
            texts[name] = beside[name]
        elif path is not None:
            try:
                texts[name] = read_text(path)
            except (OSError, UnicodeDecodeError) as error:
                raise ToolError(f"the module {path} cannot be read: {error}") from error
        else:
            continue
        module = read_module(texts[name])
        waiting += [*module.extends, *module.instances]
    return texts


def find_module(name: str, folders: Sequence[Path]) -> Path | None:
    """The file of a module, in the first folder that has it."""
    candidates = (folder / f"{name}.tla" for folder in folders)
    return next((path for path in candidates if path.is_file()), None)


def check_overrides(
    config: Config, roots: Sequence[str], modules: Mapping[str, ModuleSource]
) -> list[str]:
    """Refuse substitutions that TLC would ignore or never finish.

    Args:
        config: the cfg.
        roots: the root module and its overlays.
        modules: these and all modules that they build on.

    Returns:
        The replaced operators. A constant that gets its value by `Constant <- Operator`, and an
        operator of a standard module, do not count.

    Raises:
        ToolError: a substitution is refused.
    """
    replaced: dict[str, str] = {}
    for left, module, right in config.substituted:
        owner = _owner(left, module, roots, modules)
        new = _replacement(left, right, modules)
        if owner is None:
            continue
        old = modules[owner].definitions[left]
        if new.arity != old.arity:
            raise ToolError(
                f"{right} takes {new.arity} arguments, but {left} of {owner}, which it is to "
                f"replace, takes {old.arity}"
            )
        replaced[left] = right
    for left, right in replaced.items():
        _refuse_recursion(left, right, replaced, modules)
    return sorted(replaced)


def _owner(
    left: str, module: str | None, roots: Sequence[str], modules: Mapping[str, ModuleSource]
) -> str | None:
    """The module of ours whose definition is replaced; None for constants and foreign modules."""
    defining = sorted(name for name, source in modules.items() if left in source.definitions)
    if module is None:
        if any(left in source.constants for source in modules.values()) or not defining:
            return None
        # With overlays the root is generated, and nothing is defined in it.
        if len(roots) == 1 and roots[0] in defining:
            return roots[0]
        raise ToolError(
            f"TLC may silently ignore {left} <- ..., as {left} is of another module: "
            f"write {left} <- [{defining[0]}] ..."
        )
    if module in defining:
        return module
    if defining:
        raise ToolError(
            f"{left} <- [{module}] ... replaces nothing: {module} does not define {left}, "
            f"{defining[0]} does"
        )
    if module in modules:
        names = get_close_matches(left, modules[module].definitions, 1)
        hint = f"; nearest: {names[0]}" if names else ""
        raise ToolError(f"{left} <- [{module}] ...: {module} does not define {left}{hint}")
    return None


def _replacement(left: str, right: str, modules: Mapping[str, ModuleSource]) -> Definition:
    for source in modules.values():
        if right in source.definitions:
            return source.definitions[right]
    known = [name for source in modules.values() for name in source.definitions]
    names = get_close_matches(right, known, 1)
    hint = f"; nearest: {names[0]}" if names else ""
    raise ToolError(f"{left} <- {right}: no module of this model defines {right}{hint}")


def _refuse_recursion(
    left: str, right: str, replaced: Mapping[str, str], modules: Mapping[str, ModuleSource]
) -> None:
    """A replacement that reaches what it replaces, itself or through others, never returns."""
    bodies: dict[str, set[str]] = {}
    for source in modules.values():
        for name, definition in source.definitions.items():
            bodies.setdefault(name, set()).update(definition.words)
    waiting = [[right]]
    seen = {right}
    while waiting:
        path = waiting.pop(0)
        for word in sorted(bodies.get(path[-1], ())):
            if word == left:
                raise ToolError(
                    f"{right} calls {' -> '.join([*path[1:], left])}, which it replaces: TLC "
                    "would evaluate it for ever"
                )
            called = replaced.get(word, word)
            if called in bodies and called not in seen:
                seen.add(called)
                waiting.append([*path, called])


def _without_comments(text: str) -> str:
    """The text without comments (they nest) and with empty strings; line breaks stay."""
    kept: list[str] = []
    depth, position = 0, 0
    while token := (_IN_COMMENT if depth else _OUTSIDE).search(text, position):
        between = text[position : token.start()]
        kept.append("\n" * between.count("\n") if depth else between)
        position = token.end()
        if token.group() == "(*":
            depth += 1
        elif token.group() == "*)":
            depth -= 1
        elif token.group()[0] == '"':
            kept.append('""')
    if depth == 0:
        kept.append(text[position:])
    return "".join(kept)


def _definitions(bare: str) -> dict[str, Definition]:
    """The top-level definitions: those with the smallest indentation; deeper ones are LETs."""
    found = list(_DEFINITION.finditer(bare))
    margin = min((len(match.group(1).expandtabs()) for match in found), default=0)
    top = [match for match in found if len(match.group(1).expandtabs()) == margin]
    ends = [match.start() for match in top[1:]] + [len(bare)] * bool(top)
    return {
        match.group(2): Definition(
            arity=_arity(match.group(3) or ""),
            words=frozenset(_WORD.findall(bare[match.end() : end])),
            fields=_fields(_FIELD, bare[match.end() : end]),
            whole_fields=_fields(_WHOLE_FIELD, bare[match.end() : end]),
            paths=frozenset(_PATH.findall(bare[match.end() : end])),
            entries=_entries(bare[match.end() : end]),
            parameters=tuple(re.findall(r"\w+", match.group(3) or "")),
        )
        for match, end in zip(top, ends, strict=True)
    }


def _fields(pattern: re.Pattern[str], body: str) -> frozenset[str]:
    return frozenset(behind or in_front for behind, in_front in pattern.findall(body))


def _entries(body: str) -> dict[str, frozenset[str]]:
    """The indices of fields that are mentioned in no other way."""
    indexed = [match.groups() for match in _ENTRY.finditer(body)]
    mentioned = Counter(behind or in_front for behind, in_front in _FIELD.findall(body))
    times = Counter(name for name, _ in indexed)
    return {
        name: frozenset(index for of, index in indexed if of == name)
        for name in sorted(times)
        if times[name] == mentioned[name]
    }


def _arity(parameters: str) -> int:
    # The inner brackets are those of operator parameters: Op(F(_, _), x) takes two.
    outer = re.sub(r"\([^()]*\)", "", parameters[1:-1])
    return outer.count(",") + 1 if outer.strip() else 0
