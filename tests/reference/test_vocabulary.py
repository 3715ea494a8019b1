"""One vocabulary: the names in the specs of a protocol and in its reference are the same.

Each comparison is shown to report one name too many on either side.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reference.controllers.names import COMPARED as CONTROLLERS
from tests.reference.groups.classic.names import COMPARED as CLASSIC
from tests.reference.groups.commits.names import COMPARED as COMMITS
from tests.reference.groups.names import COMPARED as GROUPS
from tests.reference.partition.compaction.names import COMPARED as COMPACTION
from tests.reference.partition.directories.names import COMPARED as DIRECTORIES
from tests.reference.partition.hosting.names import COMPARED as HOSTING
from tests.reference.partition.moving.names import COMPARED as MOVING
from tests.reference.partition.names import COMPARED as PARTITION
from tests.reference.partition.reassignment.names import COMPARED as REASSIGNMENT
from tests.reference.quorum.names import COMPARED as QUORUM
from tests.reference.quorum.snapshots.names import COMPARED as SNAPSHOTS
from tests.reference.quorum.voters.names import COMPARED as VOTERS
from tests.reference.shares.names import COMPARED as SHARES
from tests.reference.shares.sessions.names import COMPARED as SESSIONS
from tests.reference.shares.sharegroup.names import COMPARED as SHAREGROUP
from tests.reference.transactions.names import COMPARED as TRANSACTIONS
from tests.reference.vocabulary import Names, differences

EACH = (
    *(QUORUM, PARTITION, TRANSACTIONS, GROUPS, COMMITS, CLASSIC, VOTERS, SNAPSHOTS, REASSIGNMENT),
    *(HOSTING, MOVING, DIRECTORIES, COMPACTION, SHARES, SESSIONS, SHAREGROUP, CONTROLLERS),
)
of_each = pytest.mark.parametrize(
    "names",
    [pytest.param(n, id=f"{of.protocol}-{n.__name__}") for of in EACH for n in of.names],
)


@of_each
def test_both_sides_have_the_same_names(names: Names, specs_dir: Path) -> None:
    theirs, ours = names(specs_dir)
    assert theirs, "nothing was found in the specs"
    assert differences(theirs, ours) == []


@of_each
def test_a_name_on_one_side_only_is_reported(names: Names, specs_dir: Path) -> None:
    theirs, ours = names(specs_dir)
    assert differences([*theirs, "planted"], ours) == ["only in specs: planted"]
    assert differences(theirs, [*ours, "planted"]) == ["only in reference: planted"]
    assert differences(theirs[1:], ours) == [f"only in reference: {theirs[0]}"]


@pytest.mark.parametrize(
    ("names", "module", "text", "reported"), [each for of in EACH for each in of.planted]
)
def test_an_operator_that_is_planted_in_a_spec_is_found(
    names: Names, module: str, text: str, reported: str, specs_dir: Path, tmp_path: Path
) -> None:
    """The parsing is part of what is tested: a definition it overlooked would never differ."""
    for file in specs_dir.rglob("*.tla"):
        planted = file.read_text("utf-8")
        if file.stem == module:
            planted = planted.replace("\n====", f"\n\n{text}\n====")
        (tmp_path / file.name).write_text(planted, "utf-8")
    theirs, ours = names(tmp_path)
    assert differences(theirs, ours) == [f"only in specs: {reported}"]
