"""What each field of a state or a message means, as its declaration says it.

The text beside a field in the core is an attribute docstring, which Python drops. It is read from
the source, for people who map their own names onto these. So is what the docstring of a class says
of its fields ("first, last: offsets of its records."). A name that means the same in every protocol
is explained once, in meanings.toml; a declaration that says more takes precedence.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Collection, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from kraftcheck.osutil.files import read_toml

_HEAD: Final = re.compile(r"(?<![\w.])(\w+(?:, \w+)*): ")


@cache
def common() -> Mapping[str, str]:
    """By a field's name, in snake case."""
    return read_toml(Path(__file__).with_suffix(".toml"))


@cache
def meanings(struct: type[msgspec.Struct]) -> Mapping[str, str]:
    """By field, in snake case; fields that nothing is said of are absent."""
    names = [field.name for field in msgspec.structs.fields(struct)]
    found = {name: common()[name] for name in names if name in common()}
    for each in reversed(struct.__mro__):
        if issubclass(each, msgspec.Struct) and each is not msgspec.Struct:
            found |= _own(each)
    return found


def _own(struct: type[msgspec.Struct]) -> dict[str, str]:
    body = _classes(struct.__module__).get(struct.__qualname__)
    if body is None:
        return {}
    beside = {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(body.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
    return above(ast.get_docstring(body) or "", struct.__struct_fields__) | beside


def above(docstring: str, fields: Collection[str]) -> dict[str, str]:
    """Read what the docstring of a class says of its fields ("name, name: meaning.")."""
    text = " ".join(docstring.split())
    heads = [
        (match, names)
        for match in _HEAD.finditer(text)
        if (names := match.group(1).split(", ")) and set(names) <= {*fields}
    ]
    ends = [*(match.start() for match, _ in heads), len(text)][1:]
    said = dict[str, str]()
    for (match, names), end in zip(heads, ends, strict=bool(heads)):
        meaning = text[match.end() : end].strip().rstrip(";,")
        said |= dict.fromkeys(names, f"{meaning[:1].upper()}{meaning[1:]}".removesuffix(".") + ".")
    return said


@cache
def _classes(module: str) -> Mapping[str, ast.ClassDef]:
    """The classes of a module, by name; none of one without a source."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):
        return {}
    return {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
