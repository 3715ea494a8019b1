"""`make answers`: what answers.py keeps."""

from __future__ import annotations

import sys

from tests.specs.answers import main

sys.exit(main(*sys.argv[1:]))
