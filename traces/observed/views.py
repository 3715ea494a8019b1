"""Do brokers' views of a partition agree with each other, and with the metadata log?

Of every answer about who leads and who is in sync:

- what one broker says never goes back to an older leader epoch;
- an epoch has one leader, whoever is asked, and who answers as leader in it is that one;
- a broker whose metadata has a newer epoch does not go on to lead in an older one (Z125): it may
  for the moment in which it applies what it has read, and while it stands still;
- leader, epoch, ISR and ELR stood together in the metadata log, and one broker passes through the
  log's states in their order;
- a broker whose metadata has made it a replica again, in a directory that works, does not go on
  saying that the replica's directory has failed (R22, Z139);
- of the quorum: an epoch has one leader, the one whom the log names, its high watermark never
  falls within an epoch, nor is it above the leader's own end; and who leads is in the last set of
  voters below it (V20: a leader that is removed leads until that is committed; Z113).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kraftcheck.reference.partition.messages import NOBODY
from kraftcheck.traces.observed.answers import (
    HIGH_WATERMARK,
    LOG_END,
    NONE,
    PARTITION,
    QUORUM,
    UNKNOWN,
    Answer,
)
from kraftcheck.traces.observed.image import Image, changed
from kraftcheck.traces.observed.records import Record
from kraftcheck.traces.observed.verdicts import Defect, first_of_each

APPLIES_NS: Final = 5_000_000_000
"""A broker applies what it has read within milliseconds (BrokerMetadataPublisher)."""
FAILED: Final = "KafkaStorageError"
"""What a broker answers of a replica that is offline, as its directory has failed."""
PAUSE_NS: Final = 1_500_000_000
"""Who says nothing for so long may have stood still: it is asked five times a second, and an answer
may take one."""


class State(NamedTuple):
    """A partition as the metadata log has it after a record."""

    leader: int
    epoch: int
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None
    """None: not told."""


def judge(answers: Sequence[Answer], records: Sequence[Record]) -> list[Defect]:
    """Everything that is wrong, the first place of each kind for each broker and partition."""
    told = [answer for answer in answers if answer.error is None]
    found = [*_one_leader(told), *_never_back(told), *_leads_on(told), *_quorum(told, records)]
    if records:
        spoken = [answer for answer in answers if answer.what != NONE]
        found += [*_as_in_log(told, states(records)), *_stays_offline(spoken, back(records))]
    return first_of_each(found)


def states(records: Sequence[Record]) -> dict[str, list[State]]:
    """By topic and partition, what the log says one after the other.

    A topic that was made again begins anew.
    """
    image = Image()
    found: dict[str, list[State]] = {}
    for record in records:
        data = record.data
        if record.kind == "TOPIC_RECORD":
            image.make_topic(data)
        elif record.kind == "PARTITION_RECORD":
            image.make_partition(data)
            found[f"{image.topics[data['topicId']]}-{data['partitionId']}"] = []
        elif record.kind == "PARTITION_CHANGE_RECORD":
            observed = image.partitions[data["topicId"], data["partitionId"]]
            observed.state = changed(observed.state, data)
        elif record.kind == "CLEAR_ELR_RECORD":
            image.clear_elr(data)
        elif record.kind == "REMOVE_TOPIC_RECORD":
            image.remove_topic(data)
        else:
            continue
        _note(image, found)
    return found


def back(records: Sequence[Record]) -> frozenset[tuple[str, int]]:
    """Give partitions and the brokers that were made replicas of them and are back.

    None of their directories has failed since then, whether at work or in a start. Topics that were
    made again are left out.
    """
    image = Image()
    online: dict[int, frozenset[str]] = {}
    came: dict[tuple[str, int], int] = {}
    failed: dict[int, int] = {}
    """By broker, when a directory of it failed last."""
    for at, record in enumerate(records):
        data = record.data
        if record.kind == "TOPIC_RECORD":
            image.make_topic(data)
        elif record.kind == "PARTITION_RECORD":
            image.make_partition(data)
        elif record.kind == "PARTITION_CHANGE_RECORD" and data.get("replicas") is not None:
            observed = image.partitions[data["topicId"], data["partitionId"]]
            for b in {*data["replicas"]} - {*observed.replicas}:
                came.setdefault((f"{observed.topic}-{data['partitionId']}", b), at)
            observed.replicas = tuple(data["replicas"])
        elif data.get("logDirs"):
            b, has = data["brokerId"], frozenset(data["logDirs"])
            if online.get(b, has) - has:
                failed[b] = at
            online[b] = has
    again = made_again(records)
    return frozenset(
        (key, b)
        for (key, b), at in came.items()
        if failed.get(b, UNKNOWN) < at and key.rpartition("-")[0] not in again
    )


def made_again(records: Sequence[Record]) -> frozenset[str]:
    """Topics that were made with the name of one that there was before."""
    made = Counter(record.data["name"] for record in records if record.kind == "TOPIC_RECORD")
    return frozenset(topic for topic, times in made.items() if times > 1)


def _note(image: Image, found: dict[str, list[State]]) -> None:
    """Every partition's state, where it is another than before."""
    for (_, number), observed in image.partitions.items():
        state = observed.state
        now = State(state.leader, state.leader_epoch, state.isr, state.elr)
        log = found[f"{observed.topic}-{number}"]
        if not log or log[-1] != now:
            log.append(now)


