"""Damages of brokers' disks, drawn by a seed: one file of one node is altered, cut or lost, and
`disk` has to say something of it. Where it does not, `REASONS` says why it need not. Where records
that were flushed can be read no longer, its exit code has to be 1.

    .venv/bin/python -m tests.kafka.disks.damages --seed 7 --count 2000

runs them over the disks of all releases, and prints those that are silent without a reason.
"""

from __future__ import annotations

import json
import random
import re
import struct
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import click
import google_crc32c
import msgspec
from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.kafka.disks.batches import Batch, batches

HERE: Final = Path(__file__).resolve().parent
VERSIONS: Final = ("3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0")
NODES: Final = ("b1", "b2", "b3", "c1")
ENTRIES: Final = {".index": 8, ".timeindex": 12, ".txnindex": 34}
FILE_MAX: Final = 1 << 20
"""Bytes of a file that is damaged; larger are indexes with room for entries."""
Kind: TypeAlias = Callable[[bytes, random.Random], bytes | None]
"""What a file holds afterwards; None: it is gone."""


class Damage(NamedTuple):
    """file: below the folder of the release."""

    version: str
    file: str
    kind: str
    seed: int

    def __str__(self) -> str:
        return f"{self.version} {self.file}: {self.kind} ({self.seed})"


class Outcome(NamedTuple):
    code: int
    findings: frozenset[str]


# -- Kinds


def _flipped(data: bytes, chance: random.Random) -> bytes:
    out = bytearray(data)
    out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)
    return bytes(out)


