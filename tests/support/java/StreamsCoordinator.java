import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The broker's real task assignor, of the kafka-group-coordinator on the class path. In: a body of POST /v1/streams-assignments, one a
 * line. Out, for each: {"assignments"} in the form of that endpoint's answer. By reflection, since 4.4.0 moved the interface.
 */
public final class StreamsCoordinator {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String GROUP = "org.apache.kafka.coordinator.group.";
    private static final String ASSIGNOR = GROUP + "streams.assignor.";

    private static Class<?> type(String... names) {
        for (String name : names)
            try {
                return Class.forName(name);
            } catch (ClassNotFoundException another) {
                // the other release's
            }
        throw new IllegalStateException(Arrays.toString(names));
    }

    private static Map<String, Set<Integer>> tasks(JsonNode rows) {
        Map<String, Set<Integer>> tasks = new HashMap<>();
        for (JsonNode row : rows) {
            Set<Integer> ids = tasks.computeIfAbsent(row.get("subtopology_id").asText(), id -> new HashSet<>());
            row.get("task_ids").forEach(id -> ids.add(id.asInt()));
        }
        return tasks;
    }

    private static Map<String, Map<Integer, Long>> offsets(JsonNode rows) {
        Map<String, Map<Integer, Long>> offsets = new HashMap<>();
        for (JsonNode row : rows)
            offsets.computeIfAbsent(row.get("subtopology_id").asText(), id -> new HashMap<>())
                .put(row.get("task_id").asInt(), row.get("offset").asLong());
        return offsets;
    }

    private static ArrayNode rows(Object tasks) {
        ArrayNode rows = JSON.createArrayNode();
        new TreeMap<>((Map<?, ?>) tasks).forEach((subtopology, ids) -> {
            if (!((Set<?>) ids).isEmpty())
                rows.add(JSON.createObjectNode().put("subtopology_id", (String) subtopology)
                    .set("task_ids", JSON.valueToTree(new TreeSet<>((Set<?>) ids))));
        });
        return rows;
    }

    private static Object call(Object on, String name) throws ReflectiveOperationException {
        Method method = on.getClass().getMethod(name);
        method.setAccessible(true);
        return method.invoke(on);
    }

    private static ObjectNode assign(JsonNode body) throws ReflectiveOperationException {
        Class<?> type = type(ASSIGNOR + "AssignmentMemberSpec", ASSIGNOR + "MemberMetadataAndStateImpl");
        boolean moved = type.getSimpleName().startsWith("MemberMetadata");
        Constructor<?> member = type.getConstructors()[0];
        Map<String, Object> members = new HashMap<>();
        for (JsonNode row : body.get("members")) {
            Optional<String> none = Optional.empty();
            Map<?, ?> active = tasks(row.path("active_tasks")), standby = tasks(row.path("standby_tasks"));
            Map<?, ?> offsets = offsets(row.path("task_offsets"));
            String process = row.get("process_id").asText();
            members.put(row.get("member_id").asText(), moved
                ? member.newInstance(none, none, process, Map.of(), active, standby, Map.of(), offsets, Map.of())
                : member.newInstance(none, none, active, standby, Map.of(), process, Map.of(), offsets, Map.of()));
        }
        Map<String, String> configs = Map.of("num.standby.replicas", body.get("num_standby_replicas").asText());
        Object settings = moved ? type(ASSIGNOR + "AssignmentConfigsImpl").getMethod("fromMap", Map.class).invoke(null, configs) : configs;
        Object group = type(ASSIGNOR + "GroupSpecImpl").getConstructors()[0].newInstance(members, settings);
        Map<String, JsonNode> subtopologies = new LinkedHashMap<>();
        body.get("subtopologies").forEach(row -> subtopologies.put(row.get("subtopology_id").asText(), row));
        Class<?> describer = type(ASSIGNOR + "TopologyDescriber", GROUP + "api.streams.assignor.TopologyDescriber");
        Object topology = Proxy.newProxyInstance(describer.getClassLoader(), new Class<?>[] {describer}, (self, method, arguments) ->
            switch (method.getName()) {
                case "subtopologies" -> java.util.List.copyOf(subtopologies.keySet());
                case "isStateful" -> subtopologies.get(arguments[0]).get("stateful").asBoolean();
                default -> subtopologies.get(arguments[0]).get("tasks_count").asInt();
            });
        Object assignor = type(ASSIGNOR + "StickyTaskAssignor").getConstructor().newInstance();
        Method assign = Arrays.stream(assignor.getClass().getMethods()).filter(each -> each.getName().equals("assign")).findFirst().get();
        Map<?, ?> assigned = (Map<?, ?>) call(assign.invoke(assignor, group, topology), "members");
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode rows = answer.putArray("assignments");
        for (JsonNode row : body.get("members")) {
            Object mine = assigned.get(row.get("member_id").asText());
            ObjectNode one = rows.addObject().put("member_id", row.get("member_id").asText());
            one.set("active_tasks", rows(call(mine, "activeTasks")));
            one.set("standby_tasks", rows(call(mine, "standbyTasks")));
        }
        return answer;
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);  // where the assignor's log goes
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(JSON.writeValueAsString(assign(JSON.readTree(line))));
            out.flush();
        }
    }

    private StreamsCoordinator() { }
}
