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
        target.groupAssignment().forEach((member, assignment) -> {
            Set<TopicPartition> assigned = new HashSet<>(assignment.partitions());
            members.get(member).ownedPartitions().stream().filter(partition -> !assigned.contains(partition)).forEach(revoked::add);
        });
        Owners owners = new Owners(members); // a claim of an older generation does not make a member the owner
        Map<String, Assignment> now = new HashMap<>();
        boolean same = true;
        for (Map.Entry<String, Assignment> each : target.groupAssignment().entrySet()) {
            List<TopicPartition> partitions = new ArrayList<>(each.getValue().partitions());
            same &= !partitions.removeIf(partition -> revoked.contains(partition) && !owners.of(partition).contains(each.getKey()));
            now.put(each.getKey(), new Assignment(partitions, each.getValue().userData()));
        }
        if (same) {
            return target;
        }
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
