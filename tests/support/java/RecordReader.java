import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.MessageFormatter;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.generated.CoordinatorRecordJsonConverters;
import org.apache.kafka.coordinator.share.ShareCoordinatorRecordSerde;
import org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter;
import org.apache.kafka.tools.consumer.OffsetsMessageFormatter;
import org.apache.kafka.tools.consumer.ShareGroupMessageFormatter;
import org.apache.kafka.tools.consumer.group.share.ShareGroupStateMessageFormatter;

/**
 * Kafka's own readers. In, one a line: "group_record,KEY,VALUE" in base64 (VALUE "null" for a tombstone) or the same of a
 * "share_group_state_record", "subscription,BYTES" or "assignment,BYTES". Out, for each: what the bytes say, in the words of POST
 * /v1/decodings, or {"exception", "message"}; and of a record what each of Kafka's formatters prints.
 */
public class RecordReader {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(new BufferedOutputStream(System.out), false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(",", -1);
            ObjectNode answer = new ObjectNode(JSON);
            byte[] key = words.length > 2 ? decoded(words[1]) : null;
            byte[] value = words.length > 2 && !words[2].equals("null") ? decoded(words[2]) : null;
            try {
                switch (words[0]) {
                    case "group_record" -> groupRecord(answer, ByteBuffer.wrap(key), value == null ? null : ByteBuffer.wrap(value));
                    case "share_group_state_record" ->
                            stateRecord(answer, ByteBuffer.wrap(key), value == null ? null : ByteBuffer.wrap(value));
                    case "subscription" -> subscription(answer, ConsumerProtocol.deserializeSubscription(bytes(words[1])));
                    default -> assignment(answer, ConsumerProtocol.deserializeAssignment(bytes(words[1])));
                }
            } catch (RuntimeException thrown) {
                answer.removeAll();
                failure(answer, thrown);
            }
            if (words[0].equals("group_record")) {
                answer.set("offsets_formatter", printed(new OffsetsMessageFormatter(), key, value));
                answer.set("group_metadata_formatter", printed(new GroupMetadataMessageFormatter(), key, value));
                answer.set("share_group_formatter", printed(new ShareGroupMessageFormatter(), key, value));
            } else if (words[0].equals("share_group_state_record")) {
                answer.set("share_group_state_formatter", printed(new ShareGroupStateMessageFormatter(), key, value));
            }
            out.println(answer);
        }
        out.flush();
    }

    private static void groupRecord(ObjectNode answer, ByteBuffer key, ByteBuffer value) {
        CoordinatorRecord record = new GroupCoordinatorRecordSerde().deserialize(key, value);
        answer.set("key", CoordinatorRecordJsonConverters.writeRecordKeyAsJson(record.key()));
        if (record.value() == null) {
            answer.putNull("value");
        } else {
            short version = record.value().version();
            answer.set("value", CoordinatorRecordJsonConverters.writeRecordValueAsJson(record.value().message(), version));
        }
    }

    /** The same with the share coordinator's converters, which have the same names. */
    private static void stateRecord(ObjectNode answer, ByteBuffer key, ByteBuffer value) {
        CoordinatorRecord record = new ShareCoordinatorRecordSerde().deserialize(key, value);
        answer.set(
                "key",
                org.apache.kafka.coordinator.share.generated.CoordinatorRecordJsonConverters.writeRecordKeyAsJson(record.key()));
        if (record.value() == null) {
            answer.putNull("value");
        } else {
            short version = record.value().version();
            answer.set(
                    "value",
                    org.apache.kafka.coordinator.share.generated.CoordinatorRecordJsonConverters.writeRecordValueAsJson(
                            record.value().message(), version));
        }
    }

    private static JsonNode printed(MessageFormatter formatter, byte[] key, byte[] value) {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        try {
            formatter.writeTo(new ConsumerRecord<>("topic", 0, 0, key, value), new PrintStream(line));
            return JSON.textNode(line.toString(StandardCharsets.UTF_8));
        } catch (RuntimeException thrown) {
            return failure(new ObjectNode(JSON), thrown);
        }
    }

    private static ObjectNode failure(ObjectNode answer, RuntimeException thrown) {
        return answer.put("exception", thrown.getClass().getName()).put("message", thrown.getMessage());
    }

    private static void subscription(ObjectNode answer, Subscription subscription) {
        ArrayNode topics = answer.putArray("topics");
        subscription.topics().forEach(topics::add);
        answer.set("owned_partitions", partitions(subscription.ownedPartitions()));
        answer.put("generation_id", subscription.generationId().orElse(null));
        answer.put("rack_id", subscription.rackId().orElse(null));
        answer.put("user_data", text(subscription.userData()));
    }

    private static void assignment(ObjectNode answer, Assignment assignment) {
        answer.set("partitions", partitions(assignment.partitions()));
        answer.put("user_data", text(assignment.userData()));
    }

    private static ArrayNode partitions(List<TopicPartition> partitions) {
        ArrayNode rows = new ArrayNode(JSON);
        for (TopicPartition partition : partitions) {
            rows.addObject().put("topic", partition.topic()).put("partition_id", partition.partition());
        }
        return rows;
    }

    private static ByteBuffer bytes(String base64) {
        return ByteBuffer.wrap(decoded(base64));
    }

    private static byte[] decoded(String base64) {
        return Base64.getDecoder().decode(base64);
    }

    private static String text(ByteBuffer data) {
        if (data == null) {
            return null;
        }
        byte[] copy = new byte[data.remaining()];
        data.get(copy);
        return Base64.getEncoder().encodeToString(copy);
    }
}
