package partitionallocator.broker;

import java.nio.IntBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * What nothing tells apart: topics with the same subscribers; members with the same topics on the same rack. Kinds are numbered by the
 * first of each.
 *
 * @param topics the kind of each topic
 * @param members the kind of each member
 * @param counts the members of each kind
 * @param racks the rack of each kind of members, or NONE
 * @param sizes the partitions of each kind of topics
 * @param subscribers kind of topics → kinds of members, ascending
 */
record Kinds(int[] topics, int[] members, long[] counts, int[] racks, long[] sizes, int[][] subscribers) {
    static Kinds of(Group group) {
        int[][] subscribers = Group.transposed(group.subscriptions(), group.topics().length);
        int[] ofTopics = byFirst(group.topics().length, topic -> subscribers[topic]);
        int[] ofMembers = byFirst(group.members().length, member -> with(group.rackOf()[member], group.subscriptions()[member]));
        int[] samples = firsts(ofMembers);
        long[] sizes = new long[kinds(ofTopics)];
        for (int topic = 0; topic < ofTopics.length; topic++) {
            sizes[ofTopics[topic]] += group.first()[topic + 1] - group.first()[topic];
        }
        int[][] subscribing = Arrays.stream(firsts(ofTopics))
                .mapToObj(topic -> Arrays.stream(subscribers[topic])
                        .filter(member -> samples[ofMembers[member]] == member).map(member -> ofMembers[member]).toArray())
                .toArray(int[][]::new);
        return new Kinds(ofTopics, ofMembers, counts(ofMembers), Arrays.stream(samples).map(member -> group.rackOf()[member]).toArray(),
                sizes, subscribing);
    }

    /** The kind of each, where those with the same signature are of one kind. */
    static int[] byFirst(int count, IntFunction<int[]> signature) {
        Map<IntBuffer, Integer> kinds = new HashMap<>();
        int[] kindOf = new int[count];
        for (int i = 0; i < count; i++) {
            Integer known = kinds.putIfAbsent(IntBuffer.wrap(signature.apply(i)), kinds.size());
            kindOf[i] = known == null ? kinds.size() - 1 : known;
        }
        return kindOf;
    }

    /** The first of each kind. */
    static int[] firsts(int[] kindOf) {
        int[] firsts = new int[kinds(kindOf)];
        for (int i = kindOf.length - 1; i >= 0; i--) {
            firsts[kindOf[i]] = i;
        }
        return firsts;
    }

    /** How many there are of each kind. */
    static long[] counts(int[] kindOf) {
        long[] counts = new long[kinds(kindOf)];
        for (int kind : kindOf) {
            counts[kind]++;
        }
        return counts;
    }

    static int[] with(int head, int[] tail) {
        return IntStream.concat(IntStream.of(head), Arrays.stream(tail)).toArray();
    }

    private static int kinds(int[] kindOf) {
        return Arrays.stream(kindOf).max().orElse(-1) + 1;
    }
}
