"""EDN as Clojure prints it, read in one pass: values with the line that each begins on.

Written here because no library on PyPI fits: edn_format 0.8 reads 0.3 MB/s, knows no lines, wants
the whole document at once, and takes `1.5e` for 1.5; the others are older still. Source of the
notation: the EDN specification (edn-format/edn), and what Clojure's printer adds to it: ratios,
octal escapes, namespaced maps and `##Inf`.

    nil true false 1 1N 2.5 2.5M   None, Truth, int, Real
    1/2  \\c                        Symbol: exact, and no history needs its value
    "text"                         str
    :word  word                    Keyword, Symbol
    [a b] (a b)                    tuple
    {k v}  #{a}                    dict, frozenset (inside a key or a set: Map)
    #tag value                     Tagged
    #_ value  ; to the end         nothing
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kraftcheck.osutil.files import LINE_MAX
from kraftcheck.traces.formats.text import DEPTH_MAX, DIGITS_MAX, TOKEN_MAX, shown, too_long
from kraftcheck.traces.history import HistoryError
from kraftcheck.traces.values import FALSE, TRUE, Map, Real, Word


class Keyword(Word):
    """A keyword with its colon."""

    __slots__ = ()


_SHARED: Final[dict[str, Keyword]] = {}


def keyword(text: str) -> Keyword:
    """The keyword that every reader has for `text`: it is found without comparing characters."""
    return _SHARED.setdefault(text, Keyword(text))


class Symbol(Word):
    """A bare word that is neither nil, true, false nor a number we compute with; a character."""

    __slots__ = ()


class Tagged(NamedTuple):
    """`#tag value`."""

    tag: str
    value: Any


# The last alternative takes any character that fits nowhere, so that nothing is stepped over.
_TOKENS: Final = re.compile(
    r"""[\s,]++
    |([-+]?[0-9]++)(?![^\s,()\[\]{}";])               # 1 integer
    |(:[^\s,()\[\]{}";\\@^`~]++)                      # 2 keyword
    |([\[({])                                         # 3 opening
    |([\])}])                                         # 4 closing
    |"([^"\\]*+(?:\\.[^"\\]*+)*+)"                    # 5 string
    |\\([A-Za-z][A-Za-z0-9]*+|\S)                     # 6 character
    |(\#[{_]|\#\#-?[A-Za-z]++|\#:?[A-Za-z][^\s,()\[\]{}";]*+)  # 7 dispatch
    |;[^\n]*+
    |([^\s,()\[\]{}";\\@^`~:\#][^\s,()\[\]{}";\\@^`~]*+)       # 8 symbol or another number
    |(.)                                              # 9 nothing that can stand here
    """,
    re.X | re.S,
)
_NUMBER = re.compile(r"[-+]?[0-9]+(?:(N)|/[0-9]+|(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?M?)")
_HEX = re.compile(r"[-+]?0[xX][0-9a-fA-F]+")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.S)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\"}
_CHARACTERS: Final = {"newline": "\n", "space": " ", "tab": "\t", "return": "\r"} | {
    "backspace": "\b",
    "formfeed": "\f",
}
_NAMES: Final = {character: name for name, character in _CHARACTERS.items()}
_WORDS: Final[dict[str, Any]] = {"nil": None, "true": TRUE, "false": FALSE}
_SYMBOLIC: Final = {"##Inf": Real("inf"), "##-Inf": Real("-inf"), "##NaN": Real("nan")}
_CLOSED_BY: Final = {"[": "]", "(": ")", "{": "}", "#{": "}"}


def read_forms(text: str, path: str) -> Iterator[tuple[int, Any]]:
    """(line, value) of every form in the text, one at a time; of a whole vector, its elements.

    A file that is one vector or list is read as what stands in it, so that both ways of writing a
    history look alike and neither is in memory twice.

    Raises HistoryError at the first thing that is not EDN, or where the text breaks off.
    """
    try:
        yield from _Reader(text, path).forms()
    except _Bad as bad:
        line = text.count("\n", 0, bad.at) + 1
        raise HistoryError(path, line, bad.reason) from None


class _Bad(Exception):
    def __init__(self, at: int, reason: str) -> None:
        super().__init__(reason)
        self.at, self.reason = at, reason


class _Frame(NamedTuple):
    """A collection, tag or discard that is still open."""

    kind: str
    items: list[Any]
    at: int


class _Reader:
    """The state of one pass: what is open, and the keywords that were seen."""

    def __init__(self, text: str, path: str) -> None:
        self._text, self._path = text, path
        self._frames: list[_Frame] = []
        self._items: list[Any] = []
        # Whether the innermost frame is a tag or discard, which takes one value and closes.
        self._prefixed = False
        self._cut = 0
        self._keywords = dict(_SHARED)
        # Whether a vector stands around everything, where it began, and whether it is still open.
        self._fresh = True
        self._streamed = False

    def forms(self) -> Iterator[tuple[int, Any]]:
        text = self._text
        line, counted = 1, 0
        begin, most = -1, 0
        complete = self._items
        for match in _TOKENS.finditer(text):
            group = match.lastindex
            if group is None:
                continue
            if begin < 0:
                begin = match.start()
                most = begin + LINE_MAX
            if group == 1:
                token = match.group(1)
                if len(token) > DIGITS_MAX:
                    raise _Bad(match.start(), _digits(token))
                self._items.append(int(token))
                if self._prefixed:
                    self._apply()
            elif group == 2:
                token = match.group(2)
                word = self._keywords.get(token)
                self._items.append(self._keyword(token, match.start()) if word is None else word)
                if self._prefixed:
                    self._apply()
            elif group == 3:
                if match.start() > most:
                    raise _Bad(begin, f"operation of more than {LINE_MAX:,} characters")
                if self._fresh and self._streams(match):
                    begin = -1
                    continue
                self._open(match.group(3), match.start())
            elif group == 4:
                if match.start() > most:
                    raise _Bad(begin, f"operation of more than {LINE_MAX:,} characters")
                if self._ends(match):
                    begin = -1
                    continue
                self._close(match.group(4), match.start())
            else:
                self._other(group, match)
            if not self._frames:
                self._fresh = False
                if complete:
                    line += text.count("\n", counted, begin)
                    counted = begin
                    yield line, complete.pop()
                begin = -1
        if self._frames:
            last = self._frames[0]
            raise _Bad(last.at, f"breaks off: {shown(last.kind)} is never closed")
        if self._streamed and self._cut >= 0:
            raise _Bad(self._cut, "breaks off: [ is never closed")

    # -- The outermost vector, whose elements are the forms

    def _streams(self, match: re.Match[str]) -> bool:
        """Whether this, the first form of all, opens a vector around everything."""
        self._fresh = False
        if self._frames or match.group(3) == "{":
            return False
        self._streamed, self._cut = True, match.start()
        return True

    def _ends(self, match: re.Match[str]) -> bool:
        """Whether this closes the vector around everything."""
        if self._frames or not self._streamed or self._cut < 0:
            return False
        opened = self._text[self._cut]
        if match.group(4) != _CLOSED_BY[opened]:
            raise _Bad(match.start(), f"{match.group(4)} closes {opened}")
        self._cut = -1
        return True

    # -- Tokens

    def _keyword(self, token: str, at: int) -> Keyword:
        if len(token) > TOKEN_MAX:
            raise _Bad(at, too_long(len(token)))
        return self._keywords.setdefault(token, Keyword(token))

    def _other(self, group: int, match: re.Match[str]) -> None:
        token, at = match.group(group), match.start()
        if len(token) > TOKEN_MAX:
            raise _Bad(at, too_long(len(token)))
        if group == 7 and not token.startswith("##"):
            self._open(token, at)
            return
        if group == 9:
            raise _Bad(at, self._nothing(token, at))
        value: Any
        if group == 5:
            value = _unescaped(token, at) if "\\" in token else token
        elif group == 6:
            character = _character(token, at)
            value = Symbol("\\" + _NAMES.get(character, character))
        elif group == 7:
            if token not in _SYMBOLIC:
                raise _Bad(at, f"{shown(token)} is no number")
            value = _SYMBOLIC[token]
        else:
            value = _word(token, at)
        self._items.append(value)
        if self._prefixed:
            self._apply()

    def _nothing(self, token: str, at: int) -> str:
        if token == '"':
            length = len(self._text) - at
            return too_long(length) if length > TOKEN_MAX else "breaks off: a string never ends"
        return f"{shown(token)!r} cannot stand here"

    # -- Collections

    def _open(self, kind: str, at: int) -> None:
        if len(self._frames) >= DEPTH_MAX:
            raise _Bad(at, f"nested deeper than {DEPTH_MAX}")
        self._frames.append(_Frame(kind, self._items, at))
        self._items = []
        self._prefixed = kind not in _CLOSED_BY

    def _close(self, closing: str, at: int) -> None:
        if not self._frames:
            raise _Bad(at, f"{closing} closes nothing")
        kind, outer, _ = self._frames.pop()
        if _CLOSED_BY.get(kind) != closing:
            raise _Bad(at, f"{closing} closes {shown(kind)}")
        items, self._items = self._items, outer
        if kind in "[(":
            value: Any = tuple(items)
        elif kind == "{":
            value = _map(items, at)
        else:
            value = frozenset(_frozen(item) for item in items)
            if len(value) < len(items):
                raise _Bad(at, "a set holds the same element twice")
        outer.append(value)
        self._prefixed = bool(self._frames) and self._frames[-1].kind not in _CLOSED_BY
        if self._prefixed:
            self._apply()

    def _apply(self) -> None:
        """The value that just came belongs to a tag or discard, and so on outwards."""
        while self._frames and self._frames[-1].kind not in _CLOSED_BY:
            kind, outer, _ = self._frames.pop()
            value = self._items.pop()
            self._items = outer
            if kind == "#_":
                break
            outer.append(Tagged(kind[1:], value))
        self._prefixed = bool(self._frames) and self._frames[-1].kind not in _CLOSED_BY


def _map(items: list[Any], at: int) -> dict[Any, Any]:
    if len(items) % 2:
        raise _Bad(at, "a map holds a key without a value")
    keys = items[::2]
    try:
        value = dict(zip(keys, items[1::2], strict=True))
    except TypeError:
        keys = [_frozen(key) for key in keys]
        value = dict(zip(keys, items[1::2], strict=True))
    if len(value) < len(keys):
        raise _Bad(at, "a map holds the same key twice")
    return value


def _frozen(value: Any) -> Any:
    """The value as something that can be looked up."""
    if isinstance(value, dict):
        return Map(frozenset((_frozen(k), _frozen(v)) for k, v in value.items()))
    if isinstance(value, Tagged):
        return Tagged(value.tag, _frozen(value.value))
    if isinstance(value, tuple):
        return tuple(_frozen(each) for each in value)
    return value


def _word(token: str, at: int) -> Any:
    if token in _WORDS:
        return _WORDS[token]
    if not token[0].isdigit() and not (token[0] in "+-" and token[1:2].isdigit()):
        return Symbol(token)
    if len(token) > DIGITS_MAX:
        raise _Bad(at, _digits(token))
    if _HEX.fullmatch(token):
        return int(token, 16)
    number = _NUMBER.fullmatch(token)
    if number is None:
        raise _Bad(at, f"{shown(token)} is no number")
    if number.group(1):
        return int(token[:-1])
    return Symbol(token) if "/" in token else Real(token.removesuffix("M"))


def _digits(token: str) -> str:
    if len(token) > TOKEN_MAX:
        return too_long(len(token))
    return f"number of {len(token):,} digits, at most {DIGITS_MAX} are read"


def _character(token: str, at: int) -> str:
    if len(token) == 1:
        return token
    if token in _CHARACTERS:
        return _CHARACTERS[token]
    if re.fullmatch(r"u[0-9a-fA-F]{4}", token):
        return _scalar(int(token[1:], 16), at)
    if re.fullmatch(r"o[0-3]?[0-7]{1,2}", token):
        return chr(int(token[1:], 8))
    raise _Bad(at, f"\\{shown(token)} is no character")


def _unescaped(token: str, at: int) -> str:
    text = _ESCAPE.sub(lambda escape: _escaped(escape, at), token)
    try:
        # Java writes characters beyond the first 65,536 as two halves.
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise _Bad(at, "a string holds half a character") from None


def _escaped(escape: re.Match[str], at: int) -> str:
    unicode, octal, plain = escape.groups()
    if unicode:
        return chr(int(unicode, 16))
    if octal:
        return chr(int(octal, 8))
    if plain not in _ESCAPED:
        raise _Bad(at, f"\\{shown(plain)} is no escape in a string")
    return _ESCAPED[plain]


def _scalar(code: int, at: int) -> str:
    if 0xD800 <= code < 0xE000:
        raise _Bad(at, f"\\u{code:04x} is half a character")
    return chr(code)
