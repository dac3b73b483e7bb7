"""Only regular files of a bounded size are read; anything else gets a sentence, at once."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from service.http.bounded import MOST_BYTES, UnreadableFile, read_small_file

if TYPE_CHECKING:
    from pathlib import Path


def test_content(tmp_path: Path) -> None:
    """A file as long as is allowed is read, by any name."""
    (tmp_path / "long").write_bytes(b"x" * MOST_BYTES)
    (tmp_path / "link").symlink_to(tmp_path / "long")
    assert read_small_file(tmp_path / "long") == read_small_file(str(tmp_path / "link")) == b"x" * MOST_BYTES


def test_what_is_no_small_file(tmp_path: Path) -> None:
    """Files that are too long, devices that never end, pipes that never begin, and names of nothing."""
    (tmp_path / "long").write_bytes(b"x" * (MOST_BYTES + 1))
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
    for name, says in {
        tmp_path: "This is a directory, not a regular file.",
        "/dev/zero": "This is a device, not a regular file.",
        tmp_path / "pipe": "This is a named pipe, not a regular file.",
        tmp_path / "socket": "No such device or address.",
        tmp_path / "long": "The file is longer than 1,048,576 bytes.",
        tmp_path / "nowhere": "No such file or directory.",
        "null\0": "The name has a null character.",
        "": "No such file or directory.",
    }.items():
        with pytest.raises(UnreadableFile) as caught:
            read_small_file(name)
        assert str(caught.value) == says
