"""Which of some members has the smallest key: a binary heap, for the general sticky algorithm and for flows (nodes, distances).

heap : int32[...]        the members, smallest key first; any further room is left alone
where : int32[members]   the place of each in the heap; both written
keys : int64[members]    as in ``classic/sticky/state.py``, or distances

Plain-Python twin: tests/reference/sticky.py, ``fewest`` within ``general``, which looks through all of them.
"""

from service.core.kernels import inner_kernel
from service.core.model import Int32s, Int64s


@inner_kernel
def heapify(heap: Int32s, size: int, where: Int32s, keys: Int64s) -> None:
    """Make a heap of ``heap[:size]``."""
    for at in range(size):
        where[heap[at]] = at
    for at in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, where, keys, at)


@inner_kernel
def sift_down(heap: Int32s, size: int, where: Int32s, keys: Int64s, at: int) -> None:
    """Restore the heap ``heap[:size]`` after the key of ``heap[at]`` has grown."""
    member = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and keys[heap[child + 1]] < keys[heap[child]]:
            child += 1
        if keys[heap[child]] >= keys[member]:
            break
        heap[at] = heap[child]
        where[heap[at]] = at
        at = child
    heap[at] = member
    where[member] = at


@inner_kernel
def sift_up(heap: Int32s, where: Int32s, keys: Int64s, at: int) -> None:
    """Restore the heap after the key of ``heap[at]`` has shrunk."""
    member = heap[at]
    while at > 0 and keys[heap[(at - 1) // 2]] > keys[member]:
        heap[at] = heap[(at - 1) // 2]
        where[heap[at]] = at
        at = (at - 1) // 2
    heap[at] = member
    where[member] = at
