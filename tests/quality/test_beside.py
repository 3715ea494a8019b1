"""The wheel beside packages of the user's that have everyday names.

In an environment of its own each: a library `traces` is installed before or after the kit, and a
project has packages `reference`, `traces`, `specs`, `system` and `live` and a file `system.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.quality.test_installed import OFFLINE, built

pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("installed")]

LIBRARY = "class TimeSeries:\n    pass\n"
"""As the library `traces` of the package index has one."""
TEST = """
import live.own, reference.storage, specs.own, system, traces.own

assert reference.storage.__file__.startswith({place!r})


def test_theirs(kafka_cluster):
    assert kafka_cluster.bootstrap_servers
    import kraftcheck
    assert kraftcheck.check({history!r}).verdict == "violated"
"""


@pytest.fixture(scope="module")
def wheel(repo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(repo_root, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel with a package `traces` that is not ours."""
    path = tmp_path_factory.mktemp("library") / "traces-0.6.1-py3-none-any.whl"
    info = "traces-0.6.1.dist-info/"
    files = {
        "traces/__init__.py": LIBRARY,
        f"{info}METADATA": "Metadata-Version: 2.1\nName: traces\nVersion: 0.6.1\n",
        f"{info}WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


class Environment:
    """A virtual environment, with the suite's own packages after what is installed in it."""

    def __init__(self, folder: Path) -> None:
        self.prefix = folder / "env"
        self.python = str(self.prefix / "bin" / "python")
        subprocess.run(
            [sys.executable, "-I", "-m", "venv", "--without-pip", self.prefix], check=True
        )
        (packages,) = self.prefix.glob("lib/python3.*/site-packages")
        (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def install(self, wheel: Path) -> None:
        words = [sys.executable, "-I", "-m", "pip", "--python", self.python, "install", *OFFLINE]
        subprocess.run([*words, str(wheel)], check=True)

    def run(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
        return subprocess.run(
            [self.python, *words], cwd=cwd, env=env, capture_output=True, text=True, timeout=120
        )


@pytest.mark.parametrize("ours_first", [True, False])
def test_a_library_of_the_same_everyday_name_works(
    wheel: Path, library: Path, tmp_path: Path, repo_root: Path, ours_first: bool
) -> None:
    environment = Environment(tmp_path)
    for each in (wheel, library) if ours_first else (library, wheel):
        environment.install(each)
    history = repo_root / "traces" / "samples" / "histories" / "kv.jsonl"
    said = f"import traces, kraftcheck; print(kraftcheck.check({str(history)!r}).verdict)"
    done = environment.run("-c", f"{said}; traces.TimeSeries()", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("violated\n", "")


@pytest.fixture
def project(tmp_path: Path, repo_root: Path) -> Path:
    """A project of the user's, whose packages have the names of our folders."""
    place = tmp_path / "project"
    for name in ("reference", "traces", "specs", "live"):
        (place / name).mkdir(parents=True)
        for file in ("__init__", "storage", "own", "schema"):
            (place / name / f"{file}.py").write_text("")
    (place / "system.py").write_text("")
    history = repo_root / "traces" / "samples" / "histories" / "kv.jsonl"
    text = TEST.format(place=str(place), history=str(history))
    (place / "test_theirs.py").write_text(text)
    return place


def test_a_project_with_such_folders_uses_the_fixture(
    wheel: Path, project: Path, tmp_path: Path
) -> None:
    environment = Environment(tmp_path)
    environment.install(wheel)
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(project))
    done = environment.run(*words, cwd=project)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def test_a_package_named_system_does_no_harm_either(
    wheel: Path, project: Path, tmp_path: Path
) -> None:
    (project / "system.py").unlink()
    (project / "system").mkdir()
    (project / "system" / "__init__.py").write_text("")
    environment = Environment(tmp_path)
    environment.install(wheel)
    history = "import kraftcheck, system; print(kraftcheck.check('x').verdict)"
    shutil.copy(project / "test_theirs.py", project / "x")
    done = environment.run("-c", history, cwd=project)
    assert "in none of the formats" in done.stderr  # It is judged, and is no history.


def test_types_are_seen_where_the_wheel_is_installed(wheel: Path, tmp_path: Path) -> None:
    """Without an import hook: an editor and a type checker follow plain files."""
    environment = Environment(tmp_path)
    environment.install(wheel)
    (tmp_path / "own.py").write_text(
        "import kraftcheck\n"
        "from kraftcheck.traces.history import History\n"
        "reveal_type(kraftcheck.check('x').verdict)\n"
        "reveal_type(History)\n"
        "kraftcheck.check('x', acks='two')\n"
        "kraftcheck.chek('x')\n"
    )
    words = ["--python-executable", environment.python, "--cache-dir", "cache", "--strict"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words, "own.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "'holds'] | Literal['violated'] | Literal['unknown']" in done.stdout.replace(
        "Union[Literal['holds'], Literal['violated'], Literal['unknown']]",
        "'holds'] | Literal['violated'] | Literal['unknown']",
    ), done.stdout
    assert "incompatible type \"Literal['two']\"" in done.stdout
    assert 'Module has no attribute "chek"' in done.stdout
    assert "import-not-found" not in done.stdout and "import-untyped" not in done.stdout


def test_an_editable_installation_is_one_plain_path(repo_root: Path) -> None:
    """As set-up makes it; no import hook, so that editors find what they import."""
    packages = Path(sysconfig.get_path("purelib"))
    paths = [each.read_text().split() for each in packages.glob("__editable__*kraftcheck*.pth")]
    assert paths == [[str(repo_root)]]
    assert not [*packages.glob("__editable___kraftcheck*_finder.py")]
