"""Commands as they are printed: whoever copies one gets what was meant."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Final

PROTOCOLS: Final = "KRAFTCHECK_PROTOCOL"
"""The variable that names folders of protocols of others, separated as in PATH."""


def protocol_folders() -> list[str]:
    """The folders of protocols of others, as `--protocol` or the variable has named them."""
    return [folder for folder in os.environ.get(PROTOCOLS, "").split(os.pathsep) if folder]


def command(*words: object) -> str:
    """A command of kraftcheck to copy, with the protocols that this process was given."""
    given = [word for folder in protocol_folders() for word in ("--protocol", near(folder))]
    return shlex.join(["kraftcheck", *given, *map(str, words)])


def near(folder: str | Path) -> str:
    """As somebody would type it here: what lies below this folder is named from here."""
    path, here = Path(folder).absolute(), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) and path != here else str(path)
