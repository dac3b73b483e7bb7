"""How the sticky assignors of each release work: what differs between them.

========== ============================= =============================== ============================== =========================
releases   claims are settled            with equal subscriptions        otherwise, balanced are counts that differ by
========== ============================= =============================== ============================== =========================
since 3.5  claims.py                     constrained.py                  1 (KAFKA-15106)
3.4        former_claims.py, 3.4         constrained.py                  0
2.8        former_claims.py, 2.8         former_claims.py                 0
2.4        former_claims.py, 2.4         general.py (KAFKA-9987 is new)  0
========== ============================= =============================== ============================== =========================
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from service.core.assignors.classic.sticky.claims import Claims
from service.core.assignors.classic.sticky.constrained import Constrained
from service.core.model import Group
from service.core.registry import Later

claims = Later("service.core.assignors.classic.sticky.claims")
constrained = Later("service.core.assignors.classic.sticky.constrained")
former_claims = Later("service.core.assignors.classic.sticky.former_claims")


@dataclass(frozen=True)
class Rules:
    """How a sticky assignor works.

    read : what its leader makes of what the members say
    constrained : assigns a group whose members all subscribe to the same topics; None: the general algorithm does that, too
    tolerance : the difference of two members' counts at which the general algorithm takes the group for balanced
    returned_change_hands : is a partition that a member gives up and gets back withheld from it (KAFKA-15170)?
    warnings : as in ``Assignor``
    """

    read: Callable[[Group], Claims]
    constrained: Callable[[Group, Claims], Constrained] | None
    tolerance: int
    returned_change_hands: bool
    warnings: Callable[[Group], list[str]] | None = None


PRESENT: Final = Rules(claims.read_claims, constrained.solve, tolerance=1, returned_change_hands=False)


def _former(*, cooperative: bool) -> dict[str, Rules]:
    def rules(
        read: Callable[..., Claims],
        solve: Callable[[Group, Claims], Constrained] | None,
        warnings: Callable[[Group], list[str]] | None = None,
    ) -> Rules:
        return Rules(partial(read, cooperative=cooperative), solve, tolerance=0, returned_change_hands=True, warnings=warnings)

    return {
        "3.4.1": rules(former_claims.read_claims_3_4, constrained.solve),
        "2.8.2": rules(former_claims.read_claims_2_8, former_claims.solve),
        "2.4.1": rules(former_claims.read_claims_2_4, None, former_claims.warnings_2_4),
    }


STICKY: Final = _former(cooperative=False)
"""The rules of StickyAssignor before PRESENT, by the first release that has them."""

COOPERATIVE: Final = _former(cooperative=True)
"""Those of CooperativeStickyAssignor."""
