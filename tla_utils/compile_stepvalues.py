"""Make java/StepValues.jar of java/StepValues.java: `python -m tla_utils.compile_stepvalues`.

The jar belongs to the package, so a user needs no compiler. It holds the digest of its source, and
the same source and compiler make the same bytes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from tla_utils.errors import ToolError
from tla_utils.jar import find_jar, find_java
from tla_utils.stepvalues import JAR, JAVA, MODULE, SOURCE, source_digest

RELEASE: Final = "11"
"""Of Java, whose class files TLC's own Java reads in any case."""
_DATE: Final = (1980, 1, 1, 0, 0, 0)


def compile_classes(jar: Path) -> None:
    """Write the jar. Raises ToolError: there is no compiler, or it reports an error."""
    with tempfile.TemporaryDirectory(prefix="tla-") as folder:
        beside = Path(find_java().path).with_name("javac")
        compiler = shutil.which(beside) or shutil.which("javac")
        if compiler is None:
            raise ToolError("there is no javac beside Java or on the PATH")
        command = [compiler, "--release", RELEASE, "-g:none", "-d", folder]
        command += ["-cp", str(find_jar().path), str(JAVA / f"{MODULE}.java")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode:
            raise ToolError(f"javac refuses {MODULE}.java: {done.stderr.strip()}")
        files = {SOURCE: source_digest().encode()}
        files |= {path.name: path.read_bytes() for path in sorted(Path(folder).glob("*.class"))}
        with zipfile.ZipFile(jar, "w") as packed:
            for name, data in files.items():
                packed.writestr(zipfile.ZipInfo(name, _DATE), data, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    try:
        compile_classes(JAR)
    except (ToolError, OSError) as error:
        sys.exit(f"{JAR.name} is not made: {error}")
