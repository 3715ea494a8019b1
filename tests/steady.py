"""Examples of Hypothesis by their seed alone, whatever else the process has loaded.

Hypothesis now and then draws a constant that it has found in the source of a local module, of those
that are loaded at that moment. So a seed means other examples when another test ran before, and a
budget that holds alone fails in the whole suite. There is no setting for it.
"""

from __future__ import annotations

from hypothesis.internal.conjecture import providers


def draw_no_local_constants() -> None:
    """For the rest of the process. Raises AttributeError where Hypothesis has changed in this."""
    nothing = providers._local_constants
    if len(nothing):
        raise RuntimeError("local constants were drawn already")
    assert callable(providers._get_local_constants)
    providers._get_local_constants = lambda: nothing
