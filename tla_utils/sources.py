"""What a model is made from, as one digest: the texts of its modules, and what its cfg says.

Law of this file: remarks, blank lines and blanks at the end of a line make no difference, since
they make none to TLC; nor do the overlays of other bugs.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from tla_utils.config import cfg_text, read_config
from tla_utils.definitions import definitions
from tla_utils.overrides import find_module, read_module

OVERLAYS: Final = "bugs"
"""The folder whose modules have definitions only, to be put in the place of others."""
_WORD: Final = re.compile(r"\w+")
REMARK: Final = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)", re.DOTALL)


def source_digest(modules: Iterable[str], cfg: str, libraries: Sequence[Path]) -> str:
    """sha256 over the normal form of a cfg, these modules and all that they extend or instantiate,
    as far as they lie in `libraries`; others are TLC's own. Raises OSError."""
    texts: dict[str, str] = {}
    overlays: list[str] = []
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        path = find_module(name, libraries)
        if name not in texts and path is not None:
            texts[name] = path.read_text(encoding="utf-8")
            module = read_module(texts[name])
            waiting += [*module.extends, *module.instances]
            overlays += [name] * (path.parent.name == OVERLAYS)
    texts[""] = cfg_text(read_config(cfg))
    for name in overlays:
        beside = (text for other, text in texts.items() if other != name)
        texts[name] = _asked(texts[name], {word for text in beside for word in _words(text)})
    told = [_without_remarks(texts[name]) for name in sorted(texts)]
    return sha256("\0".join(told).encode()).hexdigest()


def _asked(text: str, words: Container[str]) -> str:
    """Of a module that has definitions only, what it extends and those that are asked for by these
    words, or by one another.

    The overlays of a protocol's bugs are one module, and a model asks for those of one bug: what is
    new in another one leaves its digest as it is.
    """
    all_of_them = {each.name: each.text for each in definitions(_without_remarks(text))}
    waiting = [name for name in all_of_them if name in words]
    asked: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in asked:
            asked.add(name)
            waiting += [each for each in all_of_them if each in _words(all_of_them[name])]
    kept = [text for name, text in all_of_them.items() if name in asked]
    return "\n".join([f"EXTENDS {', '.join(read_module(text).extends)}", *kept])


@lru_cache(maxsize=256)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_without_remarks(text)))


@lru_cache(maxsize=256)
def _without_remarks(text: str) -> str:
    lines = [line.rstrip() for line in REMARK.sub(" ", text).splitlines()]
    return "\n".join(filter(None, lines))
