"""What is checked on whole runs, so that judging steps judges runs (L1 to L10).

TLC says of each step whether the specification allows it. That the steps of a run, one behind the
other, are a behaviour of the specification is said here:

    ContentAddressed   a row or an input is stored once, under the digest of what it holds (L7)
    Labelled           a step has the action that its input belongs to, as the lifting of handlers
                       to actions demands it
    ConstantsAgree     a step is judged under the constants of the run that took it (L8); the step
                       of an election may list the replicas in another order
    FirstRowsInitial   each node begins in the initial row (TLC judges that as well)
    Chained            each node enters a step in the row in which it left its last one (L7); one
                       that is another one as it was, in that or in a row that the other had
    StepsCounted       as many steps are recorded as the scheduler counted handler calls (L7)
    Provenanced        a delivered message was sent before, in this run, to this node, as it is:
                       the guarantee of Network.tla (L3). Loss, duplication, reordering are
                       free; invention, alteration and misdelivery are not. Timers, client
                       requests, crashes need no sender.
    MetadataRead       what a broker reads of the metadata log was written there before, as it is:
                       the abstract log that specs/partition/PartitionController.tla writes (C0)
    NothingWhenDown    a node that is not running receives no message (`LiftMessages`)
    SentOnce           no step sends one message twice: the spec's set would not show it (L6)
    Committed          in a cluster, what a partition's controller writes is what the quorum's log
                       says, when it is committed (C0);
    OneProcess         a broker is one process in all its partitions; and
    OneLog             where a partition is the log of a coordinator, that has what the partition
                       has: cluster.py
    Joined             in another composition, an input that a join leads to comes of a step that
                       led to it, in turn and once
    InOrder            messages that keep their order come in that of their sending, each once
    WellFormed         a step is one of a node of the cluster, its rows have an entry for each node
                       where they must, and their sets are sets. Other steps have no form in the
                       spec; they are not judged, and this finding says so.

Of what comes in turn (Joined, InOrder): something is *due* at a node when a step has led to it, and
*comes* when the node takes a step with it as its input. What comes must be due, and comes in the
order in which it was due, each once; some of it may never come. What is due, and where, is declared
(`Join` and `World.in_order` of reference/kit/protocol.py).

Every check works on recorded data, never on canonical forms. Each has a planted fault in
tests/conformance that it alone must report.

The docstring of a check is its sentence in reports.

Law of this file: a check finds, in every run, the first occurrence that is wrong, and says so in
one finding; it never stops at the first run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import wraps
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np

from kraftcheck.reference.kit.protocol import Composition, Outcome
from kraftcheck.reference.protocols import (
    CLUSTER,
    EARLIER,
    KINDS,
    LOGS_BY_READING,
    components_of,
    composition_of,
    is_composed,
    is_written,
    may_have,
    needs_no_sender,
    protocol_of,
)
from kraftcheck.traces.steps.record import (
    NOT_A_MESSAGE,
    Ints,
    Mask,
    Occurrence,
    Part,
    Stored,
    Wrong,
)

_JOINTS: Final = import_module(f"{__package__}.{CLUSTER}")
"""What joins the components of the kit's own composition."""


class Finding(msgspec.Struct, frozen=True, order=True):
    """What a check found wrong in a run: `step` is the number of the step in the run, from 0."""

    check: str
    run: int
    step: int
    explanation: str


Check: TypeAlias = Callable[[Part], Iterator[Finding]]


def content_addressed(part: Part) -> Iterator[Finding]:
    """Rows and inputs are stored once, under the digest of what they hold."""
    bad_rows = _badly_stored(part.row_digests, part.stored_rows)
    bad_inputs = _badly_stored(part.input_digests, part.stored_inputs)
    for number, kind in enumerate(part.input_types):
        if type(part.inputs[number]).__name__ != kind:
            bad_inputs[number] = True
    sent = _any_of_list(bad_inputs[part.sent.items], part.sent.offsets)
    step = bad_rows[part.before] | bad_rows[part.after] | bad_inputs[part.input] | sent
    yield from _first_in_runs(
        part,
        "ContentAddressed",
        step[part.taken],
        lambda o: (
            f"{o.action} of node {o.node} refers to a row or an input that is not stored once and "
            "under the digest of what it holds"
        ),
    )


