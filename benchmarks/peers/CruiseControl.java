import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.linkedin.cruisecontrol.monitor.sampling.aggregator.AggregatedMetricValues;
import com.linkedin.cruisecontrol.monitor.sampling.aggregator.MetricValues;
import com.linkedin.kafka.cruisecontrol.analyzer.OptimizationOptions;
import com.linkedin.kafka.cruisecontrol.analyzer.goals.Goal;
import com.linkedin.kafka.cruisecontrol.analyzer.goals.RackAwareGoal;
import com.linkedin.kafka.cruisecontrol.analyzer.goals.ReplicaDistributionGoal;
import com.linkedin.kafka.cruisecontrol.common.Resource;
import com.linkedin.kafka.cruisecontrol.config.BrokerCapacityInfo;
import com.linkedin.kafka.cruisecontrol.config.KafkaCruiseControlConfig;
import com.linkedin.kafka.cruisecontrol.model.Broker;
import com.linkedin.kafka.cruisecontrol.model.ClusterModel;
import com.linkedin.kafka.cruisecontrol.model.Replica;
import com.linkedin.kafka.cruisecontrol.monitor.ModelGeneration;
import com.linkedin.kafka.cruisecontrol.monitor.metricdefinition.KafkaMetricDef;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;

/**
 * Reads questions from standard input, one a line, and answers each with what Cruise Control's goals make of it:
 * RackAwareGoal and ReplicaDistributionGoal, with their default thresholds and equal loads.
 *
 * {"brokers": [{"id": 0, "rack": "a", "leaves": false, "new": false}], "partitions": [[0, 1, 2]]}
 * → {"seconds": 0.1, "partitions": [[0, 1, 2]]}
 */
public class CruiseControl {
  private static final double CAPACITY = 1e12;

  public static void main(String[] arguments) throws Exception {
    Properties props = new Properties();
    props.put("bootstrap.servers", "localhost:9092");
    props.put("zookeeper.connect", "localhost:2181");
    KafkaCruiseControlConfig config = new KafkaCruiseControlConfig(props);
    List<Goal> goals = List.of(new RackAwareGoal(), new ReplicaDistributionGoal());
    for (Goal goal : goals) {
      goal.configure(config.mergedConfigValues());
    }
    Gson gson = new Gson();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      System.out.println(gson.toJson(optimized(gson.fromJson(line, JsonObject.class), goals)));
    }
  }

  private static JsonObject optimized(JsonObject question, List<Goal> goals) throws Exception {
    ClusterModel cluster = clusterOf(question);
    OptimizationOptions options =
        new OptimizationOptions(Collections.emptySet(), Collections.emptySet(), Collections.emptySet(), false,
                                Collections.emptySet(), false, false);
    long start = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    Set<Goal> done = new HashSet<>();
    for (Goal goal : goals) {
      goal.optimize(cluster, done, options);
      done.add(goal);
    }
    JsonObject answer = new JsonObject();
    answer.addProperty("seconds", (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - start) / 1e9);
    JsonArray partitions = new JsonArray();
    for (int i = 0; i < question.getAsJsonArray("partitions").size(); i++) {
      JsonArray replicas = new JsonArray();
      for (Replica replica : cluster.partition(new TopicPartition("topic", i)).replicas()) {
        replicas.add(replica.broker().id());
      }
      partitions.add(replicas);
    }
    answer.add("partitions", partitions);
    return answer;
  }

  private static ClusterModel clusterOf(JsonObject question) {
    ClusterModel cluster = new ClusterModel(new ModelGeneration(0, 0L), 1.0);
    Map<Resource, Double> capacity = new EnumMap<>(Resource.class);
    for (Resource resource : Resource.cachedValues()) {
      capacity.put(resource, resource == Resource.CPU ? 100.0 : CAPACITY);
    }
    Map<Integer, String> racks = new HashMap<>();
    for (JsonElement each : question.getAsJsonArray("brokers")) {
      JsonObject broker = each.getAsJsonObject();
      String rack = broker.get("rack").getAsString();
      if (!racks.containsValue(rack)) {
        cluster.createRack(rack);
      }
      racks.put(broker.get("id").getAsInt(), rack);
      cluster.createBroker(rack, "host" + broker.get("id"), broker.get("id").getAsInt(), new BrokerCapacityInfo(capacity), false);
    }
    int partition = 0;
    for (JsonElement row : question.getAsJsonArray("partitions")) {
      int index = 0;
      TopicPartition name = new TopicPartition("topic", partition++);
      for (JsonElement replica : row.getAsJsonArray()) {
        int broker = replica.getAsInt();
        cluster.createReplica(racks.get(broker), broker, name, index, index == 0);
        cluster.setReplicaLoad(racks.get(broker), broker, name, load(index == 0), Collections.singletonList(1L));
        index++;
      }
    }
    for (JsonElement each : question.getAsJsonArray("brokers")) {
      JsonObject broker = each.getAsJsonObject();
      if (broker.get("leaves").getAsBoolean()) {
        cluster.setBrokerState(broker.get("id").getAsInt(), Broker.State.DEAD);
      } else if (broker.get("new").getAsBoolean()) {
        cluster.setBrokerState(broker.get("id").getAsInt(), Broker.State.NEW);
      }
    }
    return cluster;
  }

  /** A tiny load, the same for all partitions. */
  private static AggregatedMetricValues load(boolean leads) {
    AggregatedMetricValues values = new AggregatedMetricValues();
    for (Resource resource : Resource.cachedValues()) {
      double amount = resource == Resource.NW_OUT && !leads ? 0.0 : 1e-6;
      boolean first = true;
      for (short id : KafkaMetricDef.resourceToMetricIds(resource)) {
        MetricValues value = new MetricValues(1);
        value.set(0, first ? amount : 0.0);
        values.add(id, value);
        first = false;
      }
    }
    return values;
  }
}
