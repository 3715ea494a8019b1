"""What TLC said of a model, kept in answers.json: an unchanged question is not asked again.

The answer to a model is settled by what TLC reads and how it is started: the root module with all
that it extends or instantiates, the cfg, the options of the search, the jar. Their digest is the
key of an answer. Where nothing is kept, TLC is asked; `make answers` asks what is missing, keeps it
as it comes, and in the end forgets what no test asks any more; with --again it asks everything anew
(minutes).

Laws of this file:

* Only verdicts and counts are kept, and what is expected of them stands in the tests alone: a test
  compares them each time.
* A search that was cut short is never kept.
"""

from __future__ import annotations

import functools
import os
import tempfile
import warnings
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from tla_utils import ModuleText, TlcJob, TlcResult, find_jar, run_tlc
from tla_utils.output import Kind, State, Verdict
from tla_utils.runner import command_line
from tla_utils.sources import source_digest

HERE: Final = Path(__file__).resolve().parent
KEPT: Final = HERE / "answers.json"
UPDATE: Final = "make answers"
AGAIN: Final = "TLC_AGAIN"
"""The variable of the environment that has everything asked again."""


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of TlcResult with these names. length: states of the counterexample."""

    module: str
    verdict: Verdict
    kind: Kind | None = None
    property: str | None = None
    distinct: int | None = None
    generated: int | None = None
    depth: int | None = None
    length: int = 0


asked: dict[str, Answer] = {}
"""The answers of this process, by digest."""


def answer(job: TlcJob, *, work_dir: Path | None = None) -> TlcResult:
    """As run_tlc; of what is kept, the states of a counterexample have numbers and no values."""
    digest = digest_of(job)
    found = asked.get(digest)
    if found is None and not os.environ.get(AGAIN):
        found = kept().get(digest)
    if found is None:
        warnings.warn(f"TLC's answers are not all kept: `{UPDATE}` keeps them", stacklevel=2)
        result = run_tlc(job, work_dir=work_dir)
        if result.verdict != "unknown":
            asked[digest] = _of(job, result)
        return result
    asked[digest] = found
    return TlcResult(
        verdict=found.verdict,
        reason="",
        kind=found.kind,
        property=found.property,
        distinct=found.distinct,
        generated=found.generated,
        depth=found.depth,
        complete=found.verdict == "holds",
        counterexample=[State(1 + number, "", {}) for number in range(found.length)],
    )


def digest_of(job: TlcJob) -> str:
    """What an answer is kept under."""
    with tempfile.TemporaryDirectory(prefix="asked-") as folder:
        root = Path(folder, f"{job.name}.tla")
        given = job.module
        root.write_text(given.text if isinstance(given, ModuleText) else given.read_text("utf-8"))
        cfg = job.cfg if isinstance(job.cfg, str) else job.cfg.read_text("utf-8")
        own = [] if isinstance(given, ModuleText) else [given.parent]
        sources = source_digest([job.name], cfg, [root.parent, *own, *job.libraries], job.beside)
    command = command_line(job, Path())
    options = command[command.index("tlc2.TLC") :]
    return sha256("\0".join([sources, _jar(), *options]).encode()).hexdigest()[:32]


@functools.cache
def kept() -> dict[str, Answer]:
    """The stored answers."""
    return msgspec.json.decode(KEPT.read_bytes(), type=dict[str, Answer])


@functools.cache
def _jar() -> str:
    return sha256(find_jar().path.read_bytes()).hexdigest()


def _of(job: TlcJob, result: TlcResult) -> Answer:
    return Answer(
        module=job.name,
        verdict=result.verdict,
        kind=result.kind,
        property=result.property,
        distinct=result.distinct,
        generated=result.generated,
        depth=result.depth,
        length=len(result.counterexample),
    )


def store(answers: Mapping[str, msgspec.Struct], path: Path | None = None) -> None:
    """Write them, each in a line of its own. path: None for that of the answers to models."""
    lines = [
        f"{msgspec.json.encode(digest).decode()}: {msgspec.json.encode(answers[digest]).decode()}"
        for digest in sorted(answers)
    ]
    (path or KEPT).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
