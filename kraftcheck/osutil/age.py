"""How long this process has been there: what is imported first is time that somebody waits, too."""

from __future__ import annotations

import os
import time
from pathlib import Path


def seconds() -> float:
    """Since the process was started; 0 where the system does not say."""
    try:
        after_name = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2]
    except OSError:
        return 0.0
    begun = int(after_name.split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - begun
