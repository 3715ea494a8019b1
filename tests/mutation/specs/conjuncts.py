"""The guards of a definition, one at a time dropped or fixed: mutants by the text.

    conjunct   an operand of a conjunction, wherever in the body that stands; TRUE in its place
    disjunct   an operand of a disjunction; FALSE in its place
    arm        the condition of an arm of a CASE; FALSE in its place
    always     a condition that is not put together: that of an IF, or a whole decision; TRUE
    never      the same; FALSE in its place

Law of this file: it knows which words of TLA+ an operand cannot reach across, and no more grammar.
So an operand of `/\\` that begins with IF or LET, or is a list of `\\/` itself, is left as it is,
and parts of it are taken. TLC parses what comes out; whether it differs from the original, and from
the correct protocol, is seen there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tla_utils.definitions import Text

_COMMENT = re.compile(r"\(\*.*?\*\)|\\\*[^\n]*", re.DOTALL)
_TOKEN = re.compile(
    r'"[^"\n]*"|<<|>>|/\\|\\/|<=>|=>|\|->|->|\[\]|==|[()\[\]{}:,!]|\\[A-Za-z]+|[A-Za-z0-9_]+'
)
_OPEN, _CLOSE = frozenset({"(", "[", "{", "<<"}), frozenset({")", "]", "}", ">>"})
_BOUNDS = frozenset(
    {
        *("/\\", "\\/", "=>", "<=>", "|->", "->", "[]", "==", ":", ",", "!"),
        *("CASE", "OTHER", "IF", "THEN", "ELSE", "LET", "IN", "CHOOSE", "EXCEPT"),
    }
)
_NO_CONDITION = frozenset({"/\\", "\\/", "CASE", "IF", "LET", "CHOOSE", "[]", "->", "|->"})
_RELATION = re.compile(r"[#=<>~]|\\(?:in|notin|A|E)\b")
CONJUNCT, DISJUNCT, ARM, ALWAYS, NEVER = "conjunct", "disjunct", "arm", "always", "never"
# In a LET the next definition begins behind an operand, on a line of its own.
_NEXT_NAME = re.compile(r"\n[ \t]*\w+(?:\([^()]*\))?\s*$")


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard. kind: what is done to it, see above. number: from 1, within its definition. text:
    as it is written. body: the definition's body without it.
    """

    kind: str
    number: int
    text: str
    body: str


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    end: int
    depth: int


def guards(found: Text) -> Iterator[Guard]:
    """Every guard of a definition, in the order of its text."""
    body = _COMMENT.sub(lambda comment: " " * len(comment[0]), found.body)
    found_spans = {
        *_operands(body, "/\\", CONJUNCT),
        *_operands(body, "\\/", DISJUNCT),
        *_arms(body),
        *_conditions(body),
        *_whole(body),
    }
    spans = sorted(found_spans)
    for number, (start, end, kind) in enumerate(spans, 1):
        instead = "TRUE" if kind in (CONJUNCT, ALWAYS) else "FALSE"
        text = " ".join(body[start:end].split())
        yield Guard(kind, number, text, body[:start] + instead + body[end:])


def _tokens(body: str) -> list[_Token]:
    """All tokens that matter here; a bracket's depth is that of what stands around it."""
    tokens, depth = [], 0
    for match in _TOKEN.finditer(body):
        depth -= match[0] in _CLOSE
        tokens.append(_Token(match[0], match.start(), match.end(), depth))
        depth += match[0] in _OPEN
    return tokens


def _operands(body: str, sign: str, kind: str) -> Iterator[tuple[int, int, str]]:
    tokens = _tokens(body)
    for at, token in enumerate(tokens):
        if token.text != sign:
            continue
        spans = [_behind(body, tokens, at)]
        # A sign at the beginning of a line is a bullet, and has nothing to its left.
        if body[body.rfind("\n", 0, token.start) + 1 : token.start].strip():
            spans.append(_before(body, tokens, at))
        for start, end in spans:
            if body[start:end].strip():
                yield _trimmed(body, start, end, kind)


def _before(body: str, tokens: list[_Token], at: int) -> tuple[int, int]:
    """The operand to the left of a conjunction sign."""
    end, depth = tokens[at].start, tokens[at].depth
    for token in reversed(tokens[:at]):
        bound = token.depth == depth and token.text in _BOUNDS
        if bound or (token.depth < depth and token.text in _OPEN):
            return token.end, end
    return 0, end


def _behind(body: str, tokens: list[_Token], at: int) -> tuple[int, int]:
    """The operand to the right of a conjunction sign."""
    start, depth = tokens[at].end, tokens[at].depth
    for token in tokens[at + 1 :]:
        if token.depth < depth and token.text in _CLOSE:
            return start, token.start
        if token.depth == depth and token.text in _BOUNDS:
            end = token.start
            if token.text == "==":
                name = _NEXT_NAME.search(body, start, end)
                end = name.start() if name else end
            # A quantifier or an IF is no operand of this sign alone; its parts are.
            reaches = token.text in ("IF", "CASE", "LET", "CHOOSE", ":", "!", "EXCEPT")
            return (start, start) if reaches else (start, end)
    return start, len(body)


def _arms(body: str) -> Iterator[tuple[int, int, str]]:
    tokens = _tokens(body)
    for at, token in enumerate(tokens):
        if token.text not in ("CASE", "[]"):
            continue
        arrow = next(
            (t for t in tokens[at + 1 :] if t.depth == token.depth and t.text == "->"), None
        )
        if arrow is not None and body[token.end : arrow.start].strip() != "OTHER":
            yield _trimmed(body, token.end, arrow.start, ARM)


def _conditions(body: str) -> Iterator[tuple[int, int, str]]:
    tokens = _tokens(body)
    for at, token in enumerate(tokens):
        if token.text == "IF":
            # The next THEN of this depth is its own: another IF would be in brackets before it.
            then = next(t for t in tokens[at + 1 :] if t.depth == token.depth and t.text == "THEN")
            for kind in (ALWAYS, NEVER):
                yield _trimmed(body, token.end, then.start, kind)


def _whole(body: str) -> Iterator[tuple[int, int, str]]:
    """The body itself, if it is a condition in one piece."""
    bare = body.strip()
    if bare in ("TRUE", "FALSE"):
        yield _trimmed(body, 0, len(body), NEVER if bare == "TRUE" else ALWAYS)
        return
    outside = _outside_brackets(body)
    if any(t.text in _NO_CONDITION for t in _tokens(outside)) or not _RELATION.search(outside):
        return
    for kind in (ALWAYS, NEVER):
        yield _trimmed(body, 0, len(body), kind)


def _outside_brackets(body: str) -> str:
    kept, at, opened = "", 0, 0
    for token in _tokens(body):
        if token.depth == 0 and token.text in _OPEN:
            opened = token.start
        elif token.depth == 0 and token.text in _CLOSE:
            kept, at = f"{kept}{body[at:opened]} ", token.end
    return kept + body[at:]


def _trimmed(body: str, start: int, end: int, kind: str) -> tuple[int, int, str]:
    text = body[start:end]
    left = len(text) - len(text.lstrip())
    return start + left, start + len(text.rstrip()), kind