def leaders(answers: Sequence[Answer]) -> dict[tuple[str, int], int]:
    """By partition and epoch, who leads it, as far as somebody said so."""
    return {
        (answer.key, answer.epoch): leader
        for answer in answers
        if (leader := _leader(answer)) is not None
    }


def _leader(answer: Answer) -> int | None:
    """Who leads in the answer's epoch, by that answer; None: it says nothing of it."""
    if answer.error is not None or answer.epoch == UNKNOWN:
        return None
    if answer.what == PARTITION and answer.leader != NOBODY:
        return answer.leader
    return answer.broker if answer.what == HIGH_WATERMARK else None


def _one_leader(answers: Sequence[Answer]) -> Iterator[Defect]:
    known: dict[tuple[str, int], tuple[int, int]] = {}
    for answer in answers:
        leader = _leader(answer)
        if leader is None:
            continue
        first, by = known.setdefault((answer.key, answer.epoch), (leader, answer.broker))
        if first != leader:
            reason = f"{first} leads epoch {answer.epoch} by one answer, {leader} by another"
            yield Defect("two leaders", answer.key, (by, answer.broker), reason)


def _never_back(answers: Sequence[Answer]) -> Iterator[Defect]:
    """Kinds of answers are kept apart: metadata is applied to partitions one after the other."""
    last: dict[tuple[str, int, bool], int] = {}
    for answer in answers:
        if answer.epoch == UNKNOWN or answer.what not in (PARTITION, HIGH_WATERMARK, LOG_END):
            continue
        place = (answer.key, answer.broker, answer.what == PARTITION)
        if answer.epoch < last.get(place, UNKNOWN):
            reason = f"said epoch {last[place]}, and then {answer.epoch}"
            yield Defect("epoch goes back", answer.key, (answer.broker,), reason)
        last[place] = max(last.get(place, UNKNOWN), answer.epoch)


def _leads_on(answers: Sequence[Answer]) -> Iterator[Defect]:
    spoke: dict[int, int] = {}
    heard: dict[tuple[str, int], tuple[int, int]] = {}
    """By partition and broker, the newest epoch that its metadata had, and since when it may have
    applied that."""
    for answer in answers:
        broker, place = answer.broker, (answer.key, answer.broker)
        if _stood_still(answer, spoke):
            heard.update({at: (heard[at][0], answer.end) for at in heard if at[1] == broker})
        epoch, since = heard.get(place, (UNKNOWN, 0))
        if answer.what == PARTITION and answer.epoch > epoch:
            heard[place] = answer.epoch, answer.end
        elif (
            answer.what == HIGH_WATERMARK
            and UNKNOWN < answer.epoch < epoch
            and answer.begin - since > APPLIES_NS
        ):
            seconds = (answer.begin - since) // 1_000_000_000
            reason = f"leads in epoch {answer.epoch}, {seconds} seconds after it said that "
            yield Defect("leads on", answer.key, (broker,), f"{reason}epoch {epoch} has begun")


