"""Mutants of a Python module: one point of one function changed, as text.

A mutant is named by function, operator and number within both, so that edits elsewhere leave its
name alone. What is patched is the source itself: the rest of the file stays byte for byte, and a
traceback has its lines.

Not mutated: what stands outside of functions, annotations, decorators, defaults, docstrings, the
words of errors (f-strings, what follows `raise`), and what is asserted, which decides nothing.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple


class Mutant(NamedTuple):
    """id: path::function::operator#number. line, begin: where, the latter in bytes. was, now: what
    is exchanged. digest: of the function as it is correct.
    """

    id: str
    path: str
    function: str
    line: int
    begin: int
    was: str
    now: str
    digest: str

    @property
    def change(self) -> str:
        """On one line."""
        return f"{_one_line(self.was)} -> {_one_line(self.now)}"

    def put_into(self, source: bytes) -> bytes:
        """The whole file with it."""
        rest = source[self.begin + len(self.was.encode()) :]
        return source[: self.begin] + self.now.encode() + rest


class _Place(NamedTuple):
    """What an operator may ask about the node that it is shown."""

    parent: ast.AST
    function: ast.AST
    last: bool
    """The node is the function's last statement."""


_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Change = tuple[ast.AST, str]
"""The node whose text is replaced, and by what."""
_Operator = Callable[[ast.AST, _Place], Iterator[_Change]]


def mutants(path: str, source: str) -> list[Mutant]:
    """Every mutant of the file, in the order of its text. path: as git prints it."""
    numbers: Counter[str] = Counter()
    offsets = _line_offsets(source)
    data = source.encode()
    found, seen = [], set()
    for name, node, place in _places(ast.parse(source)):
        digest = hashlib.sha256(_text(data, offsets, place.function)).hexdigest()[:12]
        for operator, change in OPERATORS.items():
            for target, now in change(node, place):
                begin, end = _span(offsets, target)
                if (begin, end, now) in seen:
                    continue
                seen.add((begin, end, now))
                numbers[label := f"{path}::{name}::{operator}"] += 1
                was, id = data[begin:end].decode(), f"{label}#{numbers[label]}"
                line = data.count(b"\n", 0, begin) + 1
                found.append(Mutant(id, path, name, line, begin, was, now, digest))
    return found


def chosen(every: list[Mutant], count: int, path: str = "") -> list[Mutant]:
    """So many of them, or all: the same ones always, spread over functions and operators.

    One of each function, then a second with another operator, those of LATER after the others. The
    order among functions, and of what one operator makes of a function, is that of a hash of names.
    path: that the file had when they were first chosen, if it has moved; or whatever else makes
    other hashes.
    """
    same, ranks = Counter[str](), Counter[str]()
    alike = []
    hashes = {mutant: _hash(mutant, path) for mutant in every}
    for mutant in sorted(every, key=hashes.__getitem__):
        kind = mutant.id.partition("#")[0]
        same[kind] += 1
        later = kind.rpartition("::")[2] in LATER
        alike.append((same[kind] + later, hashes[mutant], mutant))
    ranked = []
    for _, name, mutant in sorted(alike, key=lambda each: each[:2]):
        ranks[mutant.function] += 1
        ranked.append((ranks[mutant.function], name, mutant.id))
    taken = {id for _, _, id in sorted(ranked)[:count]}
    return [mutant for mutant in every if mutant.id in taken]


def _hash(mutant: Mutant, path: str) -> str:
    name = mutant.id.removeprefix(mutant.path)
    return hashlib.sha256(f"{path or mutant.path}{name}".encode()).hexdigest()


# -- Where


def outermost(module: ast.Module) -> Iterator[tuple[str, _Function]]:
    """Every function that stands in no other one, with its name."""

    def below(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[str, _Function]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield ".".join((*names, child.name)), child
            elif isinstance(child, ast.ClassDef):
                yield from below(child, (*names, child.name))
            elif isinstance(child, ast.Lambda):
                yield ".".join((*names, "lambda")), child
            else:
                yield from below(child, names)

    yield from below(module, ())


def _places(module: ast.Module) -> Iterator[tuple[str, ast.AST, _Place]]:
    """Every node of a function's body, with the name of the function (of the outermost, if it
    stands in several) and its place.
    """
    for name, function in outermost(module):
        yield from _within(function, name)


def _within(function: _Function, name: str) -> Iterator[tuple[str, ast.AST, _Place]]:
    body = function.body
    last = body[-1] if isinstance(body, list) else body

    def visit(node: ast.AST, parent: ast.AST) -> Iterator[tuple[str, ast.AST, _Place]]:
        yield name, node, _Place(parent, function, node is last)
        for field, value in ast.iter_fields(node):
            if _is_skipped(node, field):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from visit(child, node)

    for statement in body if isinstance(body, list) else [body]:
        yield from visit(statement, function)


def _is_skipped(node: ast.AST, field: str) -> bool:
    if isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert) or field in (
        "annotation",
        "returns",
    ):
        return True
    return field in ("decorator_list", "defaults", "kw_defaults")


