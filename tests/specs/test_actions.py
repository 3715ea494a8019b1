"""Each action of these specs says who takes it and what it does: ACTION, WHO, WHAT."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kraftcheck.specs import SPECS

FOLDERS = (
    "partition",
    "groups",
    "transactions",
    "shares",
    "shares/sessions",
    "shares/sharegroup",
    "controllers",
)
MODULES = sorted(path for folder in FOLDERS for path in (SPECS / folder).glob("*.tla"))
_ACTION = re.compile(r"^Step_(\w+)\(.*?\) ==", re.MULTILINE | re.DOTALL)


def unexplained(text: str) -> list[str]:
    """Return the actions that no comment of the form precedes."""
    found = []
    for action in _ACTION.finditer(text):
        above = text[: action.start()].rstrip().rpartition("\n\n")[2]
        form = rf"\(\* ACTION {action[1]} .*\n\(\* WHO    \w.*\n\(\* WHAT   \w"
        if not re.search(form, above):
            found.append(action[1])
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_each_action_is_explained(module: Path) -> None:
    assert unexplained(module.read_text("utf-8")) == []


def test_an_action_without_the_form_is_noticed() -> None:
    text = "\n(* ACTION HandleA *)\n(* WHO    n *)\n(* WHAT   It. *)\nStep_HandleA(n) == 1\n\n"
    assert unexplained(text) == []
    assert unexplained(text + "(* It does B. *)\nStep_HandleB(n) == 2\n") == ["HandleB"]
    assert sum(bool(_ACTION.search(each.read_text("utf-8"))) for each in MODULES) >= 14
