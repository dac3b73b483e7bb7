package partitionallocator.clients;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupAssignment;
import org.apache.kafka.common.TopicPartition;

/** Where a group is to get: the final owners. */
final class Plan {
    private final Group group;
    private final Map<String, List<TopicPartition>> target;

    Plan(Group group, Map<String, List<TopicPartition>> target) {
        this.group = group;
        this.target = target;
    }

    Group group() {
        return group;
    }

    GroupAssignment assignment() {
        Map<String, Assignment> assignments = new HashMap<>();
        for (String member : group.members()) {
            assignments.put(member, new Assignment(target.getOrDefault(member, List.of())));
        }
        return new GroupAssignment(assignments);
    }
}
