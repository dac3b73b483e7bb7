import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.yammer.metrics.core.MetricsRegistry;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.coordinator.common.runtime.CoordinatorExecutor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorTimer;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.generated.OffsetCommitKey;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * Kafka's own group coordinator, which replays a log and then cleans it once. In: a line "NOW,RETENTION_MINUTES" (NOW in ms), then
 * the log's records, one a line: "KEY,VALUE" in base64, VALUE "null" for a tombstone. Out: [group, topic, partition] of each offset
 * that the cleaner removes.
 */
public class OffsetCleaner {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String[] asked = in.readLine().split(",");
        GroupCoordinatorShard shard = shard(Long.parseLong(asked[0]), asked[1]);
        long offset = 0;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(",", -1);
            CoordinatorRecord record =
                    new GroupCoordinatorRecordSerde().deserialize(bytes(words[0]), words[1].equals("null") ? null : bytes(words[1]));
            shard.replay(offset++, -1, (short) -1, record); // of no producer: no transaction
        }
        shard.onLoaded(CoordinatorMetadataImage.EMPTY);
        for (CoordinatorRecord record : shard.cleanupGroupMetadata().records()) {
            if (record.key() instanceof OffsetCommitKey key) {
                ArrayNode row = new ArrayNode(JsonNodeFactory.instance);
                System.out.println(row.add(key.group()).add(key.topic()).add(key.partition()));
            }
        }
        System.exit(0); // metrics keep threads
    }

    @SuppressWarnings("unchecked")
    private static GroupCoordinatorShard shard(long now, String retentionMinutes) {
        Map<String, String> properties = Map.of(GroupCoordinatorConfig.OFFSETS_RETENTION_MINUTES_CONFIG, retentionMinutes);
        ConfigDef options = Utils.mergeConfigs(List.of(GroupCoordinatorConfig.CONFIG_DEF, ShareGroupConfig.CONFIG_DEF));
        AbstractConfig read = new AbstractConfig(options, properties, false);
        GroupCoordinatorConfig config = new GroupCoordinatorConfig(read);
        GroupConfigManager groups = new GroupConfigManager(Map.of(), config, new ShareGroupConfig(read));
        GroupCoordinatorShard.Builder builder = new GroupCoordinatorShard.Builder(config, groups);
        builder.withAuthorizerPlugin(Optional.empty());
        return (GroupCoordinatorShard) builder.withLogContext(new LogContext())
                .withTime(idle(Time.class, now))
                .withTimer(idle(CoordinatorTimer.class, now))
                .withExecutor(idle(CoordinatorExecutor.class, now))
                .withCoordinatorMetrics(new GroupCoordinatorMetrics(new MetricsRegistry(), new Metrics()))
                .withTopicPartition(new TopicPartition("__consumer_offsets", 0))
                .withSnapshotRegistry(new SnapshotRegistry(new LogContext()))
                .build();
    }

    /** A clock that stands still, a timer and an executor that do nothing. */
    @SuppressWarnings("unchecked")
    private static <T> T idle(Class<T> what, long now) {
        return (T) Proxy.newProxyInstance(what.getClassLoader(), new Class<?>[] {what}, (self, method, arguments) -> {
            Class<?> type = method.getReturnType();
            if (type == long.class) {
                return now;
            }
            return type == boolean.class ? false : null;
        });
    }

    private static ByteBuffer bytes(String base64) {
        return ByteBuffer.wrap(Base64.getDecoder().decode(base64));
    }
}
