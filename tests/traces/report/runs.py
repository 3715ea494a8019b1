"""Pictures of runs for tests of their page."""

from __future__ import annotations

from kraftcheck.traces.report.run import Arrow, Lane, Picture, Step


def run_of(steps: int, lanes: int = 3, marked: int | None = None) -> Picture:
    """Nodes that pass a token on, each a lane; every seventh pass is lost, and sent again."""
    marked = steps - 1 if marked is None else marked
    return Picture(
        title="a token",
        drawn="run 0 seed 0: nodes=3",
        verdict="stopped at a violation",
        found=["OneToken: 1 and 2 have the token"],
        lanes=[Lane(f"node {at}", "", {"passed": "0", "token": "False"}) for at in range(lanes)],
        steps=[
            Step(
                number=number,
                time=f"{number / 1000:.6f} s",
                lane=number % lanes,
                action="Pass",
                input=f"Pass {(number - 1) % lanes}>{number % lanes} token={number}",
                sent=(f"Pass {number % lanes}>{(number + 1) % lanes}",),
                ignored="late" if number % 5 == 4 else "",
                changed={"passed": str(number)},
                said=("OneToken: 1 and 2 have the token",) if number == marked else (),
            )
            for number in range(steps)
        ],
        arrows=[
            Arrow(
                words=f"Pass {number}",
                sender=number % lanes,
                receiver=(number + 1) % lanes,
                left=number,
                taken=None if number % 7 == 6 or number + 1 == steps else number + 1,
            )
            for number in range(steps)
        ],
        lines=[f"{number} Pass" for number in range(steps)],
    )
