"""java.util.PriorityQueue (JDK 17), which decides between elements that compare as equal by its own past."""

from collections.abc import Callable
from typing import Generic, TypeVar

E = TypeVar("E")


class PriorityQueue(Generic[E]):
    """A heap of elements, the least first.

    key : by which elements are compared; it may change while an element is outside the queue

    heapq sifts otherwise, so that other elements of equal keys would come first.
    """

    def __init__(self, key: Callable[[E], float]) -> None:
        self._key = key
        self._heap: list[tuple[float, E]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, element: E) -> None:
        """PriorityQueue.add: siftUp."""
        entry = (self._key(element), element)
        heap, at = self._heap, len(self._heap)
        heap.append(entry)
        while at > 0:
            parent = (at - 1) >> 1
            if entry[0] >= heap[parent][0]:
                break
            heap[at] = heap[parent]
            at = parent
        heap[at] = entry

    def poll(self) -> E:
        """PriorityQueue.poll: siftDown of the last element. Raises IndexError if it is empty."""
        heap = self._heap
        last = heap.pop()
        if not heap:
            return last[1]
        least, at, half = heap[0][1], 0, len(heap) >> 1
        while at < half:
            child = 2 * at + 1
            if child + 1 < len(heap) and heap[child][0] > heap[child + 1][0]:
                child += 1
            if last[0] <= heap[child][0]:
                break
            heap[at] = heap[child]
            at = child
        heap[at] = last
        return least
