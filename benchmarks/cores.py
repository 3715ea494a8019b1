"""The simulation stage of a campaign: the same runs on one core and on two.

Both write the same parts, in processes that begin with nothing: what one process has learned of the
protocol (reference/sim/memo.py) the other learns as well, so a campaign must be long enough for
that not to matter.

    python -m benchmarks.cores [RUNS]      default 20000, a minute and a half
"""

from __future__ import annotations

import sys
import tempfile
import time
import tomllib
from pathlib import Path

from traces.jobs.backends import Pool
from traces.jobs.simulate import simulate
from traces.schema import Campaign

RUNS = 20_000
PART_RUNS = 1000
FILE = Path(__file__).resolve().parents[1] / "examples" / "campaigns" / "saturating.toml"


def measure(folder: Path, runs: int, processes: int) -> float:
    asked = tomllib.loads(FILE.read_text(encoding="utf-8"))
    campaign = Campaign(scenario=asked["scenario"], seed=1, runs=runs, options=asked["options"])
    started = time.monotonic()
    simulate(folder, campaign, backend=Pool(processes), part_runs=PART_RUNS)
    return time.monotonic() - started


def main(arguments: list[str] | None = None) -> None:
    runs = int((arguments or [str(RUNS)])[0])
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
        one, two = (measure(Path(folder) / str(count), runs, count) for count in (1, 2))
    print(
        f"{FILE.name}, {runs:,} runs simulated and written: {one:,.1f} s on one core, "
        f"{two:,.1f} s on two, {one / two:.2f} times as fast"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
