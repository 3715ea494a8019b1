"""TLA+ values: what is written is read back, in one form, and TLC itself agrees."""

from __future__ import annotations

import copy
import pickle
import string

import pytest
from hypothesis import given, strategies as st

from tla_utils.runner import ModuleText, TlcJob, run_tlc
from tla_utils.values import (
    RESERVED,
    Function,
    ModelValue,
    Record,
    Value,
    function,
    parse,
    parse_prefix,
    parse_state,
    renamed,
    render,
)

identifiers = st.text(string.ascii_letters + string.digits + "_", min_size=1, max_size=6).filter(
    lambda text: any(c.isalpha() for c in text) and text not in RESERVED
)
integers = st.integers(-(2**31) + 1, 2**31 - 1)
strings = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"))
    .filter(str.isprintable)
    .filter(lambda c: c not in "\u2028\u2029")
    | st.sampled_from('"\\\n\t\r\f'),
    max_size=8,
)
booleans = st.booleans()
model_values = identifiers.filter(lambda n: n not in ("Int", "Nat", "Real")).map(ModelValue)


def _children(inner: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    # Sets and domains hold one kind of element, as TLC demands; Python would also merge 1 and True.
    homogeneous = [
        integers,
        strings,
        booleans,
        model_values,
        st.lists(integers, max_size=3).map(tuple),
    ]
    pairs = [st.dictionaries(key, inner, max_size=4).map(function) for key in homogeneous]
    sets = [st.frozensets(element, max_size=4) for element in homogeneous]
    return st.one_of(
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(identifiers, inner, min_size=1, max_size=4).map(Record),
        st.frozensets(st.builds(lambda a, b: Record(a=a, b=b), integers, strings), max_size=3),
        *sets,
        *pairs,
    )


values: st.SearchStrategy[Value] = st.recursive(
    integers | strings | booleans | model_values, _children, max_leaves=12
)


def same(left: object, right: object) -> bool:
    """Equality that tells True from 1, which Python's own does not."""
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, Record | Function) and isinstance(right, Record | Function):
        return list(left) == list(right) and all(map(same, left.values(), right.values()))
    return left == right


@given(values)
def test_what_is_rendered_is_parsed_back(value: Value) -> None:
    assert same(parse(render(value)), value)


@given(values)
def test_line_breaks_between_tokens_change_nothing(value: Value) -> None:
    text = render(value)
    assert same(parse(f"\n  {text}\n"), value)
    if '"' not in text:
        assert same(parse(text.replace(" ", "\n   ")), value)


@given(values)
def test_equal_values_have_equal_text_and_hash(value: Value) -> None:
    twin = pickle.loads(pickle.dumps(value))
    assert twin == value and hash(twin) == hash(value) and render(twin) == render(value)
    assert copy.deepcopy(value) == value


@given(st.text(max_size=30))
def test_any_text_is_a_value_or_a_value_error(text: str) -> None:
    try:
        value = parse(text)
    except ValueError:
        return
    if "-2147483648" not in text:  # TLC can compute it, but SANY cannot read it
        assert same(parse(render(value)), value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1..3", frozenset({1, 2, 3})),
        ("-1..1", frozenset({-1, 0, 1})),
        ("3..1", frozenset()),
        ("<< >>", ()),
        ("{}", frozenset()),
        ("(1 :> TRUE @@ 3 :> FALSE)", Function({1: True, 3: False})),
        ("(1 :> 5 @@ 2 :> 6)", (5, 6)),
        ('("a" :> 1 @@ "b" :> 2)', Record(a=1, b=2)),
        ('("a b" :> 1)', Record({"a b": 1})),
        ("((5 :> 1 @@ 6 :> 2) @@ (7 :> 3))", Function({5: 1, 6: 2, 7: 3})),
        ("(5 :> 1 @@ 5 :> 2)", Function({5: 1})),
        ("((5 :> 1) :> 2)", Function({Function({5: 1}): 2})),
        ("( 1 :> 2 @@\n  3 :>\n      ( 2 :> 4 @@\n 5 :> 4 ) )", None),
        ("[1a |-> m1]", Record({"1a": ModelValue("m1")})),
        ('"q\\"b\\\\ \\n"', 'q"b\\ \n'),
        ("{<<1, {}>>, <<2, {3}>>}", frozenset({(1, frozenset()), (2, frozenset({3}))})),
    ],
)
def test_forms_that_tlc_prints(text: str, value: Value | None) -> None:
    expected = function({1: 2, 3: function({2: 4, 5: 4})}) if value is None else value
    assert same(parse(text), expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 2",
        "<<1",
        "<<1,>>",
        "[a |-> 1, a |-> 2]",
        "Nat",
        "2147483648",
        "9" * 5000,
        "1..2000000",
        "Seq({1})",
        "SUBSET 1..17",
        "{1} \\X {2}",
        "(1)",
        "[x \\in S |-> 1]",
        "(1 :> 2 @@ 3)",
        "((5 :> 1) @@ 4)",
    ],
)
def test_what_is_not_a_finite_value_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


