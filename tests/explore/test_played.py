"""Paths, walks and likelihood of `explore`, without a browser."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from kraftcheck.cli import cli
from kraftcheck.exits import BadInput
from kraftcheck.explore import played as module
from kraftcheck.explore.likelihood import MovesSource, Point, RunSource, of_moves
from kraftcheck.explore.played import MOVES_MAX, Paths, Played, options_from
from kraftcheck.explore.server import script_of, server
from kraftcheck.explore.walking import stream_of, walk, walk_until
from kraftcheck.known_bugs.witnesses import SCHEDULES
from kraftcheck.reference.runner.run import simulate_run
from kraftcheck.reference.runner.scripted import ImpossibleMove, usual_options
from kraftcheck.reference.sim.choices import run_seed
from kraftcheck.reference.sim.genomes import Genome
from kraftcheck.reference.steered.scripts import MACHINES, Script, read, write

Z28 = read((SCHEDULES / "Z28.moves").read_text("utf-8"))[0]


def begun(machine: str) -> Played:
    return Played(Script(machine=machine, moves=(), options=usual_options(machine)))


# --- Paths


@pytest.mark.parametrize("machine", MACHINES)
def test_every_machine_is_played_and_its_path_read_back(machine: str) -> None:
    played = begun(machine)
    walk(played, stream_of(played), 25)
    view = played.view()
    script, _ = read(view["text"])
    again, why = Paths().played(script)
    assert (again.view(), why) == (view, "")
    assert len(view["told"]) == len(view["moves"])
    names = [each["name"] for each in view["nodes"]]
    assert {each["node"] for each in view["groups"]} <= {"", *names}


@pytest.mark.parametrize("name", ["Z28", "Z05", "Z50", "Z67"])
def test_a_stored_schedule_comes_to_its_violation(name: str) -> None:
    script, _ = read((SCHEDULES / f"{name}.moves").read_text("utf-8"))
    view = Paths().played(script)[0].view()
    assert view["violation"]["name"] == script.violates and view["groups"] == []
    assert script.violates in [each["name"] for each in view["properties"]]


def test_undo_and_branch_are_paths_like_others() -> None:
    paths = Paths()
    for length in (5, 9, 3, 27, 26):
        script = replace(Z28, moves=Z28.moves[:length])
        assert paths.played(script)[0].view() == Paths().played(script)[0].view()


def test_without_its_bug_a_path_goes_as_far_as_it_can() -> None:
    correct = replace(Z28, bug=None)
    with pytest.raises(ImpossibleMove, match="is not possible here"):
        Paths().played(correct)
    found, why = Paths().played(correct, fitting=True)
    assert why.startswith(f"move {len(found.moves) + 1}: ") and found.failure is None


def test_memory_is_bounded() -> None:
    paths = Paths()
    for length in range(26):
        paths.played(replace(Z28, moves=Z28.moves[:length]))
    assert len(paths._known) <= module.KEPT
    with pytest.raises(BadInput, match="at most 2,000 moves"):
        paths.played(replace(Z28, moves=("heal all links",) * (MOVES_MAX + 1)))


def test_a_walk_comes_to_a_leader() -> None:
    found = walk_until(lambda: begun("quorum"), "leader")
    assert found is not None and "Leader" in found.roles().values()
    assert walk_until(lambda: begun("compaction"), "leader") is None


# --- Bad input


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chess"], "'chess' is neither a protocol"),
        (["partition", "--bug", "Z01"], "no bug 'Z01' of the partition"),
        (["partition", "--option", "replicas=0"], "a partition has replicas"),
        (["partition", "--option", "replicas=99"], "99 replicas are more than 7"),
        (["quorum", "--option", "voters=99"], "more than 7 voters"),
        (["partition", "--option", "speed=3"], "a partition has no 'speed'"),
        (["partition", "--option", "speed"], "write NAME=VALUE"),
        ([str(SCHEDULES / "Z28.moves"), "--bug", "Z29"], "names its bug and its options itself"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str) -> None:
    done = CliRunner().invoke(cli, ["explore", "--quiet", "--port", "0", *words])
    assert done.exit_code == 3 and said in done.output and len(done.output.splitlines()) == 1


def test_a_file_that_does_not_fit_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "wrong.moves"
    text = (SCHEDULES / "Z28.moves").read_text("utf-8")
    path.write_text(text.replace("broker 0 IsrShrinkTimeout", "broker 9 IsrShrinkTimeout"))
    with pytest.raises(BadInput, match=r"wrong.moves: line 12: 'broker 9 .* the nearest that is"):
        script_of(str(path), None, ())


def test_options_are_those_of_simulate() -> None:
    assert options_from("partition", ("acks=1", "idempotence=false"))["acks"] == "1"
    assert options_from("quorum", ("voters=5",))["voters"] == [1, 2, 3, 4, 5]


# --- The server


@pytest.fixture
def port() -> Iterator[int]:
    serving = server(script_of("Z28", None, ()), 0)
    thread = Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    yield serving.server_port
    serving.shutdown()
    serving.server_close()
    thread.join()


def asked(port: int, path: str, body: str | None = None, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET" if body is None else "POST", path, body, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    kind = answer.headers["Content-Type"]
    return answer.status, json.loads(text) if "json" in kind else text


def test_the_server_answers_and_survives(port: int) -> None:
    status, start = asked(port, "/start")
    assert status == 200 and [each["name"] for each in start["machines"]] == [*MACHINES]
    script, _ = read(start["text"])
    body = json.dumps({"text": start["text"]})
    assert asked(port, "/view", body)[1]["violation"]["name"] == script.violates
    for wrong in (
        "",
        "[]",
        '{"machine": "chess"}',
        '{"text": "x\\ny"}',
        '{"moves": 3}',
        "[" * 9999,
    ):
        status, said = asked(port, "/view", wrong)
        assert status == 400 and said["error"] and "\n" not in said["error"], wrong
    assert asked(port, "/nowhere", "{}")[0] == 404
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/view", body)
    connection.close()  # The browser goes away.
    assert asked(port, "/view", body)[0] == 200


def test_other_pages_are_refused(port: int) -> None:
    assert asked(port, "/start", Host="example.org")[0] == 403
    assert asked(port, "/view", "{}", Origin="http://example.org")[0] == 403
    assert asked(port, "/start", Host=f"localhost:{port}")[0] == 200


def test_a_port_in_use_is_one_line(port: int) -> None:
    with pytest.raises(BadInput, match=f"port {port} is in use: choose another"):
        server(script_of("quorum", None, ()), port)


def test_the_timeline_is_the_kits_page(port: int) -> None:
    from urllib.parse import urlencode

    text = asked(port, "/start")[1]["text"]
    status, page = asked(port, "/timeline", urlencode({"text": text}))
    assert status == 200 and "AlterPartitionRequest" in page and "<svg" in page


# --- Likelihood


def test_z28_is_decided_where_the_isr_takes_a_member_that_lacks_a_record() -> None:
    script = replace(Z28, moves=Z28.moves[:27])
    source = MovesSource(script)
    late = [source.points([24, 26, 27], 12, item).to_pylist()[0] for item in range(3)]
    assert [each["failed"] for each in late][-1] == 12 and late[0]["failed"] < 12
    assert [each["calm"] for each in late] == [False, False, True]
    assert "AlterPartitionRequest" in script.moves[26]


def test_z67_is_inevitable_from_the_second_election_on() -> None:
    script, _ = read((SCHEDULES / "Z67.moves").read_text("utf-8"))
    curve = of_moves(script, 2, 3)
    assert curve.inevitable is not None and curve.points[curve.inevitable].at >= 48


@pytest.mark.slow
def test_the_curve_stands_on_the_page_of_the_run(tmp_path: Path) -> None:
    schedule, page = tmp_path / "Z28.moves", tmp_path / "Z28.html"
    schedule.write_text(write(replace(Z28, moves=Z28.moves[:27])), "utf-8")
    words = ["likelihood", str(schedule), "--futures", "2", "--html", str(page), "--quiet"]
    assert CliRunner().invoke(cli, words).exit_code in (0, 2)
    text = page.read_text("utf-8")
    assert 'class="likelihood"' in text and "When did it become inevitable?" in text
    assert 'id="step-26"' in text and "LeaderCandidateCompleteness: 2 may be elected" in text


def test_a_schedule_that_holds_has_nothing_to_look_back_from() -> None:
    with pytest.raises(BadInput, match="violates no property"):
        of_moves(Script(machine="quorum", moves=(), options=usual_options("quorum")), 5)


def test_futures_of_the_whole_run_are_the_run() -> None:
    """A prefix that holds all choices leaves nothing to chance."""
    seed = run_seed(7, 29)
    run = simulate_run("partition", 7, 29, "Z34")
    source = RunSource("partition", "Z34", Genome((), seed), {})
    assert [each[1:] for each in source.whole()[0].steps] == [each[1:] for each in run.steps]
    (point,) = source.points([len(run.steps)], 4, 0).to_pylist()
    assert point["failed"] == 4
    (first,) = source.points([0], 4, 0).to_pylist()
    assert first["failed"] < 4


def test_the_interval_is_wilsons() -> None:
    low, high = Point(1, 0, 200, None).interval
    assert low == 0 and 0.018 < high < 0.019
    low, high = Point(1, 100, 200, None).interval
    assert round(low, 3) == 0.431 and round(high, 3) == 0.569
