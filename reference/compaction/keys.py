"""Which keys a record of a coordinator writes, which says how all there is stands after it.

Law of this file: nothing here knows of a protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def written(
    before: Mapping[str, Any], after: Mapping[str, Any], keys: Mapping[str, int]
) -> tuple[tuple[int, ...], set[int]]:
    """The keys of which something else is said after it, and those of them of which nothing is
    (tombstones). A record that says what was said is written all the same, under the first key.
    """
    changed = [key for key in keys if before[key] != after[key]] or [*keys][:1]
    return tuple([keys[key] for key in changed]), {keys[k] for k in changed if after[k] is None}