def _badly_stored(digests: Sequence[bytes], all_stored: Sequence[Stored]) -> Mask:
    """Find entries that are stored wrongly.

    The digest is not that of the body, or another entry has it, or the body has something that the
    values do not have (an unknown field).
    """
    bad = np.zeros(len(digests), dtype=np.bool_)
    seen: set[bytes] = set()
    for number, (named, stored) in enumerate(zip(digests, all_stored, strict=True)):
        bad[number] = named in seen or named != stored.name or not stored.whole
        seen.add(named)
    return bad


def labelled(part: Part) -> Iterator[Finding]:
    """A step has the action that its input belongs to."""
    expected = [f"Handle{type(item).__name__}" for item in part.inputs]
    wrong = np.array(
        [action != expected[of] for action, of in zip(part.action, part.input, strict=True)],
        dtype=np.bool_,
    )
    yield from _first_in_runs(
        part,
        "Labelled",
        wrong[part.taken],
        lambda o: f"recorded as {o.action}, but its input makes it Handle{o.kind}",
    )


def constants_agree(part: Part) -> Iterator[Finding]:
    """A step is judged under the constants of the run that took it."""
    of_step, of_run = part.step_constants[part.taken], part.run_constants[part.run_at]
    texts, owed = part.constants_texts, part.owed_constants
    wrong = of_step != owed
    for at in np.flatnonzero(wrong & (owed >= 0)).tolist():
        action, constants = part.action[part.taken[at]], part.constants
        wrong[at] = not may_have(action, constants[of_step[at]], constants[owed[at]])
    yield from _first_in_runs(
        part,
        "ConstantsAgree",
        wrong,
        lambda o: (
            f"the step has the constants {texts[of_step[o.at]]}, its run {texts[of_run[o.at]]}"
        ),
    )


def first_rows_initial(part: Part) -> Iterator[Finding]:
    """Every node begins in the initial row."""
    begun = part.begun
    wrong = np.zeros(len(part.taken), dtype=np.bool_)
    steps = part.taken[begun]
    cases = np.stack([part.step_constants[steps], part.step_kind[steps]], axis=1)
    for code, kind in np.unique(cases, axis=0).tolist():
        if is_composed(part.constants[code]):
            continue  # WellFormed says so.
        initial = KINDS[kind].initial(part.constants[code])
        rows = part.before[steps]
        other = {int(row): part.rows[row] != initial for row in np.unique(rows)}
        mine = (cases == (code, kind)).all(axis=1)
        wrong[begun] |= mine & np.array([other[row] for row in rows.tolist()], dtype=np.bool_)
    yield from _first_in_runs(
        part,
        "FirstRowsInitial",
        wrong,
        lambda o: f"node {o.node} does not begin in the initial row",
    )


def chained(part: Part) -> Iterator[Finding]:
    """Every node enters a step in the row in which it left its last one."""
    order, first = part.by_node
    before, after = part.before[part.taken[order]], part.after[part.taken[order]]
    wrong = np.zeros(len(part.taken), dtype=np.bool_)
    wrong[order[1:]] = ~first[1:] & (before[1:] != after[:-1])
    _chain_to_others(part, wrong)
    yield from _first_in_runs(
        part,
        "Chained",
        wrong,
        lambda o: (
            f"node {o.node} enters {o.action} in another row than the one in which it left its "
            "step before"
        ),
    )


def _chain_to_others(part: Part, wrong: Mask) -> None:
    """Nodes that are another one as it was enter in a row that this one had, or that they left."""
    node = part.node[part.taken]
    if not np.isin(node, list(EARLIER)).any():
        return
    had: dict[tuple[int, int], set[int]] = {}
    for at in np.flatnonzero(np.isin(node, [*EARLIER, *EARLIER.values()])).tolist():
        mine, step = int(node[at]), int(part.taken[at])
        rows = had.setdefault((int(part.thread[at]), EARLIER.get(mine, mine)), set())
        before, after = int(part.before[step]), int(part.after[step])
        if mine in EARLIER:
            wrong[at] = before not in rows
            rows.add(after)
        else:
            rows.update((before, after))


