package partitionallocator.clients;

import java.util.Locale;

/** What became of a rebalance, and if cooperative-sticky assigned it alone, why. */
enum Outcome {
    /** As the service says. */
    REMOTE,
    /** The end of what the service said in the rebalance before, without another request. */
    FOLLOW_UP,
    /** No answer within the deadline. */
    TIMEOUT,
    /** No connection, or a broken one. */
    UNREACHABLE,
    /** An answer other than 200. */
    STATUS,
    /** Not CSV, or longer than any answer can be. */
    UNREADABLE,
    /** Not every partition once to a subscriber, or partitions and members that the group does not have. */
    UNSOUND,
    /** More partitions change owners than {@code partition.allocator.max.moves}. */
    MOVES,
    /** The member with the most gets more than under cooperative-sticky. */
    WORSE,
    /** Lags are missing or too old. */
    STALE_WEIGHTS,
    /** Three requests failed in succession, and five minutes are not over. */
    CIRCUIT_OPEN,
    /** The consumer's thread was interrupted. */
    INTERRUPTED,
    /** Anything else. */
    ERROR;

    boolean isLocal() {
        return this != REMOTE && this != FOLLOW_UP;
    }

    /** Is the service to be left alone if this goes on? */
    boolean isFailure() {
        return this == TIMEOUT || this == UNREACHABLE || this == STATUS || this == UNREADABLE || this == UNSOUND || this == ERROR;
    }

    /** The name of its counter in JMX. */
    String attribute() {
        String name = name().toLowerCase(Locale.ROOT).replace('_', '-');
        return (isLocal() ? "local-" + name : name) + "-total";
    }
}
