"""Of the names of the quorum, what tests/reference/test_vocabulary.py does not ask."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from kraftcheck.reference.kit.dispatch import handler_name
from kraftcheck.reference.quorum.handlers import HANDLERS, QuorumHandlers
from tests.reference.quorum.names import field_order, row_fields
from tests.reference.vocabulary import differences, snake, text_of


def test_a_field_that_is_planted_in_a_row_is_found(specs_dir: Path, tmp_path: Path) -> None:
    text = text_of(specs_dir, "QuorumHandlers")
    for old, new, names, reported in [
        ('[role |-> "Unattached",', '[role |-> "Unattached", mood |-> 1,', row_fields, "mood"),
        ("|-> m.source, error", "|-> m.source, mood |-> 1, error", field_order, None),
    ]:
        planted = text.replace(old, new)
        assert planted != text
        (tmp_path / "QuorumHandlers.tla").write_text(planted, "utf-8")
        theirs, ours = names(tmp_path)
        found = differences(theirs, ours)
        assert found == [f"only in specs: {reported}"] if reported else found


def test_every_handler_is_a_method_of_its_name() -> None:
    for action in HANDLERS.values():
        method: Any = getattr(QuorumHandlers, handler_name(action))
        assert handler_name(action) == snake(action)
        assert list(inspect.signature(method).parameters)[1:3] == ["n", "row"]
