package partitionallocator.broker;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;

/**
 * The most even assignment of a consumer group (KIP-848) that subscriptions allow; among those the one with the fewest moves; among
 * those the one with the most partitions read on the reader's rack. What these leave open goes by member id, topic id and partition.
 *
 * <p>It computes within the broker and asks nobody. partition-allocator's {@code balanced} gives the same answer to the same group.
 *
 * <p>A broker loads it by {@code group.consumer.assignors=partitionallocator.broker.BalancedAssignor,uniform,range}; the first is the
 * default, and a consumer chooses by {@code group.remote.assignor=balanced}.
 */
public final class BalancedAssignor implements ConsumerGroupPartitionAssignor {
    @Override
    public String name() {
        return "balanced";
    }

    @Override
    public GroupAssignment assign(GroupSpec spec, SubscribedTopicDescriber topics) {
        if (spec.memberIds().isEmpty()) {
            return new GroupAssignment(Map.of());
        }
        Group group = Group.of(spec, topics);
        int[] owners = Formula.applies(group) ? Formula.assign(group) : Transport.assign(group);
        return assignment(group, owners);
    }

    /** @param owners of each partition, the member. */
    private static GroupAssignment assignment(Group group, int[] owners) {
        List<Map<Uuid, Set<Integer>>> assigned = new ArrayList<>();
        for (int member = 0; member < group.members().length; member++) {
            assigned.add(new HashMap<>());
        }
        for (int topic = 0; topic < group.topics().length; topic++) {
            for (int partition = group.first()[topic]; partition < group.first()[topic + 1]; partition++) {
                assigned.get(owners[partition])
                        .computeIfAbsent(group.topics()[topic], id -> new HashSet<>())
                        .add(partition - group.first()[topic]);
            }
        }
        Map<String, MemberAssignment> members = new HashMap<>();
        for (int member = 0; member < assigned.size(); member++) {
            members.put(group.members()[member], new Partitions(assigned.get(member)));
        }
        return new GroupAssignment(members);
    }

    private record Partitions(Map<Uuid, Set<Integer>> partitions) implements MemberAssignment { }
}
