package partitionallocator.clients;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.common.TopicPartition;

/** Who owns what: of several members that claim a partition, those of the newest generation. */
final class Owners {
    private final Map<TopicPartition, Set<String>> owners = new HashMap<>();

    Owners(Map<String, Subscription> members) {
        Map<TopicPartition, Integer> newest = new HashMap<>();
        members.forEach((member, subscription) -> {
            int generation = subscription.generationId().orElse(-1);
            for (TopicPartition partition : subscription.ownedPartitions()) {
                int before = newest.getOrDefault(partition, Integer.MIN_VALUE);
                if (generation > before) {
                    owners.put(partition, new HashSet<>());
                    newest.put(partition, generation);
                }
                if (generation >= before) {
                    owners.get(partition).add(member);
                }
            }
        });
    }

    /** None, one, or several of one generation. */
    Set<String> of(TopicPartition partition) {
        return owners.getOrDefault(partition, Set.of());
    }
}
