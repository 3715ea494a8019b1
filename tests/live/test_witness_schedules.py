"""TLC's counterexamples of transactions, groups and others, followed by Kafka's classes.

docs/measured/witness.md has a table of the outcomes, which one command makes. A fault in a class
of Kafka's is seen on the schedule that TLC found for it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.exits import BAD_INPUT, HOLDS, VIOLATED
from tests.live.patched import compiled, run, sources
from tests.live.test_witness_groups import PLANTS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tlc,
    pytest.mark.kafka,
    pytest.mark.xdist_group("witness-groups"),
]
ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "corpus"
FAULTS = {
    "what a coordinator before wrote is taken for committed": ("tlc-Z95", ""),
    "a partition that was given up is held": ("tlc-Z109-in-order", "HeldIsAssigned"),
}
"""Of a plant: the schedule that meets it, and what is violated then."""


def test_the_table_of_the_page_is_what_kafka_does(tmp_path: Path) -> None:
    """By the reference, and by TLC where Kafka does something else."""
    out = tmp_path / "out"
    every = [str(path.relative_to(ROOT)) for path in sorted(CORPUS.glob("*.schedule"))]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        told = run(VIOLATED, "bugs", *every, "--differential", "--out", str(out))["schedules"]
    assert len(told) == len(every)
    followed = [each for each in told if not each["not_followed"]]
    assert len(followed) >= 18 and all(each["refused"] == {} for each in followed)
    table = (out / "schedules.md").read_text("utf-8")
    assert table in (ROOT / "docs" / "measured" / "witness.md").read_text("utf-8")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_seen_on_the_schedule_that_tlc_found(fault: str, tmp_path: Path) -> None:
    schedule, violates = FAULTS[fault]
    [plant] = [each for each in PLANTS if each.name == fault]
    texts = sources(tmp_path / "kafka", "kafka-group-coordinator", "kafka-coordinator-common")
    [classes] = compiled([plant], texts, tmp_path, "groups")
    words = ("replay", str(CORPUS / f"{schedule}.schedule"))
    assert run(HOLDS, *words)["violates"] == ""
    found = run(VIOLATED, *words, "--jars", str(classes))
    assert found["violates"] == violates
    refused = [each["action"] for each in found["found"]["rejections"]]
    assert len(refused) == 1 and refused[0] in plant.action.split()


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ("voters-Z19-OneChangeAtATime", "a schedule of voters; a witness has quorum, "),
        ("tlc-Z97", "'-3 GroupChange group=Rebalancing' is a move of a group-offsets: "),
        ("tlc-Z181", "is a move of a group-migration: classic members and what brings them over"),
        ("tlc-Z219", "options: growing: topics that come and go are not driven"),
    ],
)
def test_what_kafka_cannot_follow_is_one_line(schedule: str, said: str) -> None:
    path = str(CORPUS / f"{schedule}.schedule")
    result = CliRunner().invoke(cli, ["witness", "replay", path, "--quiet"])
    assert (result.exit_code, result.output.count("\n")) == (BAD_INPUT, 1), result.output
    assert said in result.output
