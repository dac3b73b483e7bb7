"""Files that are read whole: credentials, certificates, settings.

Their names come from settings and options, so any path may be among them. ``/dev/zero`` never ends, and a named pipe that no
process writes to never begins; only a regular file of a bounded size is read.
"""

import os
import stat
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 2**20
"""A thousand certificates, or ten thousand tokens."""

_KINDS: Final = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class UnreadableFile(ValueError):
    """A file cannot be read; the text says why, without the file's name."""


def read_small_file(path: Path | str) -> bytes:
    """The content of a regular file. Raises UnreadableFile if there is none, if it is no such file, or longer than MOST_BYTES."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # which opens a pipe without waiting for who writes to it
    except OSError as error:
        raise UnreadableFile(f"{error.strerror}.") from None
    except ValueError:
        raise UnreadableFile("The name has a null character.") from None
    try:
        kind = stat.S_IFMT(os.fstat(handle).st_mode)
        if kind != stat.S_IFREG:
            raise UnreadableFile(f"This is {_KINDS.get(kind, 'a special file')}, not a regular file.")
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UnreadableFile(f"{error.strerror}.") from None
    finally:
        os.close(handle)
    if len(content) > MOST_BYTES:
        raise UnreadableFile(f"The file is longer than {MOST_BYTES:,} bytes.")
    return content
