"""What an assignment comes to, in a sentence."""

import numpy as np

from service.core.printable import counted
from service.decisions.groups.answer import GroupAnswer, GroupComparison
from service.decisions.groups.tables import difference_rows


def conclusion(answer: GroupAnswer) -> str:
    """Who gets how many partitions, and what moves; with what is expected, whether the assignor gives that."""
    comparison = answer.comparison
    return _assigned(answer) if comparison is None else _compared(answer, comparison)


def _assigned(answer: GroupAnswer) -> str:
    first, last = answer.first.outcome, (answer.second or answer.first).outcome
    members, load, movement = len(answer.first.group), last.load, first.movement
    if not members:
        return "There are no members, so nothing is assigned."
    many = counted(int(load.max), "partition") if load.min == load.max else f"{load.min:,} to {load.max:,} partitions"
    parts = [f"{answer.assignor.name} gives {counted(members, 'member')} {many}{' each' * (members > 1)}"]
    claims, exist = answer.first.group.owned.values, answer.first.group.topics.partitions_count
    owned = np.unique(claims)
    had = int((owned < exist).sum())
    if had and answer.question.protocol == "share":
        of = counted(movement.retained + movement.revoked - int((claims >= exist).sum()), "owned partition")
        parts.append(f"{movement.retained:,} of {of} {'stays' if movement.retained == 1 else 'stay'} with the member")
    elif had:
        moved, runs = answer.settled.movement.moved, ""
        if answer.outcomes is not None and answer.second is None:
            runs = f" in this run, {answer.outcomes.movement['moved']} in {answer.outcomes.runs} runs"
        parts.append(f"{moved:,} of {counted(had, 'owned partition')} {'moves' if moved == 1 else 'move'}{runs}")
    if had < len(owned):
        parts.append(f"{counted(len(owned) - had, 'partition that is owned does', 'partitions that are owned do')} not exist")
    if len(last.unassigned):
        parts.append(f"{counted(len(last.unassigned), 'partition goes', 'partitions go')} to no member")
    chance = first.assignment.left_open
    open_to = (
        "" if chance is None else f" The library leaves the member of {counted(len(chance.partitions), 'partition')} to chance."
    )
    return f"{'; '.join(parts)}.{open_to}"


def _compared(answer: GroupAnswer, comparison: GroupComparison) -> str:
    group, differing, later = comparison.expected, comparison.differences, ""
    if len(differing) and answer.second_differences is not None:
        differing, later = answer.second_differences, ", after a second rebalance"
    left_open = comparison.left_open
    compared = counted(group.total_partitions - left_open, "partition")
    chance = f" Of {counted(left_open, 'partition')} the library leaves the member to chance." if left_open else ""
    name = f"The assignor {answer.assignor.name}"
    if left_open == group.total_partitions and left_open:
        all_left = f"the library leaves the member of all {counted(left_open, 'partition')} to chance"
        return f"Whether {answer.assignor.name} gives what is expected is not known: {all_left}."
    if not len(differing):
        return f"{name} gives exactly what is expected{later}: {compared}, {counted(len(group), 'member')}.{chance}"
    [first] = difference_rows(group, differing, 1)
    given, expected = (", ".join(first[each]) or "no member" for each in ("member_ids", "expected_member_ids"))
    return (
        f"{name} gives {len(differing)} of {compared} to other members than expected{later}, such as "
        f"{first['topic_name']}-{first['partition_id']}: to {given}, expected {expected}.{chance}"
    )
