"""What an assignment comes to, in a sentence."""

from service.core.printable import counted
from service.decisions.groups.answer import GroupAnswer
from service.decisions.groups.tables import difference_rows


def conclusion(answer: GroupAnswer) -> str | None:
    """Whether the assignor gives what is expected, with the partitions that decide; None if nothing is."""
    comparison = answer.comparison
    if comparison is None:
        return None
    group, differing = comparison.expected, comparison.differences
    left_open = comparison.left_open
    compared = counted(group.total_partitions - left_open, "partition")
    chance = f" Of {counted(left_open, 'partition')} the library leaves the member to chance." if left_open else ""
    name = f"The assignor {answer.assignor.name}"
    if not len(differing):
        return f"{name} gives exactly what is expected: {compared}, {counted(len(group), 'member')}.{chance}"
    [first] = difference_rows(group, differing, 1)
    given, expected = (", ".join(first[each]) or "no member" for each in ("member_ids", "expected_member_ids"))
    return (
        f"{name} gives {len(differing)} of {compared} to other members than expected, such as "
        f"{first['topic_name']}-{first['partition_id']}: to {given}, expected {expected}.{chance}"
    )