def _line_offsets(source: str) -> list[int]:
    offsets = [0]
    for line in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line.encode()))
    return offsets


def _span(offsets: list[int], node: ast.AST) -> tuple[int, int]:
    # Columns of `ast` count bytes.
    assert isinstance(node, ast.expr | ast.stmt)
    assert node.end_lineno is not None and node.end_col_offset is not None
    begin = offsets[node.lineno - 1] + node.col_offset
    return begin, offsets[node.end_lineno - 1] + node.end_col_offset


def _text(data: bytes, offsets: list[int], node: ast.AST) -> bytes:
    begin, end = _span(offsets, node)
    return data[begin:end]


def _one_line(text: str) -> str:
    return " ".join(text.split())


# -- Operators


def _unparsed(node: ast.AST) -> str:
    # Patched over several lines or inside of another expression, it has to keep together.
    return f"({ast.unparse(node)})"


_BOUNDS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_OPPOSITES: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}


def _compared(
    node: ast.AST, exchanged: dict[type[ast.cmpop], type[ast.cmpop]]
) -> Iterator[_Change]:
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            if type(op) in exchanged:
                other = copy.deepcopy(node)
                other.ops[k] = exchanged[type(op)]()
                yield node, _unparsed(other)


def _bound(node: ast.AST, place: _Place) -> Iterator[_Change]:
    yield from _compared(node, _BOUNDS)


def _opposite(node: ast.AST, place: _Place) -> Iterator[_Change]:
    yield from _compared(node, _OPPOSITES)


_CONNECTIVES: Final[dict[type[ast.boolop], ast.boolop]] = {ast.And: ast.Or(), ast.Or: ast.And()}
_SIGNS: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}


def _connective(node: ast.AST, place: _Place) -> Iterator[_Change]:
    if isinstance(node, ast.BoolOp):
        yield node, _unparsed(ast.BoolOp(_CONNECTIVES[type(node.op)], node.values))
    elif isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        if _is_display(node.left) or _is_display(node.right):
            return
        yield node, _unparsed(ast.BinOp(node.left, _SIGNS[type(node.op)](), node.right))


def _is_display(node: ast.expr) -> bool:
    # Texts and lists have no difference; such a mutant would say nothing.
    texts = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return texts or isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp)


