"""Counterexamples in words: whose turn it was, what changed, how it goes on for ever."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from kraftcheck.known_bugs import violations
from kraftcheck.known_bugs.entries import manifest_of
from kraftcheck.known_bugs.stories import COUNT_ANEW, ending, narrated, tell
from kraftcheck.known_bugs.violations import Counterexample
from kraftcheck.picture import picture
from kraftcheck.reference.partition.types import PartitionConstants
from kraftcheck.traces.counterexamples import endings
from kraftcheck.traces.counterexamples.rows import Named
from tla_utils import Model, RunOptions, State, TlcResult, find_jar, find_java, parse

ROWS = '[a |-> [role |-> "{}", log |-> <<>>, epoch |-> {}], b |-> [role |-> "F", log |-> <<>>]]'


def state(number: int, action: str, role: str, epoch: int, spent: str) -> State:
    values: Any = {"rows": parse(ROWS.format(role, epoch)), "spent": parse(spent)}
    return State(number, action, values)


def told(*later: tuple[str, str, int, str]) -> list[str]:
    """The lines on what follows a follower of epoch 0 that has spent nothing."""
    first = state(1, "Init", "F", 0, "[records |-> 0, deaf |-> {}]")
    states = [first, *(state(number, *each) for number, each in enumerate(later, 2))]
    return [line for line in narrated(states) if line[0] in "23456"]


def test_a_step_without_a_name_is_told_by_what_it_changed() -> None:
    nothing, record = "[records |-> 0, deaf |-> {}]", "[records |-> 1, deaf |-> {}]"
    deaf = "[records |-> 1, deaf |-> {n1}]"
    assert told(
        ("Quiet", "L", 1, nothing),
        ("LiveNext", "L", 2, nothing),
        ("Loud", "L", 3, record),
        ("Loud", "L", 3, deaf),
    ) == ["2. a goes on", "3. a goes on", "4. a is sent a record", "5. n1 hears nothing any more"]
    assert told(("MCNext", "F", 0, nothing)) == ["2. then"]


def test_variables_that_are_no_rows_are_told_by_what_changed_in_them() -> None:
    """A model of transactions has its rows in variables of other names."""
    client = '<<[txn |-> {}, status |-> "{}"]>>'
    values: list[Any] = [
        {"clients": parse(client.format(0, "Ready")), "leaderEpoch": parse("1")},
        {"clients": parse(client.format(1, "Open")), "leaderEpoch": parse("1")},
        {"clients": parse(client.format(1, "Open")), "leaderEpoch": parse("2")},
    ]
    states = [State(number, "Next", each) for number, each in enumerate(values, 1)]
    assert [*narrated(states)] == [
        "1. the beginning",
        "2. clients[1] goes on",
        "       clients[1]: status Ready -> Open; txn 0 -> 1",
        "3. leaderEpoch goes on",
        "       leaderEpoch: 1 -> 2",
    ]


def test_a_step_with_a_name_keeps_it() -> None:
    assert told(("Flush", "L", 1, "[records |-> 0, deaf |-> {}]")) == ["2. Flush"]


def test_what_breaks_liveness_goes_on_for_ever() -> None:
    nothing = TlcResult("unknown", "killed")
    assert [*ending(nothing)] == []
    states = [state(1, "Init", "F", 0, "[records |-> 0]")] * 3
    back = replace(nothing, counterexample=states, loop_to=2)
    assert [*ending(back)] == ["and so on for ever, from 3 back to 2"]
    assert [*ending(replace(nothing, stuttering=True))] == ["and nothing changes any more"]


@pytest.mark.slow
@pytest.mark.tlc
def test_what_the_reference_follows_is_told_and_drawn_as_a_run() -> None:
    """With the bug to the end; without it to where the bug shows, and on as TLC shows it."""
    manifest = manifest_of("quorum")
    model = manifest.models["Z20"]
    result = violations.find(manifest, model, RunOptions(jar=find_jar(), java=find_java()))
    whole = tell(manifest, model, result, "Z20")
    assert whole.run is not None
    assert whole.run.result.verdict == "at state 4 of the 4 that TLC shows"
    assert whole.lines[0].startswith("n1 of TLC is voter 1, n2")
    assert "VoteRequest 1>3" in "".join(whole.lines)
    assert whole.lines[-1].startswith(
        "EpochCacheSound is broken: the epoch cache of node n1 is not"
    )
    (arrow,) = [
        each
        for each in picture("Z20", whole.run, {}, ()).arrows
        if each.words.startswith("VoteResponse 2>1")
    ]
    assert None not in (arrow.left, arrow.taken)
    part = tell(manifest, model, result, None)
    at = part.lines.index("The reference follows to state 3 of TLC; from there on TLC has:")
    assert [line for line in part.lines[at:] if line[:1].isdigit()] == [
        "3. from here on",
        "4. n1 goes on",
    ]
    assert part.lines[-1] == whole.lines[-1]


# -- How they end


def stored() -> list[tuple[Model, Counterexample]]:
    manifest = manifest_of()
    found = [
        (model, violations.load(manifest, model))
        for model in manifest.models.values()
        if violations.path_of(manifest, model).is_file()
    ]
    return [(model, each) for model, each in found if each is not None]


def test_every_stored_counterexample_ends_with_what_is_wrong() -> None:
    assert stored()
    for model, each in stored():
        start = f"{each.property} is broken"
        # What lasts for ever is wrong in no state, and what the reference does not know of it
        # cannot say.
        known = each.prefix and each.property != "FollowedLeaderStays"
        assert each.told[-1].startswith(f"{start}: " if known else f"{start}, which says: "), model


def test_no_number_of_a_partition_epoch_steps_back() -> None:
    """Where none does; one that crashes forgets what it knew, in the other models."""
    for model, each in stored():
        text = "\n".join(each.told if model.module in COUNT_ANEW else ())
        for old, new, after in re.findall(r"partitionEpoch (\d+) -> (\d+)( \(renumbered\))?", text):
            assert int(old) <= int(new) or after, each.model


def of_z38(prefix: dict[str, str]) -> str:
    """How a counterexample to Z38 ends that ends in this state."""
    manifest = manifest_of("partition")
    values: Any = {name: parse(text) for name, text in prefix.items()}
    model, states = manifest.models["Z38"], [State(1, "", values)]
    return endings.ending(manifest, model, "LeaderCandidateCompleteness", states)


def test_who_lacks_what_is_read_from_the_last_state() -> None:
    manifest = manifest_of("partition")
    found = violations.load(manifest, manifest.models["Z38"])
    assert found is not None
    # Three steps before its end nothing is wrong, so only what the property says can be said.
    says = "LeaderCandidateCompleteness is broken, which says: Every running member of the ISR"
    assert of_z38(found.prefix).startswith(says)
    isr = "elr |-> {}, isr |-> {b1, b2}"
    assert isr in found.prefix["controller"]
    controller = found.prefix["controller"].replace(isr, isr.replace("b2", "b2, b3"))
    rows = (
        found.prefix["rows"]
        .replace('status |-> "Starting"', 'status |-> "Running"')
        .replace("brokerEpoch |-> -1", "brokerEpoch |-> 0")
    )
    wrong = "b3 may be elected and lacks the record at 0, which is committed"
    assert of_z38({**found.prefix, "controller": controller, "rows": rows}).endswith(wrong)
    # A field that the model does not show is looked at by nobody without notice.
    without = rows.replace(" log |->", " other |->")
    assert of_z38({**found.prefix, "controller": controller, "rows": without}).startswith(says)


def test_a_number_that_falls_is_told_where_a_model_counts_anew() -> None:
    def row(role: str, epoch: int) -> str:
        return f'[b |-> [role |-> "{role}", log |-> <<>>, partitionEpoch |-> {epoch}]]'

    def lines(role: str, counts_anew: bool) -> list[str]:
        rows = (row("Leader", 2), row(role, 1))
        states = [State(n, "MCNext", {"rows": parse(each)}) for n, each in enumerate(rows, 1)]
        return [line.strip() for line in narrated(states, counts_anew)][3:]

    assert "MCPartitionReduced" in COUNT_ANEW
    assert lines("Leader", counts_anew=True) == ["b: partitionEpoch 2 -> 1 (renumbered)"]
    assert lines("Leader", counts_anew=False) == ["b: partitionEpoch 2 -> 1"]
    assert lines("Follower", counts_anew=True) == ["b: role Leader -> Follower"]


def test_names_of_nodes_stay_in_the_counterexample_that_has_them() -> None:
    """A number with a name equals the number: what is remembered of one is not told of another."""
    named = PartitionConstants(replicas=(Named(2, "b2"), Named(1, "b1")), min_insync_replicas=1)
    assert str(named.brokers) == "(b1, b2)"
    plain = PartitionConstants(replicas=(2, 1), min_insync_replicas=1)
    assert plain == named and str(plain.brokers) == "(1, 2)"
