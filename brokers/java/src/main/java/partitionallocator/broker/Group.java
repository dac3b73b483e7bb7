package partitionallocator.broker;

import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;

/**
 * A group as arrays: members, topics and racks are indices in the order of their ids; partitions are counted through all topics.
 *
 * @param members the member ids, at least one
 * @param topics the ids of the topics that exist and that a member subscribes to
 * @param first the first partition of each topic, and the number of all partitions
 * @param subscriptions member → topics, ascending
 * @param owned member → partitions of its target assignment that are still there, ascending
 * @param racks the number of racks
 * @param rackOf the rack of each member, or NONE
 * @param racksOf partition → racks of its replicas, ascending; null where no partition or no member is on a rack
 */
record Group(String[] members, Uuid[] topics, int[] first, int[][] subscriptions, int[][] owned, int racks, int[] rackOf, int[][] racksOf) {
    static final int NONE = -1;

    static Group of(GroupSpec spec, SubscribedTopicDescriber describer) {
        String[] members = spec.memberIds().stream().sorted().toArray(String[]::new);
        TreeMap<Uuid, Integer> topicOf = new TreeMap<>();
        for (String member : members) {
            for (Uuid topic : spec.memberSubscription(member).subscribedTopicIds()) {
                if (describer.numPartitions(topic) > 0) {
                    topicOf.put(topic, 0);
                }
            }
        }
        Uuid[] topics = topicOf.keySet().toArray(Uuid[]::new);
        int[] first = new int[topics.length + 1];
        for (int topic = 0; topic < topics.length; topic++) {
            topicOf.put(topics[topic], topic);
            first[topic + 1] = Math.addExact(first[topic], describer.numPartitions(topics[topic]));
        }
        int[][] subscriptions = new int[members.length][];
        int[][] owned = new int[members.length][];
        String[] rackIds = new String[members.length];
        for (int member = 0; member < members.length; member++) {
            var subscription = spec.memberSubscription(members[member]);
            subscriptions[member] = subscription.subscribedTopicIds().stream()
                    .filter(topicOf::containsKey).mapToInt(topicOf::get).sorted().toArray();
            owned[member] = owned(spec.memberAssignment(members[member]).partitions(), topicOf, first);
            rackIds[member] = subscription.rackId().filter(rack -> !rack.isEmpty()).orElse(null);
        }
        return ranked(members, topics, first, subscriptions, owned, rackIds, describer);
    }

    private static int[] owned(Map<Uuid, Set<Integer>> assignment, Map<Uuid, Integer> topicOf, int[] first) {
        return assignment.entrySet().stream().filter(each -> topicOf.containsKey(each.getKey())).flatMapToInt(each -> {
            int topic = topicOf.get(each.getKey());
            return each.getValue().stream().mapToInt(id -> first[topic] + id).filter(partition -> partition < first[topic + 1]);
        }).sorted().toArray();
    }

    private static Group ranked(String[] members, Uuid[] topics, int[] first, int[][] subscriptions, int[][] owned, String[] rackIds,
            SubscribedTopicDescriber describer) {
        TreeMap<String, Integer> rackOf = new TreeMap<>();
        Arrays.stream(rackIds).filter(rack -> rack != null).forEach(rack -> rackOf.put(rack, 0));
        int[][] racksOf = null;
        if (!rackOf.isEmpty()) {
            String[][] replicas = replicas(topics, first, describer);
            Arrays.stream(replicas).flatMap(Arrays::stream).forEach(rack -> rackOf.put(rack, 0));
            int rank = 0;
            for (var each : rackOf.entrySet()) {
                each.setValue(rank++);
            }
            if (Arrays.stream(replicas).anyMatch(racks -> racks.length > 0)) {
                racksOf = Arrays.stream(replicas)
                        .map(racks -> Arrays.stream(racks).mapToInt(rackOf::get).toArray()).toArray(int[][]::new);
            }
        }
        boolean matter = racksOf != null;
        int[] ranks = Arrays.stream(rackIds).mapToInt(rack -> matter && rack != null ? rackOf.get(rack) : NONE).toArray();
        return new Group(members, topics, first, subscriptions, owned, rackOf.size(), ranks, racksOf);
    }

    /** Partition → the racks of its replicas, ascending. */
    private static String[][] replicas(Uuid[] topics, int[] first, SubscribedTopicDescriber describer) {
        String[][] racks = new String[first[topics.length]][];
        for (int topic = 0; topic < topics.length; topic++) {
            for (int partition = first[topic]; partition < first[topic + 1]; partition++) {
                Set<String> named = new TreeSet<>(describer.racksForPartition(topics[topic], partition - first[topic]));
                named.remove("");
                racks[partition] = named.toArray(String[]::new);
            }
        }
        return racks;
    }

    int partitions() {
        return first[topics.length];
    }

    /** The topic of each partition. */
    int[] topicOf() {
        int[] topicOf = new int[partitions()];
        for (int topic = 0; topic < topics.length; topic++) {
            Arrays.fill(topicOf, first[topic], first[topic + 1], topic);
        }
        return topicOf;
    }

    /** Column → the rows that have it, ascending. */
    static int[][] transposed(int[][] rows, int columns) {
        int[] sizes = new int[columns];
        for (int[] row : rows) {
            for (int column : row) {
                sizes[column]++;
            }
        }
        int[][] transposed = IntStream.range(0, columns).mapToObj(column -> new int[sizes[column]]).toArray(int[][]::new);
        Arrays.fill(sizes, 0);
        for (int row = 0; row < rows.length; row++) {
            for (int column : rows[row]) {
                transposed[column][sizes[column]++] = row;
            }
        }
        return transposed;
    }
}
