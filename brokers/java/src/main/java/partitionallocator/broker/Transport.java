package partitionallocator.broker;

import static partitionallocator.broker.Group.NONE;

import java.util.Arrays;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * The cheapest of the most even assignments, by a minimum-cost flow through what nothing tells apart.
 *
 * <pre>
 * source → kinds of partitions → ───────────────────── kept ─────────────────────→ owners → sink
 *                  └─ moved → pools → kinds of topics [→ their racks] → kinds of members ──↗  └→ the rest → sink
 * </pre>
 *
 * <p>Reading from another rack costs 1; a move more than all racks on a cycle; one partition more than the level less 1 more than all
 * moves on it. So the sum decides as the three one by one. The flow says how many partitions go which way; they are dealt to the edges
 * in turns.
 */
final class Transport {
    private final Group group;
    private final Kinds kinds;
    private final Levels levels;
    private final Claims claims;
    private final int[] keeping; // the members that may keep something, ascending
    private final long[] rest; // members of each kind that may not
    private final int[] openTopics; // pairs of kinds of topics and of members that may read them
    private final int[] openMembers;
    private final long[] stops; // kinds of topics on racks where they have a subscriber: kind × width + rack
    private final long width;
    private final int firstPool;
    private final int firstStop;
    private final int firstTopic;
    private final int firstMemberKind;
    private final int firstKeeper;
    private final int firstRest;
    private final int sink;
    private final Edges edges = new Edges();

    static int[] assign(Group group) {
        Kinds kinds = Kinds.of(group);
        Levels levels = Levels.of(kinds);
        return new Transport(group, kinds, levels, Claims.of(group, kinds, levels)).owners();
    }

    private Transport(Group group, Kinds kinds, Levels levels, Claims claims) {
        this.group = group;
        this.kinds = kinds;
        this.levels = levels;
        this.claims = claims;
        keeping = Arrays.stream(claims.owners()).flatMapToInt(Arrays::stream).sorted().distinct().toArray();
        rest = kinds.counts().clone();
        Arrays.stream(keeping).forEach(member -> rest[kinds.members()[member]]--);
        int[] pairs = IntStream.range(0, kinds.sizes().length).flatMap(topic -> Arrays.stream(kinds.subscribers()[topic])
                .filter(member -> levels.topics()[topic] == levels.members()[member])
                .flatMap(member -> IntStream.of(topic, member))).toArray();
        openTopics = IntStream.range(0, pairs.length / 2).map(i -> pairs[2 * i]).toArray();
        openMembers = IntStream.range(0, pairs.length / 2).map(i -> pairs[2 * i + 1]).toArray();
        width = group.racks() + 1L;
        stops = IntStream.range(0, openTopics.length).filter(i -> kinds.racks()[openMembers[i]] != NONE)
                .mapToLong(i -> openTopics[i] * width + kinds.racks()[openMembers[i]]).sorted().distinct().toArray();
        firstPool = 1 + claims.pools().length;
        firstStop = firstPool + claims.topics().length;
        firstTopic = firstStop + stops.length;
        firstMemberKind = firstTopic + kinds.sizes().length;
        firstKeeper = firstMemberKind + kinds.counts().length;
        firstRest = firstKeeper + keeping.length;
        sink = firstRest + kinds.counts().length;
    }

    /** The member of each partition. */
    private int[] owners() {
        long turns = 2L * (Math.min(group.racks(), stops.length) + 2) * (kinds.counts().length + keeping.length + 1);
        long move = turns + 1;
        long[] sizes = Kinds.counts(claims.kinds());
        int elsewhere = group.racksOf() == null ? 0 : 1;
        for (int kind = 0; kind < sizes.length; kind++) {
            edges.add(0, 1 + kind, sizes[kind], 0);
        }
        int begin = edges.size;
        addKept(sizes, elsewhere);
        addMoved(sizes, move, elsewhere);
        addReads();
        int end = edges.size;
        addLoads((move + 1) * turns + 1);
        Network network = new Network(sink + 1, edges);
        network.fill();
        int[] nodes = Arrays.stream(claims.kinds()).map(kind -> 1 + kind).toArray();
        deal(nodes, begin, end, network.flow());
        return members(nodes);
    }

    private void addKept(long[] sizes, int elsewhere) {
        for (int kind = 0; kind < sizes.length; kind++) {
            for (int member : claims.owners()[kind]) {
                boolean near = Arrays.binarySearch(claims.racks()[claims.pools()[kind]], group.rackOf()[member]) >= 0;
                edges.add(1 + kind, firstKeeper + Arrays.binarySearch(keeping, member), sizes[kind], near ? 0 : elsewhere);
            }
        }
    }

