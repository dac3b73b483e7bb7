package partitionallocator.clients;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupAssignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;

/** The rule of KIP-429: a partition stays unassigned until its previous owner has revoked it, which makes another rebalance. */
final class Revocations {
    /** The assignment without partitions that another member still has to revoke; the same object if there are none. */
    static GroupAssignment first(Map<String, Subscription> members, GroupAssignment target) {
        Set<TopicPartition> revoked = new HashSet<>();
        Set<TopicPartition> added = new HashSet<>();
        target.groupAssignment().forEach((member, assignment) -> {
            Set<TopicPartition> owned = new HashSet<>(members.get(member).ownedPartitions());
            Set<TopicPartition> assigned = new HashSet<>(assignment.partitions());
            owned.stream().filter(partition -> !assigned.contains(partition)).forEach(revoked::add);
            assigned.stream().filter(partition -> !owned.contains(partition)).forEach(added::add);
        });
        added.retainAll(revoked);
        if (added.isEmpty()) {
            return target;
        }
        Map<String, Assignment> now = new HashMap<>();
        target.groupAssignment().forEach((member, assignment) -> {
            Set<TopicPartition> owned = new HashSet<>(members.get(member).ownedPartitions());
            List<TopicPartition> partitions = new ArrayList<>(assignment.partitions());
            partitions.removeIf(partition -> added.contains(partition) && !owned.contains(partition));
            now.put(member, new Assignment(partitions, assignment.userData()));
        });
        return new GroupAssignment(now);
    }

    /** What cooperative-sticky assigns when the members have revoked what its first answer takes from them. */
    static Map<String, List<TopicPartition>> afterwards(Cluster metadata, Map<String, Subscription> members, GroupAssignment first) {
        Map<String, Subscription> again = new HashMap<>();
        first.groupAssignment().forEach((member, assignment) -> {
            Subscription subscription = members.get(member);
            Subscription next = new Subscription(subscription.topics(), null, assignment.partitions(), 1, subscription.rackId());
            next.setGroupInstanceId(subscription.groupInstanceId());
            again.put(member, next);
        });
        Map<String, List<TopicPartition>> partitions = new HashMap<>();
        new CooperativeStickyAssignor().assign(metadata, new GroupSubscription(again)).groupAssignment()
                .forEach((member, assignment) -> partitions.put(member, assignment.partitions()));
        return partitions;
    }

    private Revocations() { }
}
