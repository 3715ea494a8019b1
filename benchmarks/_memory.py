"""What the process that measures takes."""

from __future__ import annotations

import re
from pathlib import Path


def peak_memory() -> int:
    """KiB of resident memory at the peak of this process alone; 0 where there is no /proc.

    What getrusage says begins with the peak of whoever started the process.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    found = re.search(r"VmHWM:\s+(\d+)", status.read_text(encoding="ascii", errors="replace"))
    return int(found.group(1)) if found else 0
