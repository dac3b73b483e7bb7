import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.InternalTopicManager;
import org.apache.kafka.streams.processor.internals.TopologyMetadata.Subtopology;
import org.apache.kafka.streams.processor.internals.assignment.ClientState;
import org.apache.kafka.streams.processor.internals.assignment.FallbackPriorTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.LegacyStickyTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.LegacyTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.RackAwareTaskAssignor;

/**
 * The task assignors of classic Streams groups. In: a body of POST /v1/streams-assignments with clients, one a line. Out,
 * for each: {"assignments", "probing_rebalance"} in the form of that endpoint's answer, and the "seconds" of the assignor alone. Sets and maps are as StreamsPartitionAssignor
 * makes them: the stateful tasks come one by one into a HashSet, the clients into a HashMap.
 */
public final class StreamsLeader {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static TaskId task(JsonNode row, int id) {
        return new TaskId(Integer.parseInt(row.get("subtopology_id").asText()), id);
    }

    private static Set<TaskId> tasks(JsonNode rows) {
        Set<TaskId> tasks = new TreeSet<>();
        for (JsonNode row : rows) row.get("task_ids").forEach(id -> tasks.add(task(row, id.asInt())));
        return tasks;
    }

    private static ArrayNode rows(Set<TaskId> tasks) {
        Map<Integer, Set<Integer>> ids = new TreeMap<>();
        for (TaskId task : tasks) ids.computeIfAbsent(task.subtopology(), subtopology -> new TreeSet<>()).add(task.partition());
        ArrayNode rows = JSON.createArrayNode();
        ids.forEach((subtopology, of) ->
            rows.add(JSON.createObjectNode().put("subtopology_id", String.valueOf(subtopology)).set("task_ids", JSON.valueToTree(of))));
        return rows;
    }

    private static ObjectNode assign(JsonNode body) {
        Map<TaskId, Boolean> all = new HashMap<>();
        Set<TaskId> stateful = new HashSet<>();
        Set<TaskId> ascending = new TreeSet<>();
        Map<Integer, Boolean> hasState = new HashMap<>();
        for (JsonNode row : body.get("subtopologies")) {
            hasState.put(Integer.parseInt(row.get("subtopology_id").asText()), row.get("stateful").asBoolean());
            for (int i = 0; i < row.get("tasks_count").asInt(); i++) ascending.add(task(row, i));
        }
        for (TaskId task : ascending) {
            all.put(task, true);
            if (hasState.get(task.subtopology())) stateful.add(task);
        }
        Map<ProcessId, ClientState> clients = new HashMap<>();
        for (JsonNode row : body.get("clients")) {
            Map<TaskId, Long> lags = new TreeMap<>();
            for (JsonNode lag : row.path("lags")) lags.put(task(lag, lag.get("task_id").asInt()), lag.get("lag").asLong());
            Map<String, String> tags = new HashMap<>();
            row.path("client_tags").fields().forEachRemaining(tag -> tags.put(tag.getKey(), tag.getValue().asText()));
            ProcessId id = new ProcessId(UUID.fromString(row.get("process_id").asText()));
            clients.put(id, new ClientState(tasks(row.path("active_tasks")), tasks(row.path("standby_tasks")), lags, tags,
                row.get("threads_count").asInt(), id));
        }
        List<String> tags = new ArrayList<>();
        body.get("rack_aware_assignment_tags").forEach(tag -> tags.add(tag.asText()));
        String strategy = body.path("rack_aware_assignment_strategy").asText("none");
        AssignmentConfigs configs = new AssignmentConfigs(body.get("acceptable_recovery_lag").asLong(),
            body.get("max_warmup_replicas").asInt(), body.get("num_standby_replicas").asInt(), 600_000L, tags,
            cost(body, "traffic"), cost(body, "non_overlap"), strategy);
        LegacyTaskAssignor assignor = switch (body.get("assignor").asText()) {
            case "high-availability" -> new HighAvailabilityTaskAssignor();
            case "sticky" -> new LegacyStickyTaskAssignor();
            default -> new FallbackPriorTaskAssignor();
        };
        RackAwareTaskAssignor racks = racks(body, ascending, stateful, configs);
        ObjectNode answer = JSON.createObjectNode();
        long start = System.nanoTime();
        answer.put("probing_rebalance", assignor.assign(clients, all.keySet(), stateful, racks, configs));
        answer.put("seconds", (System.nanoTime() - start) / 1e9);
        ArrayNode rows = answer.putArray("assignments");
        for (JsonNode row : body.get("clients")) {
            ClientState state = clients.get(new ProcessId(UUID.fromString(row.get("process_id").asText())));
            ObjectNode one = rows.addObject().put("process_id", row.get("process_id").asText());
            one.set("active_tasks", rows(state.activeTasks()));
            one.set("standby_tasks", rows(state.standbyTasks()));
        }
        return answer;
    }

