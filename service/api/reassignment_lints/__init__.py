"""Check a reassignment JSON against a cluster.

An `error` is rejected by Kafka or reduces availability, a `warning` is probably not intended, a `note` could be improved.
As `text/csv` or an Arrow stream the answer is the table of findings: `severity`, `rule`, `pointer`, `detail`.
"""

from typing import Final

from service.api.reassignment_lints.document import FORM as FORM
from service.api.reassignment_lints.schema import EXAMPLE
from service.web.forms import Operation

OPERATION: Final = Operation("reassignment-lints", "lintReassignment", "lint", "a reassignment JSON → its errors", EXAMPLE)
