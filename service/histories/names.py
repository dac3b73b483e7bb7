"""What to call the members of a group: the same process, started again, has the same name and another id."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from service.histories.course import PastRebalance
from service.histories.events import StoredMember

_DRAWN: Final = re.compile(r"^(?P<name>.+)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
"""The id that a classic group's coordinator gives: the client id, or the instance id of a static member, and a UUID."""


class MemberNames:
    """Member id → instance id or client id, unless two members of that name were in the group at once: then its own id."""

    def __init__(self, rebalances: Iterable[PastRebalance], members: Mapping[str, StoredMember]) -> None:
        self._members = members
        self._names: dict[str, str] = {}
        self._shared: set[str] = set()
        for rebalance in rebalances:
            present = list(filter(None, rebalance.after.members.values())) if rebalance.after is not None else []
            counted = Counter(map(self._short, present))
            self._shared |= {name for name, times in counted.items() if times > 1} if len(counted) < len(present) else set()

    def __call__(self, member_id: str) -> str:
        """The name of a member."""
        name = self._short(member_id)
        return member_id if name in self._shared else name

    def _short(self, member_id: str) -> str:
        if member_id not in self._names:
            known, drawn = self._members.get(member_id), _DRAWN.match(member_id)
            given = None if known is None else known.instance_id or known.client_id
            self._names[member_id] = given or (drawn["name"] if drawn else member_id)
        return self._names[member_id]
