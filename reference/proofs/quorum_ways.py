"""The ways through the quorum's handlers that may make a local step, found when asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reference.core.messages import MESSAGES, FetchMaxWait, RequestTimeout
from reference.core.rules import QuorumRules
from reference.core.types import Constants, Row
from reference.proofs.relation import KIND_OF, Case, Logs, cases


class QuorumWays:
    """All ways by action, node, and who else has a part in the step. logs: how they are
    abstracted.
    """

    def __init__(
        self,
        constants: Constants,
        rules: type[QuorumRules] = QuorumRules,
        logs: Logs = Logs(),  # noqa: B008
    ) -> None:
        self.constants = constants
        self._rules, self._logs = rules(constants), logs
        self._known: dict[tuple[str, int, int], list[Case]] = {}

    def of(self, action: str, n: int, peer: int, row: Row) -> Iterator[Case]:
        """Those from a row of this one's shape: its role and, of a follower, its leader."""
        key = (action, n, peer)
        if key not in self._known:
            kinds = [KIND_OF[action]]
            found = cases(self.constants, self._rules, kinds, n, [peer], logs=self._logs)
            self._known[key] = list(found)
        for case in self._known[key]:
            follows = row.role != "Follower" or case.row.leader == row.leader
            if case.row.role == row.role and follows:
                yield case

    def peer(self, n: int, input: Any) -> int:
        """Who has a part in what a node does with an input: who sent it, or whom it is about; if
        nobody has, any other.
        """
        if isinstance(input, MESSAGES):
            return int(input.source)
        if isinstance(input, RequestTimeout):
            return input.peer
        if isinstance(input, FetchMaxWait):
            return input.request.source
        return self.constants.others(n)[0]
