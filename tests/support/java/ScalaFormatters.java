import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.function.BiConsumer;
import kafka.coordinator.group.GroupMetadataManager;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * The formatters of kafka-console-consumer that are written in Scala. In, one a line: "KEY,VALUE" in base64 (VALUE "null" for a
 * tombstone). Out, for each: what both print, or {"exception", "message"}.
 */
public final class ScalaFormatters {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(",", -1);
            byte[] key = Base64.getDecoder().decode(words[0]);
            byte[] value = words[1].equals("null") ? null : Base64.getDecoder().decode(words[1]);
            ObjectNode answer = JSON.objectNode();
            answer.set("scala_offsets_formatter", printed(new GroupMetadataManager.OffsetsMessageFormatter()::writeTo, key, value));
            answer.set("scala_group_metadata_formatter", printed(new GroupMetadataManager.GroupMetadataMessageFormatter()::writeTo, key, value));
            out.println(answer);
        }
        out.flush();
    }

    private static JsonNode printed(BiConsumer<ConsumerRecord<byte[], byte[]>, PrintStream> formatter, byte[] key, byte[] value) {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        try {
            formatter.accept(new ConsumerRecord<>("topic", 0, 0, key, value), new PrintStream(line));
            return JSON.textNode(line.toString(StandardCharsets.UTF_8));
        } catch (RuntimeException | Error thrown) {
            return JSON.objectNode().put("exception", thrown.getClass().getName()).put("message", thrown.getMessage());
        }
    }
}
