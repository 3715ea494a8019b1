"""What it costs to judge histories of consumer groups, as they grow.

Made-up and valid: eight members of a group share eight partitions; each polls, says what it has
processed and commits in turn, and after every 200 rounds a partition is handed on. What the columns
mean _made.py says.

    python -m benchmarks.history_groups [--lengths N ...]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from benchmarks._made import Cost, Event, cost_of, history_of, tell
from reference.clients.promises import Configuration, promised
from traces.checkers.groups import judged
from traces.checkers.members import members_of
from traces.history import History

MEMBERS: Final = 8
PARTITIONS: Final = 8
POLLED: Final = 20
"""Records of a fetch."""
ROUNDS: Final = 200
"""From one hand-over to the next."""
CONFIGURATION: Final = Configuration(consumers="listen", one_client=False, reset="earliest")


def made(operations: int) -> History:
    """About so many operations of a correct group."""
    return history_of(_events(operations))


def _events(count: int) -> Iterator[Event]:
    """(process, verb, fields of the operation), one after the other."""
    keys = [f"t-{at}" for at in range(PARTITIONS)]
    owner = {key: 1 + at % MEMBERS for at, key in enumerate(keys)}
    ends, places = dict.fromkeys(keys, 0), dict.fromkeys(keys, 0)
    for key, member in owner.items():
        yield member, "partitions-assigned", {"argument": ("g", (key,))}
    told = turn = 0
    while told < count:
        key = keys[turn % PARTITIONS]
        turn += 1
        for _ in range(POLLED):
            value = (key, ends[key])
            yield 0, "append", {"key": key, "argument": value, "result": ends[key]}
            ends[key] += 1
        begin, end, member = places[key], ends[key], owner[key]
        shown = tuple((offset, (key, offset)) for offset in range(begin, end))
        yield member, "fetch", {"key": key, "result": shown, "to": end}
        places[key] = end
        progress = {"argument": ("g", ((key, end),))}
        yield member, "processed", progress
        yield member, "commit-offsets", progress
        told += POLLED + 3
        if turn % ROUNDS == 0:
            yield member, "partitions-revoked", {"argument": ("g", (key,))}
            owner[key] = 1 + member % MEMBERS
            yield owner[key], "partitions-assigned", {"argument": ("g", (key,))}
            told += 2


def cost(operations: int) -> Cost:
    """Raises ValueError: a valid history was not found to be one."""
    return cost_of(
        made(operations),
        CONFIGURATION,
        members_of,
        lambda found: judged(found, promised(CONFIGURATION), reset=CONFIGURATION.reset),
        lambda found, said: len(found.spans.place),
    )


def main() -> None:
    tell(__doc__.split("\n", 1)[0], "had by a member", cost)


if __name__ == "__main__":
    main()
