"""Text files: their encodings and compressions, by the first bytes (only UTF-8 is read), and the quotes of CSV."""

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_MARKS: Final = {
    codecs.BOM_UTF32_LE: "UTF-32",  # begins with that of UTF-16
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}

_COMPRESSIONS: Final = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "Zstandard", b"PK\x03\x04": "ZIP"}


def compression(head: bytes) -> str | None:
    """The name of the compression of a file that begins so; None for any other."""
    return next((name for mark, name in _COMPRESSIONS.items() if head.startswith(mark)), None)


def wrong_encoding(head: bytes) -> str | None:
    """Why a text file that begins so is not read, as a sentence; None unless it is UTF-16 or UTF-32."""
    marked = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    # Without a mark: of the first letters of a header or of JSON, which are ASCII, half of the bytes or more are NUL.
    name = marked or {2: "UTF-16", 3: "UTF-32"}.get(head[:4].count(0))
    return None if name is None else f"Its encoding is {name}, and only UTF-8 is read."


@dataclass(frozen=True)
class Quotes:
    """How a file's quotes tell whether a record of CSV goes on in the next line.

    The regular expressions are for Python and Java, and for a line without ``escaped``.
    """

    separator: str = ","
    quote: str = '"'
    escape: str = '"'

    @property
    def escaped(self) -> tuple[str, ...]:
        """What stands for a quote, or for an escape, within quotes."""
        return tuple(dict.fromkeys((self.escape * 2, self.escape + self.quote))) if self.escape else ()

    @property
    def end(self) -> str:
        """The rest of a field in quotes."""
        quote, separator = re.escape(self.quote), re.escape(self.separator)
        return rf"[^{quote}]*{quote}(?={separator}|$)"

    @property
    def field(self) -> str:
        """A field in quotes, with the separator before, which is the group."""
        return rf"(^\ufeff?|{re.escape(self.separator)}){re.escape(self.quote)}{self.end}"

    @property
    def beginning(self) -> str:
        """A field in quotes that does not end in this line, of which every ``field`` has been taken out."""
        quote = re.escape(self.quote)
        return rf"(^\ufeff?|{re.escape(self.separator)}){quote}[^{quote}]*$"


def check(lines: Iterable[str], quotes: Quotes) -> None:
    """Raise ValueError for lines whose last quote has no end, or that may have backslashes before quotes within quotes."""
    end, field, beginning = map(re.compile, (quotes.end, quotes.field, quotes.beginning))
    opened, others, backslashes = 0, False, False
    for number, whole in enumerate(lines, 1):
        if quotes.quote not in whole:
            continue
        backslashes |= f"\\{quotes.quote}" in whole
        line = whole.rstrip("\r\n").replace(quotes.quote * 2, "")
        others |= quotes.quote in field.sub(r"\1", line)
        if opened and (of := end.match(line)):
            opened, line = 0, line[of.end() :]
        if not opened and beginning.search(field.sub(r"\1", line)):
            opened = number
    if backslashes and others:
        raise ValueError(f"There are quotes after backslashes: write each quote in a field as {quotes.quote * 2}.")
    if opened:
        raise ValueError(f"The quote that begins in line {opened} has no end.")
