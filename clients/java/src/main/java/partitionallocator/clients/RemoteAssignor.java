package partitionallocator.clients;

import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Kafka's cooperative-sticky assignor, which takes the advice of a partition-allocator if that comes in time and is sound.
 *
 * <p>The group leader computes cooperative-sticky's answer first. Then it posts the group to {@code /v1/group-assignments} for the
 * assignor {@code balanced}, once, and waits no longer than a hard deadline, for Kafka calls {@link #assign} inside the lock that
 * heartbeats need. If the answer is late, missing, unsound or no better, cooperative-sticky's is taken. Nothing is thrown that
 * cooperative-sticky alone would not throw.
 *
 * <p>Roll it out as {@code partition.assignment.strategy=partitionallocator.clients.RemoteAssignor,
 * org.apache.kafka.clients.consumer.CooperativeStickyAssignor}. {@link RemoteAssignorConfig} lists its configuration.
 */
public final class RemoteAssignor implements ConsumerPartitionAssignor, Configurable {
    private static final Logger LOG = LoggerFactory.getLogger(RemoteAssignor.class);
    private static final Cleaner CLEANER = Cleaner.create();

    private final CooperativeStickyAssignor inner = new CooperativeStickyAssignor();
    private final CircuitBreaker breaker = new CircuitBreaker(System::nanoTime);
    private RemoteAssignorConfig config;
    private Allocator allocator;
    private LagSampler lags; // null if partitions weigh alike
    private Outcomes outcomes;
    private Plan unfinished; // some of its partitions were withheld until their owners have revoked them
    private boolean led; // since the last assignment

    @Override
    public void configure(Map<String, ?> configs) {
        config = new RemoteAssignorConfig(configs);
        allocator = new Allocator(config);
        outcomes = Outcomes.ofGroup(config.groupId());
        if (config.weighsByLag()) {
            lags = new LagSampler(configs, config);
            CLEANER.register(this, lags::stop); // Kafka does not close assignors
        }
    }

    @Override
    public String name() {
        return "partition-allocator";
    }

    @Override
    public short version() {
        return inner.version();
    }

    @Override
    public List<RebalanceProtocol> supportedProtocols() {
        return inner.supportedProtocols();
    }

    @Override
    public ByteBuffer subscriptionUserData(Set<String> topics) {
        return inner.subscriptionUserData(topics);
    }

    @Override
    public void onAssignment(Assignment assignment, ConsumerGroupMetadata metadata) {
        inner.onAssignment(assignment, metadata);
        if (!led) { // another member leads the group now
            unfinished = null;
            if (lags != null) {
                lags.stop();
            }
        }
        led = false;
    }

    @Override
    public GroupAssignment assign(Cluster metadata, GroupSubscription subscriptions) {
        GroupAssignment local = inner.assign(metadata, subscriptions);
        Map<String, Subscription> members = subscriptions.groupSubscription();
        // Kafka looks at this assignor more strictly than at its own: no partition may go straight to another member, even
        // from one that owned it generations ago.
        GroupAssignment fallback = Revocations.first(members, local);
        led = true;
        try {
            return advised(metadata, members, local).orElse(fallback);
        } catch (Throwable e) { // whatever it is, the group must go on
            unfinished = null;
            counted(Outcome.ERROR, e.toString());
            return fallback;
        }
    }

    /** The service's answer; empty if cooperative-sticky's is to be taken. */
    private Optional<GroupAssignment> advised(Cluster metadata, Map<String, Subscription> members, GroupAssignment local) {
        Group group = Group.of(metadata, members);
        if (unfinished != null && unfinished.group().sameAs(group)) {
            counted(Outcome.FOLLOW_UP, "");
            return Optional.of(carriedOut(unfinished, members));
        }
        unfinished = null;
        Optional<Weights> weights = lags == null ? Optional.of(Weights.EQUAL) : lags.of(group.partitions());
        if (members.size() < 2 || group.topics().isEmpty()) {
            return Optional.empty(); // there is nothing to advise
        }
        if (weights.isEmpty()) {
            counted(Outcome.STALE_WEIGHTS, "there are no lags of all partitions that are recent enough");
            return Optional.empty();
        }
        if (breaker.isOpen()) {
            counted(Outcome.CIRCUIT_OPEN, "the last requests failed");
            return Optional.empty();
        }
        Advice advice = ask(group, weights.get(), metadata, members, local);
        breaker.record(advice.outcome().isFailure());
        counted(advice.outcome(), advice.detail());
        return advice.target().map(target -> carriedOut(new Plan(group, target), members));
    }

    /** Asks on a thread of its own, which is left behind at the deadline. */
    private Advice ask(Group group, Weights weights, Cluster metadata, Map<String, Subscription> members, GroupAssignment local) {
        FutureTask<Advice> answer = new FutureTask<>(() -> {
            Map<String, List<TopicPartition>> target = allocator.assign(group, weights);
            return Acceptance.judge(group, weights, config.maxMoves(), target, () -> Revocations.afterwards(metadata, members, local));
        });
        Thread thread = new Thread(answer, "partition-allocator-" + config.groupId());
        thread.setDaemon(true);
        thread.start();
        try {
            return answer.get(config.deadline().toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return Advice.none(Outcome.TIMEOUT, "no answer within " + config.deadline().toMillis() + " ms");
        } catch (ExecutionException e) {
            return Advice.failed(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Advice.none(Outcome.INTERRUPTED, "the thread was interrupted");
        } finally {
            answer.cancel(true);
        }
    }

    private GroupAssignment carriedOut(Plan plan, Map<String, Subscription> members) {
        GroupAssignment target = plan.assignment();
        GroupAssignment now = Revocations.first(members, target);
        unfinished = now == target ? null : plan;
        return now;
    }

    private void counted(Outcome outcome, String detail) {
        outcomes.count(outcome);
        if (outcome.isLocal()) {
            LOG.warn("Group {} is assigned by cooperative-sticky alone ({}): {}", config.groupId(), outcome.attribute(), detail);
        } else {
            LOG.info("Group {} is assigned as the partition-allocator says ({})", config.groupId(), outcome.attribute());
        }
    }
}
