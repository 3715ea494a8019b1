"""The contract of histories."""

from __future__ import annotations

import pickle

from kraftcheck.traces.formats.detect import Unrecognised
from kraftcheck.traces.history import HistoryError


def test_a_refusal_comes_back_from_another_process() -> None:
    for made in (HistoryError("file", 3, "is bad"), Unrecognised("file", 0, "is none")):
        again = pickle.loads(pickle.dumps(made))
        assert type(again) is type(made) and str(again) == str(made)
        assert (again.path, again.line, again.reason) == (made.path, made.line, made.reason)
