package partitionallocator.clients;

import java.io.IOException;
import java.net.http.HttpTimeoutException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.TopicPartition;

/** What became of a question to the service. */
final class Advice {
    private final Outcome outcome;
    private final String detail;
    private final Map<String, List<TopicPartition>> target;

    private Advice(Outcome outcome, String detail, Map<String, List<TopicPartition>> target) {
        this.outcome = outcome;
        this.detail = detail;
        this.target = target;
    }

    static Advice taken(Map<String, List<TopicPartition>> target) {
        return new Advice(Outcome.REMOTE, "", target);
    }

    static Advice none(Outcome outcome, String detail) {
        return new Advice(outcome, detail, null);
    }

    static Advice failed(Throwable cause) {
        if (cause instanceof Allocator.BadAnswer) {
            return none(((Allocator.BadAnswer) cause).outcome(), cause.getMessage());
        }
        if (cause instanceof HttpTimeoutException) {
            return none(Outcome.TIMEOUT, cause.getMessage());
        }
        return none(cause instanceof IOException ? Outcome.UNREACHABLE : Outcome.ERROR, cause.toString());
    }

    Outcome outcome() {
        return outcome;
    }

    /** Why the answer is not taken, for the log. */
    String detail() {
        return detail;
    }

    /** The final owners, if the answer is taken. */
    Optional<Map<String, List<TopicPartition>>> target() {
        return Optional.ofNullable(target);
    }
}
