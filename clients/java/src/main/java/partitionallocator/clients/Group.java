package partitionallocator.clients;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** The group as its leader sees it: the topics that exist and have a subscriber, the members, and who owns what. */
final class Group {
    private final Map<String, List<List<String>>> topics = new TreeMap<>(); // partition id → racks of its replicas
    private final Map<String, Subscription> subscriptions = new TreeMap<>();
    private final Map<String, Set<String>> topicsOf = new HashMap<>();
    private Owners owners;

    static Group of(Cluster metadata, Map<String, Subscription> subscriptions) {
        Group group = new Group();
        group.subscriptions.putAll(subscriptions);
        subscriptions.forEach((member, subscription) -> {
            group.topicsOf.put(member, new LinkedHashSet<>(subscription.topics()));
            for (String topic : subscription.topics()) {
                Integer count = metadata.partitionCountForTopic(topic);
                if (count != null && count > 0) {
                    group.topics.computeIfAbsent(topic, name -> racks(metadata, name, count));
                }
            }
        });
        group.owners = new Owners(subscriptions);
        return group;
    }

    private static List<List<String>> racks(Cluster metadata, String topic, int count) {
        List<List<String>> racks = new ArrayList<>();
        for (int id = 0; id < count; id++) {
            List<String> ofReplicas = new ArrayList<>();
            PartitionInfo partition = metadata.partition(new TopicPartition(topic, id));
            if (partition != null && partition.replicas() != null) {
                for (Node replica : partition.replicas()) {
                    if (replica.hasRack()) {
                        ofReplicas.add(replica.rack());
                    }
                }
            }
            racks.add(ofReplicas);
        }
        return racks;
    }

    Set<String> members() {
        return subscriptions.keySet();
    }

    Map<String, List<List<String>>> topics() {
        return topics;
    }

    boolean subscribes(String member, String topic) {
        return topicsOf.getOrDefault(member, Set.of()).contains(topic);
    }

    Set<String> topicsOf(String member) {
        return topicsOf.get(member);
    }

    Optional<String> rackOf(String member) {
        return subscriptions.get(member).rackId().filter(rack -> !rack.isEmpty());
    }

    Optional<String> instanceOf(String member) {
        return subscriptions.get(member).groupInstanceId();
    }

    /** All partitions that have to be assigned. */
    Set<TopicPartition> partitions() {
        Set<TopicPartition> partitions = new HashSet<>();
        topics.forEach((topic, racks) -> {
            for (int id = 0; id < racks.size(); id++) {
                partitions.add(new TopicPartition(topic, id));
            }
        });
        return partitions;
    }

    /** The members that own a partition: none, one, or several of one generation. */
    Set<String> ownersOf(TopicPartition partition) {
        return owners.of(partition);
    }

    /** What a member owns, topic by topic. */
    Map<String, List<Integer>> ownedBy(String member) {
        return subscriptions.get(member).ownedPartitions().stream().filter(partition -> ownersOf(partition).contains(member)).distinct()
                .collect(Collectors.groupingBy(TopicPartition::topic, TreeMap::new,
                        Collectors.mapping(TopicPartition::partition, Collectors.toList())));
    }

    /** Has the other the same members, subscriptions and partitions? Who owns what may differ. */
    boolean sameAs(Group other) {
        return topicsOf.equals(other.topicsOf) && partitions().equals(other.partitions());
    }
}
