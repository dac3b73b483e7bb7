import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import scala.jdk.javaapi.CollectionConverters;

/** AdminUtilsPlacer for releases up to 3.4, whose AdminUtils is written in Scala; one argument's type differs between them. */
public final class ScalaAdminUtilsPlacer {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Class<?> kind = Class.forName("kafka.admin.AdminUtils$");
        Object utils = kind.getField("MODULE$").get(null);
        Random random = (Random) kind.getMethod("rand").invoke(utils);
        Method place = null;
        for (Method each : kind.getMethods())
            if (each.getName().equals("assignReplicasToBrokers")) place = each;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = JSON.readTree(line);
            boolean aware = request.get("placer").asText().equals("rack-aware");
            List<kafka.admin.BrokerMetadata> brokers = new ArrayList<>();
            for (JsonNode broker : request.get("brokers")) {
                JsonNode rack = aware ? broker.get("rack_id") : null;
                brokers.add(new kafka.admin.BrokerMetadata(broker.get("broker_id").asInt(), scala.Option.apply(rack == null ? null : rack.asText())));
            }
            random.setSeed(request.get("random_seed").asLong());
            ArrayNode answer = JSON.createArrayNode();
            for (JsonNode topic : request.get("topics")) {
                try {
                    Object placed = place.invoke(utils, CollectionConverters.asScala(brokers).toList(),
                        topic.get("partitions_count").asInt(), topic.get("replication_factor").asInt(),
                        topic.path("start_index").asInt(-1), topic.path("start_partition_id").asInt(0));
                    ArrayNode rows = answer.addArray();
                    for (Map.Entry<?, ?> row : new TreeMap<Object, Object>(CollectionConverters.asJava((scala.collection.Map<?, ?>) placed)).entrySet()) {
                        ArrayNode replicas = rows.addArray();
                        for (Object replica : CollectionConverters.asJava((scala.collection.Seq<?>) row.getValue())) replicas.add((Integer) replica);
                    }
                } catch (InvocationTargetException e) {
                    ObjectNode error = answer.addObject();
                    error.put("exception", e.getCause().getClass().getName()).put("message", e.getCause().getMessage());
                }
            }
            out.println(JSON.writeValueAsString(answer));
            out.flush();
        }
    }
}
