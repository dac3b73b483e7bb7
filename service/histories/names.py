"""What to call the members of a group: the same process, started again, has the same name and another id."""

import re
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
        self._shared: set[str] = set()
        for rebalance in rebalances:
            for roster in (rebalance.before, rebalance.after):
                seen = set[str]()
                for member_id in () if roster is None else filter(None, roster.members.values()):
                    name = self._short(member_id)
                    if name in seen:
                        self._shared.add(name)
                    seen.add(name)

    def __call__(self, member_id: str) -> str:
        """The name of a member."""
        name = self._short(member_id)
        return member_id if name in self._shared else name

    def _short(self, member_id: str) -> str:
        known = self._members.get(member_id)
        if known is not None and (known.instance_id or known.client_id):
            return known.instance_id or known.client_id or member_id
        match = _DRAWN.match(member_id)
        return match["name"] if match else member_id
