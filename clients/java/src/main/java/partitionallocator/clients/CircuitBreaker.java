package partitionallocator.clients;

import java.time.Duration;
import java.util.function.LongSupplier;

/** Open for five minutes after three failures in succession; then one more failure opens it again. */
final class CircuitBreaker {
    private static final int FAILURES = 3;
    private static final long OPEN_NANOS = Duration.ofMinutes(5).toNanos();

    private final LongSupplier clock;
    private int failures;
    private long lastFailure;

    /** @param clock nanoseconds, as {@link System#nanoTime}. */
    CircuitBreaker(LongSupplier clock) {
        this.clock = clock;
    }

    boolean isOpen() {
        return failures >= FAILURES && clock.getAsLong() - lastFailure < OPEN_NANOS;
    }

    void record(boolean failed) {
        failures = failed ? failures + 1 : 0;
        lastFailure = clock.getAsLong();
    }
}
