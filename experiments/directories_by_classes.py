"""What Kafka's log manager makes, at a start, of a replica that has two directories.

    .venv/bin/python -m experiments.directories_by_classes [--repeat N] [--jars DIR]

Directories.java drives LogManager of Apache Kafka, unpatched; each case has its control.

Ends with 1 if any comes out otherwise than its control, with 0 if none does, with 3 if it could not
be tried.
"""

from __future__ import annotations

from experiments import by_classes

main = by_classes.compared(
    "directories_by_classes", "Try what a start makes of a replica that has two directories."
)


if __name__ == "__main__":
    main()
