"""What a sequential object is: what it does when nobody is concurrent.

A model is a state to begin with and a step; a few lines make one of your own:

    class Toggle(Model):
        name = "toggle"
        verbs = ("flip", "read")

        def initial(self) -> bool:
            return False

        def step(self, state: bool, operation: Operation) -> bool | Refusal:
            if operation.f == "flip":
                return not state
            return answer(state, operation)

States and the values of operations are hashable and never changed in place. Values are equal only
if a client could mean the same (traces/values.py): that `true` is not 1 is no concern of a model
that compares what it was given; one that makes values of its own makes them with `typed`. That is
all a model must say. What it may say besides (`effect`, `can_lead`) makes the search faster and
must be true; `tests/traces/checkers/test_models.py` holds each to what it says.

How outcomes are read, by every model unless it says otherwise (`judges`):

    ok             took effect between invocation and completion, and answered `result`
    fail           had no effect: left out. Where the format means that a compare-and-set which
                   failed without an error was compared and found another value
                   (`History.failed_cas`), it says so much.
    indeterminate  takes effect at any time after its invocation, or never. A read of unknown
                   outcome says nothing and is left out.

A part of the history is judged alone: `key` says which. By locality [Herlihy and Wing 1990,
theorem 1] a history is linearizable if and only if each object's part is; models whose operations
on different elements do not meet may cut further (P-compositionality, Horn and Kroening 2015).
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Final

from kraftcheck.traces.checkers.verdict import Verdict
from kraftcheck.traces.history import INDETERMINATE, OK, Operation


class Refusal(enum.Enum):
    """What a step answers instead of a state."""

    REFUSED = "refused"


REFUSED: Final = Refusal.REFUSED
"""The operation cannot have been answered like this in that state."""


class Effect(enum.IntEnum):
    """What is known of an operation in every state; each says all that those below it say."""

    ANY = 0
    """Nothing."""
    TOTAL = 1
    """No state refuses it."""
    OVERWRITE = 2
    """No state refuses it, and the state that it leaves does not depend on the one before."""
    READ = 3
    """It leaves every state as it is, or is refused. (Says nothing of TOTAL.)"""


class Model:
    """A sequential object. Subclasses give `name`, `verbs`, `initial` and `step`."""

    name: ClassVar[str]
    verbs: ClassVar[tuple[str, ...]]
    """The `f` of its operations; any other is an error in the history, not a violation."""

    def initial(self) -> Any:
        raise NotImplementedError

    def step(self, state: Any, operation: Operation) -> Any:
        """The state after `operation` was answered as it was, or REFUSED.

        For an indeterminate operation: the state after it took effect.
        """
        raise NotImplementedError

    def key(self, operation: Operation) -> Hashable:
        """Which part of the history it belongs to; parts do not influence each other."""
        return operation.key

    def judges(self, operation: Operation) -> bool:
        """Whether it says anything: see the module's table of outcomes."""
        if operation.outcome == INDETERMINATE:
            return self.effect(operation) is not Effect.READ
        return operation.outcome == OK

    def effect(self, operation: Operation) -> Effect:
        """What is known of it in every state. Only the search's speed depends on it."""
        return Effect.ANY

    def observes(self, operation: Operation) -> bool:
        """Whether its answer could contradict others': no state would refuse any other one."""
        total = self.effect(operation) in (Effect.TOTAL, Effect.OVERWRITE)
        return self.judges(operation) and not total

    def can_lead(self, state: Any, operation: Operation) -> bool:
        """False if no operations but overwrites lead from `state` to where `operation` is legal."""
        return True

    def narrowed(self, operations: Sequence[Operation]) -> Model:
        """The model for just these operations: states that none can tell apart may be one."""
        return self

    def foreseeing(self, operations: Sequence[Operation]) -> Model:
        """As `narrowed`; may also refuse what, by other operations' answers, cannot have been."""
        return self.narrowed(operations)

    def told_apart(self, operation: Operation) -> Operation:
        """The operation, as far as this model can tell it from others: alike, they step alike."""
        return operation

    def judged_all(self, objects: Sequence[Sequence[Operation]]) -> list[Verdict] | None:
        """The verdicts on objects, each by all of its operations, if that needs no search."""
        return None

    def malformed(self, operation: Operation) -> str | None:
        """What is wrong with an operation that the model cannot even try, or None."""
        if operation.f not in self.verbs:
            return f"{operation.f} is no operation of a {self.name}"
        return None


def answer(state: Hashable, operation: Operation) -> Any:
    """The step of a read: the state, if that is what was answered."""
    return state if operation.result == state else REFUSED
