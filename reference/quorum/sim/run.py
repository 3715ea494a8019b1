"""A run of a quorum, as its clients, its trouble and who looks for progress see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from kraftcheck.reference.sim.memo import Step


class QuorumRun(Protocol):
    now: int
    over: bool
    rows: dict[int, Any]

    @property
    def nodes(self) -> tuple[int, ...]: ...
    def leader(self) -> int | None: ...
    def is_running(self, node: int) -> bool: ...
    def give(self, node: int, input: Any) -> Step | None: ...
    def least_kept(self, node: int) -> int:
        """A crash takes nothing of its log below."""
        ...

    def may_miss(self, node: int) -> bool:
        """Whether the healed rest can go on if this node stays down."""
        ...

    def append(self, node: int, value: int) -> str:
        """Hands a value to a running node; why it was ignored, or empty."""
        ...

    def append_astray(self, node: int) -> None:
        """Somebody asks just this node to append a record."""
        ...

    def call(self, delay: int, what: Callable[[int], None], argument: int) -> None:
        """Calls `what(argument)` after `delay` microseconds."""
        ...
