"""Find the method that handles an input.

An input of type T is handled by the action HandleT of the spec, and by the method handle_t, the
same name in snake case.

Law of this file: nothing here knows of a protocol.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any


def action_name(of: type) -> str:
    """The action that handles inputs of a type, as in the spec and in traces."""
    return f"Handle{of.__name__}"


def handler_name(action: str) -> str:
    """The method that handles an action."""
    return snake(action)


def snake(name: str) -> str:
    """A name of the spec in snake case."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def handlers_of(
    handlers: object, inputs: Iterable[type], otherwise: Callable[..., Any] | None = None
) -> dict[type, Any]:
    """The method for each type of input.

    Args:
        otherwise: what handles an input that has no method: in a layer, the protocol below it.

    Raises:
        AttributeError: an input has no method, and there is nothing else.
    """
    beside = () if otherwise is None else (otherwise,)
    return {of: getattr(handlers, handler_name(action_name(of)), *beside) for of in inputs}
