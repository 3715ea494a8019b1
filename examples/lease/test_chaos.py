"""Hypothesis makes every choice of a run.

KRAFTCHECK_PROTOCOL=lease pytest lease/test_chaos.py
"""

from kraftcheck.chaos import chaos

test_lease = chaos("lease")
