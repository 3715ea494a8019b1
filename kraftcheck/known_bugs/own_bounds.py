"""Bounds of one's own: a stock model with other constants, for `try --bounds FILE`.

The file is TOML. A table is named after a model of the kit; its entries are constants of that
model's cfg with other values. A number, true or false, and a list (a set) are written as TOML;
everything else is text as a cfg has it.

    [quorum-reduced-crash]
    MaxEpoch = 4
    Voters = ["n1", "n2"]
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from kraftcheck.exits import BadInput
from kraftcheck.osutil.files import read_text
from tla_utils import Manifest, Model
from tla_utils.config import read_config

OWN_BOUNDS: Final = "own bounds"
"""The tier of such models."""
SUFFIX: Final = "with-own-bounds"


def read_bounds(path: Path, manifest: Manifest) -> list[Model]:
    """The models of a file.

    Raises:
        BadInput: the file cannot be read, or names what there is not.
    """
    try:
        tables = tomllib.loads(read_text(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"{path}: not read: {said}") from None
    if not tables:
        raise BadInput(f"{path}: it has no bounds: write [MODEL], then CONSTANT = VALUE")
    return [_model(path, name, table, manifest) for name, table in tables.items()]


def _model(path: Path, name: str, table: Any, manifest: Manifest) -> Model:
    holding = [each.name for each in manifest.models.values() if not each.overlays]
    if name not in holding or manifest.models[name].expect != "holds":
        raise BadInput(f"{path}: no model {name!r} that holds{_near(name, holding)}")
    stock = manifest.models[name]
    if not isinstance(table, dict) or not table:
        raise BadInput(f"{path}: {name} is to be a table of constants: [{name}], CONSTANT = VALUE")
    assigned = dict(stock.config.assigned)
    for constant, value in table.items():
        if constant not in assigned:
            raise BadInput(f"{path}: {name} has no constant {constant}{_near(constant, assigned)}")
        text = f"CONSTANTS {constant} = {_as_cfg(path, constant, value)}"
        assigned[constant] = read_config(text).assigned[constant]
    return replace(
        stock,
        name=f"{name}-{SUFFIX}",
        config=replace(stock.config, assigned=assigned),
        tier=OWN_BOUNDS,
        distinct=None,
        depth=None,
        generated=None,
    )


def _near(name: str, known: Any) -> str:
    near = get_close_matches(name, [*known], 1)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join([*known][:8])}"


def _as_cfg(path: Path, constant: str, value: Any) -> str:
    """A value as a cfg has it."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | str):
        return str(value)
    if isinstance(value, list):
        return f"{{{', '.join(_as_cfg(path, constant, each) for each in value)}}}"
    raise BadInput(f"{path}: {constant}: a number, true or false, text or a list is needed")
