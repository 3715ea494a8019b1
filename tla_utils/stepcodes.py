"""Rows of positions as letters in TLA+ strings, and the expressions that read them back.

TLC's parser spends about 3 microseconds and 2.5 kB on each token. A string is one token, and TLC's
`SubSeq` takes strings. So rows of equal width stand side by side in strings of up to LINE letters.
A position in a row is as many letters as it needs: the digits of its number in base 52, the highest
first. Letters, because a record can have a field of that name, and a record with a field for each
letter is the quickest table from a letter to a number that TLC has.

Law of this file: what an expression reads is what was written, for every position (the tests let
TLC compare).
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters
from typing import Final

BASE: Final = len(ascii_letters)
LINE: Final = 100


def letters_for(size: int) -> int:
    """How many letters hold any position below `size`: none, if there is but one."""
    letters = 0
    while BASE**letters < size:
        letters += 1
    return letters


def code(position: int, letters: int) -> str:
    """A position, counted from 0, in so many letters."""
    digits = ""
    for _ in range(letters):
        position, digit = divmod(position, BASE)
        digits = ascii_letters[digit] + digits
    return digits


def position_read(row: str, columns: Sequence[str]) -> str:
    """Write the expression for a position whose letters stand at these columns of a row.

    Positions are counted from 1.
    """
    places = [BASE**place for place in reversed(range(len(columns)))]
    digits = [
        f"SB_{place}s[SubSeq({row}, {column}, {column})]"
        for place, column in zip(places, columns, strict=True)
    ]
    return " + ".join(digits) or "1"


def digit_tables(letters: int) -> list[tuple[str, list[str]]]:
    """Give names and fields of the records that `position_read` needs for so many letters.

    They say what a letter is worth in each place. The lowest place counts from 1, as sequences do.
    """
    tables = []
    for place in [BASE**n for n in range(letters)]:
        first = 1 if place == 1 else 0
        fields = [f"{letter} |-> {n * place + first}" for n, letter in enumerate(ascii_letters)]
        tables.append((f"SB_{place}s", fields))
    return tables


def row_strings(rows: Sequence[str], letters: int) -> list[str]:
    """Write literals that hold rows of so many letters, behind a blank one.

    So row 1 is the second, which spares TLC a subtraction for each row.
    """
    count = _rows_of_line(letters)
    padded = ["a" * letters, *rows]
    return [f'"{"".join(padded[at : at + count])}"' for at in range(0, len(padded), count)]


def row_read(name: str, number: str, letters: int) -> str:
    """The expression for row `number`, counted from 1, of the sequence `name` of such literals."""
    count = _rows_of_line(letters)
    if count == 1:
        return f"{name}[{number} + 1]"
    return (
        f"LET SB_at == ({number} % {count}) * {letters} IN "
        f"SubSeq({name}[({number} \\div {count}) + 1], SB_at + 1, SB_at + {letters})"
    )


def _rows_of_line(letters: int) -> int:
    return max(1, LINE // max(1, letters))
