import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.apache.kafka.admin.AdminUtils;
import org.apache.kafka.admin.BrokerMetadata;

/**
 * The real AdminUtils, its one Random seeded. In: bodies of POST /v1/replica-placements with `topics`, one a line. Out, for each:
 * a list with each topic's replicas, or {"exception", "message"}.
 */
public final class AdminUtilsPlacer {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Random random = random();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = JSON.readTree(line);
            boolean aware = request.get("placer").asText().equals("rack-aware");
            List<BrokerMetadata> brokers = new ArrayList<>();
            for (JsonNode broker : request.get("brokers")) {
                Optional<String> rack = Optional.ofNullable(aware ? broker.get("rack_id") : null).map(JsonNode::asText);
                brokers.add(new BrokerMetadata(broker.get("broker_id").asInt(), rack));
            }
            random.setSeed(request.get("random_seed").asLong());
            ArrayNode answer = JSON.createArrayNode();
            for (JsonNode topic : request.get("topics")) {
                try {
                    Map<Integer, List<Integer>> placed = new TreeMap<>(AdminUtils.assignReplicasToBrokers(brokers,
                        topic.get("partitions_count").asInt(), topic.get("replication_factor").asInt(),
                        topic.path("start_index").asInt(-1), topic.path("start_partition_id").asInt(0)));
                    answer.add(JSON.<ArrayNode>valueToTree(placed.values()));
                } catch (RuntimeException e) {
                    ObjectNode error = answer.addObject();
                    error.put("exception", e.getClass().getName()).put("message", e.getMessage());
                }
            }
            out.println(JSON.writeValueAsString(answer));
            out.flush();
        }
    }

    private static Random random() throws ReflectiveOperationException {
        for (Field field : AdminUtils.class.getDeclaredFields()) {
            if (field.getType() == Random.class) {
                field.setAccessible(true);
                return (Random) field.get(null);
            }
        }
        throw new NoSuchFieldException("AdminUtils has no Random");
    }
}
