"""What is assumed at many terms, written once for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import z3


class WrittenOnce:
    """Parts of an invariant, by their kind and the terms that they are about.

    They serve all steps that begin in the same system.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str | int, ...], Sequence[z3.BoolRef]] = {}
        self._kept: list[z3.ExprRef] = []

    def parts(
        self, kind: str, write: Callable[[], Iterable[z3.BoolRef]], *at: z3.ExprRef
    ) -> Sequence[z3.BoolRef]:
        """The parts of this kind about these terms; `write` makes them the first time."""
        key = (kind, *(term.get_id() for term in at))
        if key not in self._known:
            # The terms are kept so that they keep their identity.
            self._kept += at
            self._known[key] = list(write())
        return self._known[key]
