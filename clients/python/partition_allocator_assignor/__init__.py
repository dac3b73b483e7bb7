"""An assignor for kafka-python that takes the advice of a partition-allocator."""

from partition_allocator_assignor.assignor import RemoteAssignor

__all__ = ["RemoteAssignor"]
