"""Why some bugs are expected of one oracle only, and some have no overlay.

Every safety bug should be seen by two oracles that share nothing. Where one alone can, the reason
stands here, in a sentence that the matrix prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ONE_ORACLE: Mapping[str, str] = MappingProxyType(
    {
        "Z36": "it breaks no invariant, and the models of liveness send a proposal and answer it "
        "in one step, so that none is in flight",
        "Z45": "in its model the states differ and nothing is broken: within an epoch the "
        "follower has been compared before",
        "Z46": "in its model the states differ and nothing is broken: the next fetch is compared "
        "before it counts",
        "Z54": "the leader alone acknowledged, and nobody promised more: no state is wrong, only "
        "the client misses its record",
        "Z59": "a wrong refusal breaks no invariant, and the models of liveness have no producer "
        "that sends again",
    }
)
"""By bug; a bug that two oracles are expected to find needs none."""

NO_OVERLAY: Mapping[str, str] = MappingProxyType(
    {
        "Z36": "in the reference only: in the models nothing else is sent before the answer",
        "Z40": "a configuration, nothing is replaced",
        "Z53": "a configuration, nothing is replaced",
        "Z54": "a configuration, nothing is replaced",
        "Z59": "in the reference only: no model sends so many batches",
    }
)
"""By bug that is replayed without an overlay: why."""