def steps_counted(part: Part) -> Iterator[Finding]:
    """As many steps are recorded as the scheduler counted handler calls."""
    recorded = part.steps_of_run.lengths
    for at in np.flatnonzero(recorded != part.handler_calls):
        yield Finding(
            "StepsCounted",
            int(part.run[at]),
            max(int(recorded[at]) - 1, 0),
            f"{recorded[at]} steps are recorded, the scheduler counted {part.handler_calls[at]}",
        )
    occurrences = np.bincount(part.taken, minlength=len(part.node))
    off = occurrences != part.count
    yield from _first_in_runs(
        part,
        "StepsCounted",
        off[part.taken],
        lambda o: (
            f"step {o.step} of the part was counted {part.count[o.step]} times, but its runs took "
            f"it {occurrences[o.step]} times"
        ),
    )
    if np.any(off & (occurrences == 0)):
        yield Finding(
            "StepsCounted",
            part.first_run,
            0,
            f"the part counts a step that no run took: {np.flatnonzero(off & (occurrences == 0))}",
        )


def provenanced(part: Part) -> Iterator[Finding]:
    """A delivered message was sent before, in this run, to this node, as it is."""
    destination = part.input_destination[part.input[part.taken]]
    items = zip(part.inputs, part.is_message, strict=True)
    from_outside = np.array([is_one and needs_no_sender(m) for m, is_one in items], dtype=np.bool_)
    needs_sender = ~from_outside[part.input[part.taken]]
    delivered = np.flatnonzero((destination != NOT_A_MESSAGE) & needs_sender)
    addressed = part.node[part.taken].copy()
    for node, of in EARLIER.items():
        addressed[addressed == node] = of
    astray = (destination != NOT_A_MESSAGE) & (destination != addressed)
    sent_by = np.repeat(np.arange(len(part.taken)), part.sent.lengths[part.taken])
    message = _gather(part)
    # A message of a thread as one number. Occurrences ascend, so the first one found sent it first.
    width = max(len(part.inputs), 1)
    sent, at = np.unique(part.thread[sent_by] * width + message, return_index=True)
    first_sent = sent_by[at]
    wanted = part.thread[delivered] * width + part.input[part.taken[delivered]]
    place = np.searchsorted(sent, wanted)
    known = place < len(sent)
    known[known] = sent[place[known]] == wanted[known]
    earlier = known.copy()
    earlier[known] = first_sent[place[known]] < delivered[known]
    wrong = astray.copy()
    wrong[delivered] |= ~earlier
    ever = dict(zip(delivered.tolist(), known.tolist(), strict=True))

    def explain(o: Occurrence) -> str:
        if astray[o.at]:
            return f"a {o.kind} to node {destination[o.at]} was delivered to node {o.node}"
        when = "before it was sent" if ever[o.at] else "that nobody sent"
        return f"a {o.kind} was delivered to node {o.node} {when}"

    yield from _first_in_runs(part, "Provenanced", wrong, explain)


def metadata_read(part: Part) -> Iterator[Finding]:
    """What a broker reads of the metadata log was written there before, as it is."""
    writes = [is_written(message) for message in part.inputs]
    reads = np.array([type(m) in LOGS_BY_READING for m in part.inputs], dtype=np.bool_)
    if not reads.any():
        return
    wrong = np.zeros(len(part.taken), dtype=np.bool_)
    reading = reads[part.input[part.taken]]
    logs: dict[int, list[Any]] = {}
    writing = _any_of_list(np.array(writes, dtype=np.bool_)[part.sent.items], part.sent.offsets)
    found = np.flatnonzero(reading | writing[part.taken])
    threads, steps = part.thread[found].tolist(), part.taken[found].tolist()
    for at, thread, step in zip(found.tolist(), threads, steps, strict=True):
        log = logs.setdefault(thread, [])
        _, _, input, _, sent = part.parts_of_steps[step]
        read = part.inputs[input]
        if type(read) in LOGS_BY_READING:
            start = read.offset - LOGS_BY_READING[type(read)].first
            written = tuple(log[start : start + len(read.records)]) if start >= 0 else ()
            wrong[at] = not read.records or written != read.records
        for number in sent:
            if writes[number]:
                log += part.inputs[number].records
    yield from _first_in_runs(
        part,
        "MetadataRead",
        wrong,
        lambda o: f"broker {o.node} read metadata that nobody had written",
    )


