"""What the reference predicts of each situation, and that Kafka did nothing else: no Kafka needed.

`python -m experiments.prediction` makes the stored results and the page.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from experiments.prediction.__main__ import PAGE
from experiments.prediction.expected import Scripted, options_of, predict, run
from experiments.prediction.observed import Trials, observed, seen_by_key
from experiments.prediction.outcomes import CLASSES, FINE, SENT, Append, Named, Seen, outcomes_of
from experiments.prediction.page import page
from experiments.prediction.situations import SETUPS, Setup
from experiments.prediction.store import (
    EXPECTED,
    OBSERVED,
    StoreError,
    read_expected,
    read_observed,
    situations,
)
from live.episode import Episode, Lane
from live.journal import Journal
from live.metadata import Record
from reference.partition.sim.machine import PartitionMemo
from reference.sim.choices import SeededChooser
from traces.formats import jsonlines

SITUATIONS_MIN, TRIALS_MIN = 40, 50

FIRST, SECOND = Append(1, 10, 20, 0), Append(2, 30, 40, 1)
ALL_WELL = Seen((FIRST, SECOND), (((0, 1), (1, 2)),), (Named(50, 60, 2),), {0: 1, 1: 2})
UNSURE = SECOND._replace(completed=None, offset=None)

WRONG = [
    ("produce", "lost", ALL_WELL._replace(log={0: 1})),
    ("produce", "lost", ALL_WELL._replace(appends=(Append(3, 10, SENT, None),))),
    ("produce", "misplaced", ALL_WELL._replace(log={0: 3, 1: 1, 2: 2})),
    ("produce", "doubled", ALL_WELL._replace(log={0: 1, 1: 2, 2: 1})),
    ("produce", "reordered", ALL_WELL._replace(log={0: 2, 1: 1})),
    ("fetch", "vanished", ALL_WELL._replace(log={0: 1, 1: 3})),
    ("fetch", "back", ALL_WELL._replace(reads=(((0, 1), (0, 1), (1, 2)),))),
    ("fetch", "skipped", ALL_WELL._replace(reads=(((1, 2),),))),
    ("latest", "behind", ALL_WELL._replace(named=(Named(50, 60, 1),))),
    ("latest", "shrunk", ALL_WELL._replace(named=(Named(10, 20, 2), Named(30, 40, 1)))),
]
FINE_TOO = [
    ("produce", ALL_WELL._replace(appends=(FIRST, UNSURE), log={0: 1})),
    ("produce", ALL_WELL._replace(appends=(Append(1, 10, SENT, None), UNSURE), log={0: 2, 1: 1})),
    ("fetch", ALL_WELL._replace(reads=(((0, 1),), ((0, 1), (1, 2))))),
    ("latest", ALL_WELL._replace(named=(Named(35, 60, 1),))),
    ("latest", ALL_WELL._replace(appends=(), named=(Named(30, 40, 1), Named(10, 35, 2)))),
]

# -- Classes


def test_nothing_wrong_has_a_name_of_its_own() -> None:
    assert outcomes_of(ALL_WELL) == {api: (name,) for api, name in FINE.items()}


@pytest.mark.parametrize(("api", "name", "trial"), WRONG)
def test_each_class_is_seen(api: str, name: str, trial: Seen) -> None:
    assert name in outcomes_of(trial)[api]


def test_no_class_is_left_out() -> None:
    seen = {(api, name) for api, name, _ in WRONG} | set(FINE.items())
    assert seen == {(api, name) for api, classes in CLASSES.items() for name in classes}


@pytest.mark.parametrize(("api", "trial"), FINE_TOO)
def test_what_nobody_was_told_is_not_wrong(api: str, trial: Seen) -> None:
    assert outcomes_of(trial)[api] == (FINE[api],)


# -- The reference


@pytest.mark.parametrize("at", range(0, len(SETUPS), 4))
def test_a_stored_prediction_is_what_the_reference_does(at: int) -> None:
    """Every fourth setup: each fault, each election, each acks among them."""
    expected, setup = read_expected(), SETUPS[at]
    outcomes = run(setup, expected.seed, 0, PartitionMemo(None))
    assert outcomes is not None
    for api, classes in outcomes.items():
        assert set(classes) <= set(expected.setups[setup.name].outcomes[api]), "predict it again"
    assert run(setup, expected.seed, 0, PartitionMemo(None)) == outcomes


def test_every_setup_is_predicted_and_its_runs_came_to_an_end() -> None:
    expected = read_expected()
    assert list(expected.setups) == [setup.name for setup in SETUPS]
    for predicted in expected.setups.values():
        assert predicted.runs == expected.runs
        assert predicted.unfinished <= predicted.runs // 20


def test_a_prediction_can_be_gone_on_with() -> None:
    setup = Setup("stop", "clean, min ISR 2", "1")
    assert predict(setup, 1, 4, predict(setup, 1, 2)) == predict(setup, 1, 4)


def simulated(fault: str, acks: str, seed: int) -> Scripted:
    setup = Setup(fault, "clean, min ISR 2", acks)
    chooser = SeededChooser(seed)
    options = options_of(setup, chooser.stream("faults"))
    simulation = Scripted(fault, options, chooser, PartitionMemo(None))
    simulation.execute()
    return simulation


@pytest.mark.parametrize("fault", ["stop", "pause", "partition", "last"])
def test_a_fault_moves_the_leader(fault: str) -> None:
    assert simulated(fault, "all", 1).statistics()["leader_moves"] > 0


def test_without_a_fault_nothing_moves() -> None:
    statistics = simulated("none", "all", 1).statistics()
    assert statistics["leader_moves"] == statistics["shrinks"] == 0


def test_a_broker_that_is_paused_takes_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tuple[int, int]] = []
    take = Scripted.take

    def noted(self: Scripted, node: int, input: object) -> object:
        taken.append((self.now, node))
        return take(self, node, input)  # type: ignore[arg-type]

    monkeypatch.setattr(Scripted, "take", noted)
    simulation = simulated("pause", "all", 1)
    node, until = simulation.pace.paused
    began = max(time for time, by in taken if by == node and time < until)
    assert until - began > 3_000_000
    assert any(by == node and time >= until for time, by in taken)


# -- Kafka


def told(journal: Journal, process: int, f: str, asked: object, answer: object, kind: str) -> None:
    journal.event(process, "invoke", f, asked)
    journal.event(process, kind, f, answer)


@pytest.mark.parametrize(
    ("acks", "outcomes"),
    [
        ("all", {"t-0": ("kept",), "t-1": ("lost",)}),
        ("0", {"t-0": ("kept",), "t-1": ("lost", "doubled")}),
    ],
)
def test_a_journal_is_taken_apart_by_partition(
    acks: str, outcomes: dict[str, tuple[str, ...]], tmp_path: Path
) -> None:
    with Journal(tmp_path / "j.jsonl") as book:
        offset = None if acks == "0" else 0
        told(book, 0, "send", [["send", "t-0", 1]], [["send", "t-0", [offset, 1]]], "ok")
        told(book, 1, "send", [["send", "t-1", 2]], [["send", "t-1", [offset, 2]]], "ok")
        told(book, 0, "send", [["send", "t-0", 3]], [["send", "t-0", 3]], "info")
        told(book, 2, "poll", [["poll"]], [["poll", {"t-0": [[0, 1]], "t-1": [[0, 2]]}]], "ok")
        told(book, 3, "latest", ["t-0", None], ["t-0", 0], "ok")
        copies = [[0, 4], [1, 4]] if acks == "0" else [[0, 4]]
        told(book, 9, "poll", [["poll"]], [["poll", {"t-0": [[0, 1]], "t-1": copies}]], "ok")
    episode = Episode((Lane("t", acks, 2, False, 2),), None, (9,))
    seen = seen_by_key(jsonlines.read(tmp_path / "j.jsonl").operations, episode)
    found = {key: outcomes_of(each) for key, each in seen.items()}
    assert {key: each["produce"] for key, each in found.items()} == outcomes
    assert found["t-0"]["fetch"] == ("steady",)
    assert found["t-1"]["fetch"] == ("vanished",)
    assert found["t-0"]["latest"] == (("fresh",) if acks == "0" else ("behind",))


def test_what_moved_is_in_the_metadata_log() -> None:
    here = {"topicId": "x", "partitionId": 0}
    data: list[tuple[str, dict[str, object]]] = [
        ("TOPIC_RECORD", {"name": "t", "topicId": "x"}),
        ("PARTITION_RECORD", {**here, "leader": 1, "isr": [1, 2, 3]}),
        ("PARTITION_CHANGE_RECORD", {**here, "leader": 2}),
    ]
    records = [Record(at, 1, at, kind, 0, each, at + 1) for at, (kind, each) in enumerate(data)]
    fine = outcomes_of(ALL_WELL)
    name = SETUPS[0].name
    trials = Trials("kill", 0, "b1", {name: ("t", (fine, None, fine))})
    found = observed(trials, records, "4.3.1", "a machine", "2026-11-21")
    assert (found.partitions, found.read, found.moved) == (3, {name: 2}, {name: 1})
    assert found.outcomes[name]["produce"] == {"kept": 2}
    assert not found.elr


def test_enough_was_tried() -> None:
    found = situations(read_expected(), read_observed())
    assert sum(each.trials >= TRIALS_MIN for each in found) >= SITUATIONS_MIN


def test_every_outcome_of_kafka_was_predicted() -> None:
    for each in situations(read_expected(), read_observed()):
        assert not each.forbidden, f"{each.setup}, {each.api}: {each.seen}, not {each.allowed}"


def test_an_outcome_that_was_not_predicted_is_found() -> None:
    expected, episodes = read_expected(), read_observed()
    name = Setup("kill", "clean, min ISR 2", "all").name
    at = next(i for i, each in enumerate(episodes) if name in each.outcomes)
    planted = {**episodes[at].outcomes[name], "produce": {"kept": 9, "lost": 1}}
    outcomes = {**episodes[at].outcomes, name: planted}
    episodes[at] = msgspec.structs.replace(episodes[at], outcomes=outcomes)
    wrong = [each for each in situations(expected, episodes) if each.forbidden]
    assert [(each.setup, each.api, each.forbidden) for each in wrong] == [
        (name, "produce", ("lost",))
    ]
    assert "**not allowed: lost**" in page(expected, episodes)


def test_the_class_of_nothing_wrong_must_be_predicted_too() -> None:
    expected, episodes = read_expected(), read_observed()
    name = Setup("none", "clean, min ISR 2", "all").name
    predicted = expected.setups[name]
    outcomes = {**predicted.outcomes, "produce": {"lost": predicted.runs}}
    setups = {**expected.setups, name: msgspec.structs.replace(predicted, outcomes=outcomes)}
    wrong = situations(msgspec.structs.replace(expected, setups=setups), episodes)
    assert [each.forbidden for each in wrong if each.forbidden] == [("kept",)]


def test_the_page_is_made_from_what_is_stored() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read_expected(), read_observed()), (
        "make it again: python -m experiments.prediction page"
    )


def test_damaged_results_are_one_line(tmp_path: Path) -> None:
    for name, read in ((EXPECTED, read_expected), (OBSERVED, read_observed)):
        (tmp_path / name).write_text("{", encoding="utf-8")
        with pytest.raises(StoreError, match=name) as caught:
            read(tmp_path)
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="no episode"):
        page(read_expected(), [])
