"""HashMap's order as long as every bucket is a chain."""

from __future__ import annotations


def iteration_order(hashes: list[int], capacity: int = 16, *, compute: bool = False) -> list[int]:
    """The keys 0, 1, 2, … entered in this order, as the map's iterator gives them; trees are not modelled."""
    length = 1
    while length < capacity:
        length *= 2
    entered: list[int] = []

    def bucket(key: int) -> int:
        unsigned = hashes[key] & 0xFFFFFFFF
        return (unsigned ^ unsigned >> 16) & (length - 1)

    for key in range(len(hashes)):
        if compute and len(entered) > 0.75 * length:  # computeIfAbsent grows before it enters
            length *= 2
        entered.append(key)
        if not compute and len(entered) > 0.75 * length // 1:  # put grows afterwards
            length *= 2
    chains: list[list[int]] = [[] for _ in range(length)]
    for key in entered:
        chain = chains[bucket(key)]
        chain.insert(0 if compute else len(chain), key)
        assert len(chain) < 8, "this would be a tree"
    return [key for chain in chains for key in chain]
