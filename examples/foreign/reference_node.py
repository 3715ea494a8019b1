"""Answer `kraftcheck drive` by the kit's own reference.

Any protocol will do, with a known bug if one is named. It shows what is asked and answered, and the
driver is tested with it.

    kraftcheck drive quorum --out runs/driven -- python examples/foreign/reference_node.py
    kraftcheck drive quorum --out runs/driven -- python examples/foreign/reference_node.py Z13
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from kraftcheck.reference.bugs.catalog import handlers_for
from kraftcheck.traces.foreign.reading import StepReader
from kraftcheck.witness.speech import Speech


def answers(lines: Iterable[str], bug: str | None = None) -> Iterator[str]:
    """The answer to each line."""
    for line in lines:
        told = json.loads(line)
        if "constants" in told:  # a new node begins
            header = {"format": "kraftcheck steps 1", "constants": told["constants"]}
            header |= {"rows": "full", "producer": "reference_node.py"}
            constants = StepReader(Path("told"), json.dumps(header).encode()).constants
            node, speech, handle = told["node"], Speech(constants), handlers_for(bug, constants)
            row = speech.first_row(node)
            yield json.dumps(header)
            continue
        input = speech.input(json.dumps(told["input"], separators=(",", ":")))
        outcome = handle(node, row, input)
        if outcome is None:
            yield json.dumps({"notTaken": "it is disabled"})
        else:
            yield speech.line(node, row, input, outcome)
            row = outcome.row


if __name__ == "__main__":
    for answer in answers(sys.stdin, *sys.argv[1:]):
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
