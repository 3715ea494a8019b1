"""What a witness did that the specs forbid: known, by the entries of a profile, or not.

All steps are judged by the specs. Those that are refused are judged again with the profile in
place, and then with each of its entries left out: an entry is met by the steps that need it.

Law of this file: TLC judges. A step is a known departure only if it is accepted under the profile.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from kraftcheck.kafka.witness.speech import header
from kraftcheck.reference.protocols import protocol_of
from kraftcheck.traces.foreign.batch import judge_batch, judge_steps, needed_entries
from kraftcheck.traces.foreign.profiles import Profile
from kraftcheck.traces.foreign.reading import ForeignStep, ForeignTrace, read_foreign
from kraftcheck.traces.foreign.verdicts import VIOLATED, Finding, ForeignVerdict

NO_USE: Final = "Kafka has no use for that input, or nobody has sent it"
ALLOWED: Final = "the specs allow what Kafka does in the row that it is in"
STOPS: Final = "Kafka throws what ends its process"
BEYOND: Final = "Kafka comes to what the specs have no word for"
WRONG: Final = "refused"
"""Why Kafka does something else than the reference; else an entry of a profile."""


class Met(msgspec.Struct, frozen=True):
    """An entry of a profile that steps needed."""

    name: str
    of: str
    """Its class."""
    says: str
    source: str
    lines: list[int]
    """Where they are in the trace."""
    runs: list[int]
    """In which runs."""


class Witnessed(msgspec.Struct, frozen=True):
    """The judgement of a trace of a witness."""

    found: ForeignVerdict
    """What the specs with the profile say."""
    forbidden: int
    """How many steps the specs alone refuse."""
    met: list[Met]
    """Which entries they needed."""
    in_vain: list[Finding]
    """What the profile leaves open, and is wrong in the runs."""

    @property
    def verdict(self) -> str:
        return VIOLATED if self.in_vain else self.found.verdict


def witnessed(
    trace: ForeignTrace,
    profile: Profile | None,
    in_vain: list[Finding],
    told: Callable[[str], None] = lambda what: None,
    only: set[int] | None = None,
) -> Witnessed:
    """Judges a trace of full rows.

    in_vain: what is wrong in it although the profile allows it. told: hears what is done. only: the
    lines of which TLC is asked; of the others the reference has answered. Raises ToolError as
    judge_batch.
    """
    asked = [step for step in trace.steps if only is None or step.line in only]
    told("judging")
    found = judge_batch(trace, profile=profile, asked=None if only is None else asked)
    unknown = {each.line for each in found.rejections}
    if profile is None:
        suspects = [step for step in asked if step.line in unknown]
        return Witnessed(found, len(suspects), [], in_vain)
    told("judging by the specs")
    refused = judge_steps(trace, asked).lines()
    suspects = [step for step in asked if step.line in refused]
    known = [step for step in suspects if step.line not in unknown]
    return Witnessed(found, len(suspects), _met(trace, known, profile, told), in_vain)


def _met(
    trace: ForeignTrace,
    known: list[ForeignStep],
    profile: Profile,
    told: Callable[[str], None],
) -> list[Met]:
    """Which entries these steps need, which the profile allows and the specs alone refuse."""
    about = profile.for_protocol(protocol_of(trace.constants).name)
    if not known or not about.entries:
        return []
    told("judging without each entry")
    needed = needed_entries(trace, known, about)
    met = []
    for entry in about.entries:
        if lines := needed[entry.name]:
            runs = sorted({step.run for step in known if step.line in lines})
            met.append(Met(entry.name, entry.of, entry.says, entry.source, sorted(lines), runs))
    return met


def reasons_of(
    texts: Sequence[str], constants: Any, profile: Profile | None, by: str
) -> tuple[list[str], list[str]]:
    """Give the entry of the profile that each of these steps of Kafka needs, or WRONG.

    "": the specs allow it. Steps are lines of a trace. Also say what is wrong, in words.
    """
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "parted.jsonl"
        head = header(constants, by)
        head = f'{head[:-1]},"start":"any","order":"by node"}}\n'
        # Each in a run of its own, so that only the step itself is judged.
        lines = [f'{text[:-1]},"run":{run}}}\n' for run, text in enumerate(texts)]
        trace.write_text(head + "".join(lines), encoding="utf-8")
        judged = witnessed(read_foreign(trace), profile, [])
    refused = {each.run: each for each in judged.found.rejections}
    known = {run: met.name for met in judged.met for run in met.runs}
    reasons = [WRONG if run in refused else known.get(run, "") for run in range(len(texts))]
    wrong = [f"{each.action}: {'; '.join(each.differences)}" for each in refused.values()]
    return reasons, wrong
