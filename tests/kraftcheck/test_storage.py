"""`storage crash` and the storage bugs in `bugs`: counts, verdicts, and one line for bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli
from kraftcheck.kafka.witness.storage import Compared, compare
from tests.kraftcheck.stored_storage import CRASHED, CRASHES, Stored, all_compared, stored


def asked(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def test_crash_states_are_counted_and_hold() -> None:
    done = asked("storage", "crash", "--states", "60", "--json")
    found = json.loads(done.stdout)
    assert done.exit_code == 0
    assert found["verdict"] == "holds"
    assert found["states"] >= 60
    assert found["histories"] > 0


def test_a_bug_is_violated_and_says_where() -> None:
    done = asked("storage", "crash", "--states", "30", "--bug", "Z141")
    assert done.exit_code == 1
    assert "ProducerStateReplays: seed " in done.stdout
    assert "verdict  violated" in done.stdout


@pytest.mark.parametrize("bug", ["Z140", "Z142", "Z162"])
def test_a_bug_is_shown_and_found_as_it_says(bug: str) -> None:
    done = asked("bugs", "show", bug)
    assert done.exit_code == 0
    assert "\n-    return " in done.stdout
    [words] = re.findall(r"^find it +kraftcheck (.*)$", done.stdout, re.MULTILINE)
    assert asked(*words.split()).exit_code == 1


def test_the_bug_of_another_is_one_line() -> None:
    done = asked("storage", "crash", "--bug", "Z01")
    assert done.exit_code == 3
    assert "no bug 'Z01' of the storage" in done.stderr
    done = asked("bugs", "run", "Z142")
    assert done.exit_code == 3
    assert "Z142 is a bug of the storage engine: kraftcheck storage crash" in done.stderr


def test_without_java_the_engine_is_what_kafkas_log_was(tmp_path: Path) -> None:
    """Bytes after each operation, and what both make of crashed directories."""
    folder, said = tmp_path / "t", stored()
    total = all_compared(Stored(said, folder), folder)
    assert total.differ == [] and said == []
    assert total.operations > 100 and total.crashed == len(CRASHED) * CRASHES and total.dumped > 0


def test_without_java_another_byte_is_seen(tmp_path: Path) -> None:
    folder, said = tmp_path / "t", stored()
    files = next(each[2] for each in said if f"{0:020}.log" in each[2] and each[2][f"{0:020}.log"])
    files[f"{0:020}.log"] = files[f"{0:020}.log"][:-1] + "?"
    total = Compared()
    host: Any = Stored(said, folder)
    compare(host, folder, 0, total)
    assert "00000000000000000000.log" in total.differ[0]