    private void addMoved(long[] sizes, long move, int elsewhere) {
        long all = LongStream.of(sizes).sum();
        for (int kind = 0; kind < sizes.length; kind++) {
            edges.add(1 + kind, firstPool + claims.pools()[kind], sizes[kind], claims.owned()[kind] ? move : 0);
        }
        for (int pool = 0; pool < claims.topics().length; pool++) {
            for (int rack : claims.racks()[pool]) {
                int stop = Arrays.binarySearch(stops, claims.topics()[pool] * width + rack);
                if (stop >= 0) {
                    edges.add(firstPool + pool, firstStop + stop, all, 0);
                }
            }
        }
        for (int pool = 0; pool < claims.topics().length; pool++) {
            edges.add(firstPool + pool, firstTopic + claims.topics()[pool], all, elsewhere);
        }
    }

    private void addReads() {
        long all = group.partitions();
        for (int i = 0; i < openTopics.length; i++) {
            int rack = kinds.racks()[openMembers[i]];
            if (rack != NONE) {
                int stop = Arrays.binarySearch(stops, openTopics[i] * width + rack);
                edges.add(firstStop + stop, firstMemberKind + openMembers[i], all, 0);
            }
        }
        for (int i = 0; i < openTopics.length; i++) {
            edges.add(firstTopic + openTopics[i], firstMemberKind + openMembers[i], all, 0);
        }
        for (int i = 0; i < keeping.length; i++) {
            edges.add(firstMemberKind + kinds.members()[keeping[i]], firstKeeper + i, all, 0);
        }
        for (int kind = 0; kind < rest.length; kind++) {
            edges.add(firstMemberKind + kind, firstRest + kind, all, 0);
        }
    }

    /** A member of level l has l - 1 partitions, and at the price {@code more} one more. */
    private void addLoads(long more) {
        long[] ofKeepers = Arrays.stream(keeping).mapToLong(member -> levels.members()[kinds.members()[member]]).toArray();
        for (int i = 0; i < keeping.length; i++) {
            edges.add(firstKeeper + i, sink, Math.max(ofKeepers[i] - 1, 0), 0);
        }
        for (int i = 0; i < keeping.length; i++) {
            edges.add(firstKeeper + i, sink, Math.min(ofKeepers[i], 1), more);
        }
        for (int kind = 0; kind < rest.length; kind++) {
            edges.add(firstRest + kind, sink, rest[kind] * Math.max(levels.members()[kind] - 1, 0), 0);
        }
        for (int kind = 0; kind < rest.length; kind++) {
            edges.add(firstRest + kind, sink, rest[kind] * Math.min(levels.members()[kind], 1), more);
        }
    }

    /**
     * Sends each partition along the flow, to a keeper or to the rest of a kind; partitions in turn take the edges of a node in turn.
     *
     * @param nodes the node of each partition; written
     * @param begin the first of the edges between the kinds of partitions and the members; they end before {@code end}
     */
    private void deal(int[] nodes, int begin, int end, long[] flow) {
        int[] following = new int[edges.size]; // the edges of a node that carry something, in a circle
        int[] opening = new int[firstKeeper];
        int[] current = new int[firstKeeper]; // the edge that was taken last
        Arrays.fill(opening, NONE);
        for (int edge = begin; edge < end; edge++) {
            int node = edges.tails[edge];
            if (flow[edge] > 0) {
                if (opening[node] == NONE) {
                    opening[node] = edge;
                } else {
                    following[current[node]] = edge;
                }
                current[node] = edge;
                following[edge] = opening[node];
            }
        }
        for (int partition = 0; partition < nodes.length; partition++) {
            int node = nodes[partition];
            while (node < firstKeeper) {
                int edge = following[current[node]];
                if (--flow[edge] == 0) {
                    following[current[node]] = following[edge];
                } else {
                    current[node] = edge;
                }
                node = edges.heads[edge];
            }
            nodes[partition] = node;
        }
    }

    /** The member of each partition: of the rest of a kind, each in turn. */
    private int[] members(int[] nodes) {
        int[][] ofRest = IntStream.range(0, rest.length).mapToObj(kind -> new int[(int) rest[kind]]).toArray(int[][]::new);
        int[] at = new int[rest.length];
        for (int member = 0; member < kinds.members().length; member++) {
            int kind = kinds.members()[member];
            if (Arrays.binarySearch(keeping, member) < 0) {
                ofRest[kind][at[kind]++] = member;
            }
        }
        Arrays.fill(at, 0);
        int[] members = new int[nodes.length];
        for (int partition = 0; partition < nodes.length; partition++) {
            int kind = nodes[partition] - firstRest;
            if (kind < 0) {
                members[partition] = keeping[nodes[partition] - firstKeeper];
            } else {
                members[partition] = ofRest[kind][at[kind]];
                at[kind] = (at[kind] + 1) % ofRest[kind].length;
            }
        }
        return members;
    }
}
