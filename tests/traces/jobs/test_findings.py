"""What a finished campaign found: figures that are counted again, and how to make them anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraftcheck.traces.jobs.coverage import KINDS
from kraftcheck.traces.jobs.findings import METRICS, reproduce
from kraftcheck.traces.jobs.plan import Configuration, plan_of
from tests.traces.jobs.small_campaigns import SEED, campaign


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    told = campaign(tmp_path_factory.mktemp("campaign") / "c", runs=6)
    assert told is not None
    only: dict[str, Any] = told["configurations"][0]
    return only


@pytest.fixture
def coverage(found: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = found["coverage"]
    return told


def test_what_was_nothing_in_every_run_has_no_distribution(found: dict[str, Any]) -> None:
    told = {each["name"]: each["most"] for each in found["distributions"]}
    assert told and all(most > 0 for most in told.values())
    never = {metric.name for metric in METRICS} - told.keys()
    assert never == {"under_replicated", "isr_shrinks", "isr_expansions"}, "a quorum has no ISR"


def test_growth_counts_what_the_first_runs_had_met(coverage: dict[str, Any]) -> None:
    growth = coverage["growth"]
    assert (growth[0]["runs"], growth[-1]["runs"]) == (1, 6)
    for point in growth:
        for kind in KINDS:
            first = [row["first_run"] for row in coverage["met"][kind]]
            assert point[kind] == sum(run < point["runs"] for run in first)
    assert growth[0]["effect"] < growth[-1]["effect"]


def test_a_rule_is_one_way_if_no_run_came_to_its_other_answer(coverage: dict[str, Any]) -> None:
    met = {row["name"] for row in coverage["rules"]["met"]}
    other = {"yes": "no", "no": "yes"}
    answers = [name.partition(": ") for name in sorted(met)]
    one_way = [
        f"{name}: {answer}"
        for name, _, answer in answers
        if answer in other and f"{name}: {other[answer]}" not in met
    ]
    assert coverage["rules"]["one_way"] == one_way
    assert 0 < len(one_way) < sum(answer == "yes" for _, _, answer in answers)


def test_a_campaign_of_one_plain_configuration_is_made_anew_without_its_file() -> None:
    plain = Configuration(name="plain", scenario="quorum", bug="Z01")
    fixed = Configuration(name="fixed", scenario="quorum", options={"voters": 3})
    rest = f"--runs 2 --seed {SEED} --out DIR"
    for configurations, what in (
        ((plain,), "--scenario quorum --bug Z01"),
        ((fixed,), "'a b/campaign.toml'"),
        ((plain, fixed), "'a b/campaign.toml'"),
    ):
        plan = plan_of(configurations, 2, SEED)
        assert reproduce(Path("a b"), plan) == [f"kraftcheck campaign run {what} {rest}"]
