import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationHandler;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.GroupRebalanceConfig;
import org.apache.kafka.clients.consumer.internals.ConsumerNetworkClient;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocol;
import org.apache.kafka.common.message.JoinGroupResponseData.JoinGroupResponseMember;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.*; // LogContext until 4.3.1
import org.apache.kafka.common.utils.internals.*; // and since 4.4.0
import org.apache.kafka.connect.runtime.distributed.ConnectProtocolCompatibility;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.ExtendedWorkerState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.WorkerCoordinator;
import org.apache.kafka.connect.runtime.distributed.WorkerRebalanceListener;
import org.apache.kafka.connect.storage.ClusterConfigState;
import org.apache.kafka.connect.storage.ConfigBackingStore;
import org.apache.kafka.connect.util.ConnectorTaskId;

/**
 * A group of Connect's real WorkerCoordinators, without a broker. In: a body of POST /v1/connect-assignments, one a line, whose
 * rounds name leaders, times, connectors, and workers by their member_id alone. Out, for each: {"rounds": [{"assignments"}]} in the
 * form of that endpoint's answer, with the bytes that each worker sends and gets, "metadata_base64" and "assignment_base64". What a
 * worker sends, keeps and receives, and what a leader remembers, is its coordinator's.
 *
 * Or in: {"kind", "bytes_base64"} of POST /v1/decodings. Out: {"version", "decoded"} in the form of that endpoint's answer, or
 * {"exception", "message"}.
 */
public final class ConnectWorkers {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final LogContext LOG = new LogContext();
    private static final long START = 1_700_000_000_000L;

    /** What all workers of a group share. */
    static final class World {
        long now = START;
        ClusterConfigState state;
        final Time time = Connected.proxy(Time.class, (self, method, arguments) -> switch (method.getName()) {
            case "milliseconds", "hiResClockMs" -> now;
            case "nanoseconds" -> now * 1_000_000;
            default -> method.isDefault() ? InvocationHandler.invokeDefault(self, method, arguments) : null;
        });
        final ConfigBackingStore store = Connected.store(() -> state);
    }

    static final class Worker extends WorkerCoordinator {
        final String id;
        int generation = -1;

        Worker(String id, World world, String protocol, int maxDelay) {
            super(new GroupRebalanceConfig(10_000, 60_000, 3_000, "connect", Optional.empty(), null, 100, 1_000), LOG,
                new ConsumerNetworkClient(LOG, null, null, world.time, 100, 30_000, 3_000), new Metrics(), "connect", world.time,
                "http://" + id, world.store, Connected.proxy(WorkerRebalanceListener.class, (self, method, arguments) -> null),
                ConnectProtocolCompatibility.compatibility(protocol), maxDelay);
            this.id = id;
        }

        @Override public int generationId() {
            return generation;
        }

        @Override public String memberId() {
            return id;
        }

        JoinGroupResponseMember joins(String protocol) {
            for (JoinGroupRequestProtocol each : metadata())
                if (each.name().equals(protocol)) return new JoinGroupResponseMember().setMemberId(id).setMetadata(each.metadata());
            throw new IllegalStateException(protocol);
        }

        Map<String, ByteBuffer> leads(String protocol, List<JoinGroupResponseMember> members) {
            return onLeaderElected(id, protocol, members, false);
        }

        void learns(String protocol, ByteBuffer assignment) {
            onJoinComplete(generation, id, protocol, assignment);
        }
    }

    private static ArrayNode tasks(Collection<ConnectorTaskId> tasks) {
        TreeMap<String, TreeSet<Integer>> byConnector = new TreeMap<>();
        for (ConnectorTaskId task : tasks) byConnector.computeIfAbsent(task.connector(), name -> new TreeSet<>()).add(task.task());
        ArrayNode rows = JSON.createArrayNode();
        byConnector.forEach((name, ids) ->
            rows.add(JSON.createObjectNode().put("connector_name", name).set("task_ids", JSON.valueToTree(ids))));
        return rows;
    }

