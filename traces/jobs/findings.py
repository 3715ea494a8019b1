"""What a campaign has found: the content of `findings.json`, which its report is made of.

Everything is a sum, a minimum or a quantile over the answers of its ranges, so it does not matter
how the runs were cut or in which order they were worked on.

Law of this file: equal runs give equal findings, in JSON's types. Nothing here depends on time,
memory, the backend, or on what was judged in an earlier campaign.

Three-valued (docs/campaigns.md): a configuration is *violated* when the spec, a check, an invariant
or a promise is; else *unknown* when a step or a history could not be judged, or runs are missing;
else it holds. A campaign is the worst of its configurations.

Distributions have quantiles, and bins on a logarithmic scale. Bins are the same for all figures and
campaigns (1, 2, 5, 10, 20 ...), so that two campaigns can be laid beside each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kraftcheck.osutil.commands import command
from kraftcheck.reference.clients.promises import Level
from kraftcheck.reference.runner.scenarios import SCENARIOS
from kraftcheck.reference.runner.watching import decisions_of
from kraftcheck.traces.checkers.anomalies import JEPSEN, OURS
from kraftcheck.traces.checkers.assessment import worst
from kraftcheck.traces.jobs import coverage, ranges
from kraftcheck.traces.jobs.backends import Backend, Spark
from kraftcheck.traces.jobs.guidance import read_generation, ways_of
from kraftcheck.traces.jobs.histories import ANOMALIES, VERDICTS
from kraftcheck.traces.jobs.measures import MEASURES
from kraftcheck.traces.jobs.novelty import RAISED, RULE, SOMETIMES, WATCHED_RUNS, conditions_of
from kraftcheck.traces.jobs.plan import Configuration, Plan
from kraftcheck.traces.jobs.ranges import Receipt
from kraftcheck.traces.jobs.smallest import shown
from kraftcheck.traces.jobs.summary import replay_command
from kraftcheck.traces.relation import ROWS, grouped, joined, least
from kraftcheck.traces.steps.record import Ints, actions_of, ints
from kraftcheck.traces.store import Manifest

# --- Distributions ---

EDGES: Final = [step * 10**power for power in range(18) for step in (1, 2, 5)]
"""Where bins begin; zero has one of its own."""
QUANTILES: Final = (50, 90, 99)


def distribution(values: Ints, times: Ints) -> dict[str, Any]:
    """Summarise values from 0 on, in order, each with how often it occurs; there must be one.

    Gives how many, how many are zero, sum, quantiles, maximum, and bins as [from, below, how many]
    without empty ones at either end.

    A quantile is the smallest value that so many per cent do not exceed.
    """
    ends = np.cumsum(times)
    count = int(ends[-1])
    ranks = {q: max(-(-count * q // 100), 1) for q in QUANTILES}
    quantiles = {f"p{q}": int(values[np.searchsorted(ends, rank)]) for q, rank in ranks.items()}
    counts = np.zeros(len(EDGES) + 1, dtype=np.int64)
    np.add.at(counts, np.searchsorted(EDGES, values, side="right"), times)
    zero, counts[0] = int(counts[0]), 0
    used = np.flatnonzero(counts)
    bins = []
    if len(used):
        for place in range(int(used[0]), int(used[-1]) + 1):
            below = EDGES[place] if place < len(EDGES) else EDGES[-1] * 10
            bins.append([EDGES[place - 1], below, int(counts[place])])
    return {
        "count": count,
        "zero": zero,
        "sum": int(values @ times),
        **quantiles,
        "most": int(values[-1]),
        "bins": bins,
    }


# --- Findings ---

FINDINGS_VERSION: Final = 2
LISTED: Final = 20
"""So many of one kind are listed; all are counted."""
GROWTH_POINTS: Final = 40

LEVELS: Final = tuple(level.name.lower().replace("_", "-") for level in Level)
"""The names of levels, weakest first (reference/clients/promises.py)."""


LEVEL: Final = ("promised", "held", "exact", "verdict")
"""What is said of the level of a log."""
LOG: Final = ("run", "partition")
SMALLEST: Final = ("operations", *LOG)
"""The order in which logs are worth showing."""


class Metric(NamedTuple):
    """What is distributed over logs or runs."""

    name: str
    table: str
    """Whose column."""
    words: str
    """What it says; unit."""
    unit: str


METRICS: Final = (
    Metric("leaderless_longest", "measures", "longest time without a leader", "us"),
    Metric("append_stall", "measures", "longest wait of an append", "us"),
    Metric("under_replicated", "measures", "time with a replica out of the ISR", "us"),
    Metric("isr_shrinks", "measures", "times that the ISR shrank", "count"),
    Metric("isr_expansions", "measures", "times that the ISR grew", "count"),
    Metric("lag_most", "measures", "most records above the high watermark", "records"),
    Metric("worst_lag", "verdicts", "how stale the stalest read was", "us"),
    Metric("worst_missed", "verdicts", "records that the stalest read missed", "records"),
    Metric("operations", "verdicts", "operations of clients", "count"),
    Metric("duration", "measures", "virtual time of the run", "us"),
)


class Outcome(NamedTuple):
    """What is known of a configuration.

    It has the receipts in the order of the parts, the merged classes, TLC's stored verdicts on
    them, and the summary of their judgement (summary.py).
    """

    configuration: Configuration
    manifest: Manifest
    receipts: tuple[Receipt, ...]
    merged: pa.Table
    stored: pa.Table
    summary: dict[str, Any]


def findings_of(
    directory: Path, plan: Plan, outcomes: Sequence[Outcome], backend: Backend
) -> dict[str, Any]:
    """Raises TraceError: an answer of a range cannot be read; ToolError: Spark failed."""
    configurations = [_Findings(directory, each, backend).all() for each in outcomes]
    verdict = worst(each["verdict"] for each in configurations)
    several = len(configurations) > 1
    reasons = [
        f"{each['name']}: {reason}" if several else reason
        for each in configurations
        for reason in each["reasons"]
    ]
    versions = {
        name: text
        for each in outcomes
        for name, text in each.summary["versions"].items()
        if name != "backend"
    }
    return {
        "findings_version": FINDINGS_VERSION,
        "verdict": verdict,
        "reasons": reasons,
        "seed": plan.seed,
        "runs": plan.runs * len(configurations),
        **{
            name: sum(each[name] for each in configurations)
            for name in ("steps", "logs", "operations", "unknown_logs", "unpromised_logs")
        },
        "configurations": configurations,
        "versions": {**versions, "reference (sha256)": plan.recorded_with},
        "reproduce": reproduce(directory, plan),
    }


def reproduce(directory: Path, plan: Plan) -> list[str]:
    """The commands that make the same findings anew, in another folder."""
    single = plan.configurations[0]
    plain = len(plan.configurations) == 1 and not single.options
    if plain:
        bug = ("--bug", single.bug) if single.bug else ()
        what = ("--scenario", single.scenario, *bug)
    else:
        what = (f"{directory}/campaign.toml",)
    runs = ("--runs", plan.runs, "--seed", plan.seed)
    guided = ("--guided",) if plan.guided else ()
    return [command("campaign", "run", *what, *runs, *guided, "--out", "DIR")]


class _Findings:
    def __init__(self, directory: Path, outcome: Outcome, backend: Backend) -> None:
        self.outcome = outcome
        self.trace = directory / outcome.configuration.name
        self.backend = backend
        self.verdicts = self._rows("verdicts", VERDICTS)
        self.anomalies = self._rows("anomalies", ANOMALIES)
        self.measures = self._rows("measures", MEASURES)
        self.levels = self._asked(grouped(self.verdicts, LEVEL, sums=["operations"]))

    def _rows(self, name: str, schema: pa.Schema) -> Any:
        """A row for each log of each run: here, or where Spark's executors read them."""
        if isinstance(self.backend, Spark):
            entries = self.outcome.manifest.parts
            paths = [ranges.answer_path(self.trace, entry, name) for entry in entries]
            return self.backend.files(paths, schema)
        return pa.concat_tables([schema.empty_table(), *self._tables(name, schema)])

    def _asked(self, rows: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._table(rows).to_pylist()
        return found

    def _table(self, rows: Any) -> pa.Table:
        return self.backend.rows(rows) if isinstance(self.backend, Spark) else rows

    def _tables(self, name: str, schema: pa.Schema) -> Iterable[pa.Table]:
        for entry in self.outcome.manifest.parts:
            yield ranges.read_answer(self.trace, entry, name, schema)

    def all(self) -> dict[str, Any]:
        summary, configuration = self.outcome.summary, self.outcome.configuration
        histories = self._histories()
        met = coverage.merge_features(list(self._tables("features", coverage.FEATURES)))
        sometimes = self._sometimes(met.to_pylist())
        raised = [f"condition {each['name']} could not be asked" for each in sometimes["raised"]]
        asked = "unknown" if raised else "holds"
        verdict = worst([summary["verdict"], histories["verdict"], asked])
        return {
            "name": configuration.name,
            "scenario": configuration.scenario,
            "sentence": SCENARIOS[configuration.scenario].sentence,
            "bug": configuration.bug,
            "options": configuration.options,
            "folder": str(self.trace),
            "verdict": verdict,
            "reasons": [*summary["reasons"], *histories["reasons"], *raised],
            "runs": summary["runs"],
            "bad_runs": sum(each.bad_runs for each in self.outcome.receipts),
            "violations": self._violations(),
            "steps": summary["steps"],
            "logs": sum(each[ROWS] for each in self.levels),
            "operations": sum(each["operations"] for each in self.levels),
            "unknown_logs": histories["counts"]["unknown"],
            "unpromised_logs": sum(
                each[ROWS] for each in self.levels if each["promised"] == "nothing"
            ),
            "histories": histories,
            "levels": self._levels(),
            "anomalies": self._anomalies(),
            "distributions": self._distributions(),
            "conformance": self._conformance(),
            "coverage": self._coverage(met.to_pylist()),
            "sometimes": sometimes,
            "generations": self._generations(),
            "progress": summary["progress"],
            "faults": summary["faults"],
        }

    # -- What clients saw

    def _histories(self) -> dict[str, Any]:
        counts = dict.fromkeys(("holds", "violated", "unknown"), 0)
        for row in self.levels:
            counts[row["verdict"]] += row[ROWS]
        reasons = []
        if counts["violated"]:
            reasons.append(f"{counts['violated']} logs broke what was promised to their clients")
        if counts["unknown"]:
            reasons.append(f"{counts['unknown']} logs could not be decided")
        bad = []
        if counts["violated"]:
            bad = self._asked(least(self.verdicts, SMALLEST, 3, ("verdict", "violated")))
        return {
            "verdict": worst(word for word, count in counts.items() if count),
            "reasons": reasons,
            "counts": counts,
            "smallest": [self._witness(row, None) for row in bad],
        }

    def _witness(
        self, row: Mapping[str, Any], anomaly: str | None, drawn: bool = True
    ) -> dict[str, Any]:
        """A log with its certificate: the sentence that refuses it, and how to see it.

        drawn: with the history, so that the report can draw it.
        """
        run, partition = row["run"], row["partition"]
        told = shown(self.trace, self.outcome.manifest, run, partition, anomaly)
        assert told is not None, "what was found in a log is found there again"
        return {
            "run": run,
            "partition": partition,
            "operations": row["operations"],
            "kind": told.certificate.kind,
            "sentence": told.certificate.sentence,
            "named": list(told.certificate.operations),
            "key": told.certificate.key,
            "why": told.why,
            "history": msgspec.to_builtins(told.history) if drawn else None,
            "replay": replay_command(self.trace, run),
            "check": command("check", self.trace, "--run", run),
        }

    def _levels(self) -> list[dict[str, Any]]:
        """How many logs were promised each level, and which one held; weakest promise first."""
        rows = [{**{key: row[key] for key in LEVEL}, "logs": row[ROWS]} for row in self.levels]
        order = ("nothing", *LEVELS)
        return sorted(
            rows,
            key=lambda row: (
                order.index(row["promised"]),
                order.index(row["held"]),
                row["exact"],
                row["verdict"],
            ),
        )

    def _anomalies(self) -> list[dict[str, Any]]:
        """Each anomaly that happened: those that a promise excludes first, then by how often."""
        operations = self.verdicts.select([*LOG, "operations"])
        met = joined(self.anomalies, operations, LOG)
        found: dict[str, dict[str, Any]] = {}
        smallest: dict[str, dict[str, Any]] = {}
        # Those that a promise excludes come last, and name the smallest.
        rows = self._asked(grouped(met, ["forbidden", "name"], sums=["count"], first=SMALLEST))
        for row in sorted(rows, key=lambda row: row["forbidden"]):
            own = found.setdefault(row["name"], {"logs": 0, "forbidden": 0, "count": 0})
            own["logs"] += row[ROWS]
            own["count"] += row["count"]
            own["forbidden"] += row[ROWS] if row["forbidden"] else 0
            smallest[row["name"]] = row
        told = [
            {
                "name": name,
                "meaning": JEPSEN.get(name) or OURS[name],
                "jepsen": name in JEPSEN,
                **own,
                "smallest": self._witness(smallest[name], name, drawn=own["forbidden"] > 0),
            }
            for name, own in found.items()
        ]
        return sorted(told, key=lambda row: (-row["forbidden"], -row["logs"], row["name"]))

    # -- What runs broke, and how they went

    def _violations(self) -> list[dict[str, Any]]:
        found = sorted(each for receipt in self.outcome.receipts for each in receipt.violations)
        return [
            {**msgspec.to_builtins(each), "replay": replay_command(self.trace, each.run)}
            for each in found[:LISTED]
        ]

    def _distributions(self) -> list[dict[str, Any]]:
        tables = {"measures": self.measures, "verdicts": self.verdicts}
        found = []
        for metric in METRICS:
            rows = grouped(tables[metric.table], [metric.name], first=["run"])
            told = self._table(rows).sort_by(metric.name)
            values, times = ints(told[metric.name]), ints(told[ROWS])
            if not values.any():
                continue
            run = told["run"][-1].as_py()
            found.append(
                {
                    "name": metric.name,
                    "words": metric.words,
                    "unit": metric.unit,
                    **distribution(values, times),
                    "worst": {"run": run, "replay": replay_command(self.trace, run)},
                }
            )
        return found

    # -- Steps

    def _conformance(self) -> dict[str, Any]:
        summary = self.outcome.summary
        return {
            "verdict": summary["verdict"],
            "distinct": summary["distinct_steps"],
            "unseen": coverage.unseen(
                np.asarray(self.outcome.merged["count"].to_numpy(), dtype=np.int64)
            ),
            "rejected": summary["rejected_steps"],
            "unknown": summary["unknown_steps"],
            "runs_with_rejected": summary["runs_with_rejected_steps"],
            "rejections": summary["rejections"][:LISTED],
            "checks": summary["findings"]["by_check"],
            "invariants": summary["invariant_violations"]["by_name"],
            "batches": self._batches(),
        }

    def _batches(self) -> list[dict[str, Any]]:
        """Count what TLC judged, by frame of the spec.

        Each has how many sets of constants, and which verdicts.
        """
        stored = self.outcome.stored
        if not stored.num_rows:
            return []
        grouped = stored.group_by("kind").aggregate(
            [("key", "count"), ("constants", "count_distinct")]
        )
        accepted = stored.filter(pc.equal(stored["verdict"], "accepted"))
        by_kind = accepted.group_by("kind").aggregate([("key", "count")]).to_pylist()
        count = {row["kind"]: row["key_count"] for row in by_kind}
        return [
            {
                "kind": row["kind"],
                "constants": row["constants_count_distinct"],
                "steps": row["key_count"],
                "accepted": count.get(row["kind"], 0),
            }
            for row in sorted(grouped.to_pylist(), key=lambda row: str(row["kind"]))
        ]

    # -- Coverage

    def _sometimes(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Count the runs that came to each condition, and name those that none came to.

        raised: conditions that could not be asked, and why.
        """
        by_name = {row["name"]: row for row in rows if row["kind"] == SOMETIMES}
        raised = [
            {"name": row["name"], "runs": row["count"], "first_run": row["first_run"]}
            for row in rows
            if row["kind"] == RAISED
        ]
        reached, never = [], []
        own = self.outcome.configuration
        for each in conditions_of(own.scenario, own.options):
            told = {"name": each.name, "sentence": each.sentence}
            if row := by_name.get(each.name):
                run = row["first_run"]
                replay = replay_command(self.trace, run)
                reached.append({**told, "runs": row["count"], "first_run": run, "replay": replay})
            else:
                never.append(told)
        return {"reached": reached, "never": never, "raised": raised}

    def _generations(self) -> dict[str, Any] | None:
        """How the runs of a guided campaign came about, by way."""
        campaign = self.outcome.manifest.campaign
        if not campaign.guided:
            return None
        ways: Counter[str] = Counter()
        for first in range(0, campaign.runs, campaign.guided):
            made = read_generation(self.trace, campaign, first).runs[: campaign.runs - first]
            ways.update(each.how for each in made)
        told = {how: ways[how] for how in ways_of(campaign)}
        return {"runs": campaign.guided, "ways": told}

    def _coverage(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        known = {row["name"] for row in rows if row["kind"] == "action"}
        first = {
            kind: np.array([row["first_run"] for row in rows if row["kind"] == kind], np.int64)
            for kind in coverage.KINDS
        }
        return {
            "met": {kind: [row for row in rows if row["kind"] == kind] for kind in coverage.KINDS},
            "never": [
                each for each in actions_of(self.outcome.summary["constants"]) if each not in known
            ],
            "growth": _growth(first, self.outcome.summary["runs"]),
            "unseen": {
                kind: coverage.unseen(
                    np.array([row["count"] for row in rows if row["kind"] == kind], np.int64)
                )
                for kind in coverage.KINDS
            },
            "rules": self._rules([row for row in rows if row["kind"] == RULE]),
        }

    def _rules(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Which decisions the first runs came to.

        one_way: those that were always answered alike, of those that are answered with yes or no.
        """
        answers: dict[str, set[str]] = {}
        for row in rows:
            name, _, answer = row["name"].partition(": ")
            answers.setdefault(name, set()).add(answer)
        own = self.outcome.configuration
        known = decisions_of(own.scenario, own.options)
        campaign = self.outcome.manifest.campaign
        watched = campaign.runs if campaign.guided else WATCHED_RUNS
        return {
            "runs": min(watched, self.outcome.summary["runs"]),
            "known": len(known),
            "met": list(rows),
            "never": [name for name in known if name not in answers],
            "one_way": [
                f"{name}: {only}"
                for name, given in sorted(answers.items())
                if len(given) == 1
                for only in given & {"yes", "no"}
            ],
        }


def _growth(first: Mapping[str, Ints], runs: int) -> list[dict[str, Any]]:
    """At growing numbers of runs, how many features of each kind the first so many had met."""
    places = {min(runs, round(runs ** (i / GROWTH_POINTS))) for i in range(GROWTH_POINTS + 1)}
    ordered = {kind: np.sort(met) for kind, met in first.items()}
    return [
        {
            "runs": count,
            **{kind: int(np.searchsorted(met, count)) for kind, met in ordered.items()},
        }
        for count in sorted(places)
    ]
