import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.*; // LogContext until 4.3.1
import org.apache.kafka.common.utils.internals.*; // and since 4.4.0
import org.apache.kafka.connect.runtime.distributed.DistributedConfig;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.WorkerGroupMember;
import org.apache.kafka.connect.runtime.distributed.WorkerRebalanceListener;
import org.apache.kafka.connect.storage.ClusterConfigState;

/**
 * Groups of Connect's real workers at a real broker, without connectors. In, one a line: {"bootstrap", "group_id", "protocol",
 * "connectors": [{"connector_name", "tasks_count"}]}, which starts one more worker of this group. Out: {}. Workers join again after a revocation, as
 * DistributedHerder has them do.
 */
public final class ConnectGroup {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final List<Thread> THREADS = new ArrayList<>();

    private static void start(JsonNode question) {
        String group = question.get("group_id").asText();
        Map<String, String> settings = new HashMap<>(Map.of("bootstrap.servers", question.get("bootstrap").asText(),
            "group.id", group, "connect.protocol", question.get("protocol").asText(), "config.storage.topic", "c",
            "offset.storage.topic", "o", "status.storage.topic", "s", "heartbeat.interval.ms", "300"));
        for (String side : List.of("key", "value")) settings.put(side + ".converter", "org.apache.kafka.connect.converters.ByteArrayConverter");
        DistributedConfig config = new DistributedConfig(settings);
        ClusterConfigState state = Connected.configured(question.get("connectors"));
        boolean[] revoked = new boolean[1];
        WorkerRebalanceListener listener = Connected.proxy(WorkerRebalanceListener.class, (self, method, arguments) -> {
            if (method.getName().equals("onAssigned")) {
                ExtendedAssignment assignment = (ExtendedAssignment) arguments[0];
                revoked[0] = !assignment.revokedConnectors().isEmpty() || !assignment.revokedTasks().isEmpty();
            }
            return null;
        });
        String url = "http://worker-" + THREADS.size();
        WorkerGroupMember member = new WorkerGroupMember(config, url, Connected.store(() -> state), listener, Time.SYSTEM, "connect-" + THREADS.size(), new LogContext());
        Thread thread = new Thread(() -> {
            while (true) {
                member.ensureActive(() -> null);
                if (revoked[0]) {
                    revoked[0] = false;
                    member.requestRejoin();
                }
                member.poll(100, () -> null);
            }
        });
        thread.setDaemon(true);
        thread.start();
        THREADS.add(thread);
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);  // where the log goes
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            start(JSON.readTree(line));
            out.println("{}");
            out.flush();
        }
    }

    private ConnectGroup() { }
}