def _stays_offline(answers: Sequence[Answer], came: frozenset[tuple[str, int]]) -> Iterator[Defect]:
    spoke: dict[int, int] = {}
    since: dict[tuple[str, int], int | None] = {}
    """Since when a broker knows that it is a replica again; None: it knows that it is none."""
    for answer in answers:
        broker, place = answer.broker, (answer.key, answer.broker)
        if _stood_still(answer, spoke):
            since.update({at: answer.end for at, then in since.items() if at[1] == broker and then})
        if place not in came:
            continue
        then = since.get(place)
        if answer.what == PARTITION and answer.replicas:
            if broker not in answer.replicas:
                since[place] = None
            elif place in since and then is None:
                since[place] = answer.end
        elif then is not None and answer.begin - then > APPLIES_NS and _is_offline(answer):
            seconds = (answer.begin - then) // 1_000_000_000
            reason = f"says that its disk has failed, {seconds} seconds after it said that it is a "
            reason += "replica again; no disk of it has failed since then"
            yield Defect("stays offline", answer.key, (broker,), reason)


def _is_offline(answer: Answer) -> bool:
    return answer.what == LOG_END and answer.error == FAILED


def _stood_still(answer: Answer, spoke: dict[int, int]) -> bool:
    """Whether its broker may have, until then. spoke: by broker, when it answered last."""
    last = spoke.get(answer.broker, answer.begin)
    spoke[answer.broker] = answer.end
    return answer.begin - last > PAUSE_NS


def _as_in_log(
    answers: Sequence[Answer], written: Mapping[str, Sequence[State]]
) -> Iterator[Defect]:
    reached: dict[tuple[str, int], int] = {}
    for answer in answers:
        if answer.what != PARTITION:
            continue
        place = (answer.key, answer.broker)
        log = written.get(answer.key, ())
        at = next((i for i in range(reached.get(place, 0), len(log)) if _is(answer, log[i])), None)
        if at is not None:
            reached[place] = at
            continue
        state = f"leader {answer.leader}, epoch {answer.epoch}, ISR {answer.isr}"
        state += "" if answer.elr is None else f", ELR {answer.elr}"
        earlier = any(_is(answer, each) for each in log)
        name = "metadata goes back" if earlier else "not in the metadata log"
        yield Defect(name, answer.key, (answer.broker,), f"said {state}")


def _is(answer: Answer, state: State) -> bool:
    """A leader that a broker knows to be gone is not named; its epoch is."""
    return (
        answer.epoch == state.epoch
        and answer.leader in (state.leader, NOBODY)
        and tuple(answer.isr) == state.isr
        and (answer.elr is None or tuple(answer.elr) == state.elr)
    )


def _quorum(answers: Sequence[Answer], records: Sequence[Record]) -> Iterator[Defect]:
    leads = {
        record.epoch: record.data["leaderId"]
        for record in records
        if record.kind == "LEADER_CHANGE" and "leaderId" in record.data
    }
    sets = [(record.offset, _voters(record)) for record in records if record.kind == "KRAFT_VOTERS"]
    marks: dict[int, Answer] = {}
    for answer in answers:
        if answer.what != QUORUM:
            continue

        def defect(name: str, reason: str, of: Answer = answer) -> Defect:
            return Defect(name, of.key, (of.broker,), reason)

        first = leads.setdefault(answer.epoch, answer.leader)
        if first != answer.leader:
            reason = f"epoch {answer.epoch} has leader {first}, and {answer.leader} was named"
            yield defect("two leaders", reason)
        before = marks.get(answer.epoch)
        if before is not None and before.end <= answer.begin and answer.offset < before.offset:
            reason = f"{answer.offset} after {before.offset} in epoch {answer.epoch}"
            yield defect("high watermark falls", reason)
        if before is None or answer.offset >= before.offset:
            marks[answer.epoch] = answer
        end = answer.ends.get(str(answer.leader))
        if end is not None and answer.offset > end:
            reason = f"{answer.offset}, and the leader's log ends at {end}"
            yield defect("high watermark above the end", reason)
        committed = [each for each in sets if each[0] < answer.offset]
        if committed and answer.leader not in committed[-1][1]:
            at, voters = committed[-1]
            reason = f"{answer.leader} leads with the high watermark at {answer.offset}, and by "
            yield defect("leads on", f"{reason}the set at {at} the voters are {voters}")


def _voters(record: Record) -> list[int]:
    return sorted(each["voterId"] for each in record.data["voters"])
