"""Which named decisions the steps of another implementation asked, and which answers never came.

"Holds" says nothing of a decision that no step came to: a bug in it was not met. So each step's row
and input are given to the reference's handler, which asks the rules that the specification asks
there; what they answer is counted. Every rule is one operator of the spec, so it has a line there,
and most have an id of docs/reference/protocol-rules.md.

Law of this file: it says how far a verdict reaches and where a refused step was decided, and never
changes one. It needs full rows: of hidden ones nobody knows what is asked.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec

from kraftcheck.known_bugs.beginning import Rule, rules
from kraftcheck.known_bugs.entries import manifest_of
from kraftcheck.osutil.files import read_text
from kraftcheck.reference.kit.fields import Field, Kind, fields_of
from kraftcheck.reference.kit.protocol import Handlers, Protocol
from kraftcheck.reference.protocols import PROTOCOLS, AnyConstants, peers_of, protocol_of
from kraftcheck.traces.foreign.reading import Fields, ForeignStep, ForeignTrace
from tla_utils import Record, Value
from tla_utils.definitions import definition
from tla_utils.overrides import find_module, read_modules

_IDS: Final = re.compile(r"^((?:[A-Z]+\d+(?: \([a-z]\))?(?:, | to )?)+)")
_OPERATOR: Final = r"^{}\s*(\(|==)"


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A rule."""

    rule: str
    operator: str
    ids: str
    """Of docs/reference/protocol-rules.md, as they stand in the code, or empty."""
    place: str
    """Module and line of its operator."""
    asked: int
    answers: dict[str, int]
    """How often each was given, in the spec's words, of a rule that has few."""
    never: list[str]
    """Those of them that were not."""

    def __str__(self) -> str:
        name = self.operator or self.rule
        return f"{name} ({self.ids})" if self.ids else name

    @property
    def answers_missed(self) -> str:
        """The answers that never came, in words."""
        return f"{self.operator or self.rule} {' or '.join(self.never)}"


def few_answers(protocol: str) -> dict[str, tuple[str, ...]]:
    """By rule, the answers that it may give, in the spec's words; none where they are many."""
    return {name: known.possible for name, known in _known(protocol).items()}


class _Known(msgspec.Struct, frozen=True):
    """What there is to know of a rule before it is asked."""

    operator: str
    ids: str
    place: str
    possible: tuple[str, ...]
    """The answers, where few."""


@cache
def _known(protocol: str) -> dict[str, _Known]:
    """Give the rules of a protocol by their names, in the order of the reference.

    Rules that it takes from another protocol come last.
    """
    every, made = [*rules()], dict[str, Rule]()
    for base in [of for own in _rule_classes(protocol) for of in own.__mro__]:
        for each in every:
            if each.base is base:
                made.setdefault(each.name, each)
    return {
        each.name: _Known(
            each.operator,
            _ids(each.said),
            operator_place(protocol, each.module, each.operator),
            _possible(getattr(each.base, each.name), _said_in_spec(each)),
        )
        for each in made.values()
    }


def _rule_classes(protocol: str) -> tuple[type, ...]:
    return next(each.rules for each in PROTOCOLS if each.name == protocol)


def _ids(said: str) -> str:
    found = _IDS.match(said)
    return found[1].rstrip(", ") if found else ""


@cache
def operator_place(protocol: str, module: str, operator: str) -> str:
    """`QuorumRules.tla:41`; empty where the specs have no such operator."""
    path = find_module(module, manifest_of(protocol).libraries) if operator else None
    if path is None:
        return ""
    lines = read_text(path).splitlines()
    head = re.compile(_OPERATOR.format(re.escape(operator)))
    at = next((number for number, line in enumerate(lines, 1) if head.match(line)), None)
    return f"{path.name}:{at}" if at else path.name


@cache
def action_place(protocol: str, action: str) -> str:
    """Where the specs have the action's operator; first those modules that judge steps."""
    kinds = next(each.kinds for each in PROTOCOLS if each.name == protocol)
    own = [kind.module for kind in kinds]
    modules = dict.fromkeys([*own, *read_modules(own, manifest_of(protocol).libraries)])
    places = (operator_place(protocol, each, f"Step_{action}") for each in modules)
    return next((each for each in places if ":" in each), "")


def _said_in_spec(rule: Rule) -> str:
    path = find_module(rule.module, manifest_of(rule.protocol).libraries) if rule.operator else None
    return definition(read_text(path), rule.operator).body if path else ""


def _possible(rule: Any, spec: str) -> tuple[str, ...]:
    """The answers that a rule may give: a truth value, or words that stand in its operator."""
    try:
        of = get_type_hints(rule).get("return")
    except NameError:
        return ()
    if of is bool:
        return ("TRUE", "FALSE")
    if get_origin(of) is not Literal:
        return ()
    return tuple([each for each in map(str, get_args(of)) if f'"{each}"' in spec])


# -- Asking


