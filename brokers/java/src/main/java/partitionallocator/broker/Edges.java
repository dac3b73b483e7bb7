package partitionallocator.broker;

import java.util.Arrays;

/** Edges of a network, in the order in which they were added. */
final class Edges {
    int size;
    int[] tails = new int[64];
    int[] heads = new int[64];
    long[] capacities = new long[64];
    long[] prices = new long[64];

    void add(int tail, int head, long capacity, long price) {
        if (size == tails.length) {
            tails = Arrays.copyOf(tails, 2 * size);
            heads = Arrays.copyOf(heads, 2 * size);
            capacities = Arrays.copyOf(capacities, 2 * size);
            prices = Arrays.copyOf(prices, 2 * size);
        }
        tails[size] = tail;
        heads[size] = head;
        capacities[size] = capacity;
        prices[size] = price;
        size++;
    }
}
