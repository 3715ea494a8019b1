"""Z416 on Kafka's own share partition: a late acknowledgement has no error, and is not stored.

    .venv/bin/python -m finds.Z416.run [--repeat N] [--jars DIR]

Two members hold a record each, and it is the last delivery of both. The lock of the first runs out:
its record is archived, and the write of that fails. Then the first member acknowledges it. It is
told that its acknowledgement is late, as it should be; but not if the other member's has moved the
start offset past both records. The next leader hands the record out again, as its first delivery.

The control: the other member's acknowledgement is not answered yet, so the start offset has not
moved.

Two more cases, which lose nothing: the log start passes all that is cached while an acknowledgement
is written, and the start offset goes back before it. The control: it is written before.

Ends with 1 if a case comes out otherwise than its control, with 0 if none does, with 3 if it could
not be tried.
"""

from __future__ import annotations

from experiments import by_classes

main = by_classes.compared("Z416", "Try whether a late acknowledgement gets an error.")


if __name__ == "__main__":
    main()
