"""Z22: the controller answers before it has committed.

The reply goes out when the records are appended. A controller that is deposed loses them, and
somebody has acted on them.
"""

from __future__ import annotations

from reference.bugs.bug import declared

BUG = declared(
    __name__,
    None,
    "MetadataLogMatching",
    source="C0",
    protocol="partition",
    boundary="controller write / reply",
    field="partition",
    scope=(
        "needs the controller quorum below the partition; the abstract controller commits at once"
    ),
)
