"""The names of steps: two steps that differ in anything that is judged have two names."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kraftcheck.reference.partition.messages import DEPOSED
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces.schema import PartTables
from kraftcheck.traces.steps import classes, record
from kraftcheck.traces.steps.classes import Classes
from kraftcheck.traces.steps.record import Part, constants_text, decode_constants
from kraftcheck.traces.steps.symmetry import CanonicalStep
from tests.conformance.altered import Altered

FORM = CanonicalStep("HandleFlush", 1, b"before", b"input", b"after", (b"a", b"b"), "NotLeader")


def test_a_digest_is_of_everything_in_a_form() -> None:
    others: dict[str, tuple[Any, ...]] = {
        "action": ("HandleCrash",),
        "node": (2,),
        "before": (b"", b"after"),
        "input": (b"", b"before"),
        "after": (b"", b"input"),
        "sent": ((), (b"a",), (b"b", b"a"), (b"a", b"b", b"b"), (b"ab",)),
        "ignored": ("", "b"),
    }
    assert set(others) == set(FORM._fields)
    forms = [FORM, *[FORM._replace(**{k: v}) for k, values in others.items() for v in values]]
    digests = {form.digest(b"constants") for form in forms}
    assert len(digests) == len(set(forms)) == len(forms)
    assert FORM.digest(b"other") not in digests
    assert {len(digest) for digest in digests} == {16}


@pytest.fixture(scope="module")
def recorded() -> PartTables:
    options = {"replicas": 3, "min_insync_replicas": 2, "elr": True, "unclean": False}
    return simulate_part("partition", 1, 1, 2, options=options)


def otherwise(altered: Altered, step: dict[str, Any], field: str) -> Any:
    """The field of a controller's step as another one would have it."""
    if field in ("before", "after"):
        return altered.row(replace(altered.values[step[field]], offset=77))
    if field == "constants":
        return constants_text(replace(decode_constants(step[field]), fetch_max_records=9))
    if field == "sent":
        message = altered.received[step["sent"][0]]
        return [altered.input(replace(message, source=9)), *step["sent"][1:]]
    if field == "input":
        return altered.input(replace(altered.received[step["input"]], source=9))
    return {"action": "HandleElectLeaders", "node": DEPOSED, "ignored": "Nothing"}[field]


FIELDS = ("constants", "action", "node", "before", "input", "after", "sent", "ignored")


def changed(recorded: PartTables, field: str) -> Part:
    """A part in which a step of the controller is another one, the last that is stored."""
    altered = Altered(recorded)
    place, step = next(
        (p, s) for p, s in altered.taken() if s["action"] == "HandleHeartbeatRequest" and s["sent"]
    )
    altered.change(place, **{field: otherwise(altered, step, field)})
    return Part(altered.part())


def test_the_name_of_a_recorded_step_is_of_all_its_fields(recorded: PartTables) -> None:
    names = []
    for field in FIELDS:
        part = changed(recorded, field)
        names.append(part.step_names[-1])
    whole = Part(recorded)
    known = {*whole.step_names}
    assert len(known) == len(whole.node)
    assert len({*names} | known) == len(FIELDS) + len(known)


@pytest.mark.parametrize("field", [field for field in FIELDS if field != "node"])
def test_steps_that_differ_have_classes_of_their_own(recorded: PartTables, field: str) -> None:
    """Judged one behind the other, with everything remembered of the first."""
    known = set(Classes(Part(recorded)).slim()["key"].to_pylist())
    found = set(Classes(changed(recorded, field)).slim()["key"].to_pylist())
    assert len(found - known) == 1


def test_what_a_worker_remembers_changes_no_class(
    recorded: PartTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered = Classes(Part(recorded._replace(known=None))).table()
    assert record._stored.cache_info().currsize
    classes.forget()
    assert not record._stored.cache_info().currsize
    monkeypatch.setattr(classes, "RECORDED_LIMIT", 1)
    monkeypatch.setattr(classes, "MEMO_LIMIT", 1)
    assert Classes(Part(recorded)).table() == remembered


def test_the_names_of_a_part_do_not_depend_on_where_it_begins(recorded: PartTables) -> None:
    again = recorded._replace(first_run=500)
    parts = Part(recorded), Part(again)
    assert parts[0].step_names == parts[1].step_names
