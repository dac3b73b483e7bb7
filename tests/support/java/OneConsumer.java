import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/**
 * {@code OneConsumer PROPERTIES TOPIC,…}: a consumer that polls until it is killed or told to close. PROPERTIES is JSON.
 *
 * <p>In, one a line: "pause MS" between two polls, "subscribe TOPIC,…", "close". Out, one a line: the time in ms since 1970, what
 * its listener was told (assigned, revoked, lost) or "member" and its id, and the partitions.
 */
public final class OneConsumer {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> properties = new ObjectMapper().readValue(arguments[0], new TypeReference<Map<String, Object>>() { });
        ConcurrentLinkedQueue<String> commands = new ConcurrentLinkedQueue<>();
        Thread reader = new Thread(() -> new BufferedReader(new InputStreamReader(System.in)).lines().forEach(commands::add));
        reader.setDaemon(true);
        reader.start();
        String shown = "";
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
            consumer.subscribe(List.of(arguments[1].split(",")), new Told());
            while (true) {
                consumer.poll(Duration.ofMillis(100));
                String id = consumer.groupMetadata().memberId();
                if (!id.equals(shown)) {
                    say("member", id);
                    shown = id;
                }
                String command = commands.poll();
                String[] words = command == null ? new String[] {""} : command.split(" ");
                switch (words[0]) {
                    case "pause" -> Thread.sleep(Long.parseLong(words[1]));
                    case "subscribe" -> consumer.subscribe(List.of(words[1].split(",")), new Told());
                    case "close" -> {
                        return;
                    }
                    default -> { }
                }
            }
        }
    }

    private static void say(String what, String whom) {
        System.out.println(System.currentTimeMillis() + " " + what + " " + whom);
    }

    private static final class Told implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            say("assigned", text(partitions));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            say("revoked", text(partitions));
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            say("lost", text(partitions));
        }

        private static String text(Collection<TopicPartition> partitions) {
            return partitions.stream().map(TopicPartition::toString).sorted().collect(Collectors.joining(" "));
        }
    }

    private OneConsumer() { }
}
