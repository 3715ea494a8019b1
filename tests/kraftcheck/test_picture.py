"""Runs as pictures: `replay --html`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli
from kraftcheck.picture import picture
from kraftcheck.reference.runner.run import Run, simulate_run
from kraftcheck.traces.report.run import Arrow

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests/corpus"


def asked(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture(scope="module")
def quorum() -> Run:
    """Messages are lost, delivered twice and overtaken; nodes crash."""
    return simulate_run("quorum", 11, 3)


def arrows_of(run: Run) -> list[Arrow]:
    return list(picture("", run, {}, []).arrows)


def test_each_message_goes_from_who_sent_it_to_who_took_it(quorum: Run) -> None:
    steps = quorum.steps
    taken = [arrow for arrow in arrows_of(quorum) if arrow.taken is not None]
    lanes = [lane.name for lane in picture("", quorum, {}, []).lanes]
    assert len(taken) > 50
    for arrow in taken:
        assert arrow.taken is not None
        message = steps[arrow.taken].input
        ends = message.source, message.destination
        assert tuple(lanes[at] for at in (arrow.sender, arrow.receiver)) == tuple(
            f"voter {node}" for node in ends
        )
        assert arrow.left is not None and arrow.left < arrow.taken
        assert message in steps[arrow.left].sent


def test_every_message_is_there_once_or_as_often_as_it_was_taken(quorum: Run) -> None:
    sent = sum(len(step.sent) for step in quorum.steps)
    arrows = arrows_of(quorum)
    lost = [arrow for arrow in arrows if arrow.taken is None]
    twice = len(arrows) - sent
    assert lost and 0 < twice < sent
    assert len({(a.left, a.taken, a.receiver, a.words) for a in arrows}) == len(arrows)


def test_rows_that_are_followed_are_those_that_were_recorded(quorum: Run) -> None:
    drawn = picture("", quorum, {}, [])
    rows = [dict(lane.row) for lane in drawn.lanes]
    for step, taken in zip(drawn.steps, quorum.steps, strict=True):
        rows[step.lane].update(step.changed)
        assert rows[step.lane]["high_watermark"] == str(taken.after.high_watermark)
        assert bool(step.changed) == (taken.before != taken.after)


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        (
            "tlc-Z34.moves",
            1,
            "1 is in the ISR of leader 0 and lacks the record at 0, which is committed there",
        ),
        ("tlc-Z71.schedule", 1, "partition 11 has Abort of epoch 1, which is not decided"),
        (
            "cluster-Z41-LeaderCandidateCompleteness.moves",
            1,
            "partition 0: 1 may be elected and lacks the record at 0, which is committed",
        ),
    ],
)
def test_a_schedule_becomes_a_page(name: str, code: int, said: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = asked("replay", CORPUS / name, "--html", page)
    assert done.exit_code == code
    text = page.read_text("utf-8")
    assert said in text and text.count('class="step marked') == 1


def test_a_run_of_a_campaign_becomes_a_page(tmp_path: Path) -> None:
    runs, page = tmp_path / "runs", tmp_path / "page.html"
    asked("simulate", "--scenario", "partition", "--runs", "2", "--seed", "5", "--out", runs)
    assert asked("replay", runs, "--run", "1", "--html", page).exit_code == 0
    text = page.read_text("utf-8")
    assert "run 1 of" in text and text.count('<g class="step') > 20
    again = tmp_path / "again.html"
    asked("replay", runs, "--run", "1", "--html", again)
    assert again.read_text("utf-8") == text


@pytest.mark.slow
def test_steps_of_another_implementation_become_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = asked("conform", ROOT / "examples/foreign/voter-bug.jsonl", "--html", page)
    assert done.exit_code == 1
    text = page.read_text("utf-8")
    assert "not allowed by the spec" in text and 'class="step marked' in text
    report = asked("report", ROOT / "examples/foreign/voter-bug.jsonl")
    assert report.exit_code == 3 and "voter-bug.jsonl --html" in report.output
    refused = asked("conform", CORPUS / "tlc-Z34.moves", "--html", page)
    assert refused.exit_code == 3 and "--html is for steps of another" in refused.output


def test_a_page_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    page = tmp_path / "none" / "page.html"
    done = asked("replay", CORPUS / "tlc-Z34.moves", "--html", page)
    assert done.exit_code == 3
    assert f"there is no folder {page.parent}; see" in done.output


def test_a_run_with_refused_steps_is_headed_by_them(quorum: Run) -> None:
    refused = {4: ["not allowed by the spec", "after.epoch: recorded 1, spec allows {0}"]}
    assert picture("", quorum, {}, []).verdict == quorum.result.verdict
    head = picture("", quorum, refused, []).verdict
    assert head == f"1 step is not allowed by the spec ({quorum.result.verdict})"


def test_a_node_without_a_step_has_a_lane(quorum: Run) -> None:
    one = quorum._replace(steps=[each for each in quorum.steps if each.node == 0][:1])
    assert len(one.steps) == 1
    lanes = picture("", one, {}, []).lanes
    assert [each.name for each in lanes] == ["voter 0", "voter 1", "voter 2"]


def test_lanes_of_addresses_are_spelt_out() -> None:
    run = simulate_run("partition", 1, 0)
    names = [lane.name for lane in picture("", run, {}, []).lanes]
    assert {"controller", "clients", "metadata log"} <= {*names}
