"""The archives of our code: a worker that has nothing else of ours judges a range alike."""

from __future__ import annotations

import pickle
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from kraftcheck.traces.jobs.ranges import Work, reference_digest, work_on
from kraftcheck.traces.jobs.session import PACKAGES, pack
from kraftcheck.traces.jobs.simulate import Range
from kraftcheck.traces.store import Campaign, begin_trace

ROOT = Path(__file__).resolve().parents[3]
RUNS = 4


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As an executor does it."""
    folder = tmp_path_factory.mktemp("code")
    for name in PACKAGES:
        with zipfile.ZipFile(pack(name, folder)) as archive:
            archive.extractall(folder / name)
    return folder


# A worker: only the archives and installed packages can be imported, no `.pth` is read (an editable
# installation of ours is one), and it is not started in the checkout.
WORKER = """
import pickle, sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
from kraftcheck.traces.jobs import ranges
assert ranges.__file__.startswith(sys.argv[1]), ranges.__file__
ranges.work_on(pickle.load(sys.stdin.buffer), 0)
"""


def work_in(folder: Path) -> Work:
    (folder / "judged").mkdir(parents=True)
    campaign = Campaign(scenario="quorum", seed=3, runs=RUNS)
    begin_trace(folder, campaign)
    only = (Range(0, RUNS),)
    return Work(
        folder, campaign, only, (None,), ROOT / "specs", reference_digest(), folder / "alarm", False
    )


@pytest.mark.slow
def test_a_worker_with_the_archives_alone_does_the_same(tmp_path: Path, unpacked: Path) -> None:
    here, there = work_in(tmp_path / "here" / "q"), work_in(tmp_path / "there" / "q")
    work_on(here, 0)
    command = [sys.executable, "-I", "-S", "-c", WORKER, str(unpacked)]
    subprocess.run(
        [*command, sysconfig.get_path("purelib")],
        input=pickle.dumps(there),
        cwd=tmp_path,
        check=True,
    )
    for one in sorted((tmp_path / "here").rglob("*")):
        if one.is_file():
            other = tmp_path / "there" / one.relative_to(tmp_path / "here")
            assert other.read_bytes() == one.read_bytes(), one


def test_equal_sources_make_equal_archives(tmp_path: Path, unpacked: Path) -> None:
    for name in PACKAGES:
        assert pack(name, tmp_path).read_bytes() == (unpacked / f"{name}.zip").read_bytes()


@pytest.mark.slow
def test_the_archives_have_what_check_and_conform_run_on_executors(
    tmp_path: Path, unpacked: Path
) -> None:
    imports = """
import sys
sys.path[:0] = sys.argv[1:]
from kraftcheck import foreign, specs
from kraftcheck.checking import command
from tla_utils import stepvalues
assert all(each.__file__.startswith(sys.argv[1]) for each in (foreign, command, stepvalues))
assert (stepvalues.JAVA / "StepValues.jar").exists() and any(specs.SPECS.rglob("*.tla"))
"""
    command = [sys.executable, "-I", "-S", "-c", imports, str(unpacked)]
    subprocess.run([*command, sysconfig.get_path("purelib")], cwd=tmp_path, check=True)
