"""Which keys a record of a coordinator writes, which says how all there is stands after it.

Law of this file: nothing here knows of a protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def written(
    before: Mapping[str, Any], after: Mapping[str, Any], keys: Mapping[str, int]
) -> tuple[tuple[int, ...], set[int]]:
    """Return the keys that a record sets, and those that it removes (tombstones).

    A record without a change is still written, under the first key.
    """
    changed = [key for key in keys if before[key] != after[key]] or [*keys][:1]
    return tuple([keys[key] for key in changed]), {keys[k] for k in changed if after[k] is None}
