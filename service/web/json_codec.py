"""JSON in and out through orjson, with Java's tolerance where Kafka's keys need it."""

import gc
import json
from typing import Any, Final, NoReturn

import orjson

MANY_OBJECTS: Final = 2**18
"""Bytes of JSON from which on the cyclic collector is paused.

What ``loads`` passes on to the old objects the collector looks at only when many have come of themselves. Done for every small
body, it never would, and a worker would keep the traceback of each error that it has answered.
"""


def loads(text: bytes | str) -> Any:
    """The value of a JSON text; raises ValueError (json.JSONDecodeError) for what is none.

    orjson refuses half a surrogate pair, which Java's strings may hold; such a text is read by the standard library.
    """
    if len(text) < MANY_OBJECTS or not gc.isenabled():
        return _loads(text)
    # A million small objects make the cyclic collector, which has nothing to find in them, the larger part of the work.
    gc.disable()
    try:
        return _loads(text)
    finally:
        # All that was made counts as young, and enabling would begin by going through it; so it is passed on to the old.
        gc.freeze()
        gc.unfreeze()
        gc.enable()


def _loads(text: bytes | str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if "surrogate" not in str(error):
            raise
        return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def dumps(value: Any) -> bytes:
    """The JSON text of a value; NumPy arrays and orjson.Fragments are written as they are."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    except orjson.JSONEncodeError as error:
        if "surrogate" not in str(error):
            raise
        return json.dumps(value).encode()  # a problem that quotes the caller's half of a surrogate pair
