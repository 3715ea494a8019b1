"""Z110 to Z112, Z122, Z125, Z126, Z128 on Kafka's own classes: what a snapshot, or a cut, comes to.

    .venv/bin/python -m experiments.snapshots_by_classes [--repeat N] [--jars DIR]

FromSnapshots.java gives classes of Apache Kafka, unpatched, a snapshot where they most often have
records, or a record right behind one, or below a tail that was cut, or a set of voters behind
records that wait; each case has its control.

Ends with 1 if any comes out otherwise than its control, with 0 if none does, with 3 if it could not
be tried.
"""

from __future__ import annotations

from experiments import by_classes

main = by_classes.compared(
    "snapshots_by_classes",
    "Try what classes make of a snapshot, or of a cut, and of the record behind one.",
)


if __name__ == "__main__":
    main()
