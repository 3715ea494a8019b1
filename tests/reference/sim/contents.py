"""What a part contains, without ids: so that parts can be compared that were cut differently.

And the network's guarantee, read off a run: what was delivered had been sent.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.quorum.messages import MESSAGES
from kraftcheck.reference.runner.run import Run
from kraftcheck.traces.schema import PartTables

Content = tuple[Any, ...]


def contents(part: PartTables) -> dict[int, Content]:
    """By run: its steps, with all that they name by content, and what else is known of it."""
    tables = {name: table.to_pydict() for name, table in part.tables.items()}
    rows, inputs, steps = tables["rows"], tables["inputs"], tables["steps"]
    step_contents = []
    for at in range(len(steps["id"])):
        step_contents.append(
            (
                *(steps[column][at] for column in ("constants", "node", "action", "ignored")),
                rows["body"][steps["before"][at]],
                inputs["body"][steps["input"][at]],
                rows["body"][steps["after"][at]],
                tuple(inputs["body"][sent] for sent in steps["sent"][at]),
            )
        )
    found = {}
    for at, run in enumerate(tables["runs"]["run"]):
        columns = {name: values[at] for name, values in tables["runs"].items()}
        ids = columns.pop("steps")
        del columns["part"]
        columns["batches"] = [_batch(each, inputs["body"]) for each in columns["batches"]]
        found[run] = ([step_contents[step] for step in ids], columns)
    return found


def _batch(batch: dict[str, Any], inputs: list[bytes]) -> dict[str, Any]:
    records = batch["records"]
    content = None if records is None else inputs[records]
    return batch | {"input": inputs[batch["input"]], "records": content}


def unsent(run: Run) -> list[int]:
    """The steps whose message nobody had sent to that node before (specs/common/Network.tla)."""
    sent: set[object] = set()
    wrong = []
    for index, step in enumerate(run.steps):
        message = step.input
        if isinstance(message, MESSAGES) and (
            message not in sent or message.destination != step.node
        ):
            wrong.append(index)
        sent.update(step.sent)
        assert all(own.source == step.node for own in step.sent), "sent in its own name"
    return wrong


def deliver_unsent(run: Run) -> tuple[Run, int]:
    """A planted fault: in one step a message is delivered that nobody sent. Returns which."""
    for index, step in enumerate(run.steps):
        if isinstance(step.input, MESSAGES):
            steps = list(run.steps)
            forged = replace(step.input, epoch=step.input.epoch + 100)
            steps[index] = step._replace(input=forged)
            return run._replace(steps=steps), index
    raise AssertionError("a run without messages")
