import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.placement.ClusterDescriber;
import org.apache.kafka.metadata.placement.PlacementSpec;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.metadata.placement.UsableBroker;

/**
 * The real StripedReplicaPlacer. In: bodies of POST /v1/replica-placements with `topics`, one a line. Out, for each: a list with
 * each topic's replicas, or {"exception", "message"}. 3.4 has no defaultDir.
 */
public final class StripedPlacer {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = JSON.readTree(line);
            List<UsableBroker> brokers = new ArrayList<>();
            for (JsonNode broker : request.get("brokers")) {
                Optional<String> rack = Optional.ofNullable(broker.get("rack_id")).map(JsonNode::asText);
                brokers.add(new UsableBroker(broker.get("broker_id").asInt(), rack, broker.get("fenced").asBoolean()));
            }
            ClusterDescriber cluster = new ClusterDescriber() {
                @Override
                public Iterator<UsableBroker> usableBrokers() {
                    return brokers.iterator();
                }

                public Uuid defaultDir(int brokerId) {
                    return Uuid.ZERO_UUID;
                }
            };
            StripedReplicaPlacer placer = new StripedReplicaPlacer(new Random(request.get("random_seed").asLong()));
            ArrayNode answer = JSON.createArrayNode();
            for (JsonNode topic : request.get("topics")) {
                int partitions = topic.get("partitions_count").asInt();
                short factor = (short) topic.get("replication_factor").asInt();
                try {
                    ArrayNode placements = JSON.createArrayNode();
                    placer.place(new PlacementSpec(0, partitions, factor), cluster).assignments()
                        .forEach(partition -> placements.add(JSON.valueToTree(partition.replicas())));
                    answer.add(placements);
                } catch (RuntimeException e) {
                    ObjectNode error = answer.addObject();
                    error.put("exception", e.getClass().getName()).put("message", e.getMessage());
                }
            }
            out.println(JSON.writeValueAsString(answer));
            out.flush();
        }
    }
}