def _overwritten(data: bytes, chance: random.Random) -> bytes:
    at, size = chance.randrange(len(data)), chance.choice((1, 4, 16, 64))
    new = chance.choice((bytes(size), b"\xff" * size, chance.randbytes(size)))
    return (data[:at] + new)[: len(data)] + data[at + size :]


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.choice((0, len(data) // 2, len(data) - 1, chance.randrange(len(data))))]


def _longer(data: bytes, chance: random.Random) -> bytes:
    size = chance.choice((1, 8, 12, 34, 100))
    return data + chance.choice((bytes(size), chance.randbytes(size), data[:size]))


def _gone(data: bytes, chance: random.Random) -> None:
    return None


def _batches(data: bytes) -> list[bytes]:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        found = [each for each in batches(Path(file.name)) if isinstance(each, Batch)]
    return [data[each.position : each.position + each.size] for each in found]


def _first_batches_gone(data: bytes, chance: random.Random) -> bytes:
    there = _batches(data)
    return b"".join(there[chance.randint(1, max(len(there) - 1, 1)) :])


def _last_batches_gone(data: bytes, chance: random.Random) -> bytes:
    there = _batches(data)
    return b"".join(there[: chance.randint(0, max(len(there) - 1, 0))])


def _batch_gone(data: bytes, chance: random.Random) -> bytes:
    there = _batches(data)
    del there[chance.randrange(len(there))]
    return b"".join(there)


def _batch_twice(data: bytes, chance: random.Random) -> bytes:
    there = _batches(data)
    at = chance.randrange(len(there))
    return b"".join([*there[: at + 1], *there[at:]])


FIELDS: Final = {
    "base offset": (0, ">q"),
    "leader epoch": (12, ">i"),
    "attributes": (21, ">h"),
    "last offset": (23, ">i"),
    "latest time": (35, ">q"),
    "producer": (43, ">q"),
    "producer epoch": (51, ">h"),
    "sequence": (53, ">i"),
}
"""Of a batch's header, by place and form."""


def _field_altered(name: str) -> Kind:
    """A field of one batch, and its checksum with it."""
    place, form = FIELDS[name]

    def alter(data: bytes, chance: random.Random) -> bytes:
        there = _batches(data)
        at = chance.randrange(len(there))
        out = bytearray(there[at])
        (old,) = struct.unpack_from(form, out, place)
        new = old ^ 16 if name == "attributes" else old + chance.choice((-1, 1, 1000))
        struct.pack_into(form, out, place, new)
        struct.pack_into(">I", out, 17, google_crc32c.value(bytes(out[21:])))
        there[at] = bytes(out)
        return b"".join(there)

    return alter


def _entry_gone(size: int) -> Kind:
    def drop(data: bytes, chance: random.Random) -> bytes:
        at = size * chance.randrange(max(len(data) // size, 1))
        return data[:at] + data[at + size :]

    return drop


def _time_late(data: bytes, chance: random.Random) -> bytes:
    at = 12 * chance.randrange(len(data) // 12)
    return data[:at] + struct.pack(">q", chance.choice((1 << 62, 1 << 50))) + data[at + 8 :]


def _digit(data: bytes, chance: random.Random) -> bytes:
    places = [at for at, each in enumerate(data) if chr(each).isdigit()]
    at = chance.choice(places)
    new = chance.choice([each for each in b"0123456789" if each != data[at]])
    return data[:at] + bytes([new]) + data[at + 1 :]


def _line_gone(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    del lines[chance.randrange(len(lines))]
    return b"\n".join(lines)


def _entry_line_gone(data: bytes, chance: random.Random) -> bytes:
    """Of a checkpoint, with its count."""
    lines = data.split(b"\n")
    if len(lines) < 4:
        return b""
    del lines[chance.randrange(2, len(lines) - 1)]
    return b"\n".join([lines[0], b"%d" % (int(lines[1]) - 1), *lines[2:]])


OF_ALL: Final[Mapping[str, Kind]] = {
    "a bit": _flipped,
    "some bytes": _overwritten,
    "cut": _cut,
    "longer": _longer,
    "gone": _gone,
}
OF_LOGS: Final[Mapping[str, Kind]] = {
    "its first batches gone": _first_batches_gone,
    "its last batches gone": _last_batches_gone,
    "a batch gone": _batch_gone,
    "a batch twice": _batch_twice,
    **{f"{name} of a batch": _field_altered(name) for name in FIELDS},
}
OF_TEXTS: Final[Mapping[str, Kind]] = {
    "a digit": _digit,
    "a line gone": _line_gone,
    "an entry gone": _entry_line_gone,
}


def kinds(file: str) -> Mapping[str, Kind]:
    path = Path(file)
    if path.suffix in ENTRIES:
        of = {"an entry gone": _entry_gone(ENTRIES[path.suffix])}
        return {
            **OF_ALL,
            **of,
            **({"a late time": _time_late} if path.suffix == ".timeindex" else {}),
        }
    if path.suffix == ".log":
        return {**OF_ALL, **OF_LOGS}
    if path.suffix in (".snapshot", ".checkpoint"):
        return OF_ALL
    if path.name.endswith("checkpoint"):
        return {**OF_ALL, **OF_TEXTS}
    texts = {name: OF_TEXTS[name] for name in ("a digit", "a line gone")}
    return {**OF_ALL, **texts}


# -- Runs


def extracted(version: str, folder: Path) -> Path:
    """The disks of a release, below a folder."""
    place = folder / version
    with tarfile.open(HERE / f"brokers-{version}.tar.xz") as archive:
        archive.extractall(place)
    return place


def files_of(place: Path) -> list[str]:
    """What can be damaged: what a broker reads again."""
    return sorted(
        str(path.relative_to(place))
        for path in place.rglob("*")
        if path.is_file()
        and 0 < path.stat().st_size <= FILE_MAX
        and not path.name.endswith((".deleted", ".lock"))
    )


def drawn(seed: int, count: int, files: Mapping[str, list[str]]) -> Iterator[Damage]:
    """files: by release. Each kind of file is drawn as often as each other one."""
    chance = random.Random(seed)
    for _ in range(count):
        version = chance.choice(sorted(files))
        of: dict[str, list[str]] = {}
        for each in files[version]:
            of.setdefault(Path(each).suffix or Path(each).name, []).append(each)
        # Of logs, where the records are, several times as many.
        file = chance.choice(of[chance.choice([*sorted(of), *[".log"] * 5])])
        yield Damage(version, file, chance.choice(sorted(kinds(file))), chance.randrange(1 << 32))


def topic_of(file: str) -> str:
    """ "": more than one topic may be told of."""
    found = re.match(r"\w+/(\w+)-\d+/", file)
    return "" if found is None or found[1] == "__cluster_metadata" else found[1]


def asked(place: Path, topic: str) -> Outcome:
    """topic: this one only, which takes less time."""
    words = ["disk", *[str(place / node) for node in NODES], "--json"]
    words += ["--topic", topic] if topic else []
    done = CliRunner().invoke(cli, words)
    if done.exit_code == 3 or not done.stdout.startswith("{"):
        return Outcome(done.exit_code, frozenset([done.output]))
    said = json.loads(done.stdout)
    findings = [(folder, each) for folder, of in said["directories"].items() for each in of]
    for of in said["partitions"]:
        findings += [("", each) for each in of["together"]]
        findings += [(rep["folder"], each) for rep in of["replicas"] for each in rep["findings"]]
    return Outcome(done.exit_code, frozenset(json.dumps(each) for each in findings))


class Reason(NamedTuple):
    """Of a damage of which nothing need be said. file, kind: expressions. where: what was there and
    what is there now; None: it is gone."""

    file: str
    kind: str
    why: str
    where: Callable[[bytes, bytes | None], bool] = lambda before, after: True


def _lines_altered(*beginnings: str) -> Callable[[bytes, bytes | None], bool]:
    """Only lines that begin so."""

    def only(before: bytes, after: bytes | None) -> bool:
        differ = Counter(before.split(b"\n"))
        differ.subtract(Counter((after or b"").split(b"\n")))
        lines = [each.decode("utf-8", "replace") for each, times in differ.items() if times > 0]
        return after is not None and all(each.startswith(beginnings) for each in lines)

    return only


def _numbers_fall(before: bytes, after: bytes | None) -> bool:
    """The same words, but for numbers that are less."""
    pairs = list(zip(before.split(), (after or b"").split(), strict=False))
    return len(before.split()) == len((after or b"").split()) and all(
        one == two or (one.isdigit() and two.isdigit() and int(two) < int(one))
        for one, two in pairs
    )


INDEXES_LOWER: Final = "an index is a lower bound: who looks begins at an earlier entry"
RECOVERED: Final = "a start makes it anew, as the broker was not stopped cleanly"
REASONS: Final = (
    Reason(r"\.kafka_cleanshutdown$", "gone", "a start recovers, and loses nothing by that"),
    Reason(r"\.kafka_cleanshutdown$", ".*", "the controller knows the epoch, no disk does"),
    Reason(r"bootstrap\.checkpoint$|0{20}-0{10}\.checkpoint$", "gone",
           "it is read where the metadata log is empty"),
    Reason(r"cleaner-offset-checkpoint$", ".*", "a cleaner begins anew, and takes nothing more"),
    Reason(r"meta\.properties$", ".*", "of the id of a directory nothing else says",
           _lines_altered("#", "directory.id=")),
    Reason(r"c1/meta\.properties$", ".*", "of the id of a controller its configuration says",
           _lines_altered("#", "directory.id=", "node.id=")),
    Reason(r"meta\.properties$", "a digit", "Kafka takes version 0, and looks for no node.id there",
           lambda before, after: after == before.replace(b"version=1", b"version=0")),
    Reason(r"quorum-state$", ".*", "of its vote, and of a later epoch, only the node knows"),
    Reason(r"\.index$", ".*", INDEXES_LOWER),
    Reason(r"(__cluster_metadata-0|b3/.*)/\d+\.timeindex$", ".*", RECOVERED),
    Reason(r"__cluster_metadata-0/\d+\.snapshot$", "gone", "of no producer"),
    Reason(r"leader-epoch-checkpoint$", "an entry gone", "an epoch in which nothing was written"),
    Reason(r"\.timeindex$", "longer", "an entry twice",
           lambda before, after: (after or b"") == before + before[:12]),
    Reason(r"replication-offset-checkpoint$", ".*", "a high watermark may be behind",
           _numbers_fall),
    Reason(r"partition\.metadata$", "longer", "a third line, which is not read",
           lambda before, after: re.match(re.escape(before) + b"\r?\n", after or b"") is not None),
    Reason(r"keyed-0/leader-epoch-checkpoint$", ".*", "no record is before it",
           lambda before, after: (after or b"").split()[:3] == before.split()[:3]),
    Reason(r"keyed-0/\d+\.log$", "latest time of a batch",
           "a cleaner that takes records alters it"),
    Reason(r"keyed-0/\d+\.log$", ".*gone", "a cleaner takes batches; no last value was in them"),
    Reason(r"b\d/__cluster_metadata-0/\d+\.log$", "(its last batches|a batch) gone|cut",
           "who is no voter may be behind"),
)  # fmt: skip


def reason(damage: Damage, before: bytes, after: bytes | None) -> str:
    for each in REASONS:
        is_of = re.search(each.file, damage.file) and re.fullmatch(each.kind, damage.kind)
        if is_of and each.where(before, after):
            return each.why
    return ""


def loses(damage: Damage, before: bytes, after: bytes | None) -> bool:
    """Whether records that were flushed cannot be read any more. A cleaner may take some."""
    if not re.match(r"(b1|b2|c1)/(?!keyed).*\.log$", damage.file):
        return False
    there = [{each[:8] for each in _batches(data)} for data in (before, after or b"")]
    return not there[0] <= there[1]


class Result(NamedTuple):
    """told: what is said, beyond what is said of the whole disks."""

    code: int
    told: frozenset[str]
    loses: bool
    reason: str


def outcome(place: Path, damage: Damage, whole: Outcome) -> Result | None:
    """Of the disks with the damage, which are as before afterwards. None: it alters nothing."""
    path = place / damage.file
    data = path.read_bytes()
    after = kinds(damage.file)[damage.kind](data, random.Random(damage.seed))
    if after == data:
        return None
    try:
        path.unlink() if after is None else path.write_bytes(after)
        found = asked(place, topic_of(damage.file))
    finally:
        path.write_bytes(data)
    told = found.findings ^ whole.findings
    lost = loses(damage, data, after)
    return Result(found.code, told, lost, reason(damage, data, after))


class Run(msgspec.Struct):
    """How many damages, by exit code; silent ones, by reason; that lose records. wrong: those that
    are not told of as they should be."""

    codes: Counter[int] = msgspec.field(default_factory=Counter)
    silent: Counter[str] = msgspec.field(default_factory=Counter)
    losing: int = 0
    wrong: list[str] = msgspec.field(default_factory=list)


def run(folder: Path, seed: int, count: int, versions: Sequence[str] = VERSIONS) -> Run:
    """folder: for the disks."""
    places = {version: extracted(version, folder) for version in versions}
    whole: dict[tuple[str, str], Outcome] = {}
    files = {version: files_of(place) for version, place in places.items()}
    out = Run()
    for damage in drawn(seed, count, files):
        key = damage.version, topic_of(damage.file)
        if key not in whole:
            whole[key] = asked(places[damage.version], key[1])
        found = outcome(places[damage.version], damage, whole[key])
        if found is None:
            continue
        out.codes[found.code] += 1
        out.losing += found.loses
        if not found.told:
            out.silent[found.reason or "without a reason"] += 1
        if not (found.told or found.reason):
            out.wrong.append(f"silent: {damage}")
        if found.code not in ((1,) if found.loses else (0, 1, 2)):
            out.wrong.append(f"exit code {found.code}: {damage}")
    return out


@click.command()
@click.option("--seed", type=int, required=True)
@click.option("--count", type=int, default=2000, show_default=True)
def main(seed: int, count: int) -> None:
    """Damages disks, and prints what nothing is said of."""
    with tempfile.TemporaryDirectory() as name:
        found = run(Path(name), seed, count)
    for each in found.wrong:
        click.echo(each)
    click.echo(f"{found.codes.total():,} damages; exit codes {dict(sorted(found.codes.items()))}")
    click.echo(f"{found.losing:6,} lose records that were flushed")
    for why, times in found.silent.most_common():
        click.echo(f"{times:6,} silent: {why}")
    sys.exit(1 if found.wrong else 0)


if __name__ == "__main__":
    main()
