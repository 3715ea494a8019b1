"""The page docs/measured/predictions.md, from stored results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from textwrap import fill

from experiments.prediction.observed import Observed
from experiments.prediction.outcomes import CLASSES
from experiments.prediction.situations import ACKS, ELECTIONS, FAULTS
from experiments.prediction.store import Expected, Situation, share_names, situations

HEAD = """\
# What the reference predicts, and what Apache Kafka did

Made by `python -m experiments.prediction page` from `experiments/prediction/results`; who changes
one has to make the other again (`tests/live/test_predictions.py`).

A **situation** is a fault of the broker that leads a partition, a way to elect, the producer's
acks, and the client API through which one looks: {faults} x {elections} x {acks} x {apis}. For each
the reference was run {runs} times in its simulator (`experiments/prediction/expected.py`: one such
fault, its moment and length drawn), and it was noted which outcome classes clients saw. The same
function names the outcome of a trial on a real cluster (`experiments/prediction/outcomes.py`). A
class that Kafka shows is *allowed* if the reference showed it in that situation, the class of
nothing wrong included.

**{tried} situations were tried on Apache Kafka {versions}, each with at least {least} trials
({trials} in all, in {episodes} episodes); {verdict}.**

{machine}. A trial is one partition with a producer of its own (those that are not idempotent share
their connections); trials of one episode share the fault and its moment, so they are less
independent than their number says. Three brokers and a
controller in network namespaces, replication factor 3, {elr}, sessions of 4 s, replica lag of 3 s.
{unread}

How often clients of the reference ask and write, and how long its messages take, was varied more
widely after a first comparison with ten runs of each setup, which lacked seven classes that Kafka
had shown. What else differed is in the [diary](../divergences.md).

"""

AFTER_FAULTS = """
Producers with acks=all are idempotent; the others send nothing twice. With acks=0 all that was
sent counts as acknowledged, and the order of acknowledgements is not judged; what the broker had
not yet taken from its socket when everything was read counts as lost ([diary](../divergences.md)).

## Classes

A trial may show several at once, except the first of its API: nothing wrong.

| API | class | meaning |
|---|---|---|
"""

TIGHTNESS = """
## What was allowed and never observed

The check is containment: what Kafka showed is allowed. It says nothing of how tight the allowance
is. Over all situations the reference allows {allowed} classes, of which Kafka showed {shown};
{unseen} ({share:.0%}) were never observed. {exact} of the {tried} situations are tight: Kafka
showed every class that is allowed. *Surprising* are classes that would have been missed with a
chance below one in twenty if Kafka's trials were independent and as likely to show them as the
reference's runs are: {surprising} of {unseen}. There the reference's moments differ from those of a
machine under test (or its rules allow what Kafka's do not: this table cannot tell). The other
{rare} are too rare in the reference to be expected in {trials} trials.

An end that *shrunk* was never observed at all. The client that asks takes a topic's partitions in
turn and waits up to five seconds for one that has no leader, so that a log has probably grown again
when it is asked for next; in the reference every question is sent at once. That is inferred from
the client, and was not tried.

| API | class | allowed in situations | never observed | surprising |
|---|---|---|---|---|
"""

TABLE = """
## The table

*reference*: of its runs, how many showed a class. *Kafka*: of the trials; *moved*: trials whose
leader was another for a while.

"""


def page(expected: Expected, episodes: Sequence[Observed]) -> str:
    """The page. Raises ValueError: nothing was tried yet."""
    found = situations(expected, episodes)
    if not found:
        raise ValueError("no episode was recorded yet")
    lines = [_head(expected, episodes, found), "| fault | what is done |\n|---|---|\n"]
    lines += [f"| {name} | {what} |\n" for name, what in FAULTS.items()]
    lines.append(AFTER_FAULTS)
    for api, classes in CLASSES.items():
        lines += [f"| {api} | {name} | {meaning} |\n" for name, meaning in classes.items()]
    lines.append(_filled(_tightness(found)))
    lines.append(TABLE)
    for fault, group in groupby(found, key=lambda each: each.setup.split(" / ")[0]):
        lines.append(f"### {fault}\n\n")
        lines.append("| election | acks | API | reference | Kafka | trials | moved |\n")
        lines.append("|---|---|---|---|---|---|---|\n")
        lines += [_row(each) for each in group]
        lines.append("\n")
    return "".join(lines).rstrip("\n") + "\n"


def _head(expected: Expected, episodes: Sequence[Observed], found: Sequence[Situation]) -> str:
    unread = sum(each.partitions - count for each in episodes for count in each.read.values())
    wrong = [each for each in found if each.forbidden]
    setups = {each.setup: each.trials for each in found}
    return _filled(
        HEAD.format(
            faults=len(FAULTS),
            elections=len(ELECTIONS),
            acks=len(ACKS),
            apis=len(CLASSES),
            runs=expected.runs,
            tried=len(found),
            versions=_all(each.kafka for each in episodes),
            least=min(setups.values()),
            trials=f"{sum(setups.values()):,}",
            episodes=len(episodes),
            verdict=f"**{len(wrong)} show what is NOT allowed**"
            if wrong
            else "every outcome is allowed",
            machine=f"{_all(e.machine for e in episodes)}; {_all(e.date for e in episodes)}",
            elr="ELR on" if all(each.elr for each in episodes) else "ELR off",
            unread=f"{unread} further trials could not be read to the end and are not counted."
            if unread
            else "Every partition could be read to its end.",
        )
    )


SURPRISING = 0.05


def _tightness(found: Sequence[Situation]) -> str:
    allowed = sum(len(each.allowed) for each in found)
    unseen = sum(len(each.unseen) for each in found)
    surprising = sum(_surprising(each, name) for each in found for name in each.unseen)
    text = TIGHTNESS.format(
        allowed=allowed,
        shown=allowed - unseen,
        unseen=unseen,
        share=unseen / allowed,
        exact=sum(not each.unseen for each in found),
        tried=len(found),
        surprising=surprising,
        rare=unseen - surprising,
        trials=min(each.trials for each in found),
    )
    rows = []
    for api, classes in CLASSES.items():
        for name in classes:
            here = [each for each in found if each.api == api and name in each.allowed]
            never = [each for each in here if name in each.unseen]
            odd = sum(_surprising(each, name) for each in never)
            if never:
                rows.append(f"| {api} | {name} | {len(here)} | {len(never)} | {odd} |\n")
    return text + "".join(rows)


def _surprising(each: Situation, name: str) -> bool:
    return each.chance(name) < SURPRISING


def _filled(text: str) -> str:
    """Paragraphs in lines of at most 100 characters."""
    parts = text.split("\n\n")
    return "\n\n".join(
        each if each.startswith(("#", "|", "\n#")) or not each.strip() else _paragraph(each)
        for each in parts
    )


def _paragraph(text: str) -> str:
    return fill(" ".join(text.split()), 100, break_long_words=False, break_on_hyphens=False)


def _all(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names)))


def _row(each: Situation) -> str:
    _, election, acks = each.setup.split(" / ")
    seen = share_names(each.seen)
    if each.forbidden:
        seen += f" (**not allowed: {', '.join(each.forbidden)}**)"
    cells = (election, acks, each.api, share_names(each.allowed), seen, each.trials, each.moved)
    return f"| {' | '.join(str(cell) for cell in cells)} |\n"
