package partitionallocator.clients;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;

/** Whether the service's answer is taken. */
final class Acceptance {
    /**
     * Judges an answer.
     *
     * @param target the service's answer, member → partitions
     * @param local cooperative-sticky's final answer
     */
    static Advice judge(Group group, Weights weights, OptionalInt maxMoves, Map<String, List<TopicPartition>> target,
            Supplier<Map<String, List<TopicPartition>>> local) {
        Map<TopicPartition, String> owner = new HashMap<>();
        Set<TopicPartition> partitions = group.partitions();
        for (Map.Entry<String, List<TopicPartition>> each : target.entrySet()) {
            for (TopicPartition partition : each.getValue()) {
                if (!partitions.contains(partition) || !group.subscribes(each.getKey(), partition.topic())) {
                    return Advice.none(Outcome.UNSOUND, partition + " cannot be read by " + each.getKey());
                }
                if (owner.put(partition, each.getKey()) != null) {
                    return Advice.none(Outcome.UNSOUND, partition + " is assigned twice");
                }
            }
        }
        if (owner.size() < partitions.size()) {
            return Advice.none(Outcome.UNSOUND, partitions.size() - owner.size() + " partitions are not assigned");
        }
        long moves = owner.entrySet().stream().filter(each -> {
            Set<String> before = group.ownersOf(each.getKey());
            return !before.isEmpty() && !before.contains(each.getValue());
        }).count();
        if (maxMoves.isPresent() && moves > maxMoves.getAsInt()) {
            return Advice.none(Outcome.MOVES, moves + " partitions would change owners");
        }
        double worst = weights.worst(target);
        double localWorst = weights.worst(local.get());
        if (worst > localWorst) {
            return Advice.none(Outcome.WORSE, "a member would have a load of " + worst + " instead of " + localWorst);
        }
        return Advice.taken(target);
    }

    private Acceptance() { }
}