def _gather(part: Part) -> Ints:
    """The messages sent by each occurrence, one behind the other."""
    lengths = part.sent.lengths[part.taken]
    starts = part.sent.offsets[part.taken]
    ends = np.cumsum(lengths)
    within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
    items: Ints = part.sent.items[np.repeat(starts, lengths) + within]
    return items


def nothing_when_down(part: Part) -> Iterator[Finding]:
    """A node that is not running receives no message."""
    message = np.array(part.is_message, dtype=np.bool_)
    wrong = message[part.input] & ~part.row_running[part.before]
    yield from _first_in_runs(
        part,
        "NothingWhenDown",
        wrong[part.taken],
        lambda o: f"node {o.node} is {o.role} and received a {o.kind}",
    )


def sent_once(part: Part) -> Iterator[Finding]:
    """No step sends one message twice."""
    twice = np.zeros(len(part.node), dtype=np.bool_)
    for step in np.flatnonzero(part.sent.lengths > 1).tolist():
        messages = part.sent[step].tolist()
        twice[step] = len(set(messages)) < len(messages)
    yield from _first_in_runs(
        part,
        "SentOnce",
        twice[part.taken],
        lambda o: f"{o.action} of node {o.node} sent one message twice",
    )


def well_formed(part: Part) -> Iterator[Finding]:
    """Steps are those of voters, and their rows have a form in the spec."""
    yield from _first_in_runs(
        part,
        "WellFormed",
        part.ill_formed[part.taken],
        lambda o: (
            f"{o.action} of node {o.node}: a stranger, or a row that is none of its cluster's"
        ),
    )


def _found_wrong(check: str, wrongs: Callable[[Part], Iterator[Wrong]]) -> Check:
    """A check, of what finds the first occurrence of each run; with its sentence."""

    @wraps(wrongs)
    def checked(part: Part) -> Iterator[Finding]:
        for wrong in wrongs(part):
            run = int(part.run[part.run_at[wrong.at]])
            yield Finding(check, run, int(part.position[wrong.at]), wrong.explanation)

    return checked


def _any_of_list(items: Mask, offsets: Ints) -> Mask:
    """Per list: whether any of its items is set."""
    total = np.concatenate(([0], np.cumsum(items)))
    return total[offsets[1:]] > total[offsets[:-1]]


def _first_in_runs(
    part: Part, check: str, wrong: Mask, explain: Callable[[Occurrence], str]
) -> Iterator[Finding]:
    """A finding for the first occurrence in each run that is wrong."""
    found = np.flatnonzero(wrong)
    runs, first = np.unique(part.run_at[found], return_index=True)
    for run, at in zip(runs.tolist(), found[first].tolist(), strict=True):
        occurrence = part.occurrence(at)
        where = f", in {occurrence.where}" if occurrence.where else ""
        explanation = f"{explain(occurrence)}{where}"
        yield Finding(check, int(part.run[run]), int(part.position[at]), explanation)


# --- What comes in turn ---


class _Turn(NamedTuple):
    """Where things wait for their turn."""

    due: Callable[[int, int], Iterable[tuple[Hashable, Any]]]
    """What a step of the part makes due, with the queue."""
    comes: Callable[[int, int], Hashable | None]
    """In which queue a step's input must wait; None: it needs none."""


