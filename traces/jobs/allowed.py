"""Which steps the correct spec allows: TLC is asked about many at once, and never about one twice.

A start of TLC costs as much as thousands of steps. So steps are named by their class
(traces/steps/symmetry.py), those without a verdict wait until somebody asks, and then go to TLC all
together. The spec that judges is the correct one, whatever bug made a step: the verdicts are shared
by all bugs, and stored under the digest of the spec.

Law of this file: a verdict is TLC's. What TLC could not judge is neither allowed nor refused: it is
an error.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Final

import pyarrow as pa

from kraftcheck.reference.protocols import AnyConstants, kind_of, row_has_form
from kraftcheck.specs import SPECS
from kraftcheck.traces.steps.classes import CLASSES
from kraftcheck.traces.steps.judge import Bench, Group, grouped, report_of
from kraftcheck.traces.steps.record import constants_text
from kraftcheck.traces.steps.slicing import Relevance
from kraftcheck.traces.steps.symmetry import Canonicaliser, CanonicalStep, Step
from kraftcheck.traces.steps.verdict_store import VerdictStore, stamp
from tla_utils import CheckOptions, ToolError

CHECK: Final = CheckOptions(chunk=5_000, parallel=1, heap_mb=2048)
"""How TLC is run. Hundreds of steps need little memory; of 300 moves' long logs 5,684 did not fit
into 512 MB.
"""


class Allowed:
    """Verdicts on steps: those that were stored, and those that are asked for."""

    def __init__(self, store: Path, check: CheckOptions = CHECK) -> None:
        """store: the folder of the verdicts. Raises ToolError: there is no jar of TLC."""
        self._store = VerdictStore(store, stamp(SPECS))
        self._check = check
        self._verdicts: dict[bytes, str] = {}
        self._waiting: dict[Bench, dict[bytes, CanonicalStep]] = {}
        self._relevance: dict[AnyConstants, Relevance] = {}
        self._forms: dict[AnyConstants, Canonicaliser] = {}
        self.asked = 0
        """Steps that TLC has been asked about."""
        self.starts = 0
        """How often TLC was started for that."""

    def name(self, constants: AnyConstants, step: Step) -> bytes | None:
        """The name of the step's class, whose verdict is known, or will be when it is asked for.

        None: a row of the step has no form in the spec, so that TLC cannot be asked.
        """
        kind = kind_of(constants, step.node)
        if not (row_has_form(constants, step.before) and row_has_form(constants, step.after)):
            return None
        relevance = self._relevance.get(constants)
        if relevance is None:
            relevance = self._relevance[constants] = Relevance(constants, SPECS)
        judged = relevance.judged(step)
        form = self._canonicaliser(judged.constants).of_pieces(judged.step)
        text = constants_text(judged.constants)
        key = form.digest(text.encode())
        if key not in self._verdicts:
            self._waiting.setdefault(Bench(kind.name, text), {})[key] = form
        return key

    def refuses(self, key: bytes) -> bool | None:
        """Whether TLC has refused a class; None: it was not asked yet."""
        verdict = self._verdicts.get(key)
        return None if verdict is None else verdict == "rejected"

    def ask(self, most: int | None = None) -> None:
        """Asks for the verdicts that are waited for.

        Args:
            most: about how many classes TLC is asked; the others are no longer waited for.

        Raises:
            ToolError, TraceError: TLC or the store cannot be used, or TLC could not judge a step.
        """
        waiting, self._waiting = self._waiting, {}
        keys = pa.array([key for classes in waiting.values() for key in classes], pa.binary(16))
        for row in self._store.known(keys).select(["key", "verdict"]).to_pylist():
            self._verdicts[row["key"]] = row["verdict"]
        tables: dict[Bench, list[pa.Table]] = {}
        for bench, classes in waiting.items():
            unknown = (item for item in classes.items() if item[0] not in self._verdicts)
            fresh = dict(islice(unknown, most))
            most = None if most is None else most - len(fresh)
            if fresh:
                tables[bench] = [_table(bench, fresh)]
        for group in grouped(tables, self._check.chunk):
            self._judge(group)

    def _judge(self, group: Group) -> None:
        report = report_of(*group, self._check)
        self.asked += len(report.verdicts)
        self.starts += report.runs
        if unknown := report.numbers("unknown"):
            reason = report.verdicts[unknown[0]].reason
            count = len(report.verdicts)
            raise ToolError(f"{len(unknown)} of {count} steps were not judged: {reason}")
        verdicts = [each.verdict for each in report.verdicts]
        self._verdicts |= zip(group.classes["key"].to_pylist(), verdicts, strict=True)
        judged = group.classes.append_column("verdict", pa.array(verdicts, pa.string()))
        reasons = pa.array([each.reason for each in report.verdicts], pa.string())
        self._store.add(group.kind, judged.append_column("reason", reasons))

    def _canonicaliser(self, constants: AnyConstants) -> Canonicaliser:
        found = self._forms.get(constants)
        if found is None:
            found = self._forms[constants] = Canonicaliser(constants)
        return found


def _table(bench: Bench, classes: dict[bytes, CanonicalStep]) -> pa.Table:
    """The classes as a table with the columns CLASSES."""
    columns = {"key": list(classes), "constants": [bench.text] * len(classes)}
    for name in CLASSES.names[2:]:
        columns[name] = [getattr(form, name) for form in classes.values()]
    return pa.table(columns, schema=CLASSES)