    private static ObjectNode told(String member, ExtendedAssignment assignment, boolean eager) {
        ObjectNode row = JSON.createObjectNode().put("member_id", member);
        row.set("connectors", JSON.valueToTree(new TreeSet<>(assignment.connectors())));
        row.set("tasks", tasks(assignment.tasks()));
        if (eager) return row;
        row.set("revoked_connectors", JSON.valueToTree(new TreeSet<>(assignment.revokedConnectors())));
        row.set("revoked_tasks", tasks(assignment.revokedTasks()));
        return row.put("delay_ms", assignment.delay());
    }

    private static ObjectNode play(JsonNode body) {
        String assignor = body.get("assignor").asText();
        boolean eager = assignor.equals("eager");
        String protocol = eager ? "default" : assignor;
        int maxDelay = body.get("scheduled_rebalance_max_delay_ms").asInt();
        World world = new World();
        Map<String, Worker> workers = new HashMap<>();
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode rounds = answer.putArray("rounds");
        int generation = 0;
        for (JsonNode round : body.get("rounds")) {
            generation++;
            world.now = START + round.get("at_ms").asLong();
            if (round.has("connectors")) world.state = Connected.configured(round.get("connectors"));
            List<JoinGroupResponseMember> members = new ArrayList<>();
            List<Worker> present = new ArrayList<>();
            for (JsonNode row : round.get("workers")) {
                Worker worker = workers.computeIfAbsent(row.get("member_id").asText(), id -> new Worker(id, world, assignor, maxDelay));
                worker.generation = generation;
                present.add(worker);
                members.add(worker.joins(protocol));
            }
            Map<String, ByteBuffer> assignments = workers.get(round.get("leader_id").asText()).leads(protocol, members);
            ArrayNode rows = rounds.addObject().putArray("assignments");
            for (int i = 0; i < present.size(); i++) {
                Worker worker = present.get(i);
                ByteBuffer bytes = assignments.get(worker.id);
                rows.add(told(worker.id, IncrementalCooperativeConnectProtocol.deserializeAssignment(bytes.duplicate()), eager)
                    .put("metadata_base64", Base64.getEncoder().encodeToString(members.get(i).metadata()))
                    .put("assignment_base64", Base64.getEncoder().encodeToString(bytes.array())));
                worker.learns(protocol, bytes.duplicate());
            }
        }
        return answer;
    }

    private static ObjectNode said(ExtendedAssignment assignment) {
        ObjectNode row = JSON.createObjectNode().put("version", assignment.version()).put("error", assignment.error())
            .put("leader_id", assignment.leader()).put("leader_url", assignment.leaderUrl()).put("config_offset", assignment.offset());
        row.setAll((ObjectNode) told("", assignment, false).without("member_id"));
        return row;
    }

    private static ObjectNode read(JsonNode question) {
        ObjectNode answer = JSON.createObjectNode();
        ObjectNode decoded = JSON.createObjectNode();
        ByteBuffer bytes = ByteBuffer.wrap(Base64.getDecoder().decode(question.get("bytes_base64").asText()));
        try {
            if (question.get("kind").asText().equals("connect_metadata")) {
                ExtendedWorkerState state = IncrementalCooperativeConnectProtocol.deserializeMetadata(bytes.duplicate());
                decoded.put("url", state.url()).put("config_offset", state.offset());
                // Without an allocation the state has the assignment that is empty, which has no leader.
                decoded.set("allocation", state.assignment().leader() == null ? null : said(state.assignment()));
                answer.put("version", bytes.getShort(0));
            } else {
                ObjectNode assignment = said(IncrementalCooperativeConnectProtocol.deserializeAssignment(bytes));
                answer.set("version", assignment.remove("version"));
                decoded.setAll(assignment);
            }
            answer.set("decoded", decoded);
        } catch (RuntimeException thrown) {
            return JSON.createObjectNode().put("exception", thrown.getClass().getName()).put("message", thrown.getMessage());
        }
        return answer;
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);  // where the coordinators' log goes
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode question = JSON.readTree(line);
            out.println(JSON.writeValueAsString(question.has("kind") ? read(question) : play(question)));
            out.flush();
        }
    }

    private ConnectWorkers() { }
}
