package partitionallocator.clients;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads the lags of a group's partitions now and then, on a daemon thread of the member that leads the group. */
final class LagSampler {
    private static final Logger LOG = LoggerFactory.getLogger(LagSampler.class);

    private final Map<String, Object> adminConfigs = new HashMap<>();
    private final String groupId;
    private final Duration interval;
    private final Duration maxAge;
    private ScheduledExecutorService thread;
    private Admin admin; // the thread's alone
    private volatile Set<TopicPartition> partitions = Set.of();
    private volatile Map<TopicPartition, Long> lags = Map.of();
    private volatile long sampledAt;

    LagSampler(Map<String, ?> consumerConfigs, RemoteAssignorConfig config) {
        Set<String> known = AdminClientConfig.configNames();
        consumerConfigs.forEach((name, value) -> {
            if (known.contains(name) && value != null) {
                adminConfigs.put(name, value);
            }
        });
        adminConfigs.remove(CommonClientConfigs.METRIC_REPORTER_CLASSES_CONFIG); // those of the consumer
        adminConfigs.computeIfPresent(AdminClientConfig.CLIENT_ID_CONFIG, (name, id) -> id + "-partition-allocator");
        groupId = config.groupId();
        interval = config.weightsInterval();
        maxAge = config.weightsMaxAge();
    }

    /** The weights of these partitions, which are sampled from now on; empty if a lag is not known or too old. */
    synchronized Optional<Weights> of(Set<TopicPartition> wanted) {
        partitions = wanted;
        if (thread == null) {
            sampledAt = System.nanoTime() - maxAge.toNanos();
            thread = Executors.newSingleThreadScheduledExecutor(task -> {
                Thread made = new Thread(task, "partition-allocator-lags-" + groupId);
                made.setDaemon(true);
                return made;
            });
            thread.scheduleWithFixedDelay(this::sample, 0, interval.toMillis(), TimeUnit.MILLISECONDS);
        }
        Map<TopicPartition, Long> known = lags;
        boolean fresh = System.nanoTime() - sampledAt < maxAge.toNanos() && known.keySet().containsAll(wanted);
        return fresh ? Optional.of(Weights.byLag(known)) : Optional.empty();
    }

    synchronized void stop() {
        if (thread != null) {
            thread.execute(this::close); // its last task
            thread.shutdown();
            thread = null;
        }
    }

    private void close() {
        if (admin != null) {
            admin.close(Duration.ZERO);
            admin = null;
        }
    }

    private void sample() {
        try {
            if (admin == null) {
                admin = Admin.create(adminConfigs);
            }
            lags = lags(partitions);
            sampledAt = System.nanoTime();
        } catch (ExecutionException | TimeoutException | KafkaException e) {
            LOG.warn("The lags of group {} cannot be read", groupId, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A partition without a committed offset has a lag of 0. */
    private Map<TopicPartition, Long> lags(Set<TopicPartition> of)
            throws InterruptedException, ExecutionException, TimeoutException {
        long within = interval.toMillis();
        Map<TopicPartition, OffsetAndMetadata> committed = admin.listConsumerGroupOffsets(groupId).partitionsToOffsetAndMetadata()
                .get(within, TimeUnit.MILLISECONDS);
        Map<TopicPartition, OffsetSpec> latest = of.stream().collect(Collectors.toMap(each -> each, each -> OffsetSpec.latest()));
        Map<TopicPartition, ListOffsetsResultInfo> ends = admin.listOffsets(latest).all().get(within, TimeUnit.MILLISECONDS);
        Map<TopicPartition, Long> found = new HashMap<>();
        ends.forEach((partition, end) -> {
            OffsetAndMetadata offset = committed.get(partition);
            found.put(partition, offset == null ? 0 : Math.max(0, end.offset() - offset.offset()));
        });
        return found;
    }
}
