"""The page docs/predictions.md, from trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from experiments.outcomes import APIS, Trial

INTRODUCTION = """\
# What is promised, and what Apache Kafka did

Made by `python -m experiments.predictions` on Apache Kafka {version}: three brokers and a
controller in network namespaces, replication factor 3, replicas of every partition in sync when it
begins. A trial is one partition with a producer of its own, a consumer, and a client that asks for
the latest offset, while something is done to the broker that leads it (`live/faults.py`):

- none; `kill` (SIGKILL); `stop` (controlled shutdown); `pause` (SIGSTOP, longer than the session);
  `partition` (cut off from brokers and controller, not from clients)
- `power`: a kill that loses what was not flushed
- `last`: the followers are cut off until the leader is alone in sync, and then it is killed;
  `last-power`: and loses what was not flushed

Producers with acks=all are idempotent; the others do not retry. Trials of one episode share the
fault and the moment: {episodes} episodes, {trials} trials.

**{situations} situations** (acks, election, fault, client API), each with at least {least} trials;
{verdict}.

What is allowed comes from the table of promises (`reference/core/promises.py`), asked with the
configuration and with what the metadata log says did happen to that partition; where trials of a
situation differ in that, there is a row for each. *allowed*: of the log, its possible defects; of
reads, the weakest level. *seen*: outcomes, with the number of trials.

"""


def page(trials: Sequence[Trial], version: str) -> str:
    """The page. Raises ValueError: no trials."""
    rows: dict[tuple[str, ...], Counter[str]] = {}
    whole: Counter[tuple[str, ...]] = Counter()
    for trial in trials:
        for api in APIS:
            situation = (trial.fault, trial.election, trial.acks, api)
            whole[situation] += 1
            rows.setdefault((*situation, allowed(trial, api)), Counter())[trial.outcomes[api]] += 1
    bad = sum(bool(trial.forbidden) for trial in trials)
    head = INTRODUCTION.format(
        version=version,
        episodes=len({(trial.fault, trial.episode) for trial in trials}),
        trials=f"{len(trials):,}",
        situations=len(whole),
        least=min(whole.values()),
        verdict="every outcome is allowed" if not bad else f"**{bad} trials are NOT allowed**",
    )
    lines = ["| fault | election | acks | API | allowed | seen |", "|---|---|---|---|---|---|"]
    for key, seen in rows.items():
        counts = ", ".join(f"{outcome} {count}" for outcome, count in seen.most_common())
        lines.append(f"| {' | '.join(key)} | {counts} |")
    return head + "\n".join(lines) + "\n"


def allowed(trial: Trial, api: str) -> str:
    """In words, what may come of it."""
    if api != "produce":
        return trial.level
    return " or ".join(("kept", *trial.defects))