class Asked:
    """The rules that were asked, and what they answered, in the order of the reference."""

    def __init__(self, constants: AnyConstants) -> None:
        self._constants = constants
        self._protocol = protocol_of(constants)
        self._answers: dict[str, Counter[str]] = {}
        self._now: list[tuple[str, str]] = []
        self._handlers: Handlers = self._protocol.handlers(constants, self._listened)
        self.not_taken = 0
        """Steps whose row or input the reference does not take."""

    def step(self, step: ForeignStep) -> list[tuple[str, str]]:
        """The rules that this step asks, each with its answer, in their order."""
        assert step.input is not None
        self._now = []
        kind = self._protocol.kind_of(self._constants, step.node)
        concrete = _Concrete(self._constants)
        try:
            row = concrete.struct((kind.row,), step.before)
            taken = self._handlers(step.node, row, concrete.struct(kind.inputs, step.input))
        except (AssertionError, LookupError, TypeError, ValueError):
            taken = None
        self.not_taken += taken is None
        for name, answer in self._now:
            self._answers.setdefault(name, Counter())[answer] += 1
        return list(dict.fromkeys(self._now))

    @property
    def answers(self) -> Mapping[str, Counter[str]]:
        """By rule, how often each answer was given."""
        return self._answers

    def _listened(self, correct: type[Any]) -> type[Any]:
        return listening(self._protocol, correct, lambda *told: self._now.append(told))


def listening(
    protocol: Protocol, correct: type[Any], heard: Callable[[str, str], None]
) -> type[Any]:
    """A class of the correct rules that tells each answer; any other class is itself.

    heard: is given the rule and what it answered, in the spec's words.
    """
    if correct not in protocol.rules:
        return correct
    known = _known(protocol.name)

    def telling(name: str, method: Any) -> Any:
        def ask(rules: Any, *arguments: Any) -> Any:
            answer = method(rules, *arguments)
            heard(name, _word(answer))
            return answer

        return ask

    named = [n for n, m in inspect.getmembers(correct, callable) if n in known]
    members = {name: telling(name, getattr(correct, name)) for name in named}
    return type(f"Heard{correct.__name__}", (correct,), {"__slots__": (), **members})


def _word(answer: object) -> str:
    return str(answer).upper() if isinstance(answer, bool) else str(answer)


def asked_of(trace: ForeignTrace, node: int | None = None) -> Asked | None:
    """All steps of a trace, or of one node of it, asked; None where its rows are partial."""
    if not trace.full:
        return None
    found = Asked(trace.constants)
    for step in trace.steps:
        if node is None or step.node == node:
            found.step(step)
    return found


def decisions_of(constants: AnyConstants, asked: Asked) -> list[Decision]:
    """Every rule of the protocol, those that nobody asked as well."""
    found = []
    for name, known in _known(protocol_of(constants).name).items():
        answers = asked.answers.get(name, Counter())
        found.append(
            Decision(
                rule=name,
                operator=known.operator,
                ids=known.ids,
                place=known.place,
                asked=answers.total(),
                answers={each: answers[each] for each in known.possible if answers[each]},
                never=[each for each in known.possible if not answers[each]],
            )
        )
    return found


def deciding(trace: ForeignTrace, lines: Collection[int]) -> dict[int, list[str]]:
    """Mark the lines of the spec that decide this step.

    These are its operator, then the rules that it asks, each with what the spec answers here.
    """
    protocol = protocol_of(trace.constants)
    known, asked = _known(protocol.name), Asked(trace.constants)
    found: dict[int, list[str]] = {}
    for step in trace.steps:
        if step.line not in lines or not step.action:
            continue
        place = action_place(protocol.name, step.action)
        found[step.line] = [f"Step_{step.action} ({place})"] if place else []
        for name, answer in asked.step(step) if trace.full else ():
            rule = known[name]
            where = ", ".join(each for each in (rule.ids, rule.place) if each)
            told = f" = {answer}" if rule.possible else ""
            found[step.line].append(f"{rule.operator or name} ({where}){told}")
    return found


class _Concrete:
    """From values of the spec to those of the reference: traces/steps/translation.py backwards."""

    def __init__(self, constants: AnyConstants) -> None:
        self._nodes = peers_of(constants)

    def struct(self, types: Sequence[type[msgspec.Struct]], value: Fields) -> Any:
        """The struct of one of these types, the one that the value's tag names."""
        of = next(each for each in types if _fits(each, value))
        return of(
            **{field.name: self._field(field, value[field.spec_name]) for field in fields_of(of)}
        )

    def _field(self, field: Field, value: Value) -> Any:
        if isinstance(value, frozenset):
            return tuple(sorted(self._member(field, each) for each in value))
        if field.many is Kind.BY_NODE and not isinstance(value, tuple):  # of 1..n it is a tuple
            entries: Any = value
            return tuple([self._member(field, entries[node]) for node in self._nodes])
        if isinstance(value, tuple):
            return tuple([self._member(field, each) for each in value])
        return self._member(field, value)

    def _member(self, field: Field, value: Value) -> Any:
        return self.struct(field.structs, value) if isinstance(value, Record) else value


def _fits(of: type[msgspec.Struct], value: Mapping[str, Value]) -> bool:
    config = of.__struct_config__
    return config.tag is None or value.get(str(config.tag_field)) == config.tag
