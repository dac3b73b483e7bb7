"""java.util.PriorityQueue (JDK 17), which decides between elements that compare as equal by its own past."""

from __future__ import annotations

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

    def __contains__(self, element: E) -> bool:
        return element in self._heap

    def add(self, element: E) -> None:
        """PriorityQueue.add."""
        self._heap.append(element)
        self._sift_up(len(self._heap) - 1, element)

    def poll(self) -> E:
        """PriorityQueue.poll. Raises IndexError if it is empty."""
        least, last = self._heap[0], self._heap.pop()
        if self._heap:
            self._sift_down(0, last)
        return least

    def remove(self, element: E) -> None:
        """PriorityQueue.remove of an element that is there."""
        at, last = self._heap.index(element), self._heap.pop()
        if at < len(self._heap):
            self._sift_down(at, last)
            if self._heap[at] is last:
                self._sift_up(at, last)

    def _sift_up(self, at: int, element: E) -> None:
        heap, key = self._heap, self._key(element)
        while at > 0:
            parent = (at - 1) >> 1
            if key >= self._key(heap[parent]):
                break
            heap[at] = heap[parent]
            at = parent
        heap[at] = element

    def _sift_down(self, at: int, element: E) -> None:
        heap, key = self._heap, self._key(element)
        half = len(heap) >> 1
        while at < half:
            child = 2 * at + 1
            if child + 1 < len(heap) and self._key(heap[child]) > self._key(heap[child + 1]):
                child += 1
            if key <= self._key(heap[child]):
                break
            heap[at] = heap[child]
            at = child
        heap[at] = element
