"""Descriptions of a cluster that people have at hand → brokers, topics and groups in the shape of the request bodies.

======================= ========================================================================================================
form                    text
======================= ========================================================================================================
kafka-topics            ``kafka-topics --describe``
kafka-consumer-groups   ``kafka-consumer-groups --describe``, with any of ``--members``, ``--state`` and ``--verbose``
reassignment            the JSON that ``kafka-reassign-partitions`` reads and writes
cruise-control          Cruise Control's ``kafka_cluster_state?json=true&verbose=true``
snapshot                the JSON that ``partition-allocator snapshot`` writes, or any of its lists of brokers, topics and groups
======================= ========================================================================================================

The readers are strict: a text that is cut off or has an unknown line is an error, with the line.
"""

import re
from typing import Final

from service.core.descriptions.documents import read_document
from service.core.descriptions.groups_text import is_header, read_groups
from service.core.descriptions.model import Description, UnreadableDescription
from service.core.descriptions.topics_text import read_topics

__all__ = ["Description", "UnreadableDescription", "read_description"]

_LOGGED: Final = re.compile(r"SLF4J: .*|OpenJDK .* warning: .*|\[.*\] WARN .*|WARNING: .*")
"""What a JVM and its loggers print around a tool's output."""


def read_description(text: str) -> Description:
    """The description that this text is, in whichever of the forms. Raises UnreadableDescription."""
    text = text.removeprefix("\ufeff")
    if text.lstrip()[:1] in ("{", "["):
        return read_document(text)
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip() and not _LOGGED.fullmatch(line)]
    if not lines:
        raise UnreadableDescription("Empty.", 1)
    first = lines[0][1].lstrip()
    if first.startswith("Topic:"):
        return read_topics(lines)
    if is_header(first) or first.startswith(("Consumer group '", "Warning: Consumer group '")):
        return read_groups(lines)
    raise UnreadableDescription(
        "Not the output of kafka-topics --describe or kafka-consumer-groups --describe, nor JSON.", lines[0][0]
    )
