"""The golden trace: a few runs as they were recorded once, kept as files.

It pins the trace contract, the rows and messages, and the specification together: whoever changes
one of them in a way that old recordings feel learns it here, and then either has made a mistake or
records it anew:

    .venv/bin/python -m tests.conformance.golden
"""

from __future__ import annotations

import shutil
from pathlib import Path

from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.simulate import simulate
from kraftcheck.traces.store import Campaign

GOLDEN = Path(__file__).resolve().parent / "golden"
CAMPAIGN = Campaign(
    scenario="quorum", seed=2, runs=4, options={"voters": 3, "fetch_max_records": 2}
)


def main() -> None:
    shutil.rmtree(GOLDEN, ignore_errors=True)
    simulate(GOLDEN, CAMPAIGN, part_runs=2, backend=Pool(1))
    (GOLDEN / ".lock").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
