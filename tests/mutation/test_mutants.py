"""What each operator makes of a line, and which mutants are chosen."""

from __future__ import annotations

import pytest

from tests.mutation.mutants import OPERATORS, chosen, mutants

# operator, the body of a function, everything that the operator makes of it
MADE = [
    ("bound", "return a < b <= c", ["(a <= b <= c)", "(a < b < c)"]),
    ("opposite", "return a == b", ["(a != b)"]),
    ("opposite", "return a not in b", ["(a in b)"]),
    ("connective", "return a and b", ["(a or b)"]),
    ("connective", "return a | b - c", ["(a & b - c)", "(b + c)"]),
    ("connective", 'return a + "text"', []),
    ("clause", "return a and b and c", ["(b and c)", "(a and c)", "(a and b)"]),
    ("clause", "return a & b", ["(a)", "(b)"]),
    ("negation", "return not a", ["(a)"]),
    ("negation", "return ~a", ["(a)"]),
    ("condition", "if a: b()", ["True", "False"]),
    ("condition", "while a: b()", ["False"]),
    ("condition", "return [a for a in b if a]", ["True", "False"]),
    ("answer", "return a in b", ["True", "False"]),
    ("answer", "return True", ["False"]),
    ("number", "return a + 2", ["3", "(1)"]),
    ("number", "return True", []),
    ("end", "return a[0]", ["a[-1]"]),
    ("end", "return a[-1]", ["a[0]"]),
    ("end", "return a[1]", []),
    ("end", "return min(a)", ["max"]),
    ("end", "return a.any()", ["(a.all)"]),
    ("end", "return a.left", []),
    ("end", "return search(a, b, side='left')", ['"right"']),
    ("end", "return reversed(a)", ["(a)"]),
    ("once", "return Counter(a)", ["(Counter(dict.fromkeys(a)))"]),
    ("once", "return sorted(a, key=b)", ["(sorted(dict.fromkeys(a), key=b))"]),
    ("once", "return list()", []),
    ("once", "return tuple(dict.fromkeys(a))", []),
    ("slice", "return a[b:c]", ["a[b + 1:c]", "a[b:c - 1]"]),
    ("leaving", "for a in b:\n        continue", ["pass", "break"]),
    ("leaving", "if a:\n        return b\n    return c", ["pass"]),
    ("statement", "a.add(b)", ["pass"]),
    ("statement", "a += 1", ["pass"]),
    ("statement", "a[b] = c", ["pass"]),
    ("statement", "a = b", []),
    ("statement", '"""Text."""', []),
    ("statement", "raise A(b < c)", ["pass"]),
    ("statement", "raise NotImplementedError", []),
    ("statement", "assert a < b", []),
    ("bound", "assert a < b, f'{c < 3}'", []),
    ("field", "return a.b < a.c", ["a.c", "a.b"]),
    ("field", "return a.b() < a.c", []),
]


@pytest.mark.parametrize(("operator", "body", "made"), MADE)
def test_what_an_operator_makes(operator: str, body: str, made: list[str]) -> None:
    source = f"def f(a, b: int = 1 < 2, c=None) -> bool:\n    {body}\n"
    found = [each for each in mutants("m.py", source) if f"::{operator}#" in each.id]
    assert [each.now for each in found] == made
    assert [each.id for each in found] == [
        f"m.py::f::{operator}#{k}" for k in range(1, len(made) + 1)
    ]
    for each in found:
        compile(each.put_into(source.encode()), "m.py", "exec")


def test_every_operator_is_shown() -> None:
    assert {operator for operator, _, made in MADE if made} == set(OPERATORS)


SOURCE = '''
LIMIT = 3

class Log:
    def ends(self, é: str) -> int:
        """A text before: é."""
        raise_it = "é" if self.end < 3 else é  # é
        return raise_it
'''


def test_only_the_point_is_changed() -> None:
    """The rest stays byte for byte, whatever stands before it on the line."""
    found = {each.id: each for each in mutants("m.py", SOURCE)}
    bound = found["m.py::Log.ends::bound#1"]
    changed = SOURCE.replace("self.end < 3", "(self.end <= 3)")
    assert bound.put_into(SOURCE.encode()).decode() == changed
    assert (bound.line, bound.change) == (7, "self.end < 3 -> (self.end <= 3)")


def test_names_stay_when_other_functions_change() -> None:
    """Only so does a reason keep its mutant."""
    before = {each.id: each for each in mutants("m.py", SOURCE)}
    other = "def first(a: int) -> int:\n    return a + 1\n"
    after = {each.id: each for each in mutants("m.py", other + SOURCE)}
    assert before.keys() < after.keys()
    same = ("change", "digest")
    for id in before:
        assert [getattr(before[id], name) for name in same] == [
            getattr(after[id], name) for name in same
        ]


def test_the_choice_is_spread_and_stays() -> None:
    functions = [f"def f{k}(a, b):\n    return a < b and a + 1 < b\n" for k in range(8)]
    every = mutants("m.py", "".join(functions))
    some = chosen(every, 8)
    assert {each.function for each in some} == {f"f{k}" for k in range(8)}
    assert len({each.id.rpartition("::")[2] for each in some}) > 2
    assert chosen(every, 8) == some
    more = {each.id for each in chosen(every, 16)}
    assert {each.id for each in some} < more
    assert chosen(every, 10_000) == every
