"""Groups of Kafka Connect: what each worker runs, from the bytes that DescribeGroups has of it."""

from typing import Any

from service.core.documents import Json
from service.live.not_known import NotKnown
from service.wire.connect_groups import worker_document
from service.wire.errors import Unreadable


def workers_of(group: Any, not_known: NotKnown) -> Json:
    """``members`` of a described group: all its workers, or none of them, for what one runs, the others do not."""
    workers = []
    for member in group.members:
        sent = member.member_metadata or b"", member.member_assignment or b""
        try:
            worker = worker_document(member.member_id, group.protocol_data, *sent)
        except Unreadable as error:
            not_known.add("groups[].members", f"{member.member_id}: {error}", group.group_id)
            return {}
        workers.append(worker | {"client_id": member.client_id, "host": member.client_host})
    return {"members": workers}
