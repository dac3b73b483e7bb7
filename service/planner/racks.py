"""What answers say where racks are not known."""

from collections.abc import Iterator
from typing import Final

from service.core.model import NONE, Bools, Cluster
from service.planner.reassignments.model import broker_names

GIVE_RACKS: Final = "give the rack_id of brokers, by --rack 1:a, a table of racks or a snapshot"
RACKS_UNKNOWN: Final = f"racks are not known ({GIVE_RACKS}; --racks unknown accepts it)"


def rackless(cluster: Cluster, counted: Bools) -> Iterator[str]:
    """The brokers without a rack where others have one, in a sentence. counted : bool[brokers], those that matter"""
    without = (cluster.racks == NONE) & counted
    if len(cluster.rack_ids) and without.any():
        names, have = broker_names(cluster.broker_ids[without].tolist()), "has" if without.sum() == 1 else "have"
        yield (
            f"{names.capitalize()} {have} no rack and count{'s' * (have == 'has')} as one rack; Kafka's own tool refuses such a "
            "cluster (Not all brokers have rack information)."
        )
