"""Every order: small enough to see that it is right."""

from __future__ import annotations

import pytest

from kraftcheck.traces.checkers.models import model_named
from tests.traces.checkers.calls import call, numbered
from tests.traces.checkers.enumerate import OPERATIONS_MAX, linearization

REGISTER = model_named("register")


def test_operations_that_overlap_may_come_in_either_order() -> None:
    for value in (1, 2):
        operations = numbered(
            call("write", 0, 5, 1), call("write", 1, 6, 2), call("read", 7, 8, result=value)
        )
        order = linearization(operations, REGISTER)
        assert order is not None and order[-2].argument == value


def test_operations_that_do_not_may_not() -> None:
    writes = (call("write", 0, 1, 1), call("write", 2, 3, 2))
    assert linearization(numbered(*writes, call("read", 4, 5, result=1)), REGISTER) is None
    assert linearization(numbered(*writes, call("read", 4, 5, result=2)), REGISTER) is not None


def test_what_is_unknown_may_be_left_out() -> None:
    lost = call("write", 0, None, 1)
    assert linearization(numbered(lost), REGISTER) == ()
    order = linearization(numbered(lost, call("read", 5, 6, result=1)), REGISTER)
    assert order is not None and len(order) == 2


def test_nothing_and_too_much_are_errors() -> None:
    with pytest.raises(ValueError, match="empty"):
        linearization((), REGISTER)
    many = numbered(*(call("write", 0, 1, at) for at in range(OPERATIONS_MAX + 1)))
    with pytest.raises(ValueError, match="too many"):
        linearization(many, REGISTER)
