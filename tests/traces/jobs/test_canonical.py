"""Canonical forms (L9): what is renamed, that it is sound, and that renamings meet in one form."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from kraftcheck.reference.groups.messages import Unsubscribe
from kraftcheck.reference.groups.types import INITIAL_MEMBER, Constants as GroupConstants
from kraftcheck.reference.kit.fields import fields_of, within
from kraftcheck.reference.protocols import KINDS
from kraftcheck.reference.quorum.messages import (
    Append,
    FetchResponse,
    Input,
    Message,
    VoteRequest,
)
from kraftcheck.reference.quorum.protocol import VOTER
from kraftcheck.reference.quorum.types import (
    Constants,
    Entry,
    QuorumStateFile,
    initial_row,
)
from kraftcheck.reference.quorum.voters.types import Constants as VoterConstants, initial_voter_row
from kraftcheck.traces.steps import symmetry
from kraftcheck.traces.steps.record import decoder_of
from kraftcheck.traces.steps.symmetry import Canonicaliser, CanonicalStep, Step
from kraftcheck.traces.steps.translation import Abstraction, as_columns, step_frame
from tests.conformance.recording import steps_of_walk
from tests.traces.jobs.renaming import rename_step
from tests.traces.jobs.test_abstraction import module_text
from tla_utils import check_steps
from tla_utils.errors import ToolError

decode_input = msgspec.msgpack.Decoder(Input).decode
decode_message = msgspec.msgpack.Decoder(Message).decode
THREE = Constants(voters=(1, 2, 3), fetch_max_records=2)
FIVE = Constants(voters=(0, 1, 2, 3, 4), fetch_max_records=2)
STEPS = {
    constants: [step for seed in range(12) for step in steps_of_walk(constants, seed, 120)]
    for constants in (THREE, FIVE)
}
# Epochs of leaders, offsets of logs, sequence numbers, clients: no renaming changes them.
NUMBERS = {
    *("epoch", "flushed", "high_watermark", "epoch_start", "end_offsets", "announced"),
    *("start", "end_offset", "last_epoch", "last_offset", "fetch_offset", "last_fetched_epoch"),
    *("keep", "incarnation", "log_start", "corrupt", "checkpoint", "leader_epoch"),
    *("partition_epoch", "offset", "required", "producer", "producer_epoch", "sequence"),
    *("first", "last", "client", "acks"),
    # Of transactions; their clients are told apart.
    *("coordinator_epoch", "behind"),
    # Of groups: of epochs two are compared, and counted on; partitions stand for nobody.
    *("previous_epoch", "target_epoch", "topics", "subscribed", "target", "assigned", "pending"),
    *("held", "owned", "current", "reconciling", "partition", "position"),
    *("deleted", "renewed", "gone", "grown"),
    *("since", "now", "taken", "asked", "revoking", "time", "fetched", "handed_out", "id"),
    "transaction",
    # Of classic groups: generations.
    *("generation", "claimed", "partitions"),
    # Of replicas that are cleaned: holes that are kept.
    "kept",
    # Of voters that come and go, and of snapshots: offsets.
    *("history_end", "change", "end", "ends", "next"),
    # Of reassignments: topics and directories stand for nobody; of replicas, how many in sync.
    *("topic_id", "topics_made", "directories", "directory", "failed", "min_isr"),
    # Of hosted replicas: the same.
    *("online", "reported", "future", "aborted"),
    # Of a replica that is cleaned: offsets, and keys and values that stand for nobody.
    *("aged", "clean_next", "clean_to", "cleaned", "covered", "expired", "segments", "to"),
    *("key", "keys", "removed", "value"),
    # Of share groups: offsets, an epoch that nothing counts, and numbers of deliveries.
    *("count", "done", "gap", "gap_end", "state_epoch"),
    # Of share sessions: connections, which are counted, and offsets.
    *("connection", "closed", "offsets", "refused", "restarts"),
    # Of a share group's state: start offsets, and numbers of initializations.
    *("requested", "told", "reached", "intent", "told_intent", "written"),
    # Of controllers: numbers of requests, offsets, and epochs that are compared.
    *("operation", "committed", "committed_epoch", "heard"),
}


def named(constants: Constants, images: Sequence[int]) -> dict[int, int]:
    return dict(zip(constants.voters, images, strict=True))


def form(constants: Constants, step: Step) -> CanonicalStep:
    return Canonicaliser(constants).canonical(step)


def decoded(form: CanonicalStep) -> Step:
    """The canonical step as a step of its own."""
    return Step(
        form.action,
        form.node,
        decoder_of(VOTER.row)(form.before),
        decode_input(form.input) if form.input else None,
        decoder_of(VOTER.row)(form.after),
        tuple([decode_message(body) for body in form.sent]),
        form.ignored,
    )


# --- What is renamed


def test_who_is_known_from_the_others_is_renamed_among_its_own() -> None:
    """Static members leave for a while: the first of them stands for them, and for nobody else."""

    def names(*static: tuple[int, ...]) -> list[int]:
        canonicaliser = Canonicaliser(GroupConstants((1, 2, 3), (1,), 1, 1, static))
        of = (INITIAL_MEMBER, Unsubscribe(), INITIAL_MEMBER, (), "")
        steps = [Step("HandleUnsubscribe", n, *of) for n in (1, 2, 3)]
        return [canonicaliser.canonical(step).node for step in steps]

    assert names() == names((1, 2, 3)) == [1, 1, 1]
    assert names((2, 3)) == [1, 2, 2]
    assert names((1,)) == [1, 2, 2]
    assert names((1, 3), (2,)) == [1, 2, 1]


def test_every_number_is_of_a_kind_or_known_to_be_none() -> None:
    """A number that is new in a row or a message fails here until somebody has decided."""
    plain = {
        field.name
        for kind in KINDS
        for struct in within((kind.row, *kind.inputs))
        for field in fields_of(struct)
        if field.type is int and field.of is None
    }
    assert plain == NUMBERS


def test_one_bijection_is_applied_to_the_whole_step() -> None:
    row = replace(
        initial_row(THREE),
        leader=2,
        voted=3,
        quorum_state=QuorumStateFile(1, 2, 3),
        granted=(1, 2),
        successors=(3, 2),
        end_offsets=(5, 6, 7),
        log=(Entry(1, 0), Entry(1, 8)),
    )
    asked = VoteRequest(2, 1, 3, 1, 2, True)
    renamed = rename_step(
        THREE,
        Step("HandleVoteRequest", 1, row, asked, row, (asked,), ""),
        {1: 2, 2: 3, 3: 1},
        {8: 4}.__getitem__,
    )
    assert (renamed.node, renamed.before.leader, renamed.before.voted) == (2, 3, 1)
    assert renamed.before.quorum_state == QuorumStateFile(1, 3, 1)
    assert (renamed.before.granted, renamed.before.successors) == ((2, 3), (1, 3))
    assert renamed.before.end_offsets == (7, 5, 6)
    assert renamed.before.log == (Entry(1, 0), Entry(1, 4))
    assert renamed.input == renamed.sent[0] == replace(asked, source=3, destination=2)
    assert renamed.after == renamed.before


def test_first_rows_keep_their_names_where_constants_name_some_of_the_nodes() -> None:
    constants = VoterConstants((1, 2, 3), (1, 2), 2)
    first = initial_voter_row(constants)
    forms = [
        Canonicaliser(constants).canonical(Step("Init", n, first, None, first, (), ""))
        for n in constants.nodes
    ]
    assert [form.node for form in forms] == [1, 2, 3]
    assert all(decoder_of(type(first))(form.before) == first for form in forms)


def test_nobody_stays_nobody() -> None:
    row = initial_row(THREE)
    renamed = rename_step(THREE, Step("Init", 1, row, None, row, (), ""), {1: 3, 2: 1, 3: 2}, int)
    assert renamed.before == row


# --- That renamings meet


@pytest.mark.parametrize("constants", [THREE, FIVE], ids=["three", "five"])
def test_every_permutation_of_the_voters_leads_to_one_form(constants: Constants) -> None:
    permutations = list(itertools.permutations(constants.voters))
    for step in STEPS[constants][:: 7 if constants is THREE else 83]:
        forms = {
            form(constants, rename_step(constants, step, named(constants, images), int))
            for images in permutations
        }
        assert len(forms) == 1


@given(data=st.data())
def test_values_and_voters_renamed_at_once_lead_to_one_form(data: st.DataObject) -> None:
    step = data.draw(st.sampled_from(STEPS[THREE]))
    images = data.draw(st.permutations(THREE.voters))
    values = data.draw(st.permutations(range(1, 121)))
    number = dict(zip(range(1, 121), values, strict=True))
    renamed = rename_step(THREE, step, named(THREE, images), number.__getitem__)
    assert form(THREE, renamed) == form(THREE, step)


@given(step=st.sampled_from(STEPS[THREE] + STEPS[FIVE]))
def test_the_form_of_a_form_is_itself(step: Step) -> None:
    constants = THREE if step in STEPS[THREE] else FIVE
    once = form(constants, step)
    assert form(constants, decoded(once)) == once


def numbers_of(step: Step) -> dict[int, int]:
    """The numbering of the slow twin: through the step in reading order."""
    taken = [step.input.value] if isinstance(step.input, Append) else []
    records = [entry.value for entry in getattr(step.input, "records", ())]
    before, after = ([entry.value for entry in row.log] for row in (step.before, step.after))
    numbers = {0: 0}
    for value in (*before, *taken, *records, *after):
        numbers.setdefault(value, len(numbers))
    return numbers


def renamings_of(step: Step) -> list[Step]:
    """The slow twin: the step with its values numbered, under every bijection of the voters."""
    return [
        rename_step(THREE, step, named(THREE, images), numbers_of(step).__getitem__)
        for images in itertools.permutations(THREE.voters)
    ]


@given(step=st.sampled_from(STEPS[THREE]))
def test_a_form_is_a_renaming_of_its_step(step: Step) -> None:
    """Soundness does not rest on which representative is picked, but it does on this."""
    assert decoded(form(THREE, step)) in renamings_of(step)


def test_forms_tell_different_steps_apart() -> None:
    """As many classes as the slow twin finds: no class with two forms, no form with two classes."""
    steps = list(dict.fromkeys(STEPS[THREE]))[:400]
    forms = {form(THREE, step) for step in steps}
    classes = {frozenset(renamings_of(step)) for step in steps}
    assert len(forms) == len(classes)


def test_constants_are_part_of_a_key() -> None:
    found = form(THREE, STEPS[THREE][0])
    assert found.digest(b"one") != found.digest(b"other")


def test_a_value_that_only_a_sent_message_has_is_numbered_too() -> None:
    """No step of the reference is like that; a corrupted one must still have one form."""
    step = next(
        s for s in STEPS[THREE] if any(isinstance(m, FetchResponse) and m.records for m in s.sent)
    )
    (at, message) = next(
        (at, m) for at, m in enumerate(step.sent) if isinstance(m, FetchResponse) and m.records
    )
    forms = set()
    for value in (501, 777):
        strange = replace(message, records=(Entry(message.records[0].epoch, value),))
        sent = (*step.sent[:at], strange, *step.sent[at + 1 :])
        forms.add(form(THREE, step._replace(sent=sent)))
    assert len(forms) == 1
    assert forms != {form(THREE, step)}


def test_memory_changes_no_form(monkeypatch: pytest.MonkeyPatch) -> None:
    remembering = Canonicaliser(THREE)
    with_memory = [remembering.canonical(step) for step in STEPS[THREE][:300]]
    monkeypatch.setattr(symmetry, "MEMO_LIMIT", 0)
    forgetful = Canonicaliser(THREE)
    assert [forgetful.canonical(step) for step in STEPS[THREE][:300]] == with_memory


def test_too_many_orders_are_not_tried_and_the_form_is_still_a_renaming(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(symmetry, "MOST_ORDERS", 1)
    for step in STEPS[THREE][:200]:
        again = decoded(form(THREE, step))
        assert again.node == THREE.voters[0]
        assert again.before.role == step.before.role


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        (STEPS[THREE][0]._replace(node=9), "no node"),
        (
            STEPS[THREE][0]._replace(after=replace(initial_row(THREE), end_offsets=(1,))),
            "not one of the nodes",
        ),
    ],
)
def test_a_step_of_another_quorum_is_refused(step: Step, complaint: str) -> None:
    with pytest.raises(ToolError, match=complaint):
        form(THREE, step)


# --- That it is sound: the handlers compare nodes for equality only, and look at no value

NODE_NAMES = {"n", "p", "v", "peer", "node", "leader", "voted", "source", "destination"}
HANDLER_MODULES = (
    *("QuorumHandlers", "QuorumRules", "VoterSet", "ReplicaLog"),
    *("VoterChanges", "VoterRules"),
)
# What is written or passed on; and a value of the log's own, which is not renamed.
OF_VALUES = ("input.value]", "value |-> @.value", "entry.value = VotersRecord")


# The offset that a majority has reached: its `p` and `o` are offsets.
OFFSET_CHOICE = r"CHOOSE o \\in byMajority : \\A p \\in byMajority : p <= o"


def unsound(text: str) -> list[str]:
    """What in a module would tell nodes apart other than by equality, or look at a value."""
    text = re.sub(OFFSET_CHOICE, " ", text)
    found = [f"choice: {choice}" for choice in re.findall(r"CHOOSE [^:]*", text)]
    plain = re.sub(r"<<|>>|<=>|=>|\|->|->|<-|==", " ", text)
    operand = r"[\w.\[\]!]+"
    comparisons = rf"({operand})\s*(<=|>=|<|>|\+|-|\.\.)\s*({operand})"
    for left, operator, right in re.findall(comparisons, plain):
        # Of an entry of a function, the function.
        sides = [re.sub(r"\[.*\]$", "", side) for side in (left, right)]
        names = {re.split(r"[.!\[]", side.rstrip("]"))[-1] for side in sides}
        if names & NODE_NAMES:
            found.append(f"order: {left} {operator} {right}")
    uses = re.findall(r"[^\n]*\S+\.value\b[^\n]*", text)
    uses = [use for use in uses if not any(known in use for known in OF_VALUES)]
    return found + [f"value: {use}" for use in uses]


@pytest.mark.parametrize("module", HANDLER_MODULES)
def test_handlers_use_equality_only_on_nodes_and_values(specs_dir: Path, module: str) -> None:
    assert unsound(module_text(specs_dir, module)) == []


@pytest.mark.parametrize(
    "planted",
    [
        "First == CHOOSE v \\in Voters : TRUE",
        "Smaller(n, row) == n < row.leader",
        "Next(n) == n + 1",
        "Range(row) == 0 .. row.voted",
        "Later(m) == m.source >= m.destination",
        "Odd(e) == e.value % 2 = 1",
    ],
)
def test_the_reader_of_modules_finds_what_is_planted(specs_dir: Path, planted: str) -> None:
    assert unsound(module_text(specs_dir, "QuorumHandlers") + "\n" + planted)


def test_the_only_choice_is_over_offsets(specs_dir: Path) -> None:
    texts = [module_text(specs_dir, module) for module in HANDLER_MODULES]
    choices = [choice for text in texts for choice in re.findall(r"CHOOSE \S+ \\in \S+", text)]
    assert choices == ["CHOOSE o \\in byMajority"]


def corrupted(step: Step) -> Step:
    return step._replace(after=replace(step.after, high_watermark=step.after.high_watermark + 1))


@pytest.mark.tlc
def test_tlc_judges_renamed_steps_alike() -> None:
    """A sample of good and of corrupted steps, under every permutation of three voters."""
    sample = list(dict.fromkeys(STEPS[THREE]))[::40]
    sample += [corrupted(step) for step in sample[::2]]
    renamed: list[dict[str, Any]] = []
    abstraction = Abstraction(THREE)
    for step in sample:
        for images in itertools.permutations(THREE.voters):
            other = rename_step(THREE, step, named(THREE, images), lambda value: value * 37 % 997)
            renamed.append(as_columns(abstraction, other))
        renamed.append(as_columns(abstraction, decoded(form(THREE, step))))
    report = check_steps(step_frame(VOTER, THREE), renamed)
    verdicts = [verdict.verdict for verdict in report.verdicts]
    of_step = [set(verdicts[at : at + 7]) for at in range(0, len(verdicts), 7)]
    assert all(len(each) == 1 for each in of_step)
    assert set().union(*of_step) == {"accepted", "rejected"}
