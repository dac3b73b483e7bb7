import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** {@code OneConsumer PROPERTIES TOPIC}: a consumer that polls until it is killed. PROPERTIES is JSON. */
public final class OneConsumer {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> properties = new ObjectMapper().readValue(arguments[0], new TypeReference<Map<String, Object>>() { });
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
            consumer.subscribe(List.of(arguments[1]));
            while (true) {
                consumer.poll(Duration.ofMillis(100));
            }
        }
    }

    private OneConsumer() { }
}
