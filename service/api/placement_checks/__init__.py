"""Check which partitions of a cluster are at risk.

`conclusion` names the partitions without a leader, under-replicated, at or under `min.insync.replicas`, or not rack-safe: on
fewer racks than their replicas allow. What is not known is said, and is neither safe nor at risk. As `text/csv` or an Arrow
stream the answer is the table of findings, a row for each partition: `severity`, `rule`, `topic_name`, `detail`, `partition_id`.
"""

from typing import Final

from service.api.placement_checks.document import FORM as FORM
from service.api.placement_checks.schema import EXAMPLE
from service.web.forms import Operation

OPERATION: Final = Operation("placement-checks", "checkPlacement", "check", "a cluster → partitions at risk", EXAMPLE)
