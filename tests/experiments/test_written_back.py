"""What is looked for on a disk whose power was cut is found where it is, and only there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from experiments.written_back import CASES, ENTRY, INDEX, NEW, OLD, TIMES, append

SIZE = 69


@pytest.fixture
def at(tmp_path: Path) -> Path:
    """A log of three batches, and the marker of a clean stop."""
    (tmp_path / "marker").touch()
    append(tmp_path / "0.log", OLD, SIZE, 3)
    (tmp_path / TIMES).touch()
    os.truncate(tmp_path / TIMES, INDEX)
    return tmp_path


@pytest.mark.parametrize("name", list(CASES))
def test_what_was_written_whole_is_sound(name: str, at: Path) -> None:
    case = CASES[name]
    case.write(at, SIZE, False)
    assert not case.broken(at, SIZE)


@pytest.mark.parametrize(("kept", "broken"), [(6 * SIZE, True), (6 * SIZE + 1, False)])
def test_a_hole_is_one_at_the_end_of_a_batch_only(kept: int, broken: bool, at: Path) -> None:
    """Recovery sees what is torn."""
    CASES["hole"].write(at, SIZE, False)
    os.truncate(at / "0.log", kept)
    assert CASES["hole"].broken(at, SIZE) is broken


def test_a_marker_that_is_back_beside_new_records_is_found(at: Path) -> None:
    (at / "marker").unlink()
    append(at / "0.log", NEW, SIZE, 1)
    assert not CASES["marker"].broken(at, SIZE)
    (at / "marker").touch()
    assert CASES["marker"].broken(at, SIZE)


def test_an_old_batch_behind_a_new_one_is_found(at: Path) -> None:
    CASES["tail"].write(at, SIZE, False)
    append(at / "0.log", OLD, SIZE, 1)
    assert CASES["tail"].broken(at, SIZE)


def test_an_index_that_was_trimmed_to_zeros_is_found(at: Path) -> None:
    CASES["times"].write(at, SIZE, False)
    (at / TIMES).write_bytes(bytes(ENTRY))
    assert CASES["times"].broken(at, SIZE)
    (at / TIMES).write_bytes(bytes(INDEX))
    assert not CASES["times"].broken(at, SIZE), "the trim is undone"
