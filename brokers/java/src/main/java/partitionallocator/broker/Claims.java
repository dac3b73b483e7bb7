package partitionallocator.broker;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Kinds of partitions: of topics of one kind, with replicas on the same racks, that the same members may keep. Numbered by the first of
 * each, as are pools, which are kinds without regard to who owns them.
 *
 * @param kinds the kind of each partition
 * @param pools the pool of each kind
 * @param topics the kind of topics of each pool
 * @param racks pool → racks of its replicas on which a member is
 * @param owned does anybody own the partitions of a kind?
 * @param owners kind → members that own them and may keep them, ascending
 */
record Claims(int[] kinds, int[] pools, int[] topics, int[][] racks, boolean[] owned, int[][] owners) {
    static Claims of(Group group, Kinds kinds, Levels levels) {
        int[] topicOf = Arrays.stream(group.topicOf()).map(topic -> kinds.topics()[topic]).toArray();
        int[][] racksOf = racksOf(group, topicOf.length);
        int[] poolOf = Kinds.byFirst(topicOf.length, partition -> Kinds.with(topicOf[partition], racksOf[partition]));
        boolean[] owned = new boolean[topicOf.length];
        for (int[] partitions : group.owned()) {
            Arrays.stream(partitions).forEach(partition -> owned[partition] = true);
        }
        int[][] owners = Group.transposed(keepable(group, kinds, levels, topicOf), topicOf.length);
        int[] kindOf = Kinds.byFirst(topicOf.length, partition ->
                Kinds.with(2 * poolOf[partition] + (owned[partition] ? 1 : 0), owners[partition]));
        int[] samples = Kinds.firsts(kindOf);
        int[] ofPools = Kinds.firsts(poolOf);
        boolean[] kindOwned = new boolean[samples.length];
        for (int kind = 0; kind < samples.length; kind++) {
            kindOwned[kind] = owned[samples[kind]];
        }
        return new Claims(kindOf, at(poolOf, samples), at(topicOf, ofPools),
                Arrays.stream(ofPools).mapToObj(partition -> racksOf[partition]).toArray(int[][]::new),
                kindOwned, Arrays.stream(samples).mapToObj(partition -> owners[partition]).toArray(int[][]::new));
    }

    private static int[] at(int[] values, int[] indices) {
        return Arrays.stream(indices).map(index -> values[index]).toArray();
    }

    /** Partition → the racks of its replicas on which a member is. */
    private static int[][] racksOf(Group group, int partitions) {
        if (group.racksOf() == null) {
            return IntStream.range(0, partitions).mapToObj(partition -> new int[0]).toArray(int[][]::new);
        }
        boolean[] hasMember = new boolean[group.racks()];
        Arrays.stream(group.rackOf()).filter(rack -> rack != Group.NONE).forEach(rack -> hasMember[rack] = true);
        return Arrays.stream(group.racksOf())
                .map(racks -> Arrays.stream(racks).filter(rack -> hasMember[rack]).toArray()).toArray(int[][]::new);
    }

    /** Member → the partitions that it owns, subscribes to, and that go to members of its level. */
    private static int[][] keepable(Group group, Kinds kinds, Levels levels, int[] kindOfTopic) {
        int[] topicOf = group.topicOf();
        return IntStream.range(0, group.members().length).mapToObj(member -> Arrays.stream(group.owned()[member])
                .filter(partition -> Arrays.binarySearch(group.subscriptions()[member], topicOf[partition]) >= 0)
                .filter(partition -> levels.topics()[kindOfTopic[partition]] == levels.members()[kinds.members()[member]])
                .toArray()).toArray(int[][]::new);
    }
}