def _joins_in_turn(part: Part) -> Iterator[Wrong]:
    """What a join leads a component to comes of a step of the other one, in turn and once."""
    for run, code in enumerate(part.run_constants.tolist()):
        composition = composition_of(part.constants[code])
        if composition is not None:
            turn = _of_joins(part, composition)
            yield from _first(part, run, turn, "which no step of the other component leads to then")


def _channels_in_order(part: Part) -> Iterator[Wrong]:
    """Messages that keep their order come in that of their sending, each once."""
    for run, code in enumerate(part.run_constants.tolist()):
        worlds = [protocol_of(each).world for each in components_of(part.constants[code])]
        of = [(lambda message: 0) if world is None else world.in_order for world in worlds]
        if any(_orders(part, each) for each in of):
            turn = _of_channels(part, of)
            yield from _first(part, run, turn, "which is not the next on its way, or came already")


def _orders(part: Part, of: Callable[[Any], int]) -> bool:
    return any(of(each) for each in part.inputs if hasattr(each, "destination"))


def _first(part: Part, run: int, turn: _Turn, why: str) -> Iterator[Wrong]:
    waiting: dict[Hashable, deque[Any]] = {}
    for at in part.occurrences_of(run):
        step, component = int(part.taken[at]), int(part.component[at])
        queue = turn.comes(component, step)
        if queue is not None:
            found, input = waiting.get(queue, deque()), part.inputs[part.input[step]]
            while found and found[0] != input:
                found.popleft()
            if not found:
                what = f"{part.action[step]} of node {part.node[step]} has an input {why}: {input}"
                yield Wrong(at, what)
                return
            found.popleft()
        for queue, due in turn.due(component, step):
            waiting.setdefault(queue, deque()).append(due)


def _of_joins(part: Part, composition: Composition) -> _Turn:
    names = [*composition.parts]

    def due(component: int, step: int) -> Iterator[tuple[Hashable, Any]]:
        for join in composition.joins:
            if join.of == names[component]:
                taken = part.step(step)
                outcome = Outcome(taken.after, taken.sent, taken.ignored)
                for node, input in join.leads(taken.node, taken.before, taken.input, outcome):
                    yield (join.to, node), input

    def comes(component: int, step: int) -> Hashable | None:
        name, kind = names[component], type(part.inputs[part.input[step]])
        if any(join.to == name and kind in join.inputs for join in composition.joins):
            return name, int(part.node[step])
        return None

    return _Turn(due, comes)


def _of_channels(part: Part, of: list[Callable[[Any], int]]) -> _Turn:
    def due(component: int, step: int) -> Iterator[tuple[Hashable, Any]]:
        for message in part.messages(part.sent[step]):
            if connection := of[component](message):
                yield (component, message.source, message.destination, connection), message

    def comes(component: int, step: int) -> Hashable | None:
        input = part.inputs[part.input[step]]
        if hasattr(input, "destination") and (connection := of[component](input)):
            return component, input.source, input.destination, connection
        return None

    return _Turn(due, comes)


# --- All of them ---

CHECKS: Final[dict[str, Check]] = {
    "ContentAddressed": content_addressed,
    "Labelled": labelled,
    "ConstantsAgree": constants_agree,
    "FirstRowsInitial": first_rows_initial,
    "Chained": chained,
    "StepsCounted": steps_counted,
    "Provenanced": provenanced,
    "MetadataRead": metadata_read,
    "NothingWhenDown": nothing_when_down,
    "SentOnce": sent_once,
    "Committed": _found_wrong("Committed", _JOINTS.committed),
    "OneProcess": _found_wrong("OneProcess", _JOINTS.one_process),
    "OneLog": _found_wrong("OneLog", _JOINTS.one_log),
    "Joined": _found_wrong("Joined", _joins_in_turn),
    "InOrder": _found_wrong("InOrder", _channels_in_order),
    "WellFormed": well_formed,
}


def check_runs(part: Part) -> list[Finding]:
    """What every check finds in the part, by check and run."""
    return sorted(finding for check in CHECKS.values() for finding in check(part))
