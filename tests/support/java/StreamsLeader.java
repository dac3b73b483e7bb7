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
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.assignment.ClientState;
import org.apache.kafka.streams.processor.internals.assignment.FallbackPriorTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.LegacyStickyTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.LegacyTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.RackAwareTaskAssignor;

/**
 * The task assignors of classic Streams groups, without racks. In: a body of POST /v1/streams-assignments with clients, one a line. Out,
 * for each: {"assignments", "probing_rebalance"} in the form of that endpoint's answer. Sets and maps are as StreamsPartitionAssignor
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
        AssignmentConfigs configs = new AssignmentConfigs(body.get("acceptable_recovery_lag").asLong(),
            body.get("max_warmup_replicas").asInt(), body.get("num_standby_replicas").asInt(), 600_000L, tags);
        LegacyTaskAssignor assignor = switch (body.get("assignor").asText()) {
            case "high-availability" -> new HighAvailabilityTaskAssignor();
            case "sticky" -> new LegacyStickyTaskAssignor();
            default -> new FallbackPriorTaskAssignor();
        };
        RackAwareTaskAssignor noRacks = new RackAwareTaskAssignor(Cluster.empty(), Map.of(), Map.of(), Map.of(), Map.of(), null, configs, Time.SYSTEM) {
            @Override public synchronized boolean canEnableRackAwareAssignor() {
                return false;
            }
        };
        ObjectNode answer = JSON.createObjectNode();
        answer.put("probing_rebalance", assignor.assign(clients, all.keySet(), stateful, noRacks, configs));
        ArrayNode rows = answer.putArray("assignments");
        for (JsonNode row : body.get("clients")) {
            ClientState state = clients.get(new ProcessId(UUID.fromString(row.get("process_id").asText())));
            ObjectNode one = rows.addObject().put("process_id", row.get("process_id").asText());
            one.set("active_tasks", rows(state.activeTasks()));
            one.set("standby_tasks", rows(state.standbyTasks()));
        }
        return answer;
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
