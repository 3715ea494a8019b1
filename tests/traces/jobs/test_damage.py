"""One byte changed, missing or too many, in every kind of file that is read again.

Either the folder ends in the bytes of an undamaged one, or a line names the file. Never a
traceback, and never other results.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kraftcheck.traces.jobs import ranges
from kraftcheck.traces.jobs.plan import Configuration
from kraftcheck.traces.schema import TraceError
from tests.traces.jobs.small_campaigns import StandIn, campaign, contents

HERE = Path("c")
BAD = (Configuration(name="bad", scenario="quorum", bug="Z02"),)
RUNS, RANGE = 4, 2
PLACES = 5
"""Of each file so many bytes are changed, from the first to the last."""

NUMBERS = re.compile(r"[0-9a-f]{16,}|[0-9]+")


def kind_of(path: Path) -> str:
    """Files of one kind have one name but for their numbers and digests."""
    return NUMBERS.sub("N", str(path))


def flipped(data: bytes, at: int) -> bytes:
    """The file with one bit of one byte changed."""
    changed = bytearray(data)
    changed[at] ^= 1
    return bytes(changed)


def ways(data: bytes) -> Iterator[bytes]:
    """The file with a byte changed, cut, or longer."""
    for number in range(PLACES):
        at = number * (len(data) - 1) // (PLACES - 1)
        # Another digit of a number or digest is a text that is read as gladly.
        other = {0x30: 0x31}.get(data[at], 0x30) if chr(data[at]).isdigit() else data[at] ^ 1
        yield data[:at] + bytes([other]) + data[at + 1 :]
    for keep in (0, len(data) // 2, len(data) - 1):
        yield data[:keep]
    yield data + b"\n"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    where = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kraftcheck.traces.jobs.plan.range_runs", lambda runs: RANGE)
        patch.chdir(where)
        campaign(HERE, RUNS, BAD)
        yield where


@pytest.fixture(scope="module")
def own(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    where = tmp_path_factory.mktemp("own")
    shutil.copytree(finished, where, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        yield where


def kinds(folder: Path) -> dict[str, Path]:
    """The first file of each kind, those that are hidden included."""
    files = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    found: dict[str, Path] = {}
    for path in files:
        if path.name not in (".lock", ".kraftcheck"):  # they hold nothing
            found.setdefault(kind_of(path), path)
    return found


KINDS = (
    *("c/.alarm", "c/campaign.json", "c/findings.json", "c/timings.json"),
    *("c/bad/manifest.json", "c/bad/summary.json"),
    *(f"c/bad/part-N-N.{name}.parquet" for name in ("inputs", "rows", "runs", "steps")),
    *(f"c/bad/judged/part-N-N.{name}.parquet" for name in (*ranges.ANSWERS, "classes", "keys")),
    *("c/bad/judged/part-N-N.facts.json", "c/bad/judged/part-N-N.range.json"),
    *("c/bad/judged/rejected.parquet", ".verdicts/N/N.parquet"),
)


def test_every_kind_of_file_is_here(finished: Path) -> None:
    assert sorted(kinds(finished)) == sorted(KINDS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_campaign_mends_or_names_what_is_damaged(
    kind: str, own: Path, finished: Path
) -> None:
    path = kinds(own)[kind]
    whole = path.read_bytes()
    for damaged in ways(whole):
        path.write_bytes(damaged)
        try:
            campaign(HERE, RUNS, BAD)
        except TraceError as error:
            said = str(error)
            assert str(path.name) in said and "\n" not in said and len(said) < 500
            path.write_bytes(whole)
        assert contents(HERE) == contents(finished / HERE)


def test_what_is_recorded_is_simulated_again_with_consent(own: Path, finished: Path) -> None:
    for kind in KINDS[6:10]:
        path = kinds(own)[kind]
        path.write_bytes(flipped(path.read_bytes(), 99))
        with pytest.raises(TraceError, match=rf"{path.name}: damaged: .*; --redo simulates"):
            campaign(HERE, RUNS, BAD)
        campaign(HERE, RUNS, BAD, redo=True)
        assert contents(HERE) == contents(finished / HERE)


def test_judgements_are_made_again_and_no_others(own: Path, finished: Path) -> None:
    """The negative twin: one range is worked on again, and TLC is asked nothing."""
    path = own / kinds(own)["c/bad/judged/part-N-N.verdicts.parquet"]
    others = [each for each in path.parent.glob("part-*") if each.name[:14] != path.name[:14]]
    before = {each: each.stat().st_ino for each in others}
    assert others
    data = path.read_bytes()
    path.write_bytes(flipped(data, -1))
    again = StandIn()
    campaign(HERE, RUNS, BAD, again)
    assert not again.asked and path.read_bytes() == data
    assert {each: each.stat().st_ino for each in others} == before
