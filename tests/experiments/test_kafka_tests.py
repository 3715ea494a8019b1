"""Each patch with tests shows its defect in Kafka's own tests, and mends it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from experiments.changed import FINDS
from experiments.kafka_tests import TESTED, compare
from tests.experiments import held

MOST_LINES = 60
REPORTS = sorted(FINDS.glob("*/report.md"))
OURS = ("kraftcheck", "experiments", "Z1", "TLA")
"""What a reader of a report knows nothing of."""
PARTS = (
    *("**Summary**", "**Type**", "**Priority**", "**Component**", "**Affects versions**"),
    *("**Fix versions**", "**Environment**", "## Steps to reproduce", "**Expected**", "**Actual**"),
    *("## Cause", "## Patch", "## Workaround"),
)


def untested(folder: Path) -> list[str]:
    """The finds whose patch has no test, and whose page gives no reason for that."""
    changed = {path.parent for path in folder.glob("*/fix.patch")}
    return sorted(
        each.name
        for each in changed
        if each.name not in TESTED
        and "The patch has no test, because" not in (each / "README.md").read_text("utf-8")
    )


def test_a_page_says_why_its_patch_has_no_test(tmp_path: Path) -> None:
    assert untested(FINDS) == []
    (tmp_path / "Z1").mkdir()
    (tmp_path / "Z1" / "fix.patch").touch()
    (tmp_path / "Z1" / "README.md").write_text("The patch is small.", "utf-8")
    assert untested(tmp_path) == ["Z1"]


def sent_first(readme: str) -> list[str]:
    """The finds of which README.md says that they are to be sent first."""
    part = readme.partition("\n## Send first\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| \[[^]]+\]\((.+?)/README\.md\)", part, re.MULTILINE)


def test_what_is_sent_first_has_a_tested_patch_and_a_report() -> None:
    first = sent_first((FINDS / "README.md").read_text("utf-8"))
    assert len(first) == 10
    assert {*first} <= {*TESTED} & {path.parent.name for path in REPORTS}
    assert sent_first("\n## Send first\n\n| [Z1](Z1/README.md) | x\n\n## Notes\n") == ["Z1"]


def test_the_touched_tests_of_each_patch_have_failed_without_the_fix_and_passed_with_it() -> None:
    assert held.unknown() == [], "run `python -m tests.experiments.held`"


def test_what_has_held_is_asked_again_when_the_patch_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(FINDS, tmp_path / "finds", ignore=lambda _, names: names_of_others(names))
    monkeypatch.setattr(held, "FINDS", tmp_path / "finds")
    assert held.unknown() == []
    programs = held.digest_of_programs()
    with (tmp_path / "finds" / "Z133" / "fix.patch").open("a", encoding="utf-8") as patch:
        patch.write("\n")
    assert held.unknown() == ["Z133"]
    assert held.digest_of_programs() != programs


def names_of_others(names: list[str]) -> set[str]:
    """What is no patch."""
    return {name for name in names if "." in name and not name.endswith(".patch")}


@pytest.mark.kafka
@pytest.mark.parametrize("name", ("Z67", "Z102", "Z133"))
def test_the_touched_tests_fail_without_the_fix_and_pass_with_it(name: str) -> None:
    """Three of them each time, of different modules of Kafka."""
    found = compare(name, whole=False)
    assert found.holds, found


@pytest.mark.kafka
def test_a_fix_that_mends_nothing_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Z133").mkdir()
    text = (FINDS / "Z133" / "fix.patch").read_text("utf-8")
    wanted = "Replicas.contains(partition.replicas, replica) && targetReplicas.contains(replica)"
    assert wanted in text
    (tmp_path / "Z133" / "fix.patch").write_text(text.replace(wanted, "replica >= 0"), "utf-8")
    for module in ("changed", "kafka_tests"):
        monkeypatch.setattr(f"experiments.{module}.FINDS", tmp_path)
    found = compare("Z133", whole=False)
    assert not found.holds and found.fixed.failed == found.touched
    assert found.without.tests == len(found.touched) < found.fixed.tests


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.parent.name)
def test_a_report_can_be_sent_as_it_is(path: Path) -> None:
    text = path.read_text("utf-8")
    assert [part for part in PARTS if part not in text] == []
    assert [word for word in OURS if word in text] == []
    assert len(text.splitlines()) <= MOST_LINES
