"""The JSON form of a question about who wrote a topic."""

from typing import Final

from service.api.fingerprints.document import document, table
from service.api.fingerprints.schema import PartitionerFingerprintsSchema
from service.decisions.fingerprints import answer
from service.web.forms import Form

FORM: Final = Form(PartitionerFingerprintsSchema(), answer, document, table, stream="observations")
