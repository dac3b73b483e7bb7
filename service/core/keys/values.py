"""A serialized key as a JSON value."""

import base64
from typing import Any

import numpy as np

from service.core.keys.columns import BYTES, FLOATS, INTEGERS


def key_value(serialized: bytes, key_format: str) -> Any:
    """The JSON value of the key of which Kafka's serializer for the format makes these bytes."""
    if key_format in INTEGERS:
        return int.from_bytes(serialized, "big", signed=True)
    if key_format in FLOATS:
        number = float(np.frombuffer(serialized, FLOATS[key_format].newbyteorder(">"))[0])
        return number if np.isfinite(number) else {"inf": "Infinity", "-inf": "-Infinity"}.get(str(number), "NaN")
    if key_format == "boolean":
        return serialized != b"\0"
    if key_format == "hex":
        return serialized.hex()
    if key_format in ("base64", "bytes"):
        return base64.b64encode(serialized).decode()
    return serialized.decode(errors="replace")


def key_text(serialized: bytes, key_format: str) -> str:
    """The same key as text; bytes that are not printable text in hexadecimal."""
    if key_format in BYTES:
        text = serialized.decode(errors="replace")
        return text if text.isprintable() and text.encode() == serialized else f"0x{serialized.hex()}"
    value = key_value(serialized, key_format)
    if key_format in FLOATS:
        return repr(float(value))
    return str(value).lower() if key_format == "boolean" else str(value)
