"""java.util.PriorityQueue (JDK 17), which decides between elements that compare as equal by its own past."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

E = TypeVar("E")


class PriorityQueue(Generic[E]):
    """A heap of elements, the least first.

    key : by which elements are compared, whenever they are: it may change while an element is in the queue, as Java's comparators
        of loads do, and then decides as there

    heapq sifts otherwise, so that other elements of equal keys would come first.
    """

    def __init__(self, key: Callable[[E], Any]) -> None:
        self._key = key
        self._heap: list[E] = []

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, element: E) -> None:
        """PriorityQueue.add."""
        heap = self._heap
        heap.append(element)
        self._sift_up(len(heap) - 1, element)

    def poll(self) -> E:
        """PriorityQueue.poll. Raises IndexError if it is empty."""
        heap = self._heap
        least, last = heap[0], heap.pop()
        if heap:
            self._sift_down(0, last)
        return least

    def _sift_up(self, at: int, element: E) -> None:
        heap, key_of, key = self._heap, self._key, self._key(element)
        while at > 0:
            parent = (at - 1) >> 1
            if key >= key_of(heap[parent]):
                break
            heap[at] = heap[parent]
            at = parent
        heap[at] = element

    def _sift_down(self, at: int, element: E) -> None:
        heap, key_of, key = self._heap, self._key, self._key(element)
        size = len(heap)
        half = size >> 1
        while at < half:
            child = 2 * at + 1
            least = key_of(heap[child])
            if child + 1 < size and least > (right := key_of(heap[child + 1])):
                child, least = child + 1, right
            if key <= least:
                break
            heap[at] = heap[child]
            at = child
        heap[at] = element
