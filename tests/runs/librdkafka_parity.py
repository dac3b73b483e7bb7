"""librdkafka's assignors themselves on random groups.

Where the library ends its own process, its members would never have an answer: such cases are counted, and we must have said so.
Where we say that it reads freed memory it may also answer, with anything.
"""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import TYPE_CHECKING

from service.core.errors import KafkaAssignorFails
from service.strategies import GROUP_PROTOCOLS
from tests.runs.client_groups import Answer, Body, Differs, answer_of, answered, rebalances
from tests.support.clients import Library, librdkafka
from tests.support.groups import group_of, named

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ("range", "roundrobin", "cooperative-sticky")


def ours(name: str, release: str, body: Body) -> Answer | str:
    """Our answer, or how we say that the library fails."""
    group = group_of(body)
    try:
        rows = GROUP_PROTOCOLS["classic"][f"librdkafka:{name}"].of_client(release).run(group).rows
    except KafkaAssignorFails as fails:
        return str(fails)
    return {member: sorted(partitions) for member, partitions in named(group, rows).items()}


def theirs(library: Library, name: str, body: Body) -> Answer | str:
    """The library's answer, or how it ends."""
    answer = library.assign(name, body)
    return str(answer["error"]["message"]) if "error" in answer else answer_of(body, answer["assignments"])


def agreement(ours: Answer | str, theirs: Answer | str) -> str | None:
    """How the two are alike; None if they are not."""
    if isinstance(ours, str):
        if "freed memory" in ours:
            return "freed memory"
        if theirs == "Alarm clock":
            return "endless" if "never returns" in ours else None
        return "ends alike" if isinstance(theirs, str) and "never returns" not in ours else None
    return "alike" if ours == theirs else None


def life(seed: int, number: int, name: str, release: str, library: Library) -> Iterator[tuple[Body, Answer | str, Answer | str]]:
    """The rebalances of a group of librdkafka until it fails: the body, our answer and the library's."""
    group = rebalances(seed, number)
    body = next(group, None)
    while body is not None:
        mine, other = ours(name, release, body), theirs(library, name, body)
        yield body, mine, other
        if isinstance(mine, str) or isinstance(other, str):
            return
        body = answered(group, other)


def compare(release: str, cases: int, seed: int) -> Counter[tuple[str, str]]:
    """So many rebalances, from group 0 on, counted by (assignor, how they are alike). Raises Differs, NotHere."""
    library = Library(librdkafka(release, seconds=5))
    counts: Counter[tuple[str, str]] = Counter()
    try:
        for number in count():
            name = NAMES[number % len(NAMES)]
            for body, mine, other in life(seed, number, name, release, library):
                how = agreement(mine, other)
                if how is None:
                    raise Differs(f"librdkafka:{name} {release}, group {number}", body, mine, other)
                counts[f"librdkafka:{name} {release}", how] += 1
                if counts.total() == cases:
                    return counts
    finally:
        library.close()
    raise AssertionError