    private static OptionalInt cost(JsonNode body, String name) {
        JsonNode cost = body.path("rack_aware_assignment_" + name + "_cost");
        return cost.isInt() ? OptionalInt.of(cost.asInt()) : OptionalInt.empty();
    }

    private static Node node(Map<String, Node> nodes, String rack) {
        return nodes.computeIfAbsent(rack, each -> new Node(nodes.size(), "host", 1, each.isEmpty() ? null : each));
    }

    /** What StreamsPartitionAssignor makes of a group's topics; changelogs are described by the internal topic manager. */
    private static RackAwareTaskAssignor racks(JsonNode body, Set<TaskId> all, Set<TaskId> stateful, AssignmentConfigs configs) {
        Map<String, Node> nodes = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        Map<String, List<TopicPartitionInfo>> described = new HashMap<>();
        for (JsonNode topic : body.path("topics")) {
            String name = topic.get("topic_name").asText();
            List<TopicPartitionInfo> infos = new ArrayList<>();
            int i = 0;
            for (JsonNode racks : topic.get("partition_racks")) {
                List<Node> replicas = new ArrayList<>();
                racks.forEach(rack -> replicas.add(node(nodes, rack.asText())));
                Node[] array = replicas.toArray(new Node[0]);
                Node leader = replicas.isEmpty() ? null : replicas.get(0);
                partitions.add(new PartitionInfo(name, i, leader, array, array));
                infos.add(new TopicPartitionInfo(i++, leader, replicas, replicas));
            }
            described.put(name, infos);
        }
        Map<TaskId, Set<TopicPartition>> sources = new HashMap<>();
        Map<TaskId, Set<TopicPartition>> changelogs = new HashMap<>();
        Map<Subtopology, Set<TaskId>> groups = new HashMap<>();
        for (JsonNode row : body.get("subtopologies")) {
            int number = Integer.parseInt(row.get("subtopology_id").asText());
            for (TaskId task : all) {
                if (task.subtopology() != number) continue;
                groups.computeIfAbsent(new Subtopology(number, null), key -> new HashSet<>()).add(task);
                for (JsonNode topic : row.path("source_topic_names"))
                    if (task.partition() < described.get(topic.asText()).size())
                        sources.computeIfAbsent(task, key -> new HashSet<>()).add(new TopicPartition(topic.asText(), task.partition()));
                if (stateful.contains(task))
                    for (JsonNode topic : row.path("changelog_topic_names"))
                        changelogs.computeIfAbsent(task, key -> new HashSet<>()).add(new TopicPartition(topic.asText(), task.partition()));
            }
        }
        Map<ProcessId, Map<String, Optional<String>>> clients = new HashMap<>();
        for (JsonNode row : body.get("clients"))
            clients.put(new ProcessId(UUID.fromString(row.get("process_id").asText())),
                Map.of("consumer", row.hasNonNull("rack_id") ? Optional.of(row.get("rack_id").asText()) : Optional.empty()));
        InternalTopicManager topics = new InternalTopicManager(Time.SYSTEM, null, new StreamsConfig(Map.of("application.id", "a", "bootstrap.servers", "localhost:1"))) {
            @Override public Map<String, List<TopicPartitionInfo>> getTopicPartitionInfo(Set<String> names) {
                Map<String, List<TopicPartitionInfo>> some = new HashMap<>(described);
                some.keySet().retainAll(names);
                return some;
            }
        };
        Cluster cluster = new Cluster("cluster", nodes.values(), partitions, Set.of(), Set.of());
        return new RackAwareTaskAssignor(cluster, sources, changelogs, groups, clients, topics, configs, Time.SYSTEM);
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);  // where the assignors' log goes
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(JSON.writeValueAsString(assign(JSON.readTree(line))));
            out.flush();
        }
    }

    private StreamsLeader() { }
}
