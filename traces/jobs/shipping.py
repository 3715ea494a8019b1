"""Our packages as one archive, so that a cluster's workers run the code that the driver runs.

What the workers need besides (Python, NumPy, Arrow, msgspec, pandas) has to be installed there; of
ours nothing has, and an older kraftcheck that is installed is not used.

Law of this file: equal sources make an equal archive.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import tla_utils
from kraftcheck.osutil.files import read_bytes, sources

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The package. In a checkout a link leads here, which must not be resolved.
_OURS: Final = Path(__file__).absolute().parents[2]
PACKAGES: Final = {
    **{f"kraftcheck/{each}": _OURS / each for each in ("osutil", "reference", "specs", "traces")},
    "tla_utils": Path(tla_utils.__file__).parent,
}
"""The folders that a worker imports from, by their path in the archive."""
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The oldest time that a zip file can say."""


def ship(session: SparkSession) -> None:
    """Puts our packages in front of everything that the session's workers import."""
    # Executors fetch the file from the driver whenever they begin, so it must stay.
    folder = Path(tempfile.mkdtemp(prefix="kraftcheck-code-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    session.sparkContext.addPyFile(str(pack(folder / "kraftcheck-code.zip")))


def pack(path: Path) -> Path:
    """Writes the archive to `path`."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        _write(archive, "kraftcheck/__init__.py", _OURS / "__init__.py")
        for name, folder in PACKAGES.items():
            for source in sources(folder):
                _write(archive, f"{name}/{source.relative_to(folder).as_posix()}", source)
    return path


def _write(archive: zipfile.ZipFile, name: str, source: Path) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, read_bytes(source))
