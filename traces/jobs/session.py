"""The Spark session of a campaign: embedded by default, on any cluster that `master` names.

Two settings that are not the defaults decide whether it works at all: the workers' interpreter is
this one (they would take the first python3 on PATH, which has none of our packages), and a local
session binds to loopback, so that it needs no network and no host name.

On a cluster our code is shipped to the workers; they need the packages that it uses,
under PYSPARK_PYTHON if that is set and else where they are here, and the trace's folder at the same
path.

What is shipped is unpacked by each executor, in front of everything that its workers import: of
ours nothing has to be installed there, and an older kraftcheck that is installed is not used. Equal
sources make equal archives.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import tla_utils
from kraftcheck.osutil.files import read_text
from kraftcheck.osutil.java import BRIEF
from kraftcheck.traces.jobs.backends import own_error
from tla_utils.errors import ToolError
from tla_utils.jar import find_java
from tla_utils.java_home import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# --- Our packages as archives ---

# The package. In a checkout a link leads here, which must not be resolved.
_OURS: Final = Path(__file__).absolute().parents[2]
PACKAGES: Final = {"kraftcheck": _OURS, "tla_utils": Path(tla_utils.__file__).parent}
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The oldest time that a zip file can say."""


def ship(session: SparkSession) -> None:
    """Puts our packages in front of everything that the session's workers import."""
    # Executors fetch the files from the driver whenever they begin, so they must stay.
    folder = Path(tempfile.mkdtemp(prefix="kraftcheck-code-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in PACKAGES:
        # Unpacked in a folder that stands first among those that workers import from.
        session.sparkContext.addArchive(f"{pack(name, folder)}#{name}")


def pack(name: str, folder: Path) -> Path:
    """Writes a package with all that lies in it: TLC reads modules and classes from files."""
    path = folder / f"{name}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in _files(PACKAGES[name]):
            entry = zipfile.ZipInfo(file.relative_to(PACKAGES[name]).as_posix(), _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.read_bytes())
    return path


def _files(folder: Path) -> Iterator[Path]:
    # Not rglob, which does not follow the links of a checkout.
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "__pycache__")):
            continue
        if path.is_dir():
            yield from _files(path)
        else:
            yield path


# --- The session ---

DEFAULT_MASTER = "local[2]"
STANDALONE = "spark://"
LOOPBACK = f"{STANDALONE}127.0.0.1:"
"""A standalone cluster on this machine (kraftcheck/standalone.py) needs no network either."""
CONNECT_S = 10.0
JVM = "spark.driver.extraJavaOptions"


def spark_session(
    master: str = DEFAULT_MASTER,
    driver_memory: str = "2g",
    name: str = "kraftcheck",
    *,
    queries: bool = False,
) -> SparkSession:
    """The active session, or a new one with this master and memory.

    queries: whether SQL will ask about many rows; else Spark's own work is little, and Python's
    workers do the rest.

    Raises ToolError: there is no Java to start it with, or no cluster at this master.
    """
    name_java()
    find_master(master)
    local = master.startswith("local")
    master = with_attempts(master)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if local:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    else:
        # The workers' own interpreter may lie elsewhere.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    here = local or master.startswith(LOOPBACK)
    if here:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Late: importing Spark takes a second, which the pool need not spend.
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName(name)
    settings = settings_of(local, here, driver_memory)
    if queries:
        settings.pop(JVM, None)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:
        raise own_error(error) from None
    session.sparkContext.setLogLevel("ERROR")
    if not local:
        ship(session)
    return session


def find_master(master: str) -> None:
    """Connect to one of the masters that an address of a standalone cluster names.

    Spark itself gives up after a minute, and prints a hundred lines.

    Raises ToolError: none of them answers.
    """
    if not master.startswith(STANDALONE):
        return
    for each in master.removeprefix(STANDALONE).split(","):
        host, _, port = each.rpartition(":")
        # An address that is none raises ValueError or OverflowError.
        with suppress(OSError, ValueError, OverflowError):
            socket.create_connection((host, int(port)), CONNECT_S).close()
            return
    raise ToolError(f"no Spark master answers at {master}: start one, or name another --master")


def with_attempts(master: str) -> str:
    """The address of an embedded Spark that tries a task four times, as a cluster does.

    By default it gives up at once if a worker is killed.
    """
    return re.sub(r"^local\[(\d+|\*)\]$", r"local[\1,4]", master)


def settings_of(local: bool, here: bool, driver_memory: str) -> dict[str, str]:
    """Our settings, without those that the user's spark-defaults.conf names."""
    settings = {
        "spark.ui.enabled": "false",
        # Its progress bar writes over ours.
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": driver_memory,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    if here:
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    if local:
        settings |= {"spark.sql.shuffle.partitions": "8", JVM: " ".join(BRIEF)}
    return {key: value for key, value in settings.items() if key not in _chosen() - _NEEDED}


_NEEDED = {"spark.sql.session.timeZone", "spark.sql.execution.arrow.pyspark.enabled"}
"""Settings on which what is computed depends."""


def _chosen() -> set[str]:
    """The settings that the user's spark-defaults.conf names, which come before ours."""
    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(
        os.environ.get("SPARK_HOME", ""), "conf"
    )
    try:
        lines = read_text(Path(folder) / "spark-defaults.conf").splitlines()
    except OSError:
        return set()
    return {found[0] for line in lines if (found := re.match(r"spark\.[\w.]+", line.strip()))}


def name_java() -> None:
    """Sets JAVA_HOME to what Spark's launcher can start, for this process and its children.

    Raises ToolError when there is no Java.
    """
    try:
        os.environ["JAVA_HOME"] = str(java_home(find_java()))
    except ToolError as error:
        raise ToolError(f"Spark needs Java 17 or newer: {error}; or take the pool") from None
