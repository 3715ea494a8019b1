"""How steps are told where replicas move: as a partition's, with the lists."""

from __future__ import annotations

from typing import Any, Final

from kraftcheck.reference.partition.moving.types import MovingControllerRow
from kraftcheck.reference.partition.sim.family import FAMILY
from kraftcheck.reference.sim.family import Manner


def _listed(sign: str, brokers: tuple[int, ...]) -> str:
    return f"{sign}{''.join(map(str, brokers))}" if brokers else ""


def columns(step: Any) -> str:
    """Behind the ISR, of the controller, who holds the partition, who comes and who goes."""
    of, told = FAMILY.manner.columns(step), step.after
    if not isinstance(told, MovingControllerRow):
        return of
    lists = told.partition
    moves = _listed("+", lists.adding) + _listed("-", lists.removing)
    return f"{of.rstrip()}{_listed('/', lists.replicas)}{moves}"


MANNER: Final[Manner] = FAMILY.manner._replace(columns=columns)
