"""GET /v1/assignors."""

from __future__ import annotations

from service.clients.connect import PROTOCOLS as CONNECT
from service.strategies import GROUP_PROTOCOLS


def test_lists_every_assignor_of_every_protocol(client):
    listed = [(one["group_protocol"], one["assignor"]) for one in client.get("/v1/assignors").json["assignors"]]
    of_partitions = [(protocol, assignor.name) for protocol, assignors in GROUP_PROTOCOLS.items() for assignor in assignors]
    assert listed == [
        *of_partitions,
        *(("connect", assignor.name) for assignor in CONNECT),
        *(("streams", name) for name in ("sticky", "high-availability", "sticky", "fallback-prior")),
    ]
    assert ("classic", "range") in listed
    assert ("classic", "roundrobin") in listed
