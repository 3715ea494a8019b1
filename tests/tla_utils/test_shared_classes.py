"""An archive of TLC's classes is used, and where it does not fit nothing is different."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tla_utils import TlcJob, find_jar, run_tlc
from tla_utils.jar import Jar
from tla_utils.runner import archive_of
from tla_utils.shared_classes import share_classes

pytestmark = pytest.mark.tlc


@pytest.fixture
def jar(tmp_path: Path) -> Jar:
    """A jar of one's own, without an archive."""
    found = find_jar()
    return Jar(Path(shutil.copyfile(found.path, tmp_path / "tlc.jar")), found.version)


def loaded(toys: Path, jar: Jar, told: Path) -> str:
    """The line that says where the JVM had TLC's main class from."""
    flags = [f"-Xlog:class+load:file={told}"]
    cfg = "CONSTANT Max = 3\nSPECIFICATION Spec\nINVARIANT TypeOK"
    result = run_tlc(TlcJob(toys / "Counter.tla", cfg, jar=jar, jvm_flags=flags))
    assert (result.verdict, result.distinct, result.warnings) == ("holds", 14, [])
    (line,) = (line for line in told.read_text().splitlines() if " tlc2.TLC " in line)
    return line


@pytest.mark.slow
def test_classes_come_from_the_archive_and_a_stale_one_does_no_harm(
    toys: Path, jar: Jar, tmp_path: Path
) -> None:
    assert "shared objects file" not in loaded(toys, jar, tmp_path / "without")
    assert share_classes(jar) == archive_of(jar)
    assert "shared objects file" in loaded(toys, jar, tmp_path / "with")
    os.utime(jar.path, (1, 1))
    assert "shared objects file" not in loaded(toys, jar, tmp_path / "stale")
    archive_of(jar).write_text("damaged")
    assert "shared objects file" not in loaded(toys, jar, tmp_path / "damaged")
    assert sorted(path.name for path in tmp_path.glob("tlc*")) == ["tlc.jar", "tlc.jsa"]
