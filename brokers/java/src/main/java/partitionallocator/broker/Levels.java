package partitionallocator.broker;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * How much each member reads in the most even assignments: one of level l has l or l - 1 partitions, and the partitions of a topic go
 * to the subscribers of the lowest level only.
 *
 * <p>If no member may have more than c, the members that the partitions left over could reach are those of levels above c. So a
 * largest flow splits a class of members in two; each round splits all classes, at their averages, and every third time in the middle.
 *
 * @param topics the level of each kind of topics: that of the subscribers that get its partitions
 * @param members the level of each kind of members; 0 without topics
 */
record Levels(long[] topics, long[] members) {
    static Levels of(Kinds kinds) {
        int topics = kinds.sizes().length;
        int members = kinds.counts().length;
        int sink = 1 + topics + members;
        Network network = network(kinds, sink);
        long all = Arrays.stream(kinds.sizes()).sum();
        // A level lies above `low` and is at most `high`; a class is what has the same two. Members come after topics.
        long[] low = new long[topics + members];
        long[] high = new long[topics + members];
        for (int[] subscribers : kinds.subscribers()) {
            for (int member : subscribers) {
                high[topics + member] = all;
            }
        }
        Arrays.fill(high, 0, topics, all);
        for (int round = 0; undecided(low, high); round++) {
            long[] most = most(kinds, low, high, round % 3 == 2);
            fill(network, kinds, low, high, most, all);
            while (network.augment() > 0) { }
            for (int i = 0; i < low.length; i++) {
                if (high[i] - low[i] > 1) {
                    long[] side = network.reached(1 + i) ? low : high;
                    side[i] = most[i];
                }
            }
        }
        return new Levels(Arrays.copyOf(high, topics), Arrays.copyOfRange(high, topics, topics + members));
    }

    private static Network network(Kinds kinds, int sink) {
        Edges edges = new Edges();
        int topics = kinds.sizes().length;
        for (int topic = 0; topic < topics; topic++) {
            edges.add(0, 1 + topic, 0, 0);
        }
        for (int topic = 0; topic < topics; topic++) {
            for (int member : kinds.subscribers()[topic]) {
                edges.add(1 + topic, 1 + topics + member, 0, 0);
            }
        }
        for (int member = 0; member < kinds.counts().length; member++) {
            edges.add(1 + topics + member, sink, 0, 0);
        }
        return new Network(sink + 1, edges);
    }

    /** Empties the network, and opens its edges for a round. */
    private static void fill(Network network, Kinds kinds, long[] low, long[] high, long[] most, long all) {
        int topics = kinds.sizes().length;
        int edge = 0;
        for (int topic = 0; topic < topics; topic++) {
            network.open(edge++, high[topic] - low[topic] > 1 ? kinds.sizes()[topic] : 0);
        }
        for (int topic = 0; topic < topics; topic++) {
            for (int member : kinds.subscribers()[topic]) {
                network.open(edge++, low[topic] == low[topics + member] ? all : 0);
            }
        }
        for (int member = 0; member < kinds.counts().length; member++) {
            network.open(edge++, most[topics + member] * kinds.counts()[member]);
        }
    }

    private static boolean undecided(long[] low, long[] high) {
        for (int i = 0; i < low.length; i++) {
            if (high[i] - low[i] > 1) {
                return true;
            }
        }
        return false;
    }

    /** The most that a member of its class may have in this round, of kinds of topics, then of members. */
    private static long[] most(Kinds kinds, long[] low, long[] high, boolean bisect) {
        int topics = kinds.sizes().length;
        Map<Long, long[]> classes = new HashMap<>(); // partitions and members of each
        for (int i = 0; i < low.length; i++) {
            long[] sums = classes.computeIfAbsent(low[i], key -> new long[2]);
            if (i < topics) {
                sums[0] += kinds.sizes()[i];
            } else if (high[i] > 0) {
                sums[1] += kinds.counts()[i - topics];
            }
        }
        long[] most = high.clone();
        for (int i = 0; i < low.length; i++) {
            if (high[i] - low[i] > 1) {
                long[] sums = classes.get(low[i]);
                long members = Math.max(sums[1], 1);
                most[i] = bisect ? (low[i] + high[i]) / 2 : Math.min((sums[0] + members - 1) / members, high[i] - 1);
            }
        }
        return most;
    }
}
