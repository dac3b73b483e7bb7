"""Audit a placement: whether the placer could have made it, by which draws, and how even its placements are.

If it could not, the answer names the first rule that the placement breaks, and whether partitions may have been added, or
the topic placed on other brokers. `skew` compares the placement with the best, typical and worst of the placer's draws. As
`text/csv` or an Arrow stream the answer is a table with a row for each of the four measures of `skew`: `topic_name`,
`placer`, `possible`, `broken_rule`, `measure`, `actual`, `best`, `typical`, `worst`.
"""

from typing import Final

from service.api.placement_audits.document import FORM as FORM
from service.api.placement_audits.schema import EXAMPLE
from service.web.forms import Operation

OPERATION: Final = Operation(
    "placement-audits", "auditPlacement", "audit", "a topic's placement → could its placer have made it?", EXAMPLE
)
