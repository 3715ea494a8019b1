"""Steps that were taken before are looked up: a state knows what each input makes of it.

Law of this file: a step is a pure function of (constants, rules, node, row, input), so remembering
its outcome changes nothing but the time it takes; the same bytes come out with the memo off, and
from a memo that other parts have filled. What a state wants to do next, and everything that a
scheduler wants to know about a step, is worked out once, when it is first seen.

L7, chaining: a step that leaves its row alone leaves the very same object; whether a handler
changed what it was given is asked when the part, or the run alone, is over (recorder.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, Self, TypeAlias, TypeVar

import msgspec

from kraftcheck.reference.sim.interning import Interner, KnownInput, KnownRow

Instruction: TypeAlias = tuple[int, KnownInput, int, int]
"""What a step does to a timer, ready to be carried out: (what, timer, least, span), both in
milliseconds."""
Sent: TypeAlias = tuple[tuple[int, KnownInput], ...]
"""(addressee, message) pairs."""


class Step(msgspec.Struct, eq=False, gc=False):
    """A step as it was and will be, whoever takes it again."""

    before: State
    input: KnownInput
    after: State
    sent: Sent
    ignored: str
    inert: bool
    """No property need be asked, if none was violated before."""
    notable: int
    """What the scheduler must look at after it, as bits that a protocol's machine names."""
    travelling: Sent
    """Of what was sent, the messages that go over the network."""
    timers: tuple[Instruction, ...] = ()
    number: int = -1
    """The id in the part that is being recorded, which `owner` marks."""
    owner: object = None
    decided: frozenset[str] = frozenset()
    """Which named rules were asked and how they answered, where somebody watches them."""


class State(msgspec.Struct, eq=False, gc=False):
    """A row of a node under given constants, and the steps that were seen to start from it.

    Also the inputs that the node's own activities are about to give it.
    """

    machine: Machine
    node: int
    known: KnownRow
    row: Any
    """That of `known`."""
    running: bool
    wants: tuple[KnownInput, ...]
    steps: dict[KnownInput, Step | None]
    """None: the input is disabled here."""
    local: tuple[Any, ...] | None = None
    """In place of `wants`, where few of many inputs are ever drawn: they are made known then. None:
    nobody has asked (`System.local`)."""


class Machine(ABC):
    """A protocol under one set of constants and rules: all known states of its nodes, by node.

    What is the protocol's own: its first rows, its handlers, and what there is to say of a state
    and of a step.
    """

    def __init__(self, memo: Memo[Any], constants: Any, nodes: Iterable[int]) -> None:
        self.constants = constants
        self.interner = memo.interner
        self._memo = memo
        self._states: dict[int, dict[KnownRow, State]] = {node: {} for node in nodes}
        self._steps: dict[object, Step] = {}
        self._first: dict[int, State] = {}

    @abstractmethod
    def first_row(self, node: int) -> Any: ...

    @abstractmethod
    def outcome(self, node: int, row: Any, input: Any) -> Any:
        """What the node's handler makes of the input: `row`, `sent`, `ignored`; None: disabled."""

    @abstractmethod
    def new_state(self, node: int, known: KnownRow) -> State: ...

    @abstractmethod
    def new_step(
        self, before: State, input: KnownInput, after: State, sent: Sent, outcome: Any
    ) -> Step: ...

    def first_state(self, node: int) -> State:
        state = self._first.get(node)
        if state is None:
            known = self.interner.row(self.first_row(node))
            state = self._first[node] = self.state(node, known)
        return state

    def state(self, node: int, known: KnownRow) -> State:
        """The one object for a node in this row."""
        states = self._states[node]
        state = states.get(known)
        if state is None:
            state = states[known] = self.new_state(node, known)
        return state

    def step(self, state: State, input: KnownInput) -> Step | None:
        """The step that `input` makes of `state`; None if it is disabled there.

        Remembered steps are in `state.steps`, where whoever takes many looks first.
        """
        told = self._memo.rule_answers
        if told is not None:
            told.clear()
        row, elsewhere = state.row, self._memo.elsewhere
        if elsewhere is None:
            outcome = self.outcome(state.node, row, input.value)
        else:
            outcome = elsewhere(state.node, row, input.value, self.outcome)
        if outcome is None:
            if self._memo.enabled:
                state.steps[input] = None
            return None
        decided = frozenset(told or ())
        step = self._step(state, input, outcome)
        if decided:
            step.decided = decided
        if self._memo.enabled:
            state.steps[input] = step
        return step

    def _step(self, before: State, input: KnownInput, outcome: Any) -> Step:
        """The one object for this step by content, whether or not it was seen before."""
        intern = self.interner.input
        sent = tuple([(message.destination, intern(message)) for message in outcome.sent])
        known = before.known
        if outcome.row is not known.row:
            known = self.interner.row(outcome.row)
        after = self.state(before.node, known)
        remembered = self._memo.enabled
        key = None if remembered else (before, input, after, sent, outcome.ignored)
        step = self._steps.get(key)
        if step is None:
            step = self.new_step(before, input, after, sent, outcome)
            self._memo.steps += 1
            if not remembered:
                self._steps[key] = step
        return step

    def forget(self) -> None:
        """Takes apart what refers to itself in a circle, which nobody else would find."""
        for states in self._states.values():
            for state in states.values():
                state.steps.clear()
            states.clear()
        self._steps.clear()
        self._first.clear()


