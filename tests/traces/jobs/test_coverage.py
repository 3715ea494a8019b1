"""Coverage of runs: counted slowly, and merged as if there had been one part."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from kraftcheck.reference.protocols import KINDS as KINDS_OF_ROWS
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces.jobs.coverage import FEATURES, KINDS, features, merge_features, unseen
from kraftcheck.traces.steps.record import Part
from tests.traces.jobs.recorded import RUNS, part


@pytest.mark.parametrize("scenario", ["quorum", "cluster"])
def test_features_are_what_the_steps_say(scenario: str) -> None:
    found = Part(part(scenario))
    counted: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], int] = {}
    for at, step in enumerate(found.taken.tolist()):
        action, input = found.action[step], found.inputs[found.input[step]]
        error = getattr(input, "error", "")
        types = {found.input_types[number] for number in found.sent[step].tolist()}
        met = [
            ("action", action),
            ("effect", f"{action} -> {', '.join(sorted(types)) or 'nothing'}"),
            ("role", f"{action} as {role_of(found, step)}"),
        ]
        if found.ignored[step]:
            met.append(("ignored", f"{action}: {found.ignored[step]}"))
        if error not in ("", "NONE"):
            met.append(("error", f"{type(input).__name__}: {error}"))
        for each in met:
            counted[each] += 1
            first.setdefault(each, int(found.run[found.run_at[at]]))
    rows = features(part(scenario).tables).to_pylist()
    told = {(row["kind"], row["name"]): (row["count"], row["first_run"]) for row in rows}
    assert told == {each: (count, first[each]) for each, count in counted.items()}
    assert {kind for kind, _ in told} == set(KINDS)


def role_of(found: Part, step: int) -> str:
    kind = KINDS_OF_ROWS[int(found.step_kind[step])]
    return kind.role(found.rows[found.before[step]])


def test_where_rows_tell_no_role_none_is_said() -> None:
    told = {row["kind"] for row in features(part("groups").tables).to_pylist()}
    assert told == {*KINDS} - {"role"}


def test_parts_are_merged_as_if_they_were_one() -> None:
    half = RUNS["quorum"] // 2
    parts = [simulate_part("quorum", 11, first, half) for first in (0, half)]
    merged = merge_features([features(each.tables) for each in reversed(parts)])
    assert merged.combine_chunks() == features(part("quorum").tables).combine_chunks()
    assert merge_features([]) == FEATURES.empty_table()


@pytest.mark.parametrize(
    ("counts", "next_is_new", "hidden"),
    [
        ([5, 5], 0.0, 0),
        ([1, 1, 2, 6], 0.2, 2),
        # Nothing was seen twice: there is no bound.
        ([1, 1, 8], 0.2, None),
        ([], None, 0),
    ],
)
def test_the_estimate_of_what_is_unseen(
    counts: list[int], next_is_new: float | None, hidden: int | None
) -> None:
    told = unseen(np.array(counts, np.int64))
    assert (told["next_is_new"], told["hidden"]) == (next_is_new, hidden)


def test_the_estimate_is_near_what_more_runs_show() -> None:
    """Draws from a known lot: Good and Turing's chance against how often the next draw is new."""
    chance = np.random.default_rng(3)
    lot = chance.zipf(1.6, 40_000) % 5000
    seen, later = lot[:20_000], lot[20_000:]
    told = unseen(np.unique(seen, return_counts=True)[1].astype(np.int64))
    new = 1 - np.isin(later, seen).mean()
    assert told["next_is_new"] == pytest.approx(new, rel=0.1)


def test_an_empty_part_has_met_nothing() -> None:
    tables = {name: table.slice(0, 0) for name, table in part("quorum").tables.items()}
    assert features(tables) == pa.Table.from_pylist([], schema=FEATURES)
    unchunked = {name: pa.Table.from_batches([], each.schema) for name, each in tables.items()}
    assert features(unchunked) == features(tables)
