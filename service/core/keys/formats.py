"""The names of key formats: how a client serializes its keys."""

from typing import Final

FORMATS: Final = ("string", "base64", "bytes", "hex", "short", "int", "long", "float", "double", "boolean", "uuid")
"""``bytes`` is another name of ``base64``. A key in ``base64`` or ``hex`` is bytes once it is in a Column."""
