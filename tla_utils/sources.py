"""What a model is made from, as one digest: the texts of its modules, and what its cfg says.

Law of this file: remarks, blank lines and blanks at the end of a line make no difference, since
they make none to TLC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from tla_utils.config import cfg_text, read_config
from tla_utils.overrides import module_texts

REMARK: Final = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)", re.DOTALL)


def source_digest(
    modules: Iterable[str],
    cfg: str,
    libraries: Sequence[Path],
    beside: Mapping[str, str] | None = None,
) -> str:
    """Return the sha256 of a cfg in normal form, and of all modules that it depends on.

    Args:
        modules: names of modules, which may extend or instantiate others.
        cfg: the text of the cfg.
        libraries: folders of modules; modules in none of them are TLC's own.
        beside: texts of modules by name, which take precedence.

    Raises:
        ToolError: a module cannot be read.
    """
    texts = {**module_texts(modules, libraries, beside), "": cfg_text(read_config(cfg))}
    told = [without_remarks(texts[name]) for name in sorted(texts)]
    return sha256("\0".join(told).encode()).hexdigest()


@lru_cache(maxsize=256)
def without_remarks(text: str) -> str:
    """The text as far as it makes a difference."""
    lines = [line.rstrip() for line in REMARK.sub(" ", text).splitlines()]
    return "\n".join(filter(None, lines))
