"""What finds says that Kafka's own classes do, and no longer with the change that it names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments import by_classes, changed, groups_by_classes
from finds.Z163.by_classes import (
    CONTROLS,
    FINDS,
    IN_SEQUENCE,
    OUT_OF_ORDER,
    REFUSAL,
    SEQUENCES,
    runs,
)
from finds.Z164 import by_classes as removed_by_classes
from finds.Z170 import by_classes as old_replica_by_classes
from kraftcheck.cli import cli
from tests.experiments.held import have_held_by_classes

STORED = Path(__file__).resolve().parents[2] / "examples" / "witness"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.kafka,
    pytest.mark.xdist_group("by-classes"),
]


EACH_TIME = (
    "test_one_of_a_later_epoch_can_be_spared",
    "test_a_late_acknowledgement_is_refused_with_its_change",
    "test_a_leader_that_hands_over_leaves_one",
    # By our own code, of which the digest knows nothing.
    "test_a_broker_is_not_elected_where_its_disk_has_failed",
    "test_an_index_of_eligible_leaders_is_not_stale",
    "test_with_its_change_a_deposed_leader_answers_whom_it_keeps_waiting",
)


@pytest.fixture(autouse=True)
def _unless_it_has_held(request: pytest.FixtureRequest) -> None:
    """What Kafka does with a change is asked again when programs or changes are others."""
    with_change = "tmp_path" in request.fixturenames
    if with_change and request.function.__name__ not in EACH_TIME and have_held_by_classes():
        pytest.skip("has held with the same programs and changes (tests/experiments/held.py)")


def refused(jars: Path | None = None) -> set[str]:
    return {case for case, steps in runs(1, jars) if steps[-1]["came"] == REFUSAL}


def test_what_comes_late_takes_the_guard_of_a_later_transaction() -> None:
    """Z163 and Z188; the controls keep theirs."""
    assert len(CONTROLS) == 5
    assert refused() == {*FINDS} == {"amid", "overtaken"}


@pytest.mark.parametrize(("name", "left"), [("Z163", {"overtaken"}), ("Z188", set())])
def test_one_of_a_later_epoch_can_be_spared(name: str, left: set[str], tmp_path: Path) -> None:
    assert refused(changed.classes(name, tmp_path)) == left


def test_a_fetch_of_an_old_leadership_lets_a_replica_in_that_lacks_what_is_committed() -> None:
    """Z170; the controls keep it out."""
    of = old_replica_by_classes
    cases = of.runs([of.BEHIND, *of.CONTROLS])
    found = {case: of.lets_in(said) for case, said in cases}
    assert found == {"behind": True, "before": False, "unasked": False}


def test_a_late_acknowledgement_is_told_nothing_once_the_start_offset_has_moved() -> None:
    """Z416; the control is refused, and both are handed out again."""
    each, *_ = by_classes.outcomes("Z416")
    again = "; then C gets [0, delivery 1]"
    assert each["found"] == f"A is told no error{again}"
    assert each["control"] == f"A is told refused{again}"


def test_a_late_acknowledgement_is_refused_with_its_change(tmp_path: Path) -> None:
    """Z416."""
    each, *_ = by_classes.outcomes("Z416", changed.classes("Z416", tmp_path))
    assert each["found"] == each["control"] != ""
    assert each["found"].startswith("A is told refused")


def test_a_start_offset_that_goes_back_is_neither_delivered_nor_stored() -> None:
    """The schedule share-start.moves, and what comes after it; the control never goes back."""
    _, *found = by_classes.outcomes("Z416")
    then = "; A gets [3, delivery 1], start 3; stored starts [0, 3]"
    assert [each["case"] for each in found] == ["returns", "amid"]
    assert {each["found"] for each in found} == {f"start 1, next fetch 1{then}"}
    assert {each["control"] for each in found} == {f"start 3, next fetch 3{then}"}


def test_what_a_snapshot_comes_to() -> None:
    """Z125, Z126, Z128, Z111, Z110, Z112 and Z122, each with its control."""
    found = {
        each["case"]: (each["found"], each["control"])
        for each in by_classes.outcomes("snapshots_by_classes")
    }
    assert found == dict(
        zip(
            by_classes.TABLE["snapshots_by_classes"]["cases"],
            [(0, 1), (1, 0), (0, 1), (0, 3), (3, 2), (0, 2), (0, 1)],
            strict=True,
        )
    )


def test_a_topic_that_is_known_is_not_new_in_a_snapshot(tmp_path: Path) -> None:
    """Z125, and with it Z126."""
    found = by_classes.outcomes("snapshots_by_classes", changed.classes("Z125", tmp_path))
    assert [each["found"] for each in found] == [1, 0, 0, 0, 3, 0, 0]
    assert [each["control"] for each in found] == [1, 0, 1, 3, 2, 2, 1]


def test_voters_that_come_where_a_tail_was_cut_can_be_read(tmp_path: Path) -> None:
    """Z110."""
    found = by_classes.outcomes("snapshots_by_classes", changed.classes("Z110", tmp_path))
    assert [each["found"] for each in found] == [0, 1, 0, 0, 2, 0, 0]


def test_a_snapshot_ends_before_the_offset_in_its_name(tmp_path: Path) -> None:
    """Z128."""
    found = by_classes.outcomes("snapshots_by_classes", changed.classes("Z128", tmp_path))
    assert [each["found"] for each in found] == [0, 1, 1, 0, 3, 0, 0]


@pytest.mark.parametrize(
    ("name", "case"),
    [
        *[("Z107", "orphaned"), ("Z108", "stamped"), ("Z108", "kept"), ("Z181", "replaced")],
        *[("Z210", "upgraded"), ("Z221", "outlived"), ("Z185", "told"), ("Z185", "renumbered")],
        ("Z187", "equal-epoch"),
    ],
)
def test_a_group_comes_to_no_harm_with_its_change(name: str, case: str, tmp_path: Path) -> None:
    jars = changed.classes(name, tmp_path)
    [(_, kafkas)], [(_, ours)] = (
        groups_by_classes.runs([case]),
        groups_by_classes.runs([case], jars),
    )
    assert (kafkas["shown"], ours["shown"]) == (1, 0)


GUARDS = {name: case for name, case in groups_by_classes.CASES.items() if case.guard}


@pytest.mark.parametrize("case", GUARDS)
def test_kafka_has_the_guards_of_offsets(case: str) -> None:
    """Each with its control (Z240 to Z246)."""
    asked = (case, *GUARDS[case].controls)
    assert [came["shown"] for _, came in groups_by_classes.runs(asked)] == [True, False]


def test_suspicions_of_reading_are_shown_with_their_controls() -> None:
    """K1 to K5, K9, K12 and K13 of finds/README.md."""
    cases = ["refused", "reassigned", "recommitted", "sessions", "unkept", "disturbed", "sent"]
    cases += ["unresolved"]
    asked = [name for case in cases for name in (case, *groups_by_classes.CASES[case].controls)]
    found = {name: came["shown"] for name, came in groups_by_classes.runs(asked)}
    assert found == {name: name in cases for name in asked}


def test_what_a_start_makes_of_a_replica_with_two_directories() -> None:
    """Z301 and Z137, each with its control."""
    found = [
        (each["found"], each["control"]) for each in by_classes.outcomes("directories_by_classes")
    ]
    assert found == [
        ("6 records in the second", "10 records in the second"),
        ("0 records in the second", "KafkaStorageException"),
    ]


def test_kafka_has_the_guards_of_sequences() -> None:
    """Of the first batch of a transaction, and of one that waits (Z247, Z248)."""
    came = {case: steps[-1]["came"] for case, steps in runs(1)}
    assert {came[case] for case in SEQUENCES} == {OUT_OF_ORDER}
    assert all(came[case].startswith("offset") for case in IN_SEQUENCE)


def test_what_comes_late() -> None:
    """Z200, H10, Z87, Z75, Z72, Z140, K6 and K10, each with its control."""
    found = {
        each["case"]: (each["found"], each["control"])
        for each in by_classes.outcomes("transactions_by_classes")
    }
    assert found == {
        "young": ("COMPLETE_ABORT, its commit: INVALID_TXN_STATE", "ONGOING, its commit: NONE"),
        "ended": ("IllegalStateException, still open: 1", "a whole sweep, still open: 0"),
        "gap": ("IllegalStateException, COMPLETE_ABORT", "INVALID_TXN_STATE, COMPLETE_ABORT"),
        "offsets": ("10", "20"),
        "marker": ("appended at 3", "InvalidProducerEpochException, open"),
        "batch": ("appended at 2, open", "InvalidProducerEpochException"),
        "bulk": ("15", "11"),
        "tombstone": ("IllegalStateException not answered", "initialised"),
        "absent": ("NullPointerException ", ""),
        "mixed": ("INVALID_TXN_STATE", "TRANSACTION_ABORTABLE"),
    }


def test_of_open_transactions_the_one_that_ends_is_passed_over(tmp_path: Path) -> None:
    """Z140 with its change."""
    found = {
        e["case"]: e
        for e in by_classes.outcomes("transactions_by_classes", changed.classes("Z140", tmp_path))
    }
    assert found["bulk"]["found"] == found["bulk"]["control"] == "11"


def test_a_sweep_asks_again_before_it_aborts(tmp_path: Path) -> None:
    """Z200 with its change."""
    young, ended, *_ = by_classes.outcomes(
        "transactions_by_classes", changed.classes("Z200", tmp_path)
    )
    assert young["found"] == young["control"] and ended["found"] == ended["control"]


def test_of_offsets_in_a_transaction_the_last_ones_count(tmp_path: Path) -> None:
    """Z87 with its change."""
    found = {
        each["case"]: each
        for each in by_classes.outcomes("transactions_by_classes", changed.classes("Z87", tmp_path))
    }
    assert found["offsets"]["found"] == found["offsets"]["control"] == "20"


def said(version: str, script: str) -> str:
    """Of another version, in which classes lie elsewhere and calls differ; which one it is, is read
    once, when a process begins.
    """
    words = [sys.executable, "-m", script]
    own = {**os.environ, "KRAFTCHECK_KAFKA": version}
    done = subprocess.run(words, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "script",
    [
        *(f"experiments.{each}_by_classes" for each in ("groups", "snapshots", "transactions")),
        *("finds.Z163.by_classes", "finds.Z170.by_classes"),
    ],
)
def test_they_do_the_same_in_kafka_4_4(script: str) -> None:
    told = said("4.4.0", script)
    assert "otherwise in 0 of" not in told and ": 0 of 1 runs" not in told


def moved(version: str, *words: str) -> tuple[int, int]:
    """Of replicas that are moved by Kafka's controller: how many steps are not the reference's, and
    how many come to a leader in a directory that has failed.
    """
    done = subprocess.run(
        [sys.executable, "-m", "experiments.reassigned_by_classes", *words],
        env={**os.environ, "KRAFTCHECK_KAFKA": version},
        capture_output=True,
        text=True,
        check=False,
    )
    other = re.search(r"inputs, (\d+) with another step", done.stdout)
    failed = re.search(r"(\d+) steps to a leader in a directory that has failed", done.stdout)
    assert other and failed, done.stderr
    return int(other[1]), int(failed[1])


@pytest.mark.parametrize("version", ["4.0.2", "4.3.1"])
def test_controllers_of_releases_move_replicas(version: str) -> None:
    """Most steps are the reference's, by the rules that Kafka's are known to be; fewer without."""
    known, strict = [moved(version, "--as", of, "--runs", "1")[0] for of in ("kafka", "specs")]
    assert known < strict and known < 50


def test_a_broker_is_not_elected_where_its_disk_has_failed(tmp_path: Path) -> None:
    """Z160, without and with its change."""
    jars = str(changed.classes("Z160", tmp_path))
    found = [moved("4.3.1", "--as", "kafka", "--runs", "4", *of) for of in ([], ["--jars", jars])]
    assert [failed for _, failed in found] == [5, 0]


def test_an_index_of_eligible_leaders_is_not_stale(tmp_path: Path) -> None:
    """Z400, without and with its change: the two others are no harm (experiments/README.md)."""
    jars = str(changed.classes("Z400", tmp_path))
    found = [moved("4.3.1", "--as", "kafka", "--runs", "4", *of) for of in ([], ["--jars", jars])]
    assert [other for other, _ in found] == [20, 2]


def not_shown(version: str) -> list[str]:
    """Of the cases of groups."""
    return re.findall(
        r"^(\S+): 0 of 1 runs", said(version, "experiments.groups_by_classes"), re.MULTILINE
    )


def test_what_is_new_in_kafka_4_4() -> None:
    """Z211 (KAFKA-20434), and static members of streams groups (Z212)."""
    assert not_shown("4.3.1") == ["tied", "relabelled"]


def test_what_is_new_in_kafka_4_3() -> None:
    """Z107 (KAFKA-20272), a clock that is asked, and the guard of Z245: before, the deletion of a
    topic went by its name.
    """
    assert not_shown("4.2.2") == ["new-topic", "orphaned", "clock", "tied", "relabelled"]


def nobody_leads(jars: Path | None = None) -> set[str]:
    return {
        each for each, found in removed_by_classes.outcomes(1, "4.3.1", jars) if not found["led"]
    }


def test_of_two_voters_the_leader_is_removed_and_nobody_leads() -> None:
    """Z164; in the controls somebody does."""
    assert nobody_leads() == {*removed_by_classes.CASES}


def test_a_leader_that_hands_over_leaves_one(tmp_path: Path) -> None:
    assert nobody_leads(changed.classes("Z164", tmp_path)) == set()


def test_with_its_change_a_deposed_leader_answers_whom_it_keeps_waiting(tmp_path: Path) -> None:
    """KAFKA-20914: by the specs alone, the release breaks them and the change does not."""
    words = ["witness", "replay", str(STORED / "KAFKA-20914.moves"), "--as", "specs"]
    mended = ["--jars", str(changed.classes("KAFKA-20914", tmp_path))]
    assert [CliRunner().invoke(cli, [*words, *of]).exit_code for of in ([], mended)] == [1, 0]
