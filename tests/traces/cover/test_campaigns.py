"""What runs have seen of a graph, and running what they have not."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.traces.cover.campaigns import Seen, fill, read_seen, share_of
from kraftcheck.traces.cover.charts import keys_of
from kraftcheck.traces.cover.models import of_scenario, read_covers
from kraftcheck.traces.jobs.simulate import Range, simulate_range
from kraftcheck.traces.store import Campaign, begin_trace
from tests.traces.cover.graphs import dumped, matched
from tla_utils import ToolError

pytestmark = [pytest.mark.tlc, pytest.mark.xdist_group("cover")]
GRAPH = "quorum-three-restart"


@pytest.mark.slow
def test_runs_see_a_part_and_the_missing_ones_can_be_run(tmp_path: Path) -> None:
    campaign = Campaign(scenario="quorum", seed=1, runs=40)
    begin_trace(tmp_path, campaign)
    simulate_range(tmp_path, campaign, [Range(0, 40)], True, 0)
    seen = read_seen(tmp_path)
    share = share_of(matched(GRAPH), seen)
    assert seen.runs == 40 and 0 < share.seen < share.total
    assert share.seen + len(share.missing) == share.total
    assert share.growth[-1] == (40, share.seen, share.edges[0])
    assert share.growth == sorted(share.growth) and 0 < share.edges[0] < share.edges[1]
    assert all(each.way for each in share.missing.values())
    unseen = sum(each.edges for each in share.missing.values())
    assert unseen == share.edges[1] - share.edges[0]
    assert all(each.way[-1].startswith(f"{each.action} ") for each in share.missing.values())
    assert len(share.as_json()["missing"]) == len(share.missing)
    cover, driven = fill(matched(GRAPH), share, dumped(GRAPH).dump.initial[0])
    assert driven.mismatches == [] and driven.moves == cover.moves
    taken = {matched(GRAPH).moves.step[move] for walk in cover.walks for move in walk}
    assert all(taken & set(each.steps) for each in share.missing.values())
    alone = sum(len(each.way) + 1 for each in share.missing.values())
    assert cover.bound <= cover.objective < alone


@pytest.mark.slow
def test_runs_of_a_partition_see_a_part_of_its_graph(tmp_path: Path) -> None:
    name = "partition-isr"
    options = {"replicas": 2, "min_insync_replicas": 2, "fetch_max_records": 1}
    campaign = Campaign(scenario="partition", seed=1, runs=12, options=options)
    begin_trace(tmp_path, campaign)
    simulate_range(tmp_path, campaign, [Range(0, 12)], True, 0)
    seen = read_seen(tmp_path)
    share = share_of(matched(name), seen)
    assert 0 < share.seen < share.total and 0 < share.edges[0] < share.edges[1]
    cover, driven = fill(matched(name), share, dumped(name).dump.initial[0])
    assert driven.mismatches == [] and driven.moves == cover.moves
    models = list(read_covers().values())
    assert {m.protocol for m in of_scenario(models, seen.scenario)} == {"partition"}
    of_cluster = {m.protocol for m in of_scenario(models, "cluster")}
    assert of_cluster == {"quorum", "partition"}


@pytest.mark.slow
def test_steps_count_as_seen_up_to_names_and_only_under_equal_constants() -> None:
    matcher = matched(GRAPH)
    constants = dumped(GRAPH).book.constants
    keys = keys_of(matcher, constants)
    assert len(set(keys)) < len(keys)
    everything = share_of(matcher, Seen("quorum", 3, dict.fromkeys(keys, 2)))
    assert everything.seen == everything.total and everything.missing == {}
    edges = len(matcher.moves.source)
    assert everything.edges == (edges, edges)
    assert everything.growth == [(1, 0, 0), (2, 0, 0), (3, everything.total, edges)]
    two = dumped("quorum-few-votes").book.constants
    others = keys_of(matched("quorum-few-votes"), two)
    assert share_of(matcher, Seen("quorum", 1, dict.fromkeys(others, 0))).seen == 0


def test_when_nothing_is_missing_there_is_nothing_to_run() -> None:
    matcher = matched(GRAPH)
    keys = keys_of(matcher, dumped(GRAPH).book.constants)
    with pytest.raises(ToolError, match="no edges to cover"):
        fill(matcher, share_of(matcher, Seen("quorum", 1, dict.fromkeys(keys, 0))), 0)
