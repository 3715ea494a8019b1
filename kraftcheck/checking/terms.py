"""What was promised to the clients of a history, and how that is known.

A file `recording.json` beside a history says how its cluster was configured and what went wrong
(recorded.py). Options of the command line go before it. What neither
says is taken from the history (who subscribes, who reads what it appends), and the rest is
Kafka's defaults, with nothing gone wrong: the strongest promise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from kraftcheck.checking import recorded as recorded_file
from kraftcheck.checking.options import NOT_RECORDED, TOO_LONG, Options, given_words
from kraftcheck.checking.recorded import HISTORY, RECORDING, Recorded
from kraftcheck.exits import BadInput
from kraftcheck.osutil.files import read_bytes
from kraftcheck.reference.clients.promises import (
    ANYTHING_CLEAN,
    NOTHING,
    Compaction,
    Configuration,
    Envelope,
    Promise,
    promised,
)
from kraftcheck.traces.checkers import log
from kraftcheck.traces.checkers.check import SECOND, configuration_in
from kraftcheck.traces.checkers.members import has_members
from kraftcheck.traces.checkers.settled import in_steps
from kraftcheck.traces.history import Annotation, Omissions
from kraftcheck.traces.rows import Rows

FAULTS: Final[Mapping[str, Envelope]] = {
    "none": NOTHING,
    "clean": ANYTHING_CLEAN,
    "lossy": msgspec.structs.replace(ANYTHING_CLEAN, lossy=1),
    "unclean": msgspec.structs.replace(ANYTHING_CLEAN, unclean_moves=1),
}
"""What may be said to have gone wrong, each with all that stands before it."""


COMPACTED: Final[Mapping[Compaction, str]] = {
    "none": "no",
    "keyed": "yes; each value is a key and a value",
    "keys-unknown": "yes; keys are not known",
}
READ_TO_THE_END: Final = {True: "yes", False: "no: judged is what they read", None: "not known"}


class Terms(NamedTuple):
    """What a history is held against."""

    promise: Promise
    gaps: bool
    """Whether offsets may hold what no client wrote."""
    complete: bool | None
    """Whether consumers read every partition to its end; None: nobody says."""
    assumed: dict[str, str]
    """Configuration and envelope in words, for the reader. compaction: of the topic."""
    configuration: Configuration = Configuration()


def refuse_cut(path: Path, lines: int) -> None:
    """Raises BadInput: the file has not the lines that were written (0: nobody says how many).

    A file of lines that ends too early can be read to its end, and its verdict would be one on
    what is left. Raises OSError.
    """
    there = read_bytes(path).count(b"\n") if lines else 0
    if there != lines:
        what = f"{path}: {there:,} lines, and {RECORDING} says that {lines:,} were written"
        raise BadInput(f"{what}: it is not whole; copy the recording anew")


def recorded_beside(path: Path) -> Recorded | None:
    """What is recorded beside a history. Raises BadInput: damaged, or the history is cut."""
    place = path.parent / RECORDING
    try:
        recorded = recorded_file.read(place)
        if path.name == HISTORY:
            refuse_cut(path, recorded.lines)
        return recorded
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadInput(f"{place}: {error.strerror}") from None


def terms_of(path: Path, rows: Rows, options: Options) -> Terms:
    """Read the terms of a recording.

    Raises BadInput: a damaged recording, numbers of replicas that cannot be, or faults in the
    history whose possible effects nobody names.
    """
    said = {} if rows.objects is None else rows.objects.configuration
    omissions = Omissions() if rows.objects is None else rows.objects.omissions
    told = msgspec.structs.replace(configuration_in(rows), **said)
    beside = recorded_beside(path)
    given = {name: value for name, value in options.configuration.items() if value is not None}
    if beside is None and "faults" not in given and options.level is None:
        _ask_for_faults(rows.annotations)
    if beside is None:
        configuration, envelope = told, NOTHING
    else:
        configuration = beside.over(told)
        envelope = beside.went_wrong(configuration)
    configuration = _with(configuration, given)
    envelope = FAULTS[given["faults"]] if "faults" in given else envelope
    complete = given.get("complete", None if beside is None else beside.complete)
    if omissions.reads and complete:
        complete = None
    try:
        promise = promised(configuration, envelope)
    except ValueError as error:
        raise BadInput(str(error)) from None
    gaps = log.gaps_in(rows, configuration)
    assumed = in_words(configuration)
    assumed["what went wrong"] = _went_wrong(envelope)
    explained = "explained" if gaps else "none"
    assumed["offsets that nobody is known to have written"] = explained
    if rows.time_unit not in SECOND and (in_steps(rows) or has_members(rows)):
        assumed[TOO_LONG] = "not asked: the history has no times"
    if omissions.told:
        assumed[NOT_RECORDED] = "; ".join(omissions.told)
    assumed["known from"] = _known(beside, given)
    assumed["consumers read to the end"] = READ_TO_THE_END[complete]
    return Terms(promise, gaps, complete, assumed, configuration)


def _ask_for_faults(annotations: Sequence[Annotation]) -> None:
    """What is promised depends on what went wrong, and its name does not tell what that was."""
    faults = [each for each in annotations if each.kind == "fault"]
    if faults:
        label = faults[0].label
        told = (
            f"{len(faults)} faults (such as {label})" if len(faults) > 1 else f"a fault ({label})"
        )
        raise BadInput(
            f"the history contains {told}: state their worst effect with --faults none, clean, "
            "lossy or unclean"
        )


def _with(configuration: Configuration, given: Mapping[str, Any]) -> Configuration:
    """The configuration with what the command line says."""
    changed: dict[str, Any] = {
        field: given[name]
        for name, field in (
            ("acks", "acks"),
            ("isolation", "isolation"),
            ("compaction", "compaction"),
            ("reads", "reads_from"),
            ("elr", "elr"),
            ("min_insync_replicas", "min_insync_replicas"),
        )
        if name in given
    }
    if "idempotent" in given:
        changed["idempotence"] = given["idempotent"]
        changed |= {} if given["idempotent"] else {"retries": True}
    if given.get("transactional"):
        changed["transactions"] = True
    if given.get("late_requests"):
        changed |= {"transactions": True, "late_requests": True}
    found = msgspec.structs.replace(configuration, **changed)
    return msgspec.structs.replace(
        found, replication_factor=max(found.replication_factor, found.min_insync_replicas)
    )


def _known(beside: Recorded | None, given: Mapping[str, Any]) -> str:
    said = " ".join(given_words(given))
    words = [said] if said else []
    if beside is not None:
        words.append(f"{RECORDING} (what went wrong: {beside.known})")
    return ", ".join(words) or "nothing: Kafka's defaults are assumed, and that nothing went wrong"


def in_words(configuration: Configuration) -> dict[str, str]:
    """A configuration for the reader."""
    c = configuration
    if c.log == "metadata":
        return {"log": "the metadata log", "reads": f"from {c.reads_from} replica"}
    producers = "idempotent" if c.idempotence else "at least once" if c.retries else "no retries"
    return {
        "acks": c.acks,
        "producers": f"{producers}{', transactional' if c.transactions else ''}",
        "isolation": c.isolation,
        "reads": f"from {'any replica' if c.reads_from == 'any' else f'the {c.reads_from}'}",
        "consumers": c.consumers if c.consumers == "assign" else f"{c.consumers}, {c.reset}",
        "a process reads what it appends": "yes" if c.one_client else "no",
        "a process asks for the end and reads": "yes" if c.asks_latest else "no",
        "a process reads again what it has read": "yes" if c.goes_back else "no",
        "min.insync.replicas": f"{c.min_insync_replicas} of {c.replication_factor}",
        "eligible leader replicas": "on" if c.elr else "off",
        "compacted": COMPACTED[c.compaction],
    }


def _went_wrong(envelope: Envelope) -> str:
    counted = (
        (envelope.leader_moves, "move of the leader", "moves of the leader"),
        (envelope.unclean_moves, "unclean election", "unclean elections"),
        (envelope.lossy, "replica lost records", "replicas lost records"),
        (envelope.disks_lost, "replica lost its disk", "replicas lost their disk"),
        (envelope.network_partitions, "network partition", "network partitions"),
    )
    words = [f"{number} {one if number == 1 else many}" for number, one, many in counted if number]
    words += ["an old leader beside the new one"] if envelope.zombie else []
    words += ["producers were forgotten"] if envelope.expired else []
    return ", ".join(words) or "nothing"
