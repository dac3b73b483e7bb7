package partitionallocator.broker;

import java.util.Arrays;
import java.util.PriorityQueue;

/**
 * Flows from node 0 to the last node: the largest, at the least cost (Ford and Fulkerson's primal-dual method). {@link #reach} adds
 * distances to the potentials (Dijkstra's), {@link #augment} sends a blocking flow along edges whose reduced price is 0 (Dinic's).
 *
 * <p>Each edge is two arcs, there and back; the arcs of a node stand together.
 */
final class Network {
    private static final int NONE = -1;
    private static final long FAR = 1L << 60;
    private static final long MOST_STEPS = 50_000_000; // of a blocking flow, which then ends though it may not block yet

    private final int[] first; // the arcs first[node] to first[node + 1] leave the node
    private final int[] ends;
    private final int[] back; // the arc of the same edge in the other direction
    private final long[] left; // residual capacities
    private final long[] price;
    private final int[] place; // the arc of each edge
    private final long[] potential;
    private int[] level; // the fewest edges of reduced price 0 from node 0 to each node, or NONE

    Network(int nodes, Edges edges) {
        first = new int[nodes + 1];
        for (int edge = 0; edge < edges.size; edge++) {
            first[edges.tails[edge] + 1]++;
            first[edges.heads[edge] + 1]++;
        }
        for (int node = 0; node < nodes; node++) {
            first[node + 1] += first[node];
        }
        ends = new int[2 * edges.size];
        back = new int[2 * edges.size];
        left = new long[2 * edges.size];
        price = new long[2 * edges.size];
        place = new int[edges.size];
        potential = new long[nodes];
        int[] cursor = first.clone();
        for (int edge = 0; edge < edges.size; edge++) {
            int there = cursor[edges.tails[edge]]++;
            int again = cursor[edges.heads[edge]]++;
            place[edge] = there;
            ends[there] = edges.heads[edge];
            ends[again] = edges.tails[edge];
            back[there] = again;
            back[again] = there;
            left[there] = edges.capacities[edge];
            price[there] = edges.prices[edge];
            price[again] = -edges.prices[edge];
        }
    }

    /** Lets an edge carry so much, and nothing flow through it. */
    void open(int edge, long capacity) {
        left[place[edge]] = capacity;
        left[back[place[edge]]] = 0;
    }

    /** What each edge carries. */
    long[] flow() {
        return Arrays.stream(place).mapToLong(arc -> left[back[arc]]).toArray();
    }

    /** After an {@link #augment} that sent nothing: is the node on the source's side of a least cut? */
    boolean reached(int node) {
        return level[node] != NONE;
    }

    /** Sends the largest flow at the least cost. */
    void fill() {
        while (reach()) {
            while (augment() > 0) { }
        }
    }

    private boolean reach() {
        int sink = potential.length - 1;
        long[] distance = new long[potential.length];
        Arrays.fill(distance, FAR);
        distance[0] = 0;
        PriorityQueue<long[]> nearest = new PriorityQueue<>((one, other) -> Long.compare(one[0], other[0])); // distance, node
        nearest.add(new long[] {0, 0});
        while (!nearest.isEmpty()) {
            long[] next = nearest.poll();
            int node = (int) next[1];
            if (node == sink) {
                break;
            }
            if (next[0] > distance[node]) {
                continue; // a shorter way was found since
            }
            for (int arc = first[node]; arc < first[node + 1]; arc++) {
                long along = next[0] + potential[node] + price[arc] - potential[ends[arc]];
                if (left[arc] > 0 && along < distance[ends[arc]]) {
                    distance[ends[arc]] = along;
                    nearest.add(new long[] {along, ends[arc]});
                }
            }
        }
        if (distance[sink] == FAR) {
            return false;
        }
        for (int node = 0; node < potential.length; node++) {
            potential[node] += Math.min(distance[node], distance[sink]);
        }
        return true;
    }

    /** Sends a blocking flow; returns how much. */
    long augment() {
        findLevels();
        int sink = level.length - 1;
        if (level[sink] == NONE) {
            return 0;
        }
        long sent = 0;
        int[] following = first.clone(); // the next arc to try from each node
        int[] path = new int[level[sink]];
        int node = 0;
        int depth = 0;
        long steps = 4L * ends.length + MOST_STEPS;
        while (steps > 0 || sent == 0) {
            steps--;
            if (node == sink) {
                steps -= 2L * depth;
                long fits = Arrays.stream(path, 0, depth).mapToLong(arc -> left[arc]).min().getAsLong();
                depth = send(path, depth, fits);
                sent += fits;
                node = ends[back[path[depth]]];
                continue;
            }
            int arc = following[node];
            while (arc < first[node + 1] && !leadsOn(arc, node)) {
                arc++;
            }
            steps -= arc - following[node];
            following[node] = arc;
            if (arc < first[node + 1]) {
                path[depth++] = arc;
                node = ends[arc];
            } else if (depth == 0) {
                break;
            } else {
                node = ends[back[path[--depth]]];
                following[node]++;
            }
        }
        return sent;
    }

    private boolean leadsOn(int arc, int node) {
        return left[arc] > 0 && level[ends[arc]] == level[node] + 1 && isTight(arc, node);
    }

    /** Is the reduced price of an arc 0? */
    private boolean isTight(int arc, int node) {
        return price[arc] + potential[node] == potential[ends[arc]];
    }

    /** Sends so much along a path; returns the place of the first arc that is full. */
    private int send(int[] path, int depth, long fits) {
        int full = depth;
        for (int i = depth - 1; i >= 0; i--) {
            left[path[i]] -= fits;
            left[back[path[i]]] += fits;
            if (left[path[i]] == 0) {
                full = i;
            }
        }
        return full;
    }

    private void findLevels() {
        level = new int[potential.length];
        Arrays.fill(level, NONE);
        level[0] = 0;
        int sink = level.length - 1;
        int[] queue = new int[level.length];
        int end = 1;
        for (int at = 0; at < end && level[sink] == NONE; at++) {
            int node = queue[at];
            for (int arc = first[node]; arc < first[node + 1]; arc++) {
                if (left[arc] > 0 && level[ends[arc]] == NONE && isTight(arc, node)) {
                    level[ends[arc]] = level[node] + 1;
                    queue[end++] = ends[arc];
                }
            }
        }
    }
}
