"""Verdicts of TLC that outlive their campaign: a step judged once is not judged again.

A step's key is a digest of all that TLC is given: constants, action, node, rows, input, messages
(symmetry.py). What it is judged *against* is the `stamp` of the store's folder: the modules of the
specification that frames are built on, the TLC jar, and our code that turns recorded values into
the spec's. Under another stamp nothing is known.

Each batch is a file named by its content and written whole, so that campaigns may share a store,
and one that is killed has lost the batch in flight. *Unknown* is not stored: it may be known next
time.

Law of this file: a stored verdict is the one that TLC gave; a file that is damaged is an error that
names it, and never a verdict.
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import tla_utils
from kraftcheck.osutil.files import read_bytes
from kraftcheck.reference.kit import fields
from kraftcheck.reference.kit.fields import within
from kraftcheck.reference.protocols import KINDS
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.steps.translation import frame_digest
from kraftcheck.traces.store import parquet_bytes, write_file
from tla_utils import find_jar

ACCEPTED, REJECTED = "accepted", "rejected"

STORED: Final = pa.schema(
    [
        ("key", pa.binary(16)),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("kind", pa.string()),
        ("constants", pa.string()),
        ("action", pa.string()),
    ]
)
"""A judged step: TLC's verdict and why it was rejected; where it was judged, and its action."""
KNOWN: Final = STORED.set(
    STORED.get_field_index("constants"),
    pa.field("constants", pa.dictionary(pa.int32(), pa.string())),
)
"""The same in memory: millions of steps have few constants between them, of 200 bytes and more."""

TRANSLATION: Final = ("judge.py", "symmetry.py", "translation.py")
"""Our modules that say what value of the spec a recorded value is and what is made of TLC's answer,
beside those in which rows and inputs are declared."""


def stamp(specs: Path) -> str:
    """What steps are judged against. Raises ToolError: there is no jar of TLC."""
    digest = sha256(frame_digest(KINDS, specs).encode())
    digest.update(find_jar().version.encode())
    sources = [Path(__file__).with_name(name) for name in TRANSLATION]
    sources += _declarations()
    ours = Path(tla_utils.__file__).parent
    sources += [*sorted(ours.glob("*.py")), *sorted(ours.glob("java/*"))]
    for path in sources:
        digest.update(path.name.encode() + read_bytes(path))
    return digest.hexdigest()[:32]


def _declarations() -> list[Path]:
    """Where the types of rows and inputs are declared, and what their annotations mean."""
    declared = within(struct for kind in KINDS for struct in (kind.row, *kind.inputs))
    modules = {fields.__name__, *(struct.__module__ for struct in declared)}
    return [Path(str(sys.modules[name].__file__)) for name in sorted(modules)]


class VerdictStore:
    """The verdicts under one stamp."""

    def __init__(self, folder: Path, under: str) -> None:
        self.folder = folder / under

    def known(self, keys: pa.Array) -> pa.Table:
        """KNOWN, a row for each of the keys that is known, by key.

        Raises TraceError: a file of the store cannot be read, or two say different things.
        """
        wanted = keys.cast(pa.binary(16))
        found = [KNOWN.empty_table()]
        for path in sorted(self.folder.glob("*.parquet")):
            table = _read(path)
            found.append(table.filter(pc.is_in(table["key"], value_set=wanted)))
        whole = pa.concat_tables(found).sort_by("key").combine_chunks()
        return _each_once(whole, self.folder)

    def add(self, kind: str, judged: pa.Table) -> None:
        """Stores steps of a kind of node, by its name, with the columns JUDGED of judge.py.

        Raises TraceError: no space left.
        """
        decided = judged.filter(
            pc.is_in(judged["verdict"], value_set=pa.array([ACCEPTED, REJECTED]))
        )
        if not len(decided):
            return
        columns = {
            "key": decided["key"].cast(pa.binary(16)),
            "verdict": decided["verdict"],
            "reason": pc.fill_null(decided["reason"], ""),
            "kind": [kind] * len(decided),
            "constants": decided["constants"],
            "action": decided["action"],
        }
        data = parquet_bytes(pa.table(columns, schema=STORED).sort_by("key"))
        write_file(self.folder / f"{sha256(data).hexdigest()[:32]}.parquet", data)


def _read(path: Path) -> pa.Table:
    try:
        data = read_bytes(path)
        if path.stem != sha256(data).hexdigest()[:32]:
            raise TraceError(f"{path}: damaged: remove it, and its steps are judged again")
        return pq.read_table(pa.BufferReader(data), schema=KNOWN)
    except (OSError, pa.ArrowException) as error:
        raise TraceError(f"{path}: {error}") from None


def _each_once(ordered: pa.Table, folder: Path) -> pa.Table:
    """Of rows by key, the first of each key; they must agree."""
    if len(ordered) < 2:
        return ordered
    keys, verdicts = ordered["key"].combine_chunks(), ordered["verdict"].combine_chunks()
    same = pc.equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
    differ = pc.not_equal(verdicts[1:], verdicts[:-1]).to_numpy(zero_copy_only=False)
    if (same & differ).any():
        raise TraceError(f"{folder}: two verdicts on one step: remove the folder")
    return ordered.filter(pa.array(np.append(True, ~same)))