M = TypeVar("M", bound=Machine)
T = TypeVar("T")


class Memo(ABC, Generic[M]):
    """All that is known under one set of rules. Parts may share one; it then only grows.

    With `enabled` off, every step is executed whenever it is taken.
    """

    def __init__(self, bug: str | None, enabled: bool = True) -> None:
        self.bug = bug
        self.enabled = enabled
        self.interner = Interner()
        self.steps = 0
        """How many steps were worked out."""
        self.rule_answers: set[str] | None = None
        """Where rules tell their answers while they are watched; of a step they go with it."""
        self.elsewhere: Callable[[int, Any, Any, Callable[..., Any]], Any] | None = None
        self._machines: dict[Any, M] = {}

    def taking(self, elsewhere: Callable[[int, Any, Any, Callable[..., Any]], Any]) -> Self:
        """Take steps elsewhere from now on, and remember none.

        What comes of one may depend on more than the row.

        Args:
            elsewhere: is given the node, its row, the input, and what takes the step here.
        """
        self.elsewhere, self.enabled = elsewhere, False
        return self

    @abstractmethod
    def new_machine(self, constants: Any) -> M: ...

    def machine(self, constants: Any) -> M:
        machine = self._machines.get(constants)
        if machine is None:
            machine = self._machines[constants] = self.new_machine(constants)
        return machine

    def forget(self) -> None:
        """Frees the memory of a memo that nobody uses any more."""
        for machine in self._machines.values():
            machine.forget()


class JoinedMemo:
    """All that is known of several components, by their names. Some may share one memo."""

    def __init__(self, of: Mapping[str, Memo[Any]]) -> None:
        self.of: Mapping[str, Any] = of
        self._all: dict[Memo[Any], None] = dict.fromkeys(of.values())

    @property
    def steps(self) -> int:
        return sum(each.steps for each in self._all)

    @property
    def rule_answers(self) -> set[str] | None:
        return next(iter(self._all)).rule_answers

    @rule_answers.setter
    def rule_answers(self, told: set[str] | None) -> None:
        for each in self._all:
            each.rule_answers = told

    def forget(self) -> None:
        for each in self._all:
            each.forget()


class Memos:
    """One memo for each key, by which it is found again.

    One that has grown to more than `most` steps is freed and begun anew; 400,000 steps are about
    400 MB.
    """

    def __init__(self, most: int = 400_000) -> None:
        self._most = most
        self._known: dict[Hashable, Any] = {}
        self._freed: Counter[Hashable] = Counter()

    def memo(self, key: Hashable, new: Callable[[], T]) -> T:
        """The memo of this key; the first time, a new one."""
        memo: Any = self._known.get(key)
        if memo is not None and memo.steps > self._most:
            self._freed[key] += memo.steps
            memo.forget()
            memo = None
        if memo is None:
            memo = self._known[key] = new()
        found: T = memo
        return found

    def steps(self, key: Hashable) -> int:
        """How many were worked out, those included that were freed."""
        memo = self._known.get(key)
        return self._freed[key] + (0 if memo is None else memo.steps)

    def forget(self) -> None:
        """Frees all there is; what is asked next is worked out again."""
        for memo in self._known.values():
            memo.forget()
        self._known.clear()
        self._freed.clear()
