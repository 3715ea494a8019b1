"""What is written can be read again, and means the same."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traces.formats.builders import histories
from traces.formats import detect, jepsen, jsonlines
from traces.history import History

MODELS = ("cas-register", "kv", "set", "counter", "queue", "list-append", "rw", "partition-log")
GOLDEN = Path(__file__).parents[2] / "conformance" / "golden"


def bare(history: History, *, annotations: bool = True) -> tuple[object, ...]:
    """What a history means: not from where it came, nor which number stands for which moment."""
    moments = [o.invoked for o in history.operations]
    moments += [o.completed for o in history.operations if o.completed is not None]
    rank = {time: at for at, time in enumerate(sorted(set(moments)))}
    return history.model, tuple(
        (
            o.process,
            o.f,
            o.key,
            o.argument,
            o.result,
            o.end,
            rank[o.invoked],
            o.group,
            None if o.completed is None else rank[o.completed],
            o.outcome,
            o.error,
        )
        for o in history.operations
    )


@pytest.mark.parametrize("format", [jepsen, jsonlines], ids=lambda module: module.NAME)
@pytest.mark.parametrize("model", MODELS)
@given(data=st.data())
def test_what_is_written_is_read(
    model: str, format: ModuleType, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    history = data.draw(histories(model))
    path = tmp_path_factory.getbasetemp() / f"{model}.{format.NAME}"
    path.write_text("".join(format.write(history)), encoding="utf-8")
    assert detect.detect(path) == format.NAME
    again = detect.read(path)
    assert bare(again) == bare(history)
