package partitionallocator.clients;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;

/** How much each partition weighs. */
final class Weights {
    static final Weights EQUAL = new Weights(null);

    private final Map<TopicPartition, Long> lags;

    private Weights(Map<TopicPartition, Long> lags) {
        this.lags = lags;
    }

    static Weights byLag(Map<TopicPartition, Long> lags) {
        return new Weights(lags);
    }

    boolean areEqual() {
        return lags == null;
    }

    /** Its lag and one, so that partitions without lag are spread too; 1 if all weigh alike. */
    long of(TopicPartition partition) {
        return lags == null ? 1 : 1 + lags.get(partition);
    }

    /** The load of the member with the most. */
    double worst(Map<String, List<TopicPartition>> assignment) {
        return assignment.values().stream().mapToDouble(partitions -> partitions.stream().mapToDouble(this::of).sum()).max().orElse(0);
    }
}
