"""A node that answers `kraftcheck drive` by the kit's own reference: of any protocol, with a known
bug if one is named. It shows what is told and answered, and is what the driver is tested with.

    kraftcheck drive quorum --out runs/driven -- python examples/foreign/reference_node.py
    kraftcheck drive quorum --out runs/driven -- python examples/foreign/reference_node.py Z13
"""

import json
import sys

from kraftcheck.witness.speech import Speech
from reference.bugs.catalog import handlers_for
from traces.foreign.reading import StepReader


def main(bug: str | None) -> None:
    for text in sys.stdin:
        told = json.loads(text)
        if "constants" in told:  # a new node begins
            header = {"format": "kraftcheck steps 1", "constants": told["constants"]}
            header |= {"rows": "full", "producer": "reference_node.py"}
            constants = StepReader("told", json.dumps(header).encode()).constants
            node, speech, handle = told["node"], Speech(constants), handlers_for(bug, constants)
            row = speech.first_row(node)
            print(json.dumps(header), flush=True)
            continue
        input = speech.input(json.dumps(told["input"], separators=(",", ":")))
        outcome = handle(node, row, input)
        if outcome is None:
            print(json.dumps({"notTaken": "disabled"}), flush=True)
            continue
        print(speech.line(node, row, input, outcome), flush=True)
        row = outcome.row


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
