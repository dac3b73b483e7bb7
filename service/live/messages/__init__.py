"""Requests and responses that kafka-python does not define.

The fields, types, versions and defaults are those of Kafka's message definitions of the same names.
"""

from typing import Final

from kafka.protocol.api_message import ApiMessage

_HERE: Final = __name__


class ConsumerGroupDescribeRequest(ApiMessage, load_json=_HERE):  # type: ignore[call-arg]  # the library has no types
    """Describes groups of the consumer protocol (KIP-848)."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=_HERE):  # type: ignore[call-arg]  # the library has no types
    """The answer."""


class ShareGroupDescribeRequest(ApiMessage, load_json=_HERE):  # type: ignore[call-arg]  # the library has no types
    """Describes share groups (KIP-932)."""


class ShareGroupDescribeResponse(ApiMessage, load_json=_HERE):  # type: ignore[call-arg]  # the library has no types
    """The answer."""


class StreamsGroupDescribeRequest(ApiMessage, load_json=_HERE):  # type: ignore[call-arg]  # the library has no types
    """Describes groups of the streams protocol (KIP-1071)."""


class StreamsGroupDescribeResponse(ApiMessage, load_json=_HERE):  # type: ignore[call-arg]  # the library has no types
    """The answer."""
