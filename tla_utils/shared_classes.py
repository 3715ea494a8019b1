"""TLC's classes, loaded and checked once: an archive beside the jar, from which a JVM maps them.

A short run of TLC spends much of its time on them: 0.53 processor seconds with the archive where it
took 0.75. Without one, or where Java or the jar is another by now, TLC starts as it always did.
Making it belongs to set-up, since the place of the jar is not ours to write to later.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from tla_utils.errors import ToolError
from tla_utils.jar import Jar, find_jar
from tla_utils.runner import ModuleText, TlcJob, archive_of, run_tlc

USUAL: Final = """---- MODULE Usual ----
EXTENDS Naturals, Sequences, FiniteSets, TLC
VARIABLES rows, sent
vars == <<rows, sent>>
Nodes == {"a", "b"}
Init == rows = [n \\in Nodes |-> [at |-> 0, log |-> <<>>]] /\\ sent = {}
Add(n) ==
  LET row == rows[n] IN
  /\\ row.at < 2
  /\\ rows' = [rows EXCEPT ![n] = [at |-> row.at + 1, log |-> Append(row.log, n)]]
  /\\ sent' = sent \\cup {[from |-> n, at |-> row.at]}
Next == \\E n \\in Nodes : Add(n)
Spec == Init /\\ [][Next]_vars
Counted == \\A n \\in Nodes : Len(rows[n].log) = rows[n].at
Grows == [][Cardinality(sent) < Cardinality(sent')]_vars
====
"""
CFG: Final = "SPECIFICATION Spec\nINVARIANT Counted\nPROPERTY Grows\n"
JOB: Final = TlcJob(ModuleText("Usual", USUAL), CFG, deadlock=False, timeout_s=60)
"""What short runs do: nothing that takes long."""


def share_classes(jar: Jar) -> Path | None:
    """Make the archive of this jar anew; None if this Java makes none.

    Raises ToolError: TLC cannot be run; OSError: the folder of the jar cannot be written to.
    """
    archive = archive_of(jar)
    archive.unlink(missing_ok=True)
    draft = archive.with_suffix(".draft")
    flags = [f"-XX:ArchiveClassesAtExit={draft}"]
    try:
        run_tlc(replace(JOB, jar=jar, jvm_flags=flags))
        return draft.rename(archive)
    except FileNotFoundError:
        return None
    finally:
        draft.unlink(missing_ok=True)


if __name__ == "__main__":
    try:
        share_classes(find_jar())
    except (ToolError, OSError) as error:
        sys.exit(f"TLC's classes are not shared: {error}")
