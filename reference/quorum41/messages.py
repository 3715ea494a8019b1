"""What a voter receives: as in the quorum, but a fetch says which high watermark its sender knows.

Law of this file: values only, named as in specs/quorum41/Quorum41.tla.
"""

from __future__ import annotations

from typing import Any, Final

from kraftcheck.reference.quorum import messages as quorum


class FetchRequest(quorum.FetchRequest, frozen=True):
    """Q12, Q23. Asks for what follows `fetch_offset`, or for a newer high watermark."""

    high_watermark: int


class FetchResponse(quorum.FetchResponse, frozen=True):
    """Q13, Q16. As the quorum's."""

    request: FetchRequest


class FetchMaxWait(quorum.FetchMaxWait, frozen=True):
    """Q12. The wait of a parked fetch is over."""

    request: FetchRequest


_OWN: Final[dict[type[Any], type[Any]]] = {
    quorum.FetchRequest: FetchRequest,
    quorum.FetchResponse: FetchResponse,
    quorum.FetchMaxWait: FetchMaxWait,
}
INPUTS: Final[tuple[type[Any], ...]] = tuple([_OWN.get(of, of) for of in quorum.INPUTS])
MESSAGES: Final[tuple[type[Any], ...]] = INPUTS[: len(quorum.MESSAGES)]
