"""How quotes tell whether a record of CSV goes on in the next line."""

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Quotes:
    """Those of a file. Its regular expressions are for Python and Java, and for a line without ``escaped``."""

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