def _clause(node: ast.AST, place: _Place) -> Iterator[_Change]:
    """One operand of `and`, `or`, `&`, `|` dropped."""
    if isinstance(node, ast.BoolOp):
        for k in range(len(node.values)):
            rest = [*node.values[:k], *node.values[k + 1 :]]
            yield node, _unparsed(rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        yield node, _unparsed(node.left)
        yield node, _unparsed(node.right)


def _negation(node: ast.AST, place: _Place) -> Iterator[_Change]:
    """`not` and `~` dropped."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        yield node, _unparsed(node.operand)


def _condition(node: ast.AST, place: _Place) -> Iterator[_Change]:
    """A condition that always holds, or never; one of a loop, never."""
    if isinstance(node, ast.If | ast.IfExp):
        yield node.test, "True"
        yield node.test, "False"
    elif isinstance(node, ast.While):
        yield node.test, "False"
    elif isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield test, "True"
            yield test, "False"


def _answer(node: ast.AST, place: _Place) -> Iterator[_Change]:
    """What says yes or no says always the same."""
    returns = getattr(place.function, "returns", None)
    if isinstance(node, ast.Return) and isinstance(returns, ast.Name) and returns.id == "bool":
        for now in ("True", "False"):
            if node.value is not None and ast.unparse(node.value) != now:
                yield node.value, now


def _number(node: ast.AST, place: _Place) -> Iterator[_Change]:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield node, str(node.value + 1)
        yield node, f"({node.value - 1})"


_SWAPPED: Final = {"min": "max", "any": "all", "minimum": "maximum", "left": "right"}
_SWAPS: Final = _SWAPPED | {now: was for was, now in _SWAPPED.items()}


def _end(node: ast.AST, place: _Place) -> Iterator[_Change]:
    """The first for the last, the least for the greatest, one for all."""
    if isinstance(node, ast.Subscript) and ast.unparse(node.slice) in ("0", "-1"):
        other = copy.deepcopy(node)
        other.slice = ast.Constant(-1 if ast.unparse(node.slice) == "0" else 0)
        yield node, ast.unparse(other)
    elif isinstance(node, ast.Name) and node.id in _SWAPS and _is_called(node, place):
        yield node, _SWAPS[node.id]
    elif isinstance(node, ast.Attribute) and node.attr in _SWAPS:
        if _is_called(node, place) or node.attr in ("minimum", "maximum"):
            yield node, _unparsed(ast.Attribute(node.value, _SWAPS[node.attr], node.ctx))
    elif isinstance(node, ast.Constant) and node.value in ("left", "right"):
        yield node, f'"{_SWAPS[node.value]}"'
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "reversed":
        yield node, _unparsed(node.args[0])


def _is_called(node: ast.AST, place: _Place) -> bool:
    return isinstance(place.parent, ast.Call) and place.parent.func is node


_COUNTING: Final = ("list", "tuple", "sorted", "Counter")


def _once(node: ast.AST, place: _Place) -> Iterator[_Change]:
    """What occurs twice counts once."""
    counts = isinstance(node, ast.Call) and ast.unparse(node.func) in _COUNTING
    if isinstance(node, ast.Call) and counts and node.args:
        of = node.args[0]
        distinct = isinstance(of, ast.Call) and ast.unparse(of.func) in ("dict.fromkeys", "set")
        if isinstance(of, ast.Starred) or distinct:
            return
        other = copy.deepcopy(node)
        keys = ast.Attribute(ast.Name("dict", ast.Load()), "fromkeys", ast.Load())
        other.args[0] = ast.Call(keys, [node.args[0]], [])
        yield node, _unparsed(other)


def _slice(node: ast.AST, place: _Place) -> Iterator[_Change]:
    """One short, at either end."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        for field, op in (("lower", ast.Add()), ("upper", ast.Sub())):
            bound = getattr(node.slice, field)
            if bound is not None:
                other = copy.deepcopy(node)
                setattr(other.slice, field, ast.BinOp(bound, op, ast.Constant(1)))
                yield node, ast.unparse(other)


def _leaving(node: ast.AST, place: _Place) -> Iterator[_Change]:
    """An early `return`, `continue` or `break` dropped; a loop left that should go on."""
    if isinstance(node, ast.Continue):
        yield node, "pass"
        yield node, "break"
    elif isinstance(node, ast.Break) or (isinstance(node, ast.Return) and not place.last):
        yield node, "pass"


_DROPPED: Final = (ast.AugAssign, ast.Raise, ast.Delete)


def _statement(node: ast.AST, place: _Place) -> Iterator[_Change]:
    """A statement dropped that leaves no name undefined."""
    dropped = isinstance(node, _DROPPED)
    if isinstance(node, ast.Expr):
        dropped = not isinstance(node.value, ast.Constant)
    elif isinstance(node, ast.Assign):
        dropped = all(isinstance(each, ast.Subscript | ast.Attribute) for each in node.targets)
    elif isinstance(node, ast.Raise) and node.exc is not None:
        dropped = ast.unparse(node.exc) != "NotImplementedError"
    if dropped:
        yield node, "pass"


def _field(node: ast.AST, place: _Place) -> Iterator[_Change]:
    """A field exchanged for the next one that the function reads of the same thing."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return
    if not isinstance(node.ctx, ast.Load) or _is_called(node, place):
        return
    called = {id(each.func) for each in ast.walk(place.function) if isinstance(each, ast.Call)}
    read = [
        each.attr
        for each in ast.walk(place.function)
        if isinstance(each, ast.Attribute)
        and isinstance(each.ctx, ast.Load)
        and ast.unparse(each.value) == node.value.id
        and id(each) not in called
    ]
    fields = list(dict.fromkeys(read))
    if len(fields) > 1:
        other = fields[(fields.index(node.attr) + 1) % len(fields)]
        yield node, f"{node.value.id}.{other}"


OPERATORS: Final[dict[str, _Operator]] = {
    "bound": _bound,
    "opposite": _opposite,
    "connective": _connective,
    "clause": _clause,
    "negation": _negation,
    "condition": _condition,
    "answer": _answer,
    "number": _number,
    "end": _end,
    "once": _once,
    "slice": _slice,
    "leaving": _leaving,
    "statement": _statement,
    "field": _field,
}
LATER: Final = ("number", "statement", "field")
"""There are many of these, and most are noticed at once."""
