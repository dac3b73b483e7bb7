"""What a decision was about, in numbers: for metrics, logs and the terminal's last line."""

from collections.abc import Mapping
from typing import NamedTuple


class Figures(NamedTuple):
    """The figures of one answer.

    strategy : the partitioner, assignor or placer that gave it
    items : how large the question was: keys, partitions, members, brokers
    skew : of the answer (maximum ÷ mean); None if it has none
    subject : the topic or group that the caller named
    moved : partitions that change owner; None where nothing can
    tag : identifies the answer: equal questions have equal ones
    """

    strategy: str
    items: Mapping[str, int]
    skew: float | None = None
    subject: str | None = None
    moved: int | None = None
    tag: str | None = None
