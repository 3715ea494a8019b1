"""Begin the console script.

The imports of the command line take half a second; whoever interrupts it then is told no more than
later (exits.py).
"""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Final

INTERRUPTED: Final = 130
"""As exits.INTERRUPTED, which is not imported yet."""


def _end(number: int, frame: FrameType | None) -> None:
    # At once: nothing was begun, and what is being imported may take an exception for its own.
    os.write(2, b"kraftcheck: interrupted\n")
    os._exit(INTERRUPTED)


def main() -> None:
    """The console script."""
    signal.signal(signal.SIGINT, _end)
    from kraftcheck import cli

    cli.main()
