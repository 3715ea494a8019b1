"""Z72, Z75, Z87, Z140, Z200, H10, K6, K10 on Kafka's own classes: what comes late, or all at once.

    .venv/bin/python -m experiments.transactions_by_classes [--repeat N] [--jars DIR]

LateForTransactions.java drives classes of Apache Kafka, unpatched; each case has its control, in
which nothing is late, each transaction has an epoch of its own, or one is copied after the other.

Ends with 1 if any comes out otherwise than its control, with 0 if none does, with 3 if it could not
be tried.
"""

from __future__ import annotations

from experiments import by_classes

main = by_classes.compared(
    "transactions_by_classes",
    "Try what classes make of an end, or of a commit of offsets, that comes late.",
)


if __name__ == "__main__":
    main()