def test_a_value_can_be_read_amid_other_text() -> None:
    value, end = parse_prefix("see <<1, 2>> and more", 4)
    assert value == (1, 2) and end == 12


def test_states() -> None:
    assert parse_state("x = 1") == {"x": 1}
    assert parse_state("/\\ x = 1\n/\\ log = <<1,\n  2>>") == {"x": 1, "log": (1, 2)}
    for wrong in ("", "x = 1\ny = 2", "/\\ x = 1\n/\\ x = 2", "x : 1"):
        with pytest.raises(ValueError):
            parse_state(wrong)


def test_text_is_sorted() -> None:
    assert render(frozenset({10, 9, 1})) == "{1, 9, 10}"
    assert render(Record(b=1, a=frozenset({"y", "x"}))) == '[a |-> {"x", "y"}, b |-> 1]'
    assert render(Function({7: 1, 5: True})) == "((5 :> TRUE) @@ (7 :> 1))"


def test_records_are_immutable_and_read_like_attributes() -> None:
    record = Record(role="Leader", epoch=3)
    assert record.role == "Leader" and record["epoch"] == 3
    assert record.replace(epoch=4) == Record(role="Leader", epoch=4)
    assert {record: 1}[Record({"epoch": 3, "role": "Leader"})] == 1
    with pytest.raises(AttributeError, match="immutable"):
        record.role = "Follower"
    with pytest.raises(AttributeError, match="no field 'rolle'"):
        _ = record.rolle
    with pytest.raises(KeyError):
        record.replace(rolle=1)


def test_each_value_has_one_python_form() -> None:
    assert function({}) == () and function({2: "b", 1: "a"}) == ("a", "b")
    assert function({"a": 1}) == Record(a=1)
    assert isinstance(function({0: "a", 1: "b"}), Function)
    for sequence_or_record in ({}, {1: "a"}, {"a": 1}):
        with pytest.raises(ValueError):
            Function(sequence_or_record)
    with pytest.raises(ValueError):
        Record()


def test_model_values_are_renamed_wherever_they_are() -> None:
    n1, n2 = ModelValue("n1"), ModelValue("n2")
    value = Record(of=function({n1: frozenset({n2}), n2: (n1, "n1")}), other=ModelValue("x"))
    expected = Record(of=(frozenset({2}), (1, "n1")), other=ModelValue("x"))
    assert renamed(value, {"n1": 1, "n2": 2}) == expected


@pytest.mark.parametrize("wrong", [2**31, -(2**31), "bell \a"])
def test_what_tlc_cannot_hold_is_refused(wrong: Value) -> None:
    with pytest.raises(ValueError):
        render(wrong)


def test_other_python_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="list is not a TLA"):
        render([1])  # type: ignore[arg-type]


SAMPLES: list[Value] = [
    -7,
    2**31 - 1,
    'tab\t quote" back\\ line\n umlaut ä',
    (True, (), frozenset()),
    Record({"a": 1, "2b": ModelValue("mv"), "_c": frozenset({(1,), (2, 3)})}),
    Record({"no-identifier": 1, "IF": 2}),
    Function({5: "x", -2: Record(a=Function({(1,): 2}))}),
    Function({ModelValue("mv"): 1}),
    Function({True: 1, False: 0}),
    frozenset({frozenset({1}), frozenset({1, 2})}),
    # As an @@ chain without brackets this one would overflow TLC's stack.
    function({i: i % 3 for i in range(10, 2210)}),
    tuple(Record(offset=i, epoch=i // 9, value="v" * 9) for i in range(60)),
]


@pytest.mark.slow
@pytest.mark.tlc
def test_tlc_agrees() -> None:
    """TLC reads what we render as the value it is, and we read what TLC prints."""
    prints = "\n".join(f"  /\\ PrintT(<<{i}, {render(v)}>>)" for i, v in enumerate(SAMPLES))
    text = (
        "---- MODULE Samples ----\nEXTENDS Integers, TLC\nCONSTANT mv\nVARIABLE x\n"
        f"Init == x = 0\n{prints}\nNext == UNCHANGED x\n====\n"
    )
    result = run_tlc(TlcJob(ModuleText("Samples", text), "INIT Init\nNEXT Next\nCONSTANT mv = mv"))
    assert result.verdict == "holds"
    printed = result.printed_values()
    assert len(printed) == len(SAMPLES)
    for index, value in enumerate(SAMPLES):
        assert same(printed[index], (index, value))
