"""What answers say where racks are not known."""

from typing import Final

GIVE_RACKS: Final = "give the rack_id of brokers, by --rack 1:a, a table of racks or a snapshot"
RACKS_UNKNOWN: Final = f"racks are not known ({GIVE_RACKS}; --racks unknown accepts it)"
