import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.kafka.connect.runtime.TargetState;
import org.apache.kafka.connect.storage.ClusterConfigState;
import org.apache.kafka.connect.storage.ConfigBackingStore;
import org.apache.kafka.connect.util.ConnectorTaskId;

/** What Connect's workers need around them in both programs. */
final class Connected {
    static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    /** Connectors that are started. connectors : [{"connector_name", "tasks_count"}] */
    static ClusterConfigState configured(JsonNode connectors) {
        Map<String, Integer> counts = new HashMap<>();
        Map<String, Map<String, String>> configs = new HashMap<>();
        Map<String, TargetState> targets = new HashMap<>();
        Map<ConnectorTaskId, Map<String, String>> tasks = new HashMap<>();
        for (JsonNode connector : connectors) {
            String name = connector.get("connector_name").asText();
            counts.put(name, connector.get("tasks_count").asInt());
            configs.put(name, new HashMap<>());
            targets.put(name, TargetState.STARTED);
            for (int i = 0; i < counts.get(name); i++) tasks.put(new ConnectorTaskId(name, i), new HashMap<>());
        }
        return new ClusterConfigState(1, null, counts, configs, targets, tasks, Map.of(), Map.of(), Map.of(), Set.of(), Set.of());
    }

    /** A topic of configurations that has this state. */
    static ConfigBackingStore store(Supplier<ClusterConfigState> state) {
        return proxy(ConfigBackingStore.class, (self, method, arguments) -> method.getName().equals("snapshot") ? state.get() : null);
    }

    private Connected() { }
}
